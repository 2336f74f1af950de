import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchEngine } from './bench-engine.ts';
import { type BenchProgram, launchOptions, node } from './programs.ts';
import type { Cell, Measure } from './result-table.ts';
import { TimedProgram } from './timed-program.ts';

const run = promisify(execFile);

export interface RowResult {
  measures: Measure[];
  /** What the reader has to know beside the numbers, in sentences. */
  notes?: string[];
  /** Drawings beside the page, which shows them. */
  figures?: Figure[];
}

export interface Figure {
  /** Name of its file. */
  file: string;
  /** Alternative text. */
  text: string;
  svg: string;
}

export interface BenchRow {
  id: string;
  title: string;
  /** How it is measured, in sentences, for the published results. */
  method: (quick: boolean) => string;
  /** The longest it may take. */
  limitMs: number;
  run(bench: Bench): Promise<RowResult>;
}

/** What a row is given to measure with. Ended with the row: one that took too long cannot disturb the next. */
export class Bench {
  readonly #engine: BenchEngine;
  /** Those that are installed. */
  readonly programs: readonly (BenchProgram & { argv: readonly string[] })[];
  readonly quick: boolean;
  readonly say: (text: string) => void;
  readonly #home = mkdtempSync(join(tmpdir(), 'qd-bench-'));
  readonly #running = new Set<TimedProgram>();
  #starts = 0;
  #ended = false;

  constructor(engine: BenchEngine, programs: readonly BenchProgram[], quick: boolean, say: (text: string) => void) {
    this.#engine = engine;
    this.programs = programs.filter((program): program is BenchProgram & { argv: readonly string[] } => program.argv !== undefined);
    this.quick = quick;
    this.say = say;
  }

  get engine(): BenchEngine {
    if (this.#ended) throw new Error('the row is over');
    return this.#engine;
  }

  /** A login without anything that would lead a program elsewhere than to the engine. */
  env(home = this.#home, url = this.engine.url): Record<string, string> {
    return {
      HOME: home,
      QUARTERDECK_HOME: join(home, 'quarterdeck'),
      PATH: process.env.PATH ?? '',
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
      DOCKER_HOST: url,
    };
  }

  /** In a home of its own, which is the same at every start when it is `warm`. `url` is that of another engine. */
  start(argv: readonly string[], options: { bytesPerSecond?: number; warm?: string; url?: string } = {}): TimedProgram {
    const home = join(this.#home, options.warm ?? `start-${++this.#starts}`);
    const started = new TimedProgram(argv, { cwd: this.#home, env: this.env(home, options.url), bytesPerSecond: options.bytesPerSecond });
    this.#running.add(started);
    return started;
  }

  /** Runs a TypeScript program of the bench in a process of its own, as the product is run, and returns the JSON that it prints. */
  async look<Look>(program: string, args: readonly string[], { home, limitMs }: { home?: string; limitMs: number }): Promise<Look> {
    const argv = [...launchOptions, '--import', 'tsx', fileURLToPath(new URL(program, import.meta.url)), ...args];
    const { stdout } = await run(node, argv, { env: this.env(home), timeout: limitMs }).catch(
      (error: Error & { killed?: boolean; stderr?: string }) => {
        // The message repeats the whole command.
        const reason = error.killed ? `took longer than ${Math.round(limitMs / 1000)} s` : /^.*Error: .*$/m.exec(error.stderr ?? '')?.[0];
        throw new Error(reason ?? error.message);
      },
    );
    return JSON.parse(stdout) as Look;
  }

  async close(...programs: TimedProgram[]): Promise<void> {
    for (const program of programs) {
      await program.close();
      this.#running.delete(program);
    }
  }

  async closeAll(): Promise<void> {
    await this.close(...this.#running);
  }

  /** Measures each program on its own: one that fails or takes too long says so in its cells, and the others go on. */
  async each<T>(
    measure: (program: BenchProgram & { argv: readonly string[] }) => Promise<T>,
    limitMs: number,
  ): Promise<Map<string, T | Error>> {
    const results = new Map<string, T | Error>();
    for (const program of this.programs) {
      this.say(`  ${program.title}`);
      try {
        results.set(program.id, await within(limitMs, measure(program)));
      } catch (error) {
        results.set(program.id, error as Error);
        this.say(`  ${program.title} failed: ${(error as Error).message}`);
      }
      await this.closeAll();
    }
    return results;
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.closeAll();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** Rejects when the limit is over first. What still runs is ended by whoever started it. */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const limit = new AbortController();
  try {
    return await Promise.race([
      work,
      delay(limitMs, undefined, { signal: limit.signal }).then((): never => {
        throw new Error(`took longer than ${Math.round(limitMs / 1000)} s`);
      }),
    ]);
  } finally {
    limit.abort();
    work.catch(() => undefined);
  }
}

/** One number out of every program's result. */
export function cellsOf<T>(results: ReadonlyMap<string, T | Error>, pick: (result: T) => number | string): Record<string, Cell> {
  return Object.fromEntries(
    [...results].map(([id, result]): [string, Cell] => {
      if (result instanceof Error) return [id, { failed: result.message }];
      const picked = pick(result);
      return [
        id,
        typeof picked === 'string' ? { none: picked } : Number.isNaN(picked) ? { failed: 'nothing was seen' } : { value: picked },
      ];
    }),
  );
}

/** Aims at no more than this number. */
export const atMost = (limit: number, text: string): NonNullable<Measure['aim']> => ({ text, met: (own) => own <= limit });
