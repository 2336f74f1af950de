import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, BenchRow } from '../bench-row.ts';
import { handWrittenCounter, launcher, ownCounter } from '../programs.ts';
import type { Cell, Measure } from '../result-table.ts';
import { runToEnd } from '../run-to-end.ts';
import { median } from '../statistics.ts';

const rate = 100_000;
const delayS = 8;
const limitMs = 120_000;

async function cell(measure: () => Promise<number>): Promise<Cell> {
  try {
    return { value: await measure() };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}

/** Follows the source from its first line to its last, and reads the program's own count of lines. */
async function countedOnScreen(
  bench: Bench,
  argv: readonly string[],
  counter: RegExp,
  limit: number,
): Promise<{ count: number; perSecond: number }> {
  const name = await bench.engine.source({ rate, limit, delayS });
  const program = bench.start(argv);
  await program.sees((shown) => shown.some((line) => line.includes(name)), 'the source in its list', 20_000);
  let count = 0;
  let firstMs = Number.NaN;
  let changedMs = performance.now();
  const untilMs = performance.now() + limitMs;
  // Over when it has all, or when nothing was added for as long as a slow engine takes to say something.
  while (count < limit && performance.now() < untilMs && (count === 0 || performance.now() - changedMs < 8000)) {
    await delay(200);
    await program.replay((atMs, shown) => {
      const found = shown()
        .map((line) => counter.exec(line)?.[1])
        .find((text) => text !== undefined);
      const now = Number((found ?? '0').replaceAll(/\D/g, ''));
      if (now === count) return;
      if (Number.isNaN(firstMs) && now > 0) firstMs = atMs;
      count = now;
      changedMs = atMs;
    });
  }
  await bench.close(program);
  if (count === 0) throw new Error('it showed no count of lines');
  return { count, perSecond: count / ((changedMs - firstMs) / 1000) };
}

export const linesKept: BenchRow = {
  id: 'lines-kept',
  title: 'Lines kept',
  limitMs: 480_000,
  method: (quick) =>
    `A container writes ${quick ? '200,000' : '1,000,000'} numbered lines at 100,000 a second and then falls silent; the console follows it from the first on, and its own count of lines is read from the screen. The same log is then printed by \`quarterdeck logs\` and by \`docker logs\` into a pipe where lines are counted, and to /dev/null where the time is taken (median of 3, in turns). Peers show no count.`,
  async run(bench) {
    const limit = bench.quick ? 200_000 : 1_000_000;
    const perSecond: Record<string, Cell> = {};
    const counts: Record<string, Cell> = {};
    for (const { id, argv } of bench.programs) {
      const counter = { quarterdeck: ownCounter, 'hand-written': handWrittenCounter }[id];
      if (!counter) {
        counts[id] = { none: 'shows none' };
        continue;
      }
      bench.say(`  ${id} follows`);
      const seen = await countedOnScreen(bench, argv, counter, limit).catch((error: Error) => error);
      counts[id] = seen instanceof Error ? { failed: seen.message } : { value: seen.count };
      perSecond[id] = seen instanceof Error ? { failed: seen.message } : { value: seen.perSecond };
      await bench.closeAll();
    }
    bench.say('  printed whole');
    const name = 'bench-00-source';
    const ownArgv = [launcher, 'logs', name];
    const dockerArgv = ['docker', 'logs', name];
    const dockerLines = await cell(async () => (await runToEnd(dockerArgv, { env: bench.env(), counted: true })).lines);
    const ownLines = await cell(async () => (await runToEnd(ownArgv, { env: bench.env(), counted: true })).lines);
    const times = { own: [] as number[], docker: [] as number[] };
    let failure: Error | undefined;
    for (let run = 0; run < (bench.quick ? 1 : 3) && !failure; run++) {
      try {
        times.docker.push((await runToEnd(dockerArgv, { env: bench.env() })).tookMs);
        times.own.push((await runToEnd(ownArgv, { env: bench.env() })).tookMs);
      } catch (error) {
        failure = error as Error;
      }
    }
    await bench.engine.removeSource();
    const all = 'value' in dockerLines ? dockerLines.value : Number.NaN;
    const exactly: Measure['aim'] = { text: 'as many as docker logs', met: (own) => own === all };
    const dockerMs = median(times.docker);
    const docker = 'value' in dockerLines ? all.toLocaleString('en-US') : `nothing (${'failed' in dockerLines ? dockerLines.failed : ''})`;
    return {
      measures: [
        { what: 'lines counted while following 100,000 lines/s', unit: 'lines', cells: counts, aim: exactly },
        { what: 'lines a second meanwhile', unit: 'lines/s', cells: perSecond },
        { what: 'lines that `quarterdeck logs` prints', unit: 'lines', cells: { quarterdeck: ownLines }, aim: exactly },
        {
          what: `\`quarterdeck logs\` of ${limit.toLocaleString('en-US')} lines`,
          unit: 'ms',
          cells: { quarterdeck: failure ? { failed: failure.message } : { value: median(times.own) } },
          aim: { text: 'at most 1.05 times `docker logs`', met: (own) => own <= 1.05 * dockerMs },
        },
      ],
      notes: [
        `\`docker logs\` prints ${docker} lines of ${limit.toLocaleString('en-US')} that were written, and takes ${Math.round(dockerMs).toLocaleString('en-US')} ms for them${failure ? '' : `: ours takes ${(median(times.own) / dockerMs).toFixed(2)} times as long`}.`,
      ],
    };
  },
};
