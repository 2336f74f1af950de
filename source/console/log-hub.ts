import type { LogEntry, LogSource, Logs } from '../fleet/log-store.ts';
import { createLogMatches, type LogMatches, type LogWindow } from './log-view.ts';

/**
 * The one log that is looked at. Several panes and the keys share it, so that it is followed once and its filter is applied once.
 */
export interface LogHub {
  /** Follows this component from now on, and nothing else. */
  look(componentKey: string | undefined): void;
  source(): LogSource | undefined;
  /** Lines that pass the filter. Cheap when nothing changed. */
  window(filter: string): LogWindow;
  subscribe(listener: () => void): () => void;
  close(): void;
}

const none: readonly LogEntry[] = [];

export function createLogHub(logs: Logs): LogHub {
  let open: { source: LogSource; close: () => void } | undefined;
  let stop: (() => void) | undefined;
  let matches: LogMatches = createLogMatches();
  let last: { entries: readonly LogEntry[]; filter: string; window: LogWindow } | undefined;
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of [...listeners]) listener();
  };

  const leave = () => {
    stop?.();
    open?.close();
    open = undefined;
    stop = undefined;
    last = undefined;
    matches = createLogMatches();
  };

  return {
    look(componentKey) {
      if (open?.source.componentKey === componentKey) return;
      leave();
      if (componentKey !== undefined) {
        open = logs.open(componentKey);
        stop = open.source.subscribe(tell);
      }
      tell();
    },
    source: () => open?.source,
    window(filter) {
      const entries = open?.source.entries() ?? none;
      if (!last || last.entries !== entries || last.filter !== filter) {
        last = { entries, filter, window: matches.update(entries, filter) };
      }
      return last.window;
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      leave();
      listeners.clear();
    },
  };
}
