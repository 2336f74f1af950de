import type { Engine, EngineAddress } from '../engine/engine.ts';
import { findEngines } from '../engine/find-engines.ts';
import { Fault } from '../faults/fault.ts';
import type { PlaceSource } from '../fleet/place-watch.ts';
import type { Host } from '../hosts/host.ts';
import { placeNames } from './place-names.ts';
import type { PracticeAccess } from './practice-access.ts';

/**
 * The engines of a machine, each a place. One is called as the host is; further ones are told apart by what they are. Where there is none, the host is a place
 * all the same, and looks again with every attempt.
 */
export async function placesOn(host: Host, signal: AbortSignal): Promise<{ places: PlaceSource[]; engineMissing: boolean }> {
  let found: EngineAddress[];
  try {
    found = await findEngines(host, signal);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const engineMissing = thrown.code === 'unreachable.noEngine';
    return {
      engineMissing,
      places: [
        {
          name: host.name,
          host,
          open: async (retrySignal) => {
            const [first] = await findEngines(host, retrySignal).catch((again: unknown) => {
              throw withPractice(again);
            });
            if (!first) throw thrown;
            return await openAt(first, host);
          },
        },
      ],
    };
  }
  const names = placeNames(
    host.name,
    found.map(({ url }) => url),
  );
  const places = found.map((address, position) => ({ name: names[position] ?? host.name, host, open: () => openAt(address, host) }));
  return { places, engineMissing: false };
}

export function practicePlaces({ facts }: PracticeAccess, host: Host): PlaceSource[] {
  return [{ name: host.name, host, open: () => openAt({ url: facts.engine, origin: 'practice stack' }, host) }];
}

/** As whoever reads it can type it: in a checkout that npm started there is no "quarterdeck" yet. */
function practiceCommand(): string {
  return process.env['npm_lifecycle_event'] === 'start' ? 'npm start -- practice' : 'quarterdeck practice';
}

/** Who has no engine can look around without one. */
function withPractice(thrown: unknown): unknown {
  if (!(thrown instanceof Fault) || thrown.code !== 'unreachable.noEngine') return thrown;
  return new Fault({
    code: thrown.code,
    message: thrown.message,
    remedy: `To look around without one: ${practiceCommand()}. ${thrown.remedy}`,
    cause: thrown,
  });
}

export async function openAt(address: EngineAddress, host: Host): Promise<Engine> {
  const { openEngine } = await import('../engine/dockerode-engine.ts');
  return openEngine(address, host);
}
