import type { Deck } from '../terminal/deck.ts';
import type { InterfaceStore } from './interface-store.ts';

/** Behind the first frames: nobody waits for it. */
const firstLookMs = 400;

export interface BrokenOff {
  /** Once the screen is there. */
  begin(): void;
  close(): void;
}

/** Keeps what broke off in the store: looked for when the console starts, and when a flow has ended, as that may have been what went on with it, or broke off itself. */
export function watchBrokenOff(deck: Deck, store: InterfaceStore): BrokenOff {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let ended: ReadonlySet<number> = new Set();
  const look = async () => {
    const unfinished = await deck.unfinished(closing.signal).catch(() => undefined);
    if (!unfinished || closing.signal.aborted) return;
    store.update((state) => (JSON.stringify(state.unfinished) === JSON.stringify(unfinished) ? {} : { unfinished }));
  };
  const stop = store.subscribe(() => {
    const before = ended;
    ended = new Set(store.get().runs.flatMap(({ id, state }) => (state === 'running' ? [] : [id])));
    // By name, not by number: one may have begun and ended since the last time.
    if ([...ended].some((id) => !before.has(id))) void look();
  });
  return {
    begin() {
      timer ??= setTimeout(() => void look(), firstLookMs);
    },
    close() {
      stop();
      clearTimeout(timer);
      closing.abort();
    },
  };
}
