import type { Engine } from '../engine/engine.ts';

/** What is read of an engine here. */
export type LogEngine = Pick<Engine, 'logs'>;

/**
 * The logs of an engine whose machine's clock is ahead of ours, told by ours: what is asked for and what is answered. Sources of one reading keep the difference
 * that was seen first: a line that is read twice has to have the same time.
 */
export function byOurClock(engine: LogEngine, aheadMs: number): LogEngine {
  if (aheadMs === 0) return engine;
  return {
    async *logs(id, { sinceMs, untilMs, ...options }) {
      const range = {
        ...(sinceMs !== undefined && { sinceMs: sinceMs + aheadMs }),
        ...(untilMs !== undefined && { untilMs: untilMs + aheadMs }),
      };
      for await (const batch of engine.logs(id, { ...options, ...range })) yield batch.moved(-aheadMs);
    },
  };
}
