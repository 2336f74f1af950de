import type { LogLine } from '../engine/engine.ts';
import type { LogBatch } from '../engine/log-batch.ts';
import { EdgeFinder, type HistoryEdge, isSame, maxJoinedLines, overlapLines } from './edge.ts';
import { type KeptEntry, keptEntry } from './entry.ts';
import type { LogTarget } from './targets.ts';

/** This few lines are read from the end of a log without any other bound: that is correct regardless of clock changes. */
const nearLines = 20_000;
/** The time of Podman's `tail` grows with the square of its value: 20,000 lines 3 s, 100,000 lines 45 s (4.3, measured). */
const podmanTailLines = 8_000;
/** Docker records the two streams of a program out of order by less than this. */
const outOfOrderMs = 20;
const slackLines = 64;
const charactersAtOnce = 16_000_000;
const firstWindowMs = 10_000;
const widestWindowMs = 400 * 24 * 3_600_000;

export interface HistoryPage {
  lines: KeptEntry[];
  reached: boolean;
}

/**
 * Returns up to `count` lines of one container's log before an edge. An engine applies `tail` to the end of its log first, and only then
 * `since` and `until` (Docker 20.10 and Podman 4.3, observed). So if the lines after the edge are counted, the query is for those plus
 * `count`, which the engine finds from the end of the file; otherwise for windows of time, each longer than the previous one. Known lines
 * in the response are left out.
 *
 * With `tail`, Podman 4.3 joins the first piece of a split line to the line before it.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: its queries are fallbacks of each other, in this order
export async function linesBefore(target: LogTarget, edge: HistoryEdge, count: number, signal: AbortSignal): Promise<HistoryPage> {
  const [first] = edge.known;
  const edgeMs = first ? first.timeMs : edge.timeMs;
  const page = (lines: readonly LogLine[], end: number, reached: boolean): HistoryPage => {
    const start = Math.max(0, end - count);
    const ordinal = first?.ordinal === undefined ? undefined : first.ordinal - (end - start);
    return { lines: numbered(lines.slice(start, end), target, ordinal), reached: reached && start === 0 };
  };
  const untils = edgeMs === undefined ? [undefined] : [untilOf(edgeMs), edgeMs + 3_000, undefined];

  const mostTail = target.kind === 'podman' ? podmanTailLines : nearLines * 10_000;
  let tail = (edge.linesToEnd ?? Number.POSITIVE_INFINITY) + count + slackLines;
  if (tail <= mostTail) {
    let step = tail <= nearLines ? untils.length - 1 : 0;
    let before: number | undefined;
    while (tail <= mostTail) {
      const untilMs = untils[step];
      const window = { tail, ...(untilMs !== undefined && { untilMs }) };
      const { lines, dropped, isCut } = await read(target, window, count + nearLines, signal, untilMs === undefined ? edge.known : []);
      const isWhole = untilMs === undefined && !isCut && lines.length + dropped < tail;
      const end = positionBefore(lines, edge);
      if (end === undefined) {
        // Rotated out of the log, and everything before it too.
        if (isWhole) return { lines: [], reached: true };
        if (step < untils.length - 1) step++;
        else tail *= 4;
        continue;
      }
      if (end >= count || dropped > 0) return page(lines, end, false);
      // More lines were requested and none came: there are no more.
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
    const end = positionBefore(lines, edge);
    if (end === undefined) {
      if (step < untils.length - 1) step++;
      else if (isAll) return { lines: [], reached: true };
      else windowMs *= 8;
    } else if (end >= count || dropped > 0 || isAll) return page(lines, end, isAll && dropped === 0);
    else windowMs *= 8;
  }
}

/** Returns up to `count` lines of one container's log after an edge, and reads no further than needed. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: reading stops as soon as the page and its edge are known
export async function linesAfter(target: LogTarget, edge: HistoryEdge, count: number, signal: AbortSignal): Promise<HistoryPage> {
  const last = edge.known.at(-1);
  const edgeMs = last ? last.timeMs : edge.timeMs;
  const isNear = (edge.linesToEnd ?? Number.POSITIVE_INFINITY) + slackLines <= (target.kind === 'podman' ? podmanTailLines : nearLines);
  const window = isNear
    ? { tail: (edge.linesToEnd ?? 0) + slackLines }
    : edgeMs === undefined
      ? {}
      : { sinceMs: last ? edgeMs - outOfOrderMs : edgeMs };
  let lines: LogLine[] = [];
  let match: EdgeMatch | undefined;
  let isCut = false;
  for await (const batch of open(target, window, signal)) {
    const from = lines.length;
    for (const line of batch) lines.push(line);
    match = positionAfter(lines, from, edge, match);
    if (match && lines.length - match.at > count + overlapLines) {
      isCut = true;
      break;
    }
    // Lines before the edge are needed only for comparison.
    if (!match && lines.length > nearLines * 2) lines = lines.slice(-overlapLines);
  }
  signal.throwIfAborted();
  for (let skipped = 1; !match && skipped <= maxJoinedLines && skipped < edge.known.length; skipped++) {
    const found = positionAfter(lines, 0, { ...edge, known: edge.known.slice(0, -skipped) }, undefined);
    if (found) match = { at: found.at + skipped, length: found.length };
  }
  // An edge that is no longer in the log was its oldest line: newer lines follow it.
  const newer = lines.findIndex((line) => (line.timeMs ?? 0) > (edgeMs ?? 0));
  const start = match?.at ?? (newer < 0 ? lines.length : newer);
  const end = Math.min(lines.length, start + count);
  const ordinal = last?.ordinal === undefined || start === 0 ? undefined : last.ordinal + 1;
  return { lines: numbered(lines.slice(start, end), target, ordinal), reached: !isCut && end === lines.length };
}

function numbered(lines: readonly LogLine[], target: LogTarget, first: number | undefined): KeptEntry[] {
  return lines.map((line, at) => keptEntry(line, target, 0, first === undefined ? undefined : first + at));
}

type Window = { tail?: number; sinceMs?: number; untilMs?: number };

async function* open(target: LogTarget, window: Window, signal: AbortSignal): AsyncGenerator<LogBatch> {
  if (target.engine) yield* target.engine.logs(target.container, { signal, follow: false, tty: target.tty, ...window });
}

/**
 * Returns the last `most` lines of a response, or fewer if they are long. With known lines, reading stops after them: the rest can be a
 * hundred times as much.
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

function windowFor(known: readonly KeptEntry[], count: number): number {
  const spanMs = (known.at(-1)?.timeMs ?? 0) - (known[0]?.timeMs ?? 0);
  return known.length < 50 || spanMs <= 0 ? firstWindowMs : Math.max(1_000, (spanMs / known.length) * count * 1.5);
}

/** Our precision is coarser than the engine's: rounds up to the next millisecond, or second for engines with whole seconds. */
const untilOf = (timeMs: number): number => (timeMs % 1000 === 0 ? timeMs + 1000 : timeMs + 1);

function positionBefore(lines: readonly LogLine[], edge: HistoryEdge): number | undefined {
  const finder = new EdgeFinder(edge);
  for (const line of lines) finder.check(line);
  return finder.position;
}

interface EdgeMatch {
  at: number;
  /** Number of known lines that match before it. */
  length: number;
}

/** Returns where the lines after the known ones begin in a response whose lines before `from` were already checked. */
function positionAfter(
  lines: readonly LogLine[],
  from: number,
  { known, timeMs }: HistoryEdge,
  before: EdgeMatch | undefined,
): EdgeMatch | undefined {
  const last = known.at(-1);
  if (!last) {
    if (before) return before;
    const at = timeMs === undefined ? from : lines.findIndex((line, index) => index >= from && (line.timeMs ?? 0) >= timeMs);
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
