import type { LogLine } from './engine.ts';
import { fractionOf } from './log-stamp.ts';

type Stream = LogLine['stream'];
const stderrBit = 1;
const cutBit = 2;
const fewestRows = 32;
const mostRows = 4096;

/**
 * Lines from an engine, in their original bytes. A busy log brings 100,000 a second, of which few are ever read: an object and two strings
 * for each would cost more than all other work. `line` creates a line on demand.
 */
export class LogBatch implements Iterable<LogLine> {
  constructor(
    readonly bytes: Buffer,
    private readonly rows: LogRows,
    private readonly first: number,
    readonly length: number,
  ) {}

  static of(lines: readonly LogLine[]): LogBatch {
    const rows = new LogRows(lines.length);
    const pieces: Buffer[] = [];
    let at = 0;
    for (const { timeMs, stamp, stream, text, cut } of lines) {
      const bytes = Buffer.from(stamp + text);
      rows.add(timeMs, fractionOf(stamp), at, at + stamp.length, at + bytes.length, stream, cut ?? false);
      at += bytes.length;
      pieces.push(bytes);
    }
    return new LogBatch(Buffer.concat(pieces), rows, 0, lines.length);
  }

  timeMs(at: number): number | undefined {
    const timeMs = this.length > at && at >= 0 ? (this.rows.timesMs[this.first + at] as number) : Number.NaN;
    return Number.isNaN(timeMs) ? undefined : timeMs;
  }

  fraction(at: number): number {
    return this.rows.fractions[this.first + at] as number;
  }

  stream(at: number): Stream {
    return (this.rows.kinds[this.first + at] as number) & stderrBit ? 'stderr' : 'stdout';
  }

  isCut(at: number): boolean {
    return ((this.rows.kinds[this.first + at] as number) & cutBit) > 0;
  }

  start(at: number): number {
    return this.rows.starts[this.first + at] as number;
  }

  end(at: number): number {
    return this.rows.ends[this.first + at] as number;
  }

  sizeBytes(at: number): number {
    return this.end(at) - this.start(at);
  }

  line(at: number): LogLine {
    const isCut = this.isCut(at);
    const start = this.start(at);
    const line: LogLine = {
      timeMs: this.timeMs(at),
      stamp: this.bytes.toString('latin1', this.rows.stamps[this.first + at], start).trimEnd(),
      stream: this.stream(at),
      text: textOf(this.bytes, start, this.end(at), isCut),
    };
    if (isCut) line.cut = true;
    return line;
  }

  /** The text of each line and a newline, decoded in one piece: a string for each line costs ten times as much. */
  text(): string {
    let sizeBytes = this.length;
    for (let at = 0; at < this.length; at++) {
      // The end of a cut line is decoded in its own way.
      if (this.isCut(at)) return Array.from(this, ({ text }) => `${text}\n`).join('');
      sizeBytes += this.sizeBytes(at);
    }
    const joined = Buffer.allocUnsafe(sizeBytes);
    let used = 0;
    for (let at = 0; at < this.length; at++) {
      used += this.bytes.copy(joined, used, this.start(at), this.end(at));
      joined[used++] = 0x0a;
    }
    return joined.toString('utf8');
  }

  *[Symbol.iterator](): Generator<LogLine, void, void> {
    for (let at = 0; at < this.length; at++) yield this.line(at);
  }

  slice(from: number, end: number): LogBatch {
    return new LogBatch(this.bytes, this.rows, this.first + from, Math.min(end, this.length) - from);
  }

  moved(byMs: number): LogBatch {
    const rows = new LogRows(this.length);
    rows.copy(this.rows, this.first, this.first + this.length);
    for (let at = 0; at < this.length; at++) rows.timesMs[at] = (rows.timesMs[at] as number) + byMs;
    return new LogBatch(this.bytes, rows, 0, this.length);
  }

