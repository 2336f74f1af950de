import { readSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { spawn } from '@lydell/node-pty';
import headless, { type Terminal as Emulator } from '@xterm/headless';
import { type Key, keySequence } from '../pty/keys.ts';
import { terminalAnswers } from './terminal-answers.ts';

/** What one read of the pty gave, and when, in ms of `performance.now()`. */
interface Chunk {
  atMs: number;
  data: Buffer;
}

export interface TimedProgramOptions {
  cwd: string;
  env: Readonly<Record<string, string>>;
  columns?: number;
  rows?: number;
  /** Reads the terminal no faster than this, as a slow link would. */
  bytesPerSecond?: number;
}

/** Is it on the screen? Given the visible lines, without spaces at their ends. */
export type Sight = (lines: readonly string[]) => boolean;

/** The size that every program is measured at. */
export const benchSize = { columns: 120, rows: 40 };

const slowReadMs = 5;

/**
 * A program in a pty whose output is only stamped and kept while something is measured. What it drew is worked out afterwards, by feeding
 * a terminal emulator chunk by chunk: reading costs the same for every program, and a frame counts when it can be seen, whatever bytes it
 * is made of.
 */
export class TimedProgram {
  /** Just before it was started. */
  readonly startedMs: number;
  readonly pid: number;
  readonly exited: Promise<void>;
  /** All that it ever wrote. */
  bytes = 0;

  readonly #emulator: Emulator;
  readonly #write: (text: string) => void;
  readonly #resize: (columns: number, rows: number) => void;
  #chunks: Chunk[] = [];
  #ended = false;
  #lastMs = 0;

  constructor(argv: readonly string[], options: TimedProgramOptions) {
    const { columns = benchSize.columns, rows = benchSize.rows, bytesPerSecond } = options;
    this.#emulator = new headless.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 0 });
    this.startedMs = performance.now();
    const pty = spawn(argv[0] ?? '', argv.slice(1), {
      name: 'xterm-256color',
      cols: columns,
      rows,
      cwd: options.cwd,
      env: { ...options.env },
      encoding: null,
    });
    this.pid = pty.pid;
    this.#write = (text) => this.#ended || pty.write(text);
    this.#resize = (columns, rows) => this.#ended || pty.resize(columns, rows);
    this.exited = new Promise((resolve) => {
      pty.onExit(() => {
        this.#ended = true;
        resolve();
      });
    });
    if (bytesPerSecond === undefined) pty.onData((data) => this.#take(data as unknown as Buffer));
    else {
      pty.pause();
      void this.#readSlowly((pty as unknown as { fd: number }).fd, bytesPerSecond);
    }
  }

  #take(data: Buffer): void {
    this.#lastMs = performance.now();
    this.bytes += data.length;
    this.#chunks.push({ atMs: this.#lastMs, data });
    // A program that asks its terminal something may wait for the answer before it draws.
    for (const answer of terminalAnswers(data)) this.#write(answer);
  }

  async #readSlowly(fd: number, bytesPerSecond: number): Promise<void> {
    const buffer = Buffer.alloc(Math.max(1, Math.round((bytesPerSecond * slowReadMs) / 1000)));
    let paidMs = performance.now();
    while (!this.#ended) {
      let length = 0;
      try {
        length = readSync(fd, buffer, 0, buffer.length, null);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      }
      if (length > 0) this.#take(Buffer.from(buffer.subarray(0, length)));
      // What was read is paid for in time; a link that was idle has saved nothing up.
      const nowMs = performance.now();
      paidMs = Math.max(paidMs + (length / bytesPerSecond) * 1000, nowMs - slowReadMs);
      await delay(Math.max(length > 0 ? paidMs - nowMs : slowReadMs, 1));
    }
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Presses keys and answers when, in ms. */
  press(...keys: Key[]): number {
    const atMs = performance.now();
    for (const key of keys) this.#write(keySequence(key));
    return atMs;
  }

  /**
   * Feeds what was read since the last look to the emulator, chunk by chunk, and tells the visitor what the screen shows after each and
   * when that was. Then those chunks are forgotten.
   */
  async replay(visit?: (atMs: number, lines: () => readonly string[], sizeBytes: number) => void): Promise<void> {
    const chunks = this.#chunks;
    this.#chunks = [];
    for (const { atMs, data } of chunks) {
      await new Promise<void>((resolve) => this.#emulator.write(data, resolve));
      visit?.(atMs, () => this.screen(), data.length);
    }
  }

  /** Forgets what was read since the last look. The screen is not to be trusted any more, until `redrawn`. */
  forget(): void {
    this.#chunks = [];
  }

  /** Makes it draw everything, by a screen that becomes one line lower. */
  async redrawn(): Promise<void> {
    this.forget();
    this.#emulator.reset();
    this.#emulator.resize(this.#emulator.cols, this.#emulator.rows - 1);
    this.#resize(this.#emulator.cols, this.#emulator.rows);
    await delay(1500);
    await this.replay();
  }

  /** The screen as of the last `replay`. */
  screen(): string[] {
    const buffer = this.#emulator.buffer.active;
    return Array.from({ length: this.#emulator.rows }, (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? '');
  }

  /** When the sight was first seen, in ms; for the ways to what is measured, and for what is measured once. Throws with the screen. */
  async sees(
    sight: Sight,
    what: string,
    limitMs = 10_000,
    visit?: (atMs: number, lines: () => readonly string[]) => void,
  ): Promise<number> {
    const untilMs = performance.now() + limitMs;
    for (;;) {
      let seenMs: number | undefined;
      await this.replay((atMs, lines) => {
        visit?.(atMs, lines);
        if (seenMs === undefined && sight(lines())) seenMs = atMs;
      });
      if (seenMs === undefined && sight(this.screen())) seenMs = performance.now();
      if (seenMs !== undefined) return seenMs;
      if (this.#ended) throw new Error(`ended before it showed ${what}: ${this.#excerpt()}`);
      if (performance.now() > untilMs) throw new Error(`did not show ${what} within ${limitMs / 1000} s: ${this.#excerpt()}`);
      await delay(20);
    }
  }

  /** Until it has written nothing for so long; throws when it never stops. */
  async quiet(quietMs: number, limitMs = 10_000): Promise<void> {
    const untilMs = performance.now() + limitMs;
    const sinceMs = performance.now();
    while (performance.now() - Math.max(this.#lastMs, sinceMs) < quietMs) {
      if (performance.now() > untilMs) throw new Error(`did not fall quiet within ${limitMs / 1000} s`);
      await delay(10);
    }
    await this.replay();
  }

  #excerpt(): string {
    const lines = this.screen()
      .map((line) => line.replace(/[\s\u2500-\u257f]+/g, ' ').trim())
      .filter(Boolean);
    return lines.length === 0 ? 'the screen is empty' : `the screen begins "${lines.slice(0, 3).join(' / ').slice(0, 120)}"`;
  }

  /** Ends it, asking first, and waits until it is gone. */
  async close(): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (this.#ended) break;
      try {
        process.kill(this.pid, signal);
      } catch {
        break;
      }
      await Promise.race([this.exited, delay(1500)]);
    }
    this.#chunks = [];
    this.#emulator.dispose();
  }
}
