/** Who waits for a frame: `key`, somebody who pressed one; `fact`, something that became known; `log`, lines that came in. */
export type Haste = 'key' | 'fact' | 'log';

/**
 * When the screen is drawn. Whoever has something new to show asks for a frame, and all who asked are called together, so that one frame shows it all.
 * A key is shown at once, facts 30 times a second and logs 15 times at most; on a terminal that takes long to take a frame, all of them less often.
 */
export interface Frames {
  /** Calls `draw` with the next frame, once however often it was asked for. */
  ask(draw: () => void, haste: Haste): void;
  /** A `subscribe` whose listeners are called with frames. */
  paced(subscribe: (listener: () => void) => () => void, haste: Haste): (listener: () => void) => () => void;
  /** The terminal took the frame, in so many milliseconds. */
  written(tookMs: number): void;
  /** Draws now what waits. */
  flush(): void;
  close(): void;
}

/** After the frame before. A key waits for a key alone: those of one hand on the keyboard are drawn together, no other is held up. */
const gapMs: Readonly<Record<Haste, number>> = { key: 8, fact: 1000 / 30, log: 1000 / 15 };
/** Facts that come together are drawn together: the second's new figures and the second itself. */
const companyMs = 10;
/**
 * Between two frames, in times of what the terminal takes for one: a link that is busy with frames lets a key wait behind them. Measured at 50 KB/s, where a
 * key took 324 ms to show without, and 67 with it.
 */
const spacing: Readonly<Record<Haste, number>> = { key: 2, fact: 6, log: 6 };
/** Of the moving average of writing times. */
const newShare = 0.25;

export function createFrames(): Frames {
  const waiting = new Set<() => void>();
  let lastMs = Number.NEGATIVE_INFINITY;
  let lastKeyMs = Number.NEGATIVE_INFINITY;
  let dueMs = Number.POSITIVE_INFINITY;
  let keyWaits = false;
  let writingMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    dueMs = Number.POSITIVE_INFINITY;
    if (waiting.size === 0) return;
    const drawing = [...waiting];
    waiting.clear();
    lastMs = performance.now();
    if (keyWaits) lastKeyMs = lastMs;
    keyWaits = false;
    for (const draw of drawing) draw();
  };

  const frames: Frames = {
    ask(draw, haste) {
      if (closed) return;
      waiting.add(draw);
      const nowMs = performance.now();
      if (haste === 'key') keyWaits = true;
      const soonestMs = haste === 'key' ? lastKeyMs + gapMs.key : Math.max(nowMs + companyMs, lastMs + gapMs[haste]);
      const wantedMs = Math.max(nowMs, soonestMs, lastMs + spacing[haste] * writingMs);
      if (wantedMs >= dueMs) return;
      dueMs = wantedMs;
      clearTimeout(timer);
      timer = undefined;
      if (wantedMs > nowMs) timer = setTimeout(flush, Math.ceil(wantedMs - nowMs));
      // As soon as all keys of this read are handled.
      else queueMicrotask(() => dueMs === wantedMs && flush());
    },
    paced: (subscribe, haste) => (listener) => {
      const stop = subscribe(() => frames.ask(listener, haste));
      return () => {
        stop();
        waiting.delete(listener);
      };
    },
    written(tookMs) {
      writingMs += (tookMs - writingMs) * newShare;
      lastMs = performance.now();
    },
    flush,
    close() {
      closed = true;
      clearTimeout(timer);
      waiting.clear();
    },
  };
  return frames;
}
