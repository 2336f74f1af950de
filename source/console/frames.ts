/** The reason for a frame: `key`, a key was pressed; `fact`, the state changed; `log`, lines arrived. */
export type Haste = 'key' | 'fact' | 'log';

/** Minimum time since the previous frame. A key waits only for the frame of another key. */
const gapMs: Readonly<Record<Haste, number>> = { key: 8, fact: 1000 / 30, log: 1000 / 15 };
/** Facts that arrive together are drawn together: the new statistics of each second and the clock itself. */
const companyMs = 4;
/** Multiple of the link's time per frame to leave before the next one: otherwise a key waits behind the queued data. */
const spacing = 2;
const mostSpacingMs = 1000;
/** A write that took this long has waited for space in the queue to the terminal; a shorter one says nothing about the link. */
const blockedMs = 2;
// Between two such writes the queue was full at both ends: the bytes written in between give the speed of the link. A single blocked write
// waited for only part of the queue: its speed may be wrong by the factor `mostMistaken`.
const recentMs = 3000;
const mostMistaken = 3;
/** Factor for each frame that need not wait; the estimate of a slow link decays slowly. */
const forgetting = 0.99;
const fastMsPerByte = 1 / 10_000;
/** A key pressed while log lines are drawn waits for them: where drawing is slow, it is done less often, and takes a tenth of the time. */
const logShare = 10;
const mostLogGapMs = 330;
/** After a recent key another one is likely: where drawing the log is slow enough to be noticed, it is postponed almost completely. */
const typingMs = 400;
const feltMs = 8;
const typingLogShare = 50;
const mostTypingLogGapMs = 1000;
const remembering = 0.8;

/**
 * Callers with changes to show request a frame, and all of them are called together. A key is drawn at once and alone: a frame with the
 * lines of a busy log takes several times as long. Over a slow link facts and logs are drawn less often, and logs on a busy machine too.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the three kinds of frames wait for one another
export function createFrames() {
  const keyed = new Set<() => void>();
  const waiting = new Map<() => void, { haste: Haste; wantedMs: number }>();
  const last: Record<Haste, number> = { key: Number.NEGATIVE_INFINITY, fact: Number.NEGATIVE_INFINITY, log: Number.NEGATIVE_INFINITY };
  let lastMs = Number.NEGATIVE_INFINITY;
  let msPerByte = 0;
  let blockedAtMs = Number.NEGATIVE_INFINITY;
  let bytesSince = 0;
  /** The time that the link needs for the last frame. */
  let linkMs = 0;
  let logDrawnMs: number | undefined;
  /** The time to create a frame with new log lines, without that of the terminal. */
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
    // Pending frames also leave time for the next key.
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

  /** Calls `draw` once with the next frame of its haste, however often it was requested. */
  function ask(draw: () => void, haste: Haste): void {
    if (closed) return;
    const nowMs = performance.now();
    if (haste === 'key') {
      keyed.add(draw);
      const soonestMs = last.key + gapMs.key;
      if (soonestMs > nowMs) keyTimer ??= setTimeout(drawKeys, Math.ceil(soonestMs - nowMs));
      // Drawn as soon as all keys of this read are handled.
      else if (keyed.size === 1) queueMicrotask(drawKeys);
      return;
    }
    const wantedMs = Math.max(nowMs + companyMs, last[haste] + gapFor(haste), lastMs + Math.min(mostSpacingMs, spacing * linkMs));
    if (wantedMs >= (waiting.get(draw)?.wantedMs ?? Number.POSITIVE_INFINITY)) return;
    waiting.set(draw, { haste, wantedMs });
    wake(wantedMs);
  }

  return {
    ask,
    paced: (subscribe: (listener: () => void) => () => void, haste: Haste) => (listener: () => void) => {
      const stop = subscribe(() => ask(listener, haste));
      return () => {
        stop();
        waiting.delete(listener);
        keyed.delete(listener);
      };
    },
    written(tookMs: number, sizeBytes: number) {
      const nowMs = performance.now();
      if (logDrawnMs !== undefined) {
        // The link has its own spacing.
        logCostMs = Math.max(nowMs - logDrawnMs - tookMs, logCostMs * remembering);
        logDrawnMs = undefined;
      }
      bytesSince += sizeBytes;
      if (tookMs >= blockedMs && sizeBytes > 0) {
        const waited = tookMs / sizeBytes;
        const between = (nowMs - blockedAtMs) / bytesSince;
        const reported = nowMs - blockedAtMs < recentMs ? Math.min(between, mostMistaken * waited) : waited;
        msPerByte = Math.max(reported, msPerByte * forgetting);
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
}

export type Frames = ReturnType<typeof createFrames>;
