import { setTimeout as delay } from 'node:timers/promises';
import { type BenchRow, cellsOf } from '../bench-row.ts';
import { openLog } from '../following.ts';
import { newestLine } from '../log-screen.ts';
import { median } from '../statistics.ts';

export const frameBytes: BenchRow = {
  id: 'frame-bytes',
  title: 'Bytes a frame',
  limitMs: 600_000,
  method: (quick) =>
    `Following a log of 10,000 lines/s for ${quick ? 4 : 8} s: bytes written, divided by how often another newest line was to be seen. In a list of ${quick ? 40 : 200} containers: bytes written within 150 ms of a key that moves down, median of ${quick ? 15 : 35} keys; all that the key causes, also in other panes.`,
  async run(bench) {
    await bench.engine.sleepers(20);
    const seconds = bench.quick ? 4 : 8;
    const following = await bench.each(async (program) => {
      await bench.engine.source({ rate: 10_000 });
      const running = await openLog(bench, program);
      await running.replay();
      const before = running.bytes;
      let newest: number | undefined;
      let frames = 0;
      await delay(seconds * 1000);
      const written = running.bytes - before;
      await running.replay((_, lines) => {
        const shown = newestLine(lines());
        if (shown !== undefined && shown !== newest) frames++;
        newest = shown ?? newest;
      });
      return { bytes: frames === 0 ? Number.NaN : written / frames, perSecond: frames / seconds };
    }, 60_000);
    await bench.engine.removeSource();

    await bench.engine.sleepers(bench.quick ? 40 : 200);
    const keys = bench.quick ? 15 : 35;
    const moving = await bench.each(async ({ argv, move }) => {
      const running = bench.start(argv);
      await running.sees((lines) => lines.some((line) => /bench-\d\d/.test(line)), 'its list', 30_000);
      await delay(3000);
      const sizes: number[] = [];
      for (let key = 0; key < keys; key++) {
        const before = running.bytes;
        running.press(move[0]);
        await delay(150);
        sizes.push(running.bytes - before);
      }
      const size = median(sizes);
      return size === 0 ? Number.NaN : size;
    }, 60_000);
    return {
      measures: [
        {
          what: 'a frame while a log is followed',
          unit: 'bytes',
          cells: cellsOf(following, ({ bytes }) => bytes),
          aim: { text: 'under 3 KB', met: (own) => own < 3000 },
        },
        { what: 'frames a second meanwhile', unit: 'frames/s', cells: cellsOf(following, ({ perSecond }) => perSecond) },
        {
          what: 'a move in the list',
          unit: 'bytes',
          cells: cellsOf(moving, (size) => size),
          aim: { text: 'under 3 KB', met: (own) => own < 3000 },
        },
      ],
    };
  },
};
