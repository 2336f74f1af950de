import { mapOf, parsedJson } from '../text/json-value.ts';
import type { EngineKind } from './engine.ts';
import { FrameSplitter, type FrameStream } from './frames.ts';
import { type LogBatch, LogBatchBuilder } from './log-batch.ts';
import { noFraction, parseStamp, StampReader, stampLimitBytes } from './log-stamp.ts';

/** A longer line is cut: it is not readable, and an endless one would fill the memory. */
export const lineLimitBytes = 256 * 1024;
/** Docker splits a long line into pieces of this size. */
const dockerPieceBytes = 16 * 1024;
/** An engine's timestamp within a line is distinguished from one that the program wrote by the bytes before it. */
const surePieceBytes = 1024;
/** Each of Podman's pieces has its own time; one line is not written over a longer time than this. */
const lineTakesMs = 10_000;
const nothing = Buffer.alloc(0);
const newline = 0x0a;
const space = 0x20;
/** `2026-11-20T09:46:26Z` */
const shortestStampBytes = 20;

/**
 * Long lines come in pieces, each with a timestamp: with frames, a piece starts a frame; raw, the timestamp appears in the middle. Docker's
 * pieces have 16 KiB and the timestamp of the first, to the nanosecond, unlike the first line after a restart. Podman's have any length and
 * their own timestamps (seconds only before 5.0); there, text without a newline is continued.
 */
export class LogLines {
  readonly #frames: FrameSplitter | undefined;
  readonly #lines: Record<'stdout' | 'stderr' | 'plain', LineBuilder>;
  readonly #batches = new LogBatchBuilder();
  /** The engine's own message in the log's stream: why it cannot continue. */
  engineSaid = '';

  /** @param timed the engine sends timestamps; otherwise, only frames show that a line without a newline ended with its program */
  constructor({ tty, engine, timed = true }: { tty: boolean; engine: EngineKind; timed?: boolean }) {
    this.#frames = tty ? undefined : new FrameSplitter();
    const refused = (sentence: string) => {
      this.engineSaid += sentence;
    };
    const lines = (stream: 'stdout' | 'stderr', raw: boolean) => new LineBuilder(stream, raw, engine, timed, this.#batches, refused);
    this.#lines = { stdout: lines('stdout', tty), stderr: lines('stderr', tty), plain: lines('stdout', true) };
  }

  push(chunk: Buffer): LogBatch {
    this.#batches.begin(chunk);
    if (this.#frames) {
      this.#frames.push(
        chunk,
        ({ stream, bytes, opens }) => {
          if (this.#frames?.plain) this.#lines.plain.push(bytes, false);
          else if (stream === 'engine') this.engineSaid += bytes.toString('utf8').slice(0, 1024);
          else this.#linesOf(stream).push(bytes, opens);
        },
        (stream, start, end) => stream !== 'engine' && this.#linesOf(stream).takeWhole(chunk, start, end),
      );
    } else {
      this.#lines.stdout.push(chunk, false);
    }
    return this.#batches.end();
  }

  #linesOf(stream: FrameStream): LineBuilder {
    return this.#lines[stream === 'stderr' ? 'stderr' : 'stdout'];
  }

