import type { Deck } from '../terminal/deck.ts';
import type { InterfaceStore } from './interface-store.ts';

/** Behind the first frames: nobody waits for it. */
const firstLookMs = 400;

export interface BrokenOff {
  /** Once the screen is there. */
  begin(): void;
  /** When a flow has ended: that may have been what went on with it, or broke off itself. */
  look(): void;
  close(): void;
}

/** Keeps what broke off in the store: looked for when the console starts, and after every flow. */
export function watchBrokenOff(deck: Deck, store: InterfaceStore): BrokenOff {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const look = async () => {
    const unfinished = await deck.unfinished(closing.signal).catch(() => undefined);
    if (!unfinished || closing.signal.aborted) return;
    store.update((state) => (JSON.stringify(state.unfinished) === JSON.stringify(unfinished) ? {} : { unfinished }));
  };
  return {
    begin() {
      timer ??= setTimeout(() => void look(), firstLookMs);
    },
    look: () => void look(),
    close() {
      clearTimeout(timer);
      closing.abort();
    },
  };
}
