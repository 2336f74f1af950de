import type { Engine, EngineAddress } from '../engine/engine.ts';
import { findEngines } from '../engine/find-engines.ts';
import { Fault } from '../faults/fault.ts';
import type { EngineSource } from '../fleet/engine-watch.ts';
import type { Host } from '../hosts/host.ts';
import { engineNames } from './known-engines.ts';
import type { PracticeAccess } from './practice-access.ts';

/** Returns the engines of a machine. Without one, the host stands in for an engine that is searched for again with each attempt. */
export async function enginesOn(host: Host, signal: AbortSignal): Promise<{ engines: EngineSource[]; engineMissing: boolean }> {
  const found = await findEngines(host, signal).catch((thrown: unknown) => {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  });
  if (found instanceof Fault) {
    const open = async (retrySignal: AbortSignal) => {
      const [first] = await findEngines(host, retrySignal).catch((again: unknown) => {
        throw withPractice(again);
      });
      if (!first) throw found;
      return openAt(first, host);
    };
    return { engineMissing: found.code === 'unreachable.noEngine', engines: [{ name: host.name, host, open }] };
  }
  const names = engineNames(host.name, found);
  const engines = found.map((address, position) => ({ name: names[position] ?? host.name, host, open: () => openAt(address, host) }));
  return { engines, engineMissing: false };
}

export function practiceEngines({ facts }: PracticeAccess, host: Host): EngineSource[] {
  return [{ name: host.name, host, open: () => openAt({ url: facts.engine, origin: 'practice stack' }, host) }];
}

function withPractice(thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || thrown.code !== 'unreachable.noEngine') return thrown;
  // In a checkout started by npm there is no "quarterdeck" yet.
  const command = process.env['npm_lifecycle_event'] === 'start' ? 'npm start -- practice' : 'quarterdeck practice';
  return new Fault(thrown.code, thrown.message, `To try Quarterdeck without an engine: ${command}. ${thrown.remedy}`, { cause: thrown });
}

export async function openAt(address: EngineAddress, host: Host): Promise<Engine> {
  const { openEngine } = await import('../engine/dockerode-engine.ts');
  return openEngine(address, host);
}
