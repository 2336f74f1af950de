/** Who waits for a frame: `key`, somebody who pressed one; `fact`, something that became known; `log`, lines that came in. */
export type Haste = 'key' | 'fact' | 'log';

/**
 * When the screen is drawn. Whoever has something new to show asks for a frame, and all who asked are called together, so that one frame shows it all.
 * A key is shown at once, facts 30 times a second and logs 15 times at most; over a slow link both less often.
 */
export interface Frames {
  /** Calls `draw` with the next frame, once however often it was asked for. */
  ask(draw: () => void, haste: Haste): void;
  /** A `subscribe` whose listeners are called with frames. */
  paced(subscribe: (listener: () => void) => () => void, haste: Haste): (listener: () => void) => () => void;
  /** The terminal took a frame. */
  written(tookMs: number, sizeBytes: number): void;
  /** Draws now what waits. */
  flush(): void;
  close(): void;
}

/** After the frame before. A key waits for a key alone: those of one hand on the keyboard are drawn together, no other is held up. */
const gapMs: Readonly<Record<Haste, number>> = { key: 8, fact: 1000 / 30, log: 1000 / 15 };
/** Facts that come together are drawn together: the second's new figures and the second itself. */
const companyMs = 4;
/**
 * How often the time that the link needs for a frame passes before the next one: a link that is always busy with frames lets a key wait behind what is queued in
 * it. A key itself never waits here: whoever types faster than the link is held up by the link, and then drawn together.
 */
const spacing: Readonly<Record<Haste, number>> = { key: 0, fact: 2, log: 2 };
const mostSpacingMs = 1000;
/** A write that took so long has waited for room in the queue to the terminal; a shorter one tells nothing. */
const blockedMs = 2;
/**
 * Between two such writes the queue was full at both ends, so what was written in between has gone through: that is the speed of the link. One that has
 * waited tells less, since it waited for a part of the queue only; this is how far it may be wrong.
 */
const recentMs = 3000;
const mostMistaken = 3;
/** With each frame that need not wait; a link is as slow as a moment ago. */
const forgetting = 0.99;
const fastMsPerByte = 1 / 10_000;

export function createFrames(): Frames {
  const waiting = new Set<() => void>();
  let lastMs = Number.NEGATIVE_INFINITY;
  let lastKeyMs = Number.NEGATIVE_INFINITY;
  let dueMs = Number.POSITIVE_INFINITY;
  let keyWaits = false;
  let msPerByte = 0;
  let blockedAtMs = Number.NEGATIVE_INFINITY;
  let bytesSince = 0;
  /** What the link needs for the last frame. */
  let linkMs = 0;
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
      const wantedMs = Math.max(nowMs, soonestMs, lastMs + Math.min(mostSpacingMs, spacing[haste] * linkMs));
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
    written(tookMs, sizeBytes) {
      const nowMs = performance.now();
      bytesSince += sizeBytes;
      if (tookMs >= blockedMs && sizeBytes > 0) {
        const waited = tookMs / sizeBytes;
        const between = (nowMs - blockedAtMs) / bytesSince;
        const told = nowMs - blockedAtMs < recentMs ? Math.min(between, mostMistaken * waited) : waited;
        msPerByte = Math.max(told, msPerByte * forgetting);
        blockedAtMs = nowMs;
        bytesSince = 0;
      } else msPerByte = msPerByte > fastMsPerByte ? msPerByte * forgetting : 0;
      linkMs = sizeBytes * msPerByte;
      lastMs = nowMs;
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
