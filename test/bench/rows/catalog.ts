import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench, BenchRow } from '../bench-row.ts';
import { node } from '../programs.ts';
import { median } from '../statistics.ts';

const looker = fileURLToPath(new URL('../catalog-looker.ts', import.meta.url));
const compiled = fileURLToPath(new URL('../../../dist/catalog.json', import.meta.url));
const run = promisify(execFile);

/** What `catalog-looker.ts` prints. */
interface Look {
  tookMs: number;
  cpuMs: number;
  entries: number;
}

const aimMs = 10;
const runsOf = (quick: boolean) => (quick ? 5 : 25);

async function look(bench: Bench): Promise<Look> {
  const { stdout } = await run(node, ['--import', 'tsx', looker, compiled], { env: bench.env(), timeout: 60_000 });
  return JSON.parse(stdout) as Look;
}

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
          cells: { quarterdeck: { value: median(looks.map(({ tookMs }) => tookMs)) } },
          aim: { text: `under ${aimMs} ms`, met: (own) => own < aimMs },
        },
        { what: 'CPU time of it', unit: 'ms', cells: { quarterdeck: { value: median(looks.map(({ cpuMs }) => cpuMs)) } } },
      ],
    };
  },
};