  end(): LogBatch {
    this.#batches.begin(nothing);
    for (const lines of Object.values(this.#lines)) lines.end();
    return this.#batches.end();
  }
}

class LineBuilder {
  readonly #stamps = new StampReader();
  /** Bytes that may be a timestamp, until that is decided. Undefined in the middle of a line. */
  #head: Buffer[] | undefined;
  #headBytes = 0;
  /** Undefined if it is the one that `#stamps` read last. */
  #stamp: string | undefined = '';
  #timeMs: number | undefined;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #pieceBytes = 0;
  #cut = false;
  #open = false;

  constructor(
    private readonly stream: 'stdout' | 'stderr',
    private readonly raw: boolean,
    private readonly engine: EngineKind,
    private readonly timed: boolean,
    private readonly batches: LogBatchBuilder,
    private readonly refused: (sentence: string) => void,
  ) {
    if (timed) this.#head = [];
  }

  push(bytes: Buffer, opensFrame: boolean): void {
    if (opensFrame && this.timed) {
      this.#settleHead();
      this.#head = [];
      this.#headBytes = 0;
    } else if (opensFrame) {
      if (this.#open && this.#pieceBytes !== dockerPieceBytes) this.#finish();
      this.#pieceBytes = 0;
    }
    let at = 0;
    while (at < bytes.length) {
      if (this.#head) at = this.#readHead(bytes, at);
      else at = this.#readText(bytes, at);
    }
  }

  /** The common case of a frame: one line with its timestamp, and no open line before it. False, without any effect, for all others. */
  takeWhole(chunk: Buffer, start: number, end: number): boolean {
    if (this.#open || this.#headBytes > 0 || chunk.indexOf(newline, start) !== end - 1) return false;
    if (!this.timed) {
      this.batches.add(undefined, noFraction, start, start, trimmedEnd(chunk, start, end - 1), this.stream);
      return true;
    }
    let stampEnd = start + shortestStampBytes;
    while (stampEnd < end && chunk[stampEnd] !== space) stampEnd++;
    if (chunk[stampEnd] !== space || !this.#stamps.read(chunk, start, stampEnd)) return false;
    const { timeMs, fraction } = this.#stamps;
    const textEnd = trimmedEnd(chunk, stampEnd + 1, end - 1);
    this.batches.add(timeMs, fraction, start, stampEnd + 1, textEnd, this.stream);
    this.#head = undefined;
    this.#timeMs = timeMs;
    this.#stamp = undefined;
    return true;
  }

  end(): void {
    this.#settleHead();
    if (this.#open) this.#finish();
  }

  #readHead(bytes: Buffer, at: number): number {
    const most = Math.min(bytes.length, at + stampLimitBytes + 1 - this.#headBytes);
    for (let end = at; end < most; end++) {
      if (bytes[end] !== space && bytes[end] !== newline) continue;
      const stamp = this.#head?.length ? Buffer.concat([...this.#head, bytes.subarray(at, end)]) : bytes.subarray(at, end);
      const timeMs = parseStamp(stamp);
      if (timeMs === undefined) break;
      this.#head = undefined;
      this.#openSegment(stamp.toString('latin1'), timeMs);
      // An empty line may arrive as the timestamp and a newline only.
      return bytes[end] === space ? end + 1 : end;
    }
    if (most - at + this.#headBytes <= stampLimitBytes && most === bytes.length && !bytes.subarray(at, most).includes(newline)) {
      this.#head?.push(Buffer.from(bytes.subarray(at, most)));
      this.#headBytes += most - at;
      return most;
    }
    this.#settleHead();
    return this.#readText(bytes, at);
  }

  #settleHead(): void {
    const head = this.#head;
    this.#head = undefined;
    if (!head?.length) return;
    const bytes = Buffer.concat(head);
    const timeMs = parseStamp(bytes);
    if (timeMs !== undefined) this.#openSegment(bytes.toString('latin1'), timeMs);
    else this.#keep(bytes);
  }

  #openSegment(stamp: string, timeMs: number): void {
    if (this.#open && this.#continues(stamp)) {
      this.#pieceBytes = 0;
      return;
    }
    if (this.#open) this.#finish();
    this.#open = true;
    this.#stamp = stamp;
    this.#timeMs = timeMs;
    this.#pieceBytes = 0;
  }

  /** A line without a newline may also have ended, with its program. */
  #continues(stamp: string): boolean {
    return this.engine === 'podman' || stamp === this.#stamp || this.#pieceBytes === dockerPieceBytes;
  }

  #readText(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(newline, at);
    if (end < 0) {
      this.#keep(bytes.subarray(at));
      return bytes.length;
    }
    if (this.#kept.length === 0 && !this.raw && end - at <= lineLimitBytes) {
      // The common case, without a copy in between.
      this.#give(bytes.subarray(at, trimmedEnd(bytes, at, end)));
    } else {
      this.#keep(bytes.subarray(at, end));
      this.#finish();
    }
    // Within a frame, the following bytes belong to the same message and have its time.
    this.#head = this.raw && this.timed ? [] : undefined;
    this.#headBytes = 0;
    return end + 1;
  }

  #keep(bytes: Buffer): void {
    this.#open = true;
    this.#pieceBytes += bytes.length;
    const leftBytes = lineLimitBytes - this.#keptBytes;
    if (bytes.length > leftBytes) this.#cut = true;
    if (leftBytes <= 0 || bytes.length === 0) return;
    // Copied: a slice would keep the whole chunk in memory.
    const kept = Buffer.from(bytes.subarray(0, leftBytes));
    this.#kept.push(kept);
    this.#keptBytes += kept.length;
  }

  #finish(): void {
    let bytes: Buffer = Buffer.concat(this.#kept);
    if (this.raw) bytes = this.#withoutStampsWithin(bytes);
    this.#give(bytes.subarray(0, trimmedEnd(bytes, 0, bytes.length)));
  }

  #give(text: Buffer): void {
    this.#stamp ??= this.#stamps.stamp;
    const refusal = this.raw && this.engine === 'podman' && this.#timeMs === undefined ? podmanRefusal(text) : undefined;
    if (refusal !== undefined) this.refused(refusal);
    else this.batches.addApart({ timeMs: this.#timeMs, stamp: this.#stamp, stream: this.stream, cut: this.#cut }, text);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#pieceBytes = 0;
    this.#cut = false;
    this.#open = false;
    if (this.raw) {
      this.#stamp = '';
      this.#timeMs = undefined;
    }
  }

  #withoutStampsWithin(bytes: Buffer): Buffer {
    if (this.#timeMs === undefined) return bytes;
    const pieces: Buffer[] = [];
    const text = bytes.toString('latin1');
    let from = 0;
    for (const match of text.matchAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d) /g)) {
      const before = text[match.index - 1] ?? ' ';
      // A short piece counts only if it breaks in the middle of a word: no program writes its timestamp there.
      const isPiece =
        match.index - from >= surePieceBytes || (this.engine === 'podman' && match.index > from && /[^\s"'=:,;|([{<]/.test(before));
      if (!isPiece || !this.#isOfThisLine(match[0].slice(0, -1))) continue;
      pieces.push(bytes.subarray(from, match.index));
      from = match.index + match[0].length;
    }
    return from === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(from)]);
  }

  #isOfThisLine(stamp: string): boolean {
    if (this.engine === 'docker') return stamp === this.#stamp;
    const sinceMs = (parseStamp(Buffer.from(stamp, 'latin1')) ?? Number.NaN) - (this.#timeMs ?? Number.NaN);
    return stamp.includes('.') === this.#stamp?.includes('.') && sinceMs >= 0 && sinceMs <= lineTakesMs;
  }
}

/** Podman may fail to read a log (of a container just removed) after it has begun to respond: the error is then in the log, unstamped. */
function podmanRefusal(text: Buffer): string | undefined {
  if (text.length > 4_096 || !text.toString('latin1', 0, 10).startsWith('{"cause":')) return undefined;
  const { cause, message, response } = mapOf(parsedJson(text.toString('utf8')));
  return typeof cause === 'string' && typeof message === 'string' && typeof response === 'number' ? message : undefined;
}

/** A terminal ends its lines with CR LF. */
function trimmedEnd(bytes: Buffer, start: number, end: number): number {
  let trimmed = end;
  while (trimmed > start && bytes[trimmed - 1] === 0x0d) trimmed--;
  return trimmed;
}
