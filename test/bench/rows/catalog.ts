import { fileURLToPath } from 'node:url';
import type { Bench, BenchRow } from '../bench-row.ts';
import { ownCell } from '../result-table.ts';
import { median } from '../statistics.ts';

const compiled = fileURLToPath(new URL('../../../dist/catalog.json', import.meta.url));

/** What `catalog-looker.ts` prints. */
interface Look {
  tookMs: number;
  cpuMs: number;
  entries: number;
}

const aimMs = 10;
const runsOf = (quick: boolean) => (quick ? 5 : 25);

const look = (bench: Bench) => bench.look<Look>('catalog-looker.ts', [compiled], { limitMs: 60_000 });

export const catalog: BenchRow = {
  id: 'catalog',
  title: 'The catalog opened',
  limitMs: 180_000,
  method: (quick) =>
    `A new process opens the compiled catalog, as every start does: its file is read, and every entry stands in lists, with its ports and images. Without the time to load our modules. Median of ${runsOf(quick)}.`,
  async run(bench) {
    const looks: Look[] = [];
    for (let turn = 0; turn < runsOf(bench.quick); turn++) looks.push(await look(bench));
    bench.say(`  ${looks.map(({ tookMs }) => tookMs.toFixed(1)).join(' ')} ms`);
    return {
      measures: [
        {
          what: `the catalog of ${looks[0]?.entries ?? 0} components opened`,
          unit: 'ms',
          cells: ownCell(median(looks.map(({ tookMs }) => tookMs))),
          aim: { text: `under ${aimMs} ms`, met: (own) => own < aimMs },
        },
        { what: 'CPU time of it', unit: 'ms', cells: ownCell(median(looks.map(({ cpuMs }) => cpuMs))) },
      ],
    };
  },
};
