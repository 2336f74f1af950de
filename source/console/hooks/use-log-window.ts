import { useEffect, useReducer } from 'react';
import type { LogSource } from '../../fleet/log-store.ts';
import { useParts } from '../context.ts';
import type { LogWindow } from '../log-view.ts';

/** At most so often is a log drawn. */
const frameMs = 1000 / 15;

/** The log that is looked at, filtered; drawn anew at most 15 times a second, and only while it is `shown`. */
export function useLogWindow(filter: string, shown = true): { window: LogWindow; source: LogSource | undefined } {
  const { logs } = useParts();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (!shown) return;
    let timer: NodeJS.Timeout | undefined;
    let lastMs = Number.NEGATIVE_INFINITY;
    const draw = () => {
      timer = undefined;
      lastMs = performance.now();
      redraw();
    };
    const stop = logs.subscribe(() => {
      timer ??= setTimeout(draw, Math.max(0, lastMs + frameMs - performance.now()));
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [logs, shown]);
  return { window: logs.window(filter), source: logs.source() };
}
