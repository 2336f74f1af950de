import { PassThrough, Writable } from 'node:stream';

/** What a verb writes to, as a pipe or as a terminal. */
export class OutputStream extends Writable {
  text = '';
  isTTY: boolean | undefined;
  columns: number | undefined;
  rows: number | undefined;
  constructor(terminal?: { columns: number; rows?: number }) {
    super();
    if (terminal) {
      this.isTTY = true;
      this.columns = terminal.columns;
      this.rows = terminal.rows ?? 24;
    }
  }
  override _write(chunk: Buffer, _: string, done: (error?: Error | null) => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** A pipe whose reader has gone. */
export class BrokenPipe extends Writable {
  writes = 0;
  override _write(_chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.writes += 1;
    done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  }
}

export interface TypingStream extends PassThrough {
  isTTY: boolean | undefined;
  isRaw: boolean;
  rawModes: boolean[];
  setRawMode(on: boolean): TypingStream;
}

export function inputStream({ terminal }: { terminal: boolean }): TypingStream {
  const input: TypingStream = Object.assign(new PassThrough(), {
    isTTY: terminal || undefined,
    isRaw: false,
    rawModes: [] as boolean[],
    setRawMode(on: boolean) {
      input.rawModes.push(on);
      input.isRaw = on;
      return input;
    },
  });
  return input;
}
