import { type BenchRow, cellsOf } from '../bench-row.ts';
import { openLog, pressKeys } from '../following.ts';
import type { Measure } from '../result-table.ts';
import { quantile, spacings } from '../statistics.ts';

const bytesPerSecond = 50_000;

export const slowLink: BenchRow = {
  id: 'slow-link',
  title: 'Over a slow terminal',
  limitMs: 300_000,
  method: (quick) =>
    `The pty is read at 50 KB/s, as a slow link would, while a log of 10,000 lines/s is followed. ${quick ? 8 : 20} keys as above, each at least 400 ms after the one before has shown. The spacing of frames is the time between two reads after which another newest line of the log is to be seen.`,
  async run(bench) {
    await bench.engine.sleepers(20);
    const results = await bench.each(async (program) => {
      await bench.engine.source({ rate: 10_000 });
      const running = await openLog(bench, program, bytesPerSecond);
      const { keysMs, framesMs } = await pressKeys(running, program.keys, bench.quick ? 8 : 20, 400);
      return { keysMs, frameSpacingsMs: spacings(framesMs) };
    }, 90_000);
    await bench.engine.removeSource();
    const measures = [0.5, 0.95].flatMap((share): Measure[] => [
      { what: `key to frame at 50 KB/s, p${share * 100}`, unit: 'ms', cells: cellsOf(results, ({ keysMs }) => quantile(keysMs, share)) },
      {
        what: `frame spacing at 50 KB/s, p${share * 100}`,
        unit: 'ms',
        cells: cellsOf(results, ({ frameSpacingsMs }) => quantile(frameSpacingsMs, share)),
      },
    ]);
    return { measures: measures.sort((one, other) => Number(one.what.startsWith('frame')) - Number(other.what.startsWith('frame'))) };
  },
};
