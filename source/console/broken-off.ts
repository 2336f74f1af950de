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
  let running = 0;
  const look = async () => {
    const unfinished = await deck.unfinished(closing.signal).catch(() => undefined);
    if (!unfinished || closing.signal.aborted) return;
    store.update((state) => (JSON.stringify(state.unfinished) === JSON.stringify(unfinished) ? {} : { unfinished }));
  };
  const stop = store.subscribe(() => {
    const before = running;
    running = store.get().runs.filter(({ state }) => state === 'running').length;
    if (running < before) void look();
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
