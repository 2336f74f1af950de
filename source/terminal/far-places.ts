import { join } from 'node:path';
import { installationFolder } from '../config/installation.ts';
import { writeOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import type { HostSettings } from '../config/settings.ts';
import type { Engine, EngineAddress } from '../engine/engine.ts';
import { findEngines } from '../engine/find-engines.ts';
import { Fault } from '../faults/fault.ts';
import type { PlaceSource } from '../fleet/place-watch.ts';
import type { Host } from '../hosts/host.ts';
import { parseDestination } from '../hosts/ssh/destination.ts';
import { openSshHost, type SshHost } from '../hosts/ssh/ssh-host.ts';
import { cleanLine } from '../text/clean.ts';
import type { HostQuestions } from './host-questions.ts';
import { knownEnginesFile, readKnownEngines } from './known-engines.ts';
import { placeNames } from './place-names.ts';

export interface FarPlacesOptions {
  paths: OwnPaths;
  env: Readonly<Record<string, string | undefined>>;
  questions: HostQuestions;
  openAt: (address: EngineAddress, host: Host) => Promise<Engine>;
  /** Other engines were found than the last time. */
  enginesChanged?: (name: string) => void;
}

/** Nothing is asked of it yet. */
export function openFarHost(name: string, { ssh, sudo }: HostSettings, { paths, env, questions }: FarPlacesOptions): SshHost {
  return openSshHost({
    name,
    destination: parseDestination(ssh),
    runFolder: paths.run,
    askProgram: join(installationFolder(), 'bin', 'askpass'),
    env,
    answer: (question, signal) => questions.ask(name, question, signal),
    ...(sudo && { sudo }),
  });
}

/** The engines of a host over ssh, each a place. Which there are is known from the last time; they are looked for anew with each connection. */
export async function openFarPlaces(
  host: SshHost,
  { stackFolder }: HostSettings,
  { paths, openAt, enginesChanged }: FarPlacesOptions,
): Promise<PlaceSource[]> {
  const { name } = host;
  const file = knownEnginesFile(paths, name);
  const known = await readKnownEngines(file);
  let written = JSON.stringify(known);
  // Before the first time nobody knows of further ones: the first is there at once, the others when they have been found.
  const names = placeNames(name, known.length === 0 ? [''] : known);
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
  return names.map((place, position): PlaceSource => {
    const url = known[position];
    return {
      name: place,
      host,
      ...(stackFolder !== undefined && { stackFolder }),
      open: async (signal) => {
        const found = await find(signal);
        const address = found.find((one) => one.url === url) ?? (position === 0 ? found[0] : undefined);
        if (address) return openAt(address, host);
        throw engineGone(place, url ?? '');
      },
    };
  });
}

function engineGone(place: string, url: string): Fault {
  return new Fault({
    code: 'unreachable.engine',
    message: `The engine of ${place} is no longer found at ${cleanLine(url)}.`,
    remedy: 'Start it; with the next start of the console it is looked for anew.',
  });
}
