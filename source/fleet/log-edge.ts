import type { LogLine } from '../engine/engine.ts';
import { type KeptEntry, keptEntry } from './log-entry.ts';

/** As many known lines are compared to find the place where an answer meets them. */
export const overlapLines = 1_000;
/** Known lines that an answer to another question can tell differently: Podman 4.3 and `tail`, see `log-history.ts`. */
export const gluedLines = 3;

export interface BackEdge {
  /** Of the log, from the edge on; empty where none of them is known. */
  known: readonly KeptEntry[];
  /** Where none is known: only what is not newer. */
  beforeMs: number | undefined;
  /** About how many lines are there from the edge to the end of the log; undefined where nobody counted. */
  behind: number | undefined;
}

/** Is this line of an answer a known one? It was cleaned and cut since. */
export function isSame(line: LogLine | undefined, entry: KeptEntry | undefined): boolean {
  if (!line || !entry || line.timeMs !== entry.timeMs || line.stream !== entry.stream) return false;
  return line.text === entry.text || keptEntry(line, entry, 0, 0).text === entry.text;
}

/**
 * Finds an edge in a log that is read from its start, each line looked at once: where most of the known lines agree, or the last such place
 * (Knuth, Morris and Pratt, so that a thousand equal lines cost no more than others).
 */
export class EdgeFinder {
  readonly #beforeMs: number | undefined;
  readonly #finders: readonly Finder[];
  #position = 0;
  #notNewer = 0;

  constructor({ known, beforeMs }: BackEdge) {
    this.#beforeMs = beforeMs;
    const finders: Finder[] = [];
    for (let skipped = 0; skipped <= gluedLines && skipped < known.length; skipped++)
      finders.push(new Finder(known.slice(skipped), skipped));
    this.#finders = finders;
  }

  /** The next line of the log. */
  look(line: LogLine): void {
    for (const finder of this.#finders) finder.look(line, this.#position);
    this.#position++;
    if (this.#finders.length === 0 && (line.timeMs ?? 0) <= (this.#beforeMs ?? Number.POSITIVE_INFINITY)) this.#notNewer = this.#position;
  }

  /** Lines looked at so far. */
  get position(): number {
    return this.#position;
  }

  /** How many of the lines lie before the edge. Undefined where it has not come, or is not there. It can still come later. */
  get place(): number | undefined {
    if (this.#finders.length === 0) return this.#notNewer;
    for (const { place } of this.#finders) if (place !== undefined) return place;
    return undefined;
  }

  /** All known lines were met, and then so many others that there is no better place. */
  get isSure(): boolean {
    const endsAt = this.#finders[0]?.endsAt;
    return endsAt !== undefined && this.#position - endsAt > overlapLines;
  }
}

/** The longest beginning of the known lines that was met, the last one of these. */
class Finder {
  readonly #known: readonly KeptEntry[];
  readonly #skipped: number;
  /** For each known line: so many of the first lines are also the last ones up to it. */
  readonly #borders: readonly number[];
  #length = 0;
  #longest = 0;
  #at: number | undefined;

  constructor(known: readonly KeptEntry[], skipped: number) {
    this.#known = known;
    this.#skipped = skipped;
    const borders = [0];
    for (let at = 1, length = 0; at < known.length; at++) {
      while (length > 0 && !isEqual(known[at], known[length])) length = borders[length - 1] ?? 0;
      if (isEqual(known[at], known[length])) length++;
      borders.push(length);
    }
    this.#borders = borders;
  }

  get place(): number | undefined {
    return this.#at === undefined ? undefined : Math.max(0, this.#at - this.#skipped);
  }

  /** Behind the known lines, where all of them were met. */
  get endsAt(): number | undefined {
    return this.#longest < this.#known.length ? undefined : (this.#at ?? 0) + this.#longest;
  }

  look(line: LogLine, position: number): void {
    const known = this.#known;
    let length = this.#length;
    while (length > 0 && !isSame(line, known[length])) length = this.#borders[length - 1] ?? 0;
    if (isSame(line, known[length])) length++;
    this.#length = length;
    if (length === 0 || length < this.#longest) return;
    this.#longest = length;
    this.#at = position - length + 1;
  }
}

function isEqual(one: KeptEntry | undefined, other: KeptEntry | undefined): boolean {
  return one?.timeMs === other?.timeMs && one?.stream === other?.stream && one?.text === other?.text;
}
