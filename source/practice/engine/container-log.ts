import { momentText } from './durations.ts';

export interface LogRecord {
  ms: number;
  /** Nanoseconds beyond the millisecond. No two lines of a log have the same moment. */
  subNanoseconds: number;
  stream: 'stdout' | 'stderr';
  /** With its newline, where the program wrote one. */
  text: string;
}

interface Moment {
  ms: number;
  subNanoseconds: number;
}

export interface LogRange {
  stdout: boolean;
  stderr: boolean;
  since?: Moment | undefined;
  until?: Moment | undefined;
  /** Records from the end; undefined is all. */
  tail?: number | undefined;
}

/** Docker's json-file keeps what fits into 16 KiB as one record, and so do its frames. */
const pieceBytes = 16 * 1024;
const keptRecords = 20_000;

/** What a container wrote, as the json-file driver keeps it. */
export class ContainerLog {
  #records: LogRecord[] = [];
  readonly #followers = new Set<(record: LogRecord | undefined) => void>();

  append(text: string, stream: 'stdout' | 'stderr', ms: number): void {
    const last = this.#records.at(-1);
    const before = last && last.ms >= ms ? last : undefined;
    let at = before ? before.ms : ms;
    // Never twice the same moment, and never back: `docker logs --since` must find its place again.
    let subNanoseconds = before ? before.subNanoseconds + 1_117 : (ms * 7_919) % 900_000;
    if (subNanoseconds >= 1_000_000) {
      at++;
      subNanoseconds -= 1_000_000;
    }
    // The pieces of a long line have the moment of the first.
    for (const piece of pieces(text)) {
      const record = { ms: at, subNanoseconds, stream, text: piece };
      this.#records.push(record);
      for (const follower of this.#followers) follower(record);
    }
    if (this.#records.length > keptRecords * 1.25) this.#records = this.#records.slice(-keptRecords);
  }

  read({ stdout, stderr, since, until, tail }: LogRange): LogRecord[] {
    if (tail === 0) return [];
    const found = this.#records.filter(
      (record) =>
        (record.stream === 'stdout' ? stdout : stderr) && (!since || !before(record, since)) && (!until || !before(until, record)),
    );
    if (tail === undefined) return found;
    // The pieces of one long line count once.
    let lines = 0;
    let from = found.length;
    while (from > 0) {
      if (isLineEnd(found[from - 1]) || from === found.length) lines++;
      if (lines > tail) break;
      from--;
    }
    return found.slice(from);
  }

  /** Calls back with each further record, and with undefined when the container ends. */
  follow(follower: (record: LogRecord | undefined) => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** The container has ended: whoever follows has seen everything. */
  end(): void {
    for (const follower of [...this.#followers]) follower(undefined);
    this.#followers.clear();
  }
}

function isLineEnd(record: LogRecord | undefined): boolean {
  return record?.text.endsWith('\n') ?? true;
}

function before(one: Moment, other: Moment): boolean {
  return one.ms < other.ms || (one.ms === other.ms && one.subNanoseconds < other.subNanoseconds);
}

function pieces(text: string): string[] {
  if (text.length <= pieceBytes / 4) return [text];
  const bytes = Buffer.from(text);
  if (bytes.length <= pieceBytes) return [text];
  const found: string[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) found.push(bytes.subarray(at, at + pieceBytes).toString('latin1'));
  return found.map((piece) => Buffer.from(piece, 'latin1').toString('utf8'));
}

/** A frame of a stream that is not a terminal's: eight bytes of header. */
export function frame(stream: 'stdout' | 'stderr', payload: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream === 'stdout' ? 1 : 2;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

/** As it goes over the wire: framed, or as a terminal wrote it. */
export function wireBytes(record: LogRecord, { tty, timestamps }: { tty: boolean; timestamps: boolean }): Buffer {
  const text = tty ? record.text.replace(/\n$/, '\r\n') : record.text;
  const payload = Buffer.from(timestamps ? `${momentText(record.ms, record.subNanoseconds)} ${text}` : text);
  return tty ? payload : frame(record.stream, payload);
}
