import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, BenchRow } from '../bench-row.ts';
import { pressKeys } from '../following.ts';
import { type Growth, growthPlot, leftOut } from '../growth-plot.ts';
import { cpuMs } from '../processes.ts';
import { launcher } from '../programs.ts';
import type { Cell, Measure } from '../result-table.ts';
import { runToEnd } from '../run-to-end.ts';
import { withServedEngines } from '../served-engines.ts';
import { median, quantile } from '../statistics.ts';
import type { TimedProgram } from '../timed-program.ts';
import { startOnce } from './first-frame.ts';

const countsOf = (quick: boolean) => (quick ? [20, 200] : [20, 200, 2_000, 20_000]);
const runsOf = (quick: boolean) => (quick ? 3 : 7);
const keysOf = (quick: boolean) => (quick ? 12 : 40);
/** Long enough for one of the lists that the console asks for every minute. */
const restMsOf = (quick: boolean) => (quick ? 10_000 : 60_000);

const firstRowsLimitMs = 60_000;
/** Runs of a measure that take longer together are fewer. */
const enoughMs = 60_000;
const restLimitMs = 180_000;
const lookLimitMs = 300_000;
const restPercent = 5;

const parts = {
  rowsMs: { what: 'exec to first frame with rows', unit: 'ms' },
  statusMs: { what: '`quarterdeck status --json`', unit: 'ms' },
  keyMs: { what: 'key to frame, p95', unit: 'ms' },
  memoryMb: { what: 'memory beyond start', unit: 'MB' },
  restPercent: { what: 'CPU at rest', unit: '%' },
} as const satisfies Record<string, Pick<Measure, 'what' | 'unit'>>;

type Part = keyof typeof parts;

/** One that fails does not take the others with it. */
async function cell(bench: Bench, what: string, measure: () => Promise<number>): Promise<Cell> {
  try {
    const value = await measure();
    return Number.isNaN(value) ? { failed: 'nothing was seen' } : { value };
  } catch (error) {
    const failed = (error as Error).message.split('\n')[0] ?? '';
    bench.say(`  ${what}: ${failed}`);
    return { failed };
  } finally {
    await bench.closeAll();
  }
}

/** After two that warm the caches; of fewer runs when they take long. */
async function medianOf(runs: number, measure: () => Promise<number>): Promise<number> {
  const untilMs = performance.now() + enoughMs;
  const values: number[] = [];
  for (let run = -2; run < runs && (values.length === 0 || performance.now() < untilMs); run++) {
    const value = await measure();
    if (run >= 0) values.push(value);
  }
  return median(values);
}

/** After the first rows the console inspects every container: waits until it has nothing to do for two seconds. */
async function rest(program: TimedProgram): Promise<void> {
  const untilMs = performance.now() + restLimitMs;
  for (let quietS = 0; quietS < 2; ) {
    const before = cpuMs(program.pid);
    await delay(1000);
    await program.replay();
    quietS = (cpuMs(program.pid) - before) / 10 <= restPercent ? quietS + 1 : 0;
    if (program.ended) throw new Error('it ended by itself');
    if (performance.now() > untilMs)
      throw new Error(`used more than ${restPercent} % of a processor for ${restLimitMs / 1000} s after its start`);
  }
}

async function atRest(bench: Bench, own: Bench['programs'][number], url: string): Promise<TimedProgram> {
  const program = bench.start(own.argv, { warm: 'growth', url });
  await program.sees((lines) => lines.some((line) => /bench-\d\d/.test(line)), 'the row of a container', firstRowsLimitMs);
  await rest(program);
  return program;
}

