import type { QuarterdeckApp } from '../app/app.ts';
import type { InterfaceStore } from './interface-store.ts';

/** Runs after the first frames, because nothing depends on it. */
const firstLookMs = 400;

export function watchInterrupted(app: QuarterdeckApp, store: InterfaceStore) {
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const look = async () => {
    const unfinished = await app.unfinished(closing.signal).catch(() => undefined);
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
