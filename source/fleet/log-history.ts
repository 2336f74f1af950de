import type { LogLine } from '../engine/engine.ts';
import type { LogBatch } from '../engine/log-batch.ts';
import { type BackEdge, gluedLines, isSame, overlapLines } from './log-edge.ts';
import { type KeptEntry, keptEntry } from './log-entry.ts';
import type { LogTarget } from './log-targets.ts';

/** So few lines are asked for from the end of a log without any other bound: that is right whatever its clock did. */
const nearLines = 20_000;
/** Podman's `tail` takes a time that grows with the square of it: 20,000 lines 3 s, 100,000 lines 45 s (4.3, measured). */
const podmanTailLines = 8_000;
/** Docker writes the two streams of a program down out of order by less than this. */
const outOfOrderMs = 20;
const slackLines = 64;
const charactersAtOnce = 16_000_000;
const firstWindowMs = 10_000;
const widestWindowMs = 400 * 24 * 3_600_000;

export interface HistoryPage {
  /** In the order of the log. */
  lines: KeptEntry[];
  /** Nothing more is there in this direction. */
  reached: boolean;
}

export interface ForthEdge {
  /** Of the log, up to the edge. */
  known: readonly KeptEntry[];
  /** Where none is known: only what is not older. */
  afterMs: number | undefined;
  behind: number | undefined;
}

/**
 * Up to `count` lines of one container's log before an edge. An engine takes `tail` from the end of its log, and only then leaves out what is
 * not in `since` and `until` (Docker 20.10 and Podman 4.3, seen). So where the lines behind the edge are counted it is asked for those and
 * `count` more, which it finds from the end of the file; otherwise for windows of time, each longer than the one before. What is known already is found in the
 * answer, and left out.
 *
 * Podman 4.3 glues the first piece of a line that came in pieces to the line before it when it is asked for `tail`.
 */
export async function linesBefore(target: LogTarget, edge: BackEdge, count: number, signal: AbortSignal): Promise<HistoryPage> {
  const [first] = edge.known;
  const edgeMs = first ? first.timeMs : edge.beforeMs;
  const page = (lines: readonly LogLine[], end: number, reached: boolean): HistoryPage => {
    const start = Math.max(0, end - count);
    const ordinal = first?.ordinal;
    const kept = lines
      .slice(start, end)
      .map((line, at) => keptEntry(line, target, 0, ordinal === undefined ? undefined : ordinal - (end - start) + at));
    return { lines: kept, reached: reached && start === 0 };
  };
  const untils = edgeMs === undefined ? [undefined] : [untilOf(edgeMs), edgeMs + 3_000, undefined];

  const mostTail = target.kind === 'podman' ? podmanTailLines : nearLines * 10_000;
  let tail = (edge.behind ?? Number.POSITIVE_INFINITY) + count + slackLines;
  if (tail <= mostTail) {
    let step = tail <= nearLines ? untils.length - 1 : 0;
    let before: number | undefined;
    while (tail <= mostTail) {
      const untilMs = untils[step];
      const window = { tail, ...(untilMs !== undefined && { untilMs }) };
      const { lines, dropped, isCut } = await read(target, window, count + nearLines, signal, untilMs === undefined ? edge.known : []);
      const isWhole = untilMs === undefined && !isCut && lines.length + dropped < tail;
      const end = placeBefore(lines, edge);
      if (end === undefined) {
        // Rotated away, and all that was before it too.
        if (isWhole) return { lines: [], reached: true };
        if (step < untils.length - 1) step++;
        else tail *= 4;
        continue;
      }
      if (end >= count || dropped > 0) return page(lines, end, false);
      // Asked for more, and none came: there is none.
      if (isWhole || ((untilMs !== undefined || isCut) && before === end)) return page(lines, end, true);
      before = end;
      tail = Math.max(tail * 2, tail + count * 2);
    }
  }

  const fromMs = edgeMs ?? Date.now();
  let step = 0;
  for (let windowMs = windowFor(edge.known, count); ; ) {
    const untilMs = untils[step];
    const isAll = windowMs > widestWindowMs;
    const window = { ...(!isAll && { sinceMs: Math.max(0, fromMs - windowMs) }), ...(untilMs !== undefined && { untilMs }) };
    const { lines, dropped } = await read(target, window, count + nearLines, signal);
    const end = placeBefore(lines, edge);
    if (end === undefined) {
      if (step < untils.length - 1) step++;
      else if (isAll) return { lines: [], reached: true };
      else windowMs *= 8;
    } else if (end >= count || dropped > 0 || isAll) return page(lines, end, isAll && dropped === 0);
    else windowMs *= 8;
  }
}