async function measureAt(bench: Bench, count: number, url: string): Promise<Record<Part, Cell>> {
  const own = bench.programs.find(({ id }) => id === 'quarterdeck');
  if (!own) throw new Error('quarterdeck is not installed');
  const runs = runsOf(bench.quick);
  const one = (part: Part, measure: () => Promise<number>) => cell(bench, `${parts[part].what}, ${count} containers`, measure);
  return {
    rowsMs: await one('rowsMs', () =>
      medianOf(runs, async () => (await startOnce(bench, { id: 'growth', argv: own.argv }, { url, limitMs: firstRowsLimitMs })).rowsMs),
    ),
    statusMs: await one('statusMs', () => {
      const env = { ...bench.env(undefined, url), QUARTERDECK_KEYCHAIN: 'off' };
      return medianOf(runs, async () => (await runToEnd([launcher, 'status', '--json'], { env })).tookMs);
    }),
    restPercent: await one('restPercent', async () => {
      const program = await atRest(bench, own, url);
      const [sinceMs, before] = [performance.now(), cpuMs(program.pid)];
      await delay(restMsOf(bench.quick));
      if (program.ended) throw new Error('it ended by itself');
      return (100 * (cpuMs(program.pid) - before)) / (performance.now() - sinceMs);
    }),
    keyMs: await one('keyMs', async () => {
      const { keysMs } = await pressKeys(await atRest(bench, own, url), own.keys, keysOf(bench.quick), 100);
      return quantile(keysMs, 0.95);
    }),
    memoryMb: await one('memoryMb', async () => {
      const asked = JSON.stringify({ urls: [url], silentUrls: [], containers: count, idleMs: 1_000 });
      const { usedMb, emptyMb } = await bench.look<{ usedMb: number; emptyMb: number }>('fleet-looker.ts', [asked], {
        limitMs: lookLimitMs,
      });
      return usedMb - emptyMb;
    }),
  };
}

export const growth: BenchRow = {
  id: 'growth',
  title: 'Growth',
  limitMs: 2_400_000,
  method: (quick) =>
    `${countsOf(quick).join(', ')} containers without a probe or a log are served by the practice stack's engine, in a process of its own; ours alone, each measure by itself. First frame: until the row of a container is seen, median of ${runsOf(quick)} after two that are not counted. \`status --json\`: to its end, likewise. Where these take longer than a minute together there are fewer. Key to frame: ${keysOf(quick)} keys as above, a letter typed into the filter of the list and taken back, once the console has used at most ${restPercent} % of a processor for two seconds. CPU at rest: over ${restMsOf(quick) / 1000} s from the same moment on. Memory: as for *Many hosts*, what following them takes beyond the modules and the catalog, without drawing. A point that failed is not drawn.`,
  async run(bench) {
    const found: { containers: number; cells: Record<Part, Cell> }[] = [];
    const missing = (reason: string) =>
      Object.fromEntries(Object.keys(parts).map((part) => [part, { failed: reason }])) as Record<Part, Cell>;
    for (const containers of countsOf(bench.quick)) {
      bench.say(`  ${containers} containers`);
      const cells = await withServedEngines({ containers }, ([url = '']) => measureAt(bench, containers, url)).catch((error: Error) =>
        missing(error.message),
      );
      await bench.closeAll();
      bench.say(`  ${containers}: ${JSON.stringify(cells)}`);
      found.push({ containers, cells });
    }
    const growths = Object.entries(parts).map(([part, { what, unit }]): Growth & { unit: Measure['unit'] } => ({
      ...{ what, unit },
      points: found.map(({ containers, cells }) => ({ containers, cell: cells[part as Part] })),
    }));
    return {
      measures: growths.flatMap(({ what, unit, points }) =>
        points.map(({ containers, cell: own }): Measure => {
          return { what: `${what}, ${containers.toLocaleString('en-US')} containers, practice engine`, unit, cells: { quarterdeck: own } };
        }),
      ),
      notes: leftOut(growths),
      figures: [
        {
          file: 'growth.svg',
          text: `Growth from ${countsOf(bench.quick)[0]} to ${countsOf(bench.quick).at(-1)?.toLocaleString('en-US')} containers; the numbers are in the table`,
          svg: growthPlot(growths.map((one) => ({ ...one, what: one.what.replaceAll('`', '') }))),
        },
      ],
    };
  },
};
