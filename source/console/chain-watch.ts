import type { MediaChain } from '../fleet/media-chain.ts';
import type { FleetSnapshot } from '../fleet/model.ts';
import type { Deck } from '../terminal/deck.ts';

/** The chain of media automation as it is now; looked at again whenever a component changes. */
export interface ChainWatch {
  /** Undefined until it has been looked at once. */
  view(): MediaChain | undefined;
  /** @returns ends it */
  look(): () => void;
  subscribe(listener: () => void): () => void;
}

/** Mounts and networks change with the container: while all of this stays the same, there is nothing to ask an engine for. */
function tellingOf({ components, places }: FleetSnapshot): string {
  return JSON.stringify([
    places.map(({ name, engine }) => [name, engine.reachable]),
    components.map(({ key, state, tone, word, findings, services }) => [
      ...[key, state, tone, word, findings.map(({ check }) => check)],
      services.map(({ containerId, cutOff }) => [containerId, cutOff?.why]),
    ]),
  ]);
}

export function watchChain({ fleet, catalog, world }: Pick<Deck, 'fleet' | 'catalog' | 'world'>): ChainWatch {
  const listeners = new Set<() => void>();
  let view: MediaChain | undefined;
  let seen: string | undefined;
  let looking: AbortController | undefined;
  let reading = false;

  async function read(signal: AbortSignal): Promise<void> {
    if (reading) return;
    reading = true;
    try {
      // What was told while it was read is read next.
      for (let snapshot = fleet.snapshot(); !signal.aborted && tellingOf(snapshot) !== seen; snapshot = fleet.snapshot()) {
        seen = tellingOf(snapshot);
        const { readChain } = await import('../fleet/media-chain.ts');
        const next = await readChain(catalog.entries, snapshot, async (host, containerId) =>
          world.engineOf(host).inspect(containerId, signal),
        );
        if (signal.aborted) break;
        view = next;
        for (const listener of [...listeners]) listener();
      }
    } finally {
      reading = false;
    }
  }

  return {
    view: () => view,
    look() {
      const mine = new AbortController();
      looking?.abort();
      looking = mine;
      seen = undefined;
      const begin = () => void read(mine.signal);
      const stop = fleet.subscribe(begin);
      begin();
      return () => {
        stop();
        mine.abort();
      };
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
