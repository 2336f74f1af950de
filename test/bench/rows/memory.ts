import { setTimeout as delay } from 'node:timers/promises';
import { type BenchRow, cellsOf } from '../bench-row.ts';
import { openLog } from '../following.ts';
import { newestLine } from '../log-screen.ts';
import { cpuMs, peakBytes, rssBytes } from '../processes.ts';
import type { TimedProgram } from '../timed-program.ts';

const rate = 10_000;

interface Memory {
  endBytes: number;
  peakBytes: number;
  /** What was added in the second half of the time. */
  grownBytes: number;
  cpuPercent: number;
  behindS: number;
}

export const memory: BenchRow = {
  id: 'memory',
  title: 'Memory while a log is followed',
  limitMs: 480_000,
  method: (quick) =>
    `One container writes 10,000 lines/s, and all programs follow it at once for ${quick ? '20 s' : '5 minutes'}. Resident memory of the program and its children at the end, the most the program ever had (VmHWM), and the growth from half time on. CPU is the mean over the whole time. *Behind* as above; a program that is minutes behind does not hold what it has not read.`,
  async run(bench) {
    const seconds = bench.quick ? 20 : 300;
    await bench.engine.sleepers(20);
    await bench.engine.source({ rate });
    const opened = new Map<string, TimedProgram | Error>();
    // One after the other: opening is not what is measured.
    for (const program of bench.programs) {
      try {
        opened.set(program.id, await openLog(bench, program));
      } catch (error) {
        opened.set(program.id, error as Error);
      }
    }
    const running = [...opened].flatMap(([id, program]) =>
      program instanceof Error ? [] : [{ id, program, cpu: cpuMs(program.pid), half: 0 }],
    );
    const fromMs = performance.now();
    for (let second = 1; second <= seconds; second++) {
      await delay(Math.max(0, fromMs + second * 1000 - performance.now()));
      for (const one of running) {
        // Looking at what all of them draw would cost as much as drawing it.
        one.program.forget();
        if (second === Math.ceil(seconds / 2)) one.half = rssBytes(one.program.pid);
      }
      if (second % 30 === 0) bench.say(`  ${second} of ${seconds} s`);
    }
    const results = new Map<string, Memory | Error>(
      [...opened].flatMap(([id, program]) => (program instanceof Error ? [[id, program]] : [])),
    );
    for (const { id, program, cpu, half } of running) {
      const endBytes = rssBytes(program.pid);
      const tookMs = performance.now() - fromMs;
      const usedMs = cpuMs(program.pid) - cpu;
      await program.redrawn();
      const newest = newestLine(program.screen());
      const last = await bench.engine.newestLine();
      results.set(
        id,
        program.ended
          ? new Error('it ended by itself')
          : {
              endBytes,
              peakBytes: peakBytes(program.pid),
              grownBytes: endBytes - half,
              cpuPercent: (100 * usedMs) / tookMs,
              behindS: newest === undefined ? Number.NaN : Math.max(0, last - newest) / rate,
            },
      );
    }
    await bench.closeAll();
    await bench.engine.removeSource();
    const when = bench.quick ? '20 s' : '5 minutes';
    return {
      measures: [
        {
          what: `memory after ${when} of 10,000 lines/s`,
          unit: 'MB',
          cells: cellsOf(results, ({ endBytes }) => endBytes / 1e6),
          aim: { text: 'under 180 MB', met: (own) => own < 180 },
        },
        { what: 'its peak', unit: 'MB', cells: cellsOf(results, (one) => one.peakBytes / 1e6) },
        {
          what: 'its growth in the second half',
          unit: 'MB',
          cells: cellsOf(results, ({ grownBytes }) => grownBytes / 1e6),
          aim: { text: 'flat, within 10 MB', met: (own) => own < 10 },
        },
        { what: 'CPU meanwhile', unit: '%', cells: cellsOf(results, ({ cpuPercent }) => cpuPercent) },
        { what: 'behind the engine at the end', unit: 's', cells: cellsOf(results, ({ behindS }) => behindS) },
      ],
    };
  },
};
