import type { LogLine } from '../engine/engine.ts';
import { isSameLine, type KeptEntry, keptEntry } from './entry.ts';

/** Number of known lines that are compared to find the position of a response. */
export const overlapLines = 1_000;
/** Number of known lines at the edge that may differ in another response: Podman 4.3 joins pieces of a line, see `history.ts`. */
export const maxJoinedLines = 3;

export interface HistoryEdge {
  /** Lines of the log from the edge on, or, for reading forth, up to the edge; empty if none of them is known. */
  known: readonly KeptEntry[];
  /** If no line is known: only lines that are not newer, or, for reading forth, not older. */
  timeMs: number | undefined;
  /** Approximate number of lines from the edge to the end of the log; undefined if not counted. */
  linesToEnd: number | undefined;
}

/** Compares a line of a response with a known one, which was cleaned and cut. */
export function isSame(line: LogLine | undefined, entry: KeptEntry | undefined): boolean {
  if (!line || !entry || line.timeMs !== entry.timeMs || line.stream !== entry.stream) return false;
  return line.text === entry.text || keptEntry(line, entry, 0, 0).text === entry.text;
}

/**
 * Finds an edge in a log that is read from its start: the position where the longest prefix of the known lines matches, the last one of
 * these. Each line is checked once (Knuth, Morris and Pratt), so that a thousand equal lines cost no more than others.
 */
export class EdgeFinder {
  readonly #timeMs: number | undefined;
  /** One for the known lines, and one each without their first one, two and three lines. */
  readonly #matchers: readonly PrefixMatcher[];
  count = 0;
  /** Number of lines up to the last one that is not newer than the edge's time. */
  #notNewer = 0;

  constructor({ known, timeMs }: HistoryEdge) {
    this.#timeMs = timeMs;
    const count = Math.min(known.length, maxJoinedLines + 1);
    this.#matchers = Array.from({ length: count }, (_, skipped) => new PrefixMatcher(known.slice(skipped), skipped));
  }

  check(line: LogLine): void {
    for (const matcher of this.#matchers) matcher.check(line, this.count);
    this.count++;
    if (this.#matchers.length === 0 && (line.timeMs ?? 0) <= (this.#timeMs ?? Number.POSITIVE_INFINITY)) this.#notNewer = this.count;
  }

  /** Number of lines before the edge, as far as the log was checked; undefined without a match. */
  get position(): number | undefined {
    if (this.#matchers.length === 0) return this.#notNewer;
    return this.#matchers.find(({ position }) => position !== undefined)?.position;
  }

  /** All known lines matched, and so many other lines followed that no later match can begin before the edge. */
  get isFinal(): boolean {
    const end = this.#matchers[0]?.end;
    return end !== undefined && this.count - end > overlapLines;
  }
}

/** Finds the longest prefix of the known lines, the last one of these. */
class PrefixMatcher {
  /** The failure function: for each known line, the length of the longest proper prefix that is a suffix of the lines up to it. */
  readonly #borders: readonly number[];
  /** Length of the prefix that matches at the last checked line. */
  #length = 0;
  #longest = 0;
  #start: number | undefined;

  constructor(
    private readonly known: readonly KeptEntry[],
    private readonly skipped: number,
  ) {
    const borders = [0];
    for (let at = 1, length = 0; at < known.length; at++) {
      const isNext = () => isSameLine(known[at] as KeptEntry, known[length] as KeptEntry);
      while (length > 0 && !isNext()) length = borders[length - 1] ?? 0;
      if (isNext()) length++;
      borders.push(length);
    }
    this.#borders = borders;
  }

  get position(): number | undefined {
    return this.#start === undefined ? undefined : Math.max(0, this.#start - this.skipped);
  }

  /** Position after the known lines, if all of them matched. */
  get end(): number | undefined {
    return this.#longest < this.known.length ? undefined : (this.#start ?? 0) + this.#longest;
  }

  check(line: LogLine, position: number): void {
    const { known } = this;
    let length = this.#length;
    while (length > 0 && !isSame(line, known[length])) length = this.#borders[length - 1] ?? 0;
    if (isSame(line, known[length])) length++;
    this.#length = length;
    if (length === 0 || length < this.#longest) return;
    this.#longest = length;
    this.#start = position - length + 1;
  }
}
