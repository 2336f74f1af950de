import type { BenchRow } from '../bench-row.ts';
import { type Measure, ownCell } from '../result-table.ts';
import { withServedEngines } from '../served-engines.ts';

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
    const look = (urls: readonly string[], silentUrls: readonly string[]) => {
      const asked = JSON.stringify({ urls, silentUrls, containers: each, idleMs: idleMsOf(bench.quick) });
      return bench.look<Look>('fleet-looker.ts', [asked], { limitMs: 200_000 });
    };
    const measures: Measure[] = [];
    for (const size of sizesOf(bench.quick)) {
      await withServedEngines({ engines: size, containers: each, silent: size }, async (urls, silentUrls) => {
        const well = await look(urls, []);
        const beside = await look(urls, silentUrls);
        const of = `${size} hosts with ${each} containers`;
        bench.say(`  ${size}: ${[well, beside].map((one) => JSON.stringify(one)).join(' ')}`);
        const containers = size * each;
        measures.push(
          { what: `first rows of ${of}`, unit: 'ms', cells: ownCell(well.firstMs) },
          { what: 'the same beside as many that never answer', unit: 'ms', cells: ownCell(beside.firstMs) },
          { what: 'rows of all of them', unit: 'ms', cells: ownCell(well.allMs) },
          { what: 'the same beside as many that never answer', unit: 'ms', cells: ownCell(beside.allMs) },
          {
            ...{ what: 'memory for it', unit: 'MB', cells: ownCell(well.usedMb - well.emptyMb) },
            aim: {
              text: `under 60 MB and 4 KB per container (${Math.round(aimMb(containers))})`,
              met: (value) => value < aimMb(containers),
            },
          },
          {
            ...{ what: 'CPU at rest', unit: '%', cells: ownCell(well.idlePercent) },
            ...(size === 100 && { aim: { text: 'under 2 %', met: (value: number) => value < 2 } }),
          },
        );
      });
    }
    return { measures };
  },
};