  /** Calls `keeps` once for each line, in order. Returns the batch itself if all are kept. */
  filter(keeps: (at: number) => boolean): LogBatch {
    let rows: LogRows | undefined;
    for (let at = 0; at < this.length; at++) {
      const isKept = keeps(at);
      if (!rows && !isKept) {
        rows = new LogRows(this.length);
        rows.copy(this.rows, this.first, this.first + at);
      } else if (rows && isKept) rows.copy(this.rows, this.first + at, this.first + at + 1);
    }
    return rows ? new LogBatch(this.bytes, rows, 0, rows.length) : this;
  }
}

/** Data about each line, as numbers outside of the heap. One table serves many batches, one after the other. */
class LogRows {
  readonly timesMs: Float64Array;
  readonly fractions: Int32Array;
  readonly stamps: Int32Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly kinds: Uint8Array;
  length = 0;

  constructor(most: number) {
    this.timesMs = new Float64Array(most);
    this.fractions = new Int32Array(most);
    this.stamps = new Int32Array(most);
    this.starts = new Int32Array(most);
    this.ends = new Int32Array(most);
    this.kinds = new Uint8Array(most);
  }

  get isFull(): boolean {
    return this.length === this.ends.length;
  }

  add(timeMs: number | undefined, fraction: number, stamp: number, start: number, end: number, stream: Stream, cut: boolean): void {
    const at = this.length++;
    this.timesMs[at] = timeMs ?? Number.NaN;
    this.fractions[at] = fraction;
    this.stamps[at] = stamp;
    this.starts[at] = start;
    this.ends[at] = end;
    this.kinds[at] = (stream === 'stderr' ? stderrBit : 0) | (cut ? cutBit : 0);
  }

  copy(from: LogRows, first: number, end: number): void {
    const at = this.length;
    this.timesMs.set(from.timesMs.subarray(first, end), at);
    this.fractions.set(from.fractions.subarray(first, end), at);
    this.stamps.set(from.stamps.subarray(first, end), at);
    this.starts.set(from.starts.subarray(first, end), at);
    this.ends.set(from.ends.subarray(first, end), at);
    this.kinds.set(from.kinds.subarray(first, end), at);
    this.length += end - first;
  }
}

export class LogBatchBuilder {
  #rows = new LogRows(fewestRows);
  #first = 0;
  #chunk: Buffer = nothing;
  /** Bytes of lines that are not contiguous in the chunk; they are appended to it. */
  #pieces: Buffer[] = [];
  #sizeBytes = 0;

  /** The chunk belongs to the batch from now on. */
  begin(chunk: Buffer): void {
    this.#first = this.#rows.length;
    this.#chunk = chunk;
    this.#sizeBytes = chunk.length;
  }

  add(timeMs: number | undefined, fraction: number, stamp: number, start: number, end: number, stream: Stream, cut = false): void {
    if (this.#rows.isFull) this.#grow();
    this.#rows.add(timeMs, fraction, stamp, start, end, stream, cut);
  }

  addApart({ timeMs, stamp, stream, cut = false }: Omit<LogLine, 'text'>, text: Buffer): void {
    const at = this.#sizeBytes;
    const start = at + stamp.length;
    this.#sizeBytes = start + text.length;
    this.#pieces.push(Buffer.from(stamp, 'latin1'), text);
    this.add(timeMs, fractionOf(stamp), at, start, this.#sizeBytes, stream, cut);
  }

  end(): LogBatch {
    const bytes = this.#pieces.length > 0 ? Buffer.concat([this.#chunk, ...this.#pieces]) : this.#chunk;
    this.#chunk = nothing;
    this.#pieces = [];
    return new LogBatch(bytes, this.#rows, this.#first, this.#rows.length - this.#first);
  }

  #grow(): void {
    const begun = this.#rows.length - this.#first;
    const rows = new LogRows(Math.max(begun * 2, Math.min(mostRows, this.#rows.length * 2)));
    rows.copy(this.#rows, this.#first, this.#rows.length);
    this.#rows = rows;
    this.#first = 0;
  }
}

const nothing = Buffer.alloc(0);

/** `isCut`: the end may be within a character. */
export function textOf(bytes: Buffer, start: number, end: number, isCut: boolean): string {
  const text = bytes.toString('utf8', start, end);
  return isCut ? text.replace(/\ufffd$/, '') : text;
}
