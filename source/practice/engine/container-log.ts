import { EventEmitter, on } from 'node:events';
import { momentText } from './durations.ts';

interface Moment {
  ms: number;
  /** Nanoseconds beyond the millisecond. No two lines of a log have the same moment. */
  subNanoseconds: number;
}

export interface LogRecord extends Moment {
  stream: 'stdout' | 'stderr';
  /** With its newline, where the program wrote one. */
  text: string;
}

export interface LogRange {
  stdout: boolean;
  stderr: boolean;
  since?: Moment | undefined;
  until?: Moment | undefined;
  /** Lines from the end; undefined is all. */
  tail?: number | undefined;
}

/** Docker's json-file keeps what fits into 16 KiB as one record, and so do its frames. */
const pieceBytes = 16 * 1024;
const keptRecords = 20_000;

/** What a container wrote, as the json-file driver keeps it. */
export class ContainerLog {
  #records: LogRecord[] = [];
  #past: (() => void) | undefined;
  readonly #emitter = new EventEmitter<{ record: [LogRecord]; end: [] }>().setMaxListeners(0);

  /** @param write appends what was written before; called with the first line or reader, since most logs of a practice are never read */
  precede(write: () => void): void {
    this.#past = write;
  }

  #writePast(): void {
    const write = this.#past;
    this.#past = undefined;
    write?.();
  }

  /** Appends at most one line. */
  append(text: string, stream: 'stdout' | 'stderr', ms: number): void {
    this.#writePast();
    const last = this.#records.at(-1);
    const previous = last && last.ms >= ms ? last : undefined;
    let at = previous ? previous.ms : ms;
    // Never the same moment twice, and never backwards: `docker logs --since` must find its position again.
    let subNanoseconds = previous ? previous.subNanoseconds + 1_117 : (ms * 7_919) % 900_000;
    if (subNanoseconds >= 1_000_000) {
      at++;
      subNanoseconds -= 1_000_000;
    }
    // The pieces of a long line have the moment of the first.
    for (const piece of pieces(text)) {
      const record = { ms: at, subNanoseconds, stream, text: piece };
      this.#records.push(record);
      this.#emitter.emit('record', record);
    }
    if (this.#records.length > keptRecords * 1.25) this.#records = this.#records.slice(-keptRecords);
  }

  read({ since, until, tail, ...streams }: LogRange): LogRecord[] {
    if (tail === 0) return [];
    this.#writePast();
    const found = this.#records.filter(
      (record) => streams[record.stream] && (!since || !isBefore(record, since)) && (!until || !isBefore(until, record)),
    );
    if (tail === undefined) return found;
    // The pieces of one long line count once.
    let lines = 0;
    let from = found.length;
    while (from > 0) {
      if (found[from - 1]?.text.endsWith('\n') || from === found.length) lines++;
      if (lines > tail) break;
      from--;
    }
    return found.slice(from);
  }

  /** Yields each further record from this call on, until the container ends. */
  follow(signal: AbortSignal): AsyncIterable<[LogRecord]> {
    this.#writePast();
    return on(this.#emitter, 'record', { signal, close: ['end'] }) as AsyncIterable<[LogRecord]>;
  }

  end(): void {
    this.#emitter.emit('end');
  }
}

function isBefore(a: Moment, b: Moment): boolean {
  return a.ms < b.ms || (a.ms === b.ms && a.subNanoseconds < b.subNanoseconds);
}

function pieces(text: string): string[] {
  const bytes = Buffer.from(text);
  if (bytes.length <= pieceBytes) return [text];
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes).toString(),
  );
}

/** A frame of a stream that is not a terminal's: eight bytes of header. */
export function frame(stream: 'stdout' | 'stderr', payload: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream === 'stdout' ? 1 : 2;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

/** Framed, or as a terminal wrote it. */
export function wireBytes(
  { ms, subNanoseconds, stream, text }: LogRecord,
  { tty, timestamps }: { tty: boolean; timestamps: boolean },
): Buffer {
  const written = tty ? text.replace(/\n$/, '\r\n') : text;
  const payload = Buffer.from(timestamps ? `${momentText(ms, subNanoseconds)} ${written}` : written);
  return tty ? payload : frame(stream, payload);
}
