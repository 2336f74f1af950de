import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from './bench-row.ts';
import { newestLine } from './log-screen.ts';
import type { BenchProgram } from './programs.ts';
import type { TimedProgram } from './timed-program.ts';

type Installed = BenchProgram & { argv: readonly string[] };

/** Starts a program and brings it to where it follows the log of the source. */
export async function openLog(bench: Bench, { argv, toLog }: Installed, bytesPerSecond?: number): Promise<TimedProgram> {
  const program = bench.start(argv, bytesPerSecond === undefined ? {} : { bytesPerSecond });
  // Not the source: sorted by age it can be below what the list shows.
  await program.sees((lines) => lines.some((line) => /bench-\d\d/.test(line)), 'its list', 20_000);
  for (const [index, key] of toLog.entries()) {
    // Some lose keys while they begin, and none says when it has.
    await delay(index === 0 ? 1000 : 400);
    program.press(key);
  }
  await program.sees((lines) => newestLine(lines) !== undefined, 'the log of the source', 30_000);
  await delay(1500);
  return program;
}

export interface KeyTimes {
  /** From writing the key to the read after which it shows; the limit for what did not show until then. */
  keysMs: number[];
  /** When another newest line of the log was to be seen. */
  framesMs: number[];
  /** The number of the newest line that was seen last. */
  newest: number | undefined;
}

const keyLimitMs = 5000;

/** Presses the two keys in turns, each after the one before has shown, and times them. `gapMs` is the least between two. */
export async function pressKeys(
  program: TimedProgram,
  { lead, to, back, sight }: BenchProgram['keys'],
  count: number,
  gapMs: number,
): Promise<KeyTimes> {
  for (const key of lead) {
    program.press(key);
    await delay(500);
  }
  await program.replay();
  const times: KeyTimes = { keysMs: [], framesMs: [], newest: undefined };
  const watch = async (found?: (atMs: number, lines: readonly string[]) => void): Promise<void> =>
    await program.replay((atMs, lines) => {
      const shown = lines();
      const newest = newestLine(shown);
      if (newest !== undefined && newest !== times.newest) times.framesMs.push(atMs);
      times.newest = newest ?? times.newest;
      found?.(atMs, shown);
    });
  for (let index = 0; index < count; index++) {
    const there = index % 2 === 0;
    await watch();
    if (sight(program.screen()) === there) throw new Error(`"${there ? to : back}" would change nothing`);
    const pressedMs = program.press(there ? to : back);
    let shownMs: number | undefined;
    const look = (atMs: number, lines: readonly string[]): void => {
      if (shownMs === undefined && atMs > pressedMs && sight(lines) === there) shownMs = atMs;
    };
    // Not in step with anybody's frames.
    await delay(gapMs * (1 + Math.random()));
    await watch(look);
    while (shownMs === undefined && performance.now() - pressedMs < keyLimitMs) {
      await delay(50);
      await watch(look);
    }
    times.keysMs.push((shownMs ?? pressedMs + keyLimitMs) - pressedMs);
    if (shownMs === undefined)
      throw new Error(`"${there ? to : back}" did not show within ${keyLimitMs / 1000} s, after ${index} keys that did`);
  }
  return times;
}