/** Up to `count` lines of one container's log after an edge. The engine is asked from the second of the edge on, and no further than needed. */
export async function linesAfter(target: LogTarget, edge: ForthEdge, count: number, signal: AbortSignal): Promise<HistoryPage> {
  const last = edge.known.at(-1);
  const edgeMs = last ? last.timeMs : edge.afterMs;
  const isNear = (edge.behind ?? Number.POSITIVE_INFINITY) + slackLines <= (target.kind === 'podman' ? podmanTailLines : nearLines);
  const window = isNear
    ? { tail: (edge.behind ?? 0) + slackLines }
    : edgeMs === undefined
      ? {}
      : { sinceMs: last ? edgeMs - outOfOrderMs : edgeMs };
  let lines: LogLine[] = [];
  let place: Place | undefined;
  let isCut = false;
  const ending = new AbortController();
  const forward = () => ending.abort(signal.reason);
  signal.addEventListener('abort', forward, { once: true });
  try {
    for await (const batch of open(target, window, ending.signal)) {
      const from = lines.length;
      for (const line of batch) lines.push(line);
      place = placeAfter(lines, from, edge, place);
      if (place && lines.length - place.at > count + overlapLines) {
        isCut = true;
        break;
      }
      // What comes before the edge is needed for comparing only.
      if (!place && lines.length > nearLines * 2) lines = lines.slice(-overlapLines);
    }
  } finally {
    signal.removeEventListener('abort', forward);
    ending.abort();
  }
  signal.throwIfAborted();
  for (let skipped = 1; !place && skipped <= gluedLines && skipped < edge.known.length; skipped++) {
    const found = placeAfter(lines, 0, { ...edge, known: edge.known.slice(0, -skipped) }, undefined);
    if (found) place = { at: found.at + skipped, length: found.length };
  }
  // An edge that is in the log no more was its oldest line: what is newer follows it.
  const start = place?.at ?? firstIndex(lines, (line) => (line.timeMs ?? 0) > (edgeMs ?? 0));
  const end = Math.min(lines.length, start + count);
  const ordinal = last?.ordinal;
  const kept = lines
    .slice(start, end)
    .map((line, at) => keptEntry(line, target, 0, ordinal === undefined || start === 0 ? undefined : ordinal + 1 + at));
  return { lines: kept, reached: !isCut && end === lines.length };
}

type Window = { tail?: number; sinceMs?: number; untilMs?: number };

async function* open(target: LogTarget, window: Window, signal: AbortSignal): AsyncGenerator<LogBatch> {
  if (target.engine) yield* target.engine.logs(target.container, { signal, follow: false, tty: target.tty, ...window });
}

/**
 * The last `most` lines of an answer, or fewer where they are long. Where known lines are given it is not read on behind them: what lies there can be
 * a hundred times as much.
 */
async function read(
  target: LogTarget,
  window: Window,
  most: number,
  signal: AbortSignal,
  known: readonly KeptEntry[] = [],
): Promise<{ lines: readonly LogLine[]; dropped: number; isCut: boolean }> {
  let lines: LogLine[] = [];
  let dropped = 0;
  let characters = 0;
  let found: number | undefined;
  for await (const batch of open(target, window, signal)) {
    for (const line of batch) {
      characters += line.text.length;
      if (found === undefined && isSame(line, known[0])) found = lines.length;
      lines.push(line);
    }
    if (found !== undefined && lines.length - found >= overlapLines) return { lines, dropped, isCut: true };
    if (found !== undefined || (lines.length < most * 2 && characters < charactersAtOnce)) continue;
    const half = lines.length >> 1;
    dropped += half;
    lines = lines.slice(half);
    characters = lines.reduce((sum, { text }) => sum + text.length, 0);
  }
  signal.throwIfAborted();
  return { lines, dropped, isCut: false };
}

/** As long as so many lines take where the known ones were written. */
function windowFor(known: readonly KeptEntry[], count: number): number {
  const spanMs = (known.at(-1)?.timeMs ?? 0) - (known[0]?.timeMs ?? 0);
  return known.length < 50 || spanMs <= 0 ? firstWindowMs : Math.max(1_000, (spanMs / known.length) * count * 1.5);
}

/** The engine's own time is finer than ours: to the next millisecond, or, where it has whole seconds only, to the next of those. */
function untilOf(timeMs: number): number {
  return timeMs % 1000 === 0 ? timeMs + 1000 : timeMs + 1;
}

/** Where the known lines begin in an answer. Undefined where they are not in it. */
function placeBefore(lines: readonly LogLine[], edge: BackEdge): number | undefined {
  for (let skipped = 0; skipped <= gluedLines; skipped++) {
    const known = edge.known.slice(skipped);
    if (skipped > 0 && known.length === 0) return undefined;
    const place = placeOf(lines, { ...edge, known });
    if (place !== undefined) return Math.max(0, place - skipped);
  }
  return undefined;
}

/** Where most of the known lines agree, or the last such place. */
function placeOf(lines: readonly LogLine[], { known, beforeMs }: BackEdge): number | undefined {
  if (known.length === 0) {
    if (beforeMs === undefined) return lines.length;
    let end = lines.length;
    while (end > 0 && (lines[end - 1]?.timeMs ?? 0) > beforeMs) end--;
    return end;
  }
  let best: number | undefined;
  let bestLength = 0;
  for (let at = lines.length - 1; at >= 0; at--) {
    if (!isSame(lines[at], known[0])) continue;
    let length = 1;
    while (length < known.length && at + length < lines.length && isSame(lines[at + length], known[length])) length++;
    if (length > bestLength) {
      best = at;
      bestLength = length;
    }
    if (length === known.length) break;
  }
  return best;
}

interface Place {
  at: number;
  /** Known lines that agree before it. */
  length: number;
}

/** Where what follows the known lines begins in an answer, of which all before `from` was looked at. */
function placeAfter(lines: readonly LogLine[], from: number, { known, afterMs }: ForthEdge, before: Place | undefined): Place | undefined {
  const last = known.at(-1);
  if (!last) {
    if (before) return before;
    const at = afterMs === undefined ? from : lines.findIndex((line, index) => index >= from && (line.timeMs ?? 0) >= afterMs);
    return at < 0 ? undefined : { at, length: 0 };
  }
  let best = before;
  for (let at = from; at < lines.length && best?.length !== known.length; at++) {
    if (!isSame(lines[at], last)) continue;
    let length = 1;
    while (length < known.length && at - length >= 0 && isSame(lines[at - length], known[known.length - 1 - length])) length++;
    if (length > (best?.length ?? 0)) best = { at: at + 1, length };
  }
  return best;
}

function firstIndex<T>(all: readonly T[], is: (one: T) => boolean): number {
  const at = all.findIndex(is);
  return at < 0 ? all.length : at;
}
