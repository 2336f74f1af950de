import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchRow } from '../bench-row.ts';
import { node } from '../programs.ts';
import type { Measure } from '../result-table.ts';
import { withServedEngines } from '../served-engines.ts';

const looker = fileURLToPath(new URL('../fleet-looker.ts', import.meta.url));
const run = promisify(execFile);

/** What `fleet-looker.ts` prints. */
interface Look {
  firstMs: number;
  allMs: number;
  emptyMb: number;
  usedMb: number;
  idlePercent: number;
}

const each = 50;
const sizesOf = (quick: boolean) => (quick ? [10, 100] : [10, 100, 1_000]);
const idleMsOf = (quick: boolean) => (quick ? 5_000 : 20_000);
const aimMb = (containers: number) => 60 + (containers * 4) / 1_000;

export const hosts: BenchRow = {
  id: 'hosts',
  title: 'Many hosts',
  limitMs: 600_000,
  method: (quick) =>
    `${sizesOf(quick).join(', ')} engines of the practice stack with ${each} containers each, on sockets of one process. A new process follows them as the console does, without drawing: until it knows containers of the first and of all of them, and what it has in memory after that, beyond what it had with its modules and the catalog; then its processor time over ${idleMsOf(quick) / 1000} s. Once more with as many hosts beside them that accept connections and never answer.`,
  async run(bench) {
    const look = async (urls: readonly string[], silentUrls: readonly string[]): Promise<Look> => {
      const asked = JSON.stringify({ urls, silentUrls, containers: each, idleMs: idleMsOf(bench.quick) });
      const { stdout } = await run(node, ['--import', 'tsx', looker, asked], { env: bench.env(), timeout: 200_000 });
      return JSON.parse(stdout) as Look;
    };
    const measures: Measure[] = [];
    for (const size of sizesOf(bench.quick)) {
      await withServedEngines({ engines: size, containers: each, silent: size }, async (urls, silentUrls) => {
        const well = await look(urls, []);
        const beside = await look(urls, silentUrls);
        const own = (value: number) => ({ quarterdeck: { value } });
        const of = `${size} hosts with ${each} containers`;
        bench.say(`  ${size}: ${[well, beside].map((one) => JSON.stringify(one)).join(' ')}`);
        const containers = size * each;
        measures.push(
          { what: `first rows of ${of}`, unit: 'ms', cells: own(well.firstMs) },
          { what: 'the same beside as many that never answer', unit: 'ms', cells: own(beside.firstMs) },
          { what: 'rows of all of them', unit: 'ms', cells: own(well.allMs) },
          { what: 'the same beside as many that never answer', unit: 'ms', cells: own(beside.allMs) },
          {
            ...{ what: 'memory for it', unit: 'MB', cells: own(well.usedMb - well.emptyMb) },
            aim: {
              text: `under 60 MB and 4 KB per container (${Math.round(aimMb(containers))})`,
              met: (value) => value < aimMb(containers),
            },
          },
          {
            ...{ what: 'CPU at rest', unit: '%', cells: own(well.idlePercent) },
            ...(size === 100 && { aim: { text: 'under 2 %', met: (value: number) => value < 2 } }),
          },
        );
      });
    }
    return { measures };
  },
};
