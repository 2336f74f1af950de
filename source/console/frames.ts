import { keysFirst } from '../hosts/key-priority.ts';

/** Who waits for a frame: `key`, somebody who pressed one; `fact`, something that became known; `log`, lines that came in. */
export type Haste = 'key' | 'fact' | 'log';

/**
 * When the screen is drawn. Whoever has something new to show asks for a frame, and those who asked are called together, so that one frame shows it all.
 * A key is shown at once and alone: a frame with the lines of a busy log takes several times as long. Facts are shown 30 times a second and logs 15 times at
 * most; over a slow link both less often, and logs on a busy machine too.
 */
export interface Frames {
  /** Calls `draw` with the next frame of its haste, once however often it was asked for. */
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
const spacing = 2;
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
/** A key that comes while log lines are drawn waits for that: where it takes long, it is done less often, for a tenth of the time. */
const logShare = 10;
const mostLogGapMs = 330;
/** Whoever pressed a key so recently is about to press another one: where drawing the log is slow enough to be felt, it is left for that, all but a little. */
const typingMs = 400;
const feltMs = 8;
const typingLogShare = 50;
const mostTypingLogGapMs = 1000;
/** Of the cost of the log frame before. */
const remembering = 0.8;

export function createFrames(): Frames {
  const keyed = new Set<() => void>();
  const waiting = new Map<() => void, { haste: Haste; wantedMs: number }>();
  const last: Record<Haste, number> = { key: Number.NEGATIVE_INFINITY, fact: Number.NEGATIVE_INFINITY, log: Number.NEGATIVE_INFINITY };
  let lastMs = Number.NEGATIVE_INFINITY;
  let msPerByte = 0;
  let blockedAtMs = Number.NEGATIVE_INFINITY;
  let bytesSince = 0;
  /** What the link needs for the last frame. */
  let linkMs = 0;
  let logDrawnMs: number | undefined;
  /** Making a frame with new log lines, without what the terminal takes for it. */
  let logCostMs = 0;
  let keyTimer: NodeJS.Timeout | undefined;
  let timer: NodeJS.Timeout | undefined;
  let dueMs = Number.POSITIVE_INFINITY;
  let closed = false;

  function gapFor(haste: Haste): number {
    if (haste !== 'log') return gapMs[haste];
    const isTyping = logCostMs > feltMs && performance.now() - last.key < typingMs;
    const wantedMs = isTyping ? Math.min(mostTypingLogGapMs, typingLogShare * logCostMs) : Math.min(mostLogGapMs, logShare * logCostMs);
    return Math.max(gapMs.log, wantedMs);
  }

  function drawKeys(): void {
    clearTimeout(keyTimer);
    keyTimer = undefined;
    if (keyed.size === 0) return;
    const drawing = [...keyed];
    keyed.clear();
    lastMs = last.key = performance.now();
    // What waits for its turn waits for the next key too.
    const logMs = last.log + gapFor('log');
    for (const [draw, { haste, wantedMs }] of waiting)
      if (haste === 'log' && wantedMs < logMs) waiting.set(draw, { haste, wantedMs: logMs });
    for (const draw of drawing) draw();
  }

  function drawUntil(untilMs: number): void {
    clearTimeout(timer);
    timer = undefined;
    dueMs = Number.POSITIVE_INFINITY;
    if (waiting.size === 0) return;
    lastMs = performance.now();
    const drawing: (() => void)[] = [];
    for (const [draw, { haste, wantedMs }] of waiting) {
      if (wantedMs > untilMs) {
        wake(wantedMs);
        continue;
      }
      waiting.delete(draw);
      drawing.push(draw);
      last[haste] = lastMs;
      if (haste === 'log') logDrawnMs = lastMs;
    }
    for (const draw of drawing) draw();
  }

  function wake(wantedMs: number): void {
    if (wantedMs >= dueMs) return;
    dueMs = wantedMs;
    clearTimeout(timer);
    timer = setTimeout(() => drawUntil(performance.now() + companyMs), Math.max(0, Math.ceil(wantedMs - performance.now())));
  }

  const frames: Frames = {
    ask(draw, haste) {
      if (closed) return;
      const nowMs = performance.now();
      if (haste === 'key') {
        keysFirst(typingMs);
        keyed.add(draw);
        const soonestMs = last.key + gapMs.key;
        if (soonestMs > nowMs) keyTimer ??= setTimeout(drawKeys, Math.ceil(soonestMs - nowMs));
        // As soon as all keys of this read are handled.
        else if (keyed.size === 1) queueMicrotask(drawKeys);
        return;
      }
      const wantedMs = Math.max(nowMs + companyMs, last[haste] + gapFor(haste), lastMs + Math.min(mostSpacingMs, spacing * linkMs));
      if (wantedMs >= (waiting.get(draw)?.wantedMs ?? Number.POSITIVE_INFINITY)) return;
      waiting.set(draw, { haste, wantedMs });
      wake(wantedMs);
    },
    paced: (subscribe, haste) => (listener) => {
      const stop = subscribe(() => frames.ask(listener, haste));
      return () => {
        stop();
        waiting.delete(listener);
        keyed.delete(listener);
      };
    },
    written(tookMs, sizeBytes) {
      const nowMs = performance.now();
      if (logDrawnMs !== undefined) {
        // The link has a spacing of its own.
        logCostMs = Math.max(nowMs - logDrawnMs - tookMs, logCostMs * remembering);
        logDrawnMs = undefined;
      }
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
    flush() {
      drawKeys();
      drawUntil(Number.POSITIVE_INFINITY);
    },
    close() {
      closed = true;
      clearTimeout(keyTimer);
      clearTimeout(timer);
      keyed.clear();
      waiting.clear();
    },
  };
  return frames;
}
