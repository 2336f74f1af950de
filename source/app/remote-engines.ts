import { join } from 'node:path';
import { installationFolder } from '../config/installation.ts';
import { writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import type { HostSettings } from '../config/settings.ts';
import type { Engine, EngineAddress } from '../engine/engine.ts';
import { findEngines } from '../engine/find-engines.ts';
import { Fault } from '../faults/fault.ts';
import type { EngineSource } from '../fleet/engine-watch.ts';
import type { Host } from '../hosts/host.ts';
import { parseDestination } from '../hosts/ssh/destination.ts';
import { openSshHost, type SshHost } from '../hosts/ssh/ssh-host.ts';
import { cleanLine } from '../text/clean.ts';
import type { HostQuestions } from './host-questions.ts';
import { knownEngineNames, knownEnginesFile, readKnownEngines } from './known-engines.ts';

export interface RemoteEnginesOptions {
  paths: OwnPaths;
  env: Readonly<Record<string, string | undefined>>;
  questions: HostQuestions;
  openAt: (address: EngineAddress, host: Host) => Promise<Engine>;
  enginesChanged?: (name: string) => void;
}

export function openRemoteHost(name: string, { ssh, sudo }: HostSettings, { paths, env, questions }: RemoteEnginesOptions): SshHost {
  return openSshHost({
    name,
    destination: parseDestination(ssh),
    runFolder: paths.run,
    askpass: join(installationFolder(), 'bin', 'askpass'),
    env,
    answer: (question, signal) => questions.ask(name, question, signal),
    ...(sudo && { sudo }),
  });
}

export async function openRemoteEngines(
  host: SshHost,
  { stackFolder }: HostSettings,
  { paths, openAt, enginesChanged }: RemoteEnginesOptions,
): Promise<EngineSource[]> {
  const { name } = host;
  const file = knownEnginesFile(paths, name);
  const known = await readKnownEngines(file);
  const socket = /^unix:\/\/(.+)$/.exec(known[0] ?? '')?.[1];
  if (socket !== undefined) host.expect({ socket });
  let written = JSON.stringify(known);
  const find = async (signal: AbortSignal): Promise<readonly EngineAddress[]> => {
    await host.link.ready(signal);
    await host.openSockets(signal);
    const found = await findEngines(host, signal);
    const urls = JSON.stringify(found.map(({ url }) => url));
    if (urls !== written) {
      written = urls;
      await writeOwnFile(file, urls).catch(() => undefined);
      enginesChanged?.(name);
    }
    return found;
  };
  return knownEngineNames(name, known).map((engineName, position): EngineSource => {
    const url = known[position];
    return {
      name: engineName,
      host,
      ...(stackFolder !== undefined && { stackFolder }),
      open: async (signal) => {
        const found = await find(signal);
        const address = found.find((one) => one.url === url) ?? (position === 0 ? found[0] : undefined);
        if (address) return openAt(address, host);
        const remedy = `Start the engine on the host, then check: quarterdeck hosts check ${name}`;
        throw new Fault('unreachable.engine', `The engine of ${engineName} was not found at ${cleanLine(url ?? '')}.`, remedy);
      },
    };
  });
}
