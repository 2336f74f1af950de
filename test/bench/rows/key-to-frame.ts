import { spawnSync } from 'node:child_process';
import { atMost, type Bench, type BenchRow, cellsOf, within } from '../bench-row.ts';
import { openLog, pressKeys } from '../following.ts';
import type { Measure } from '../result-table.ts';
import { quantile } from '../statistics.ts';

interface Answers {
  keysMs: number[];
  /** How far the newest line on the screen is behind the engine's newest, in seconds. */
  behindS: number;
  /** What the source really wrote. */
  linesPerSecond: number;
}

/** Before a command: it then runs as soon as it can, whatever else wants the processor. */
const atOnce = ['chrt', '--rr', '5'] as const;
const canRunAtOnce = (): boolean => spawnSync(atOnce[0], [...atOnce.slice(1), 'true']).status === 0;

const leastBehindS = 0.2;
/** Not further behind than the floor by more than a tenth. */
const asHandWritten: Measure['aim'] = {
  text: `at most ${leastBehindS} s, or as hand-written`,
  met: (own, { 'hand-written': floor }) => own <= Math.max(leastBehindS, floor && 'value' in floor ? 1.1 * floor.value : 0),
};

export const keyToFrame: BenchRow = {
  id: 'key-to-frame',
  title: 'Key to frame',
  limitMs: 480_000,
  method: (quick) =>
    `A container writes numbered lines at the given rate, the program shows their end, and ${quick ? 12 : 40} keys are pressed, each 100 to 200 ms after the one before has shown; the time is from writing the key to the read after which its effect is on the screen. The key is a letter typed into the filter of the list and taken back, while the log goes on beside it; in dry the same in the search of the log, in ctop timestamps on and off, since they show the log alone. A new container for each program. *Behind* is how much later lines are shown than the engine has them.`,
  async run(bench) {
    const measures: Measure[] = [];
    const notes: string[] = [];
    await bench.engine.sleepers(20);
    for (const rate of [0, 10_000, 100_000]) {
      const name = rate === 0 ? 'idle' : `${rate.toLocaleString('en-US')} lines/s`;
      bench.say(`  ${name}`);
      const answer = async (program: Bench['programs'][number]): Promise<Answers> => {
        await bench.engine.source(rate === 0 ? { rate: 1000, limit: 200 } : { rate });
        const running = await openLog(bench, program);
        const fromMs = performance.now();
        const first = rate === 0 ? 0 : await bench.engine.newestLine();
        const { keysMs, newest } = await pressKeys(running, program.keys, bench.quick ? 12 : 40, 100);
        const last = rate === 0 ? 0 : await bench.engine.newestLine();
        return {
          keysMs,
          behindS: newest === undefined ? Number.NaN : Math.max(0, last - newest) / rate,
          linesPerSecond: (last - first) / ((performance.now() - fromMs) / 1000),
        };
      };
      const results = await bench.each(answer, 60_000);
      const aim = atMost(12, 'under 12 ms');
      measures.push(
        { what: `key to frame, ${name}, p50`, unit: 'ms', cells: cellsOf(results, ({ keysMs }) => quantile(keysMs, 0.5)) },
        { what: `key to frame, ${name}, p95`, unit: 'ms', cells: cellsOf(results, ({ keysMs }) => quantile(keysMs, 0.95)), aim },
      );
      const own = bench.programs.find(({ id }) => id === 'quarterdeck');
      if (rate === 100_000 && own && canRunAtOnce()) {
        bench.say('  quarterdeck, at a real-time priority');
        const { keysMs } = await within(60_000, answer({ ...own, argv: [...atOnce, ...own.argv] }));
        await bench.closeAll();
        const value = quantile(keysMs, 0.95);
        measures.push({ what: 'the same, ours at a real-time priority', unit: 'ms', cells: { quarterdeck: { value } } });
        notes.push(
          `Under ${name} source, engine, terminal and ours want more than the processors there are. At a real-time priority (\`${atOnce.join(' ')}\`) the same console has 95 of 100 keys on the screen within ${value.toFixed(1)} ms: what it takes beyond that is waiting for the scheduler.`,
        );
      }
      if (rate === 0) continue;
      measures.push({
        what: `log behind the engine, ${name}`,
        unit: 's',
        cells: cellsOf(results, ({ behindS }) => behindS),
        aim: rate === 10_000 ? atMost(leastBehindS, `at most ${leastBehindS} s`) : asHandWritten,
      });
      const rates = [...results.values()].flatMap((result) => (result instanceof Error ? [] : [Math.round(result.linesPerSecond)]));
      if (rates.length > 0) {
        notes.push(
          `Of ${name} that the source should write, the engine took ${Math.min(...rates).toLocaleString('en-US')} to ${Math.max(...rates).toLocaleString('en-US')} while programs followed.`,
        );
      }
    }
    await bench.engine.removeSource();
    return { measures, notes };
  },
};
