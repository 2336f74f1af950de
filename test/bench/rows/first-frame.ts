import type { Bench, BenchRow, RowResult } from '../bench-row.ts';
import { node } from '../programs.ts';
import type { Cell, Measure } from '../result-table.ts';
import { median } from '../statistics.ts';

interface Start {
  frameMs: number;
  rowsMs: number;
}

async function startOnce(bench: Bench, { id, argv }: { id: string; argv: readonly string[] }): Promise<Start> {
  const program = bench.start(argv, { warm: id });
  try {
    let frameMs: number | undefined;
    const rowsMs = await program.sees(
      (lines) => {
        return lines.some((line) => /bench-\d\d/.test(line));
      },
      'the row of a container',
      15_000,
      (atMs, lines) => {
        if (frameMs === undefined && lines().some((line) => line.trim() !== '')) frameMs = atMs;
      },
    );
    return { frameMs: (frameMs ?? rowsMs) - program.startedMs, rowsMs: rowsMs - program.startedMs };
  } finally {
    await bench.close(program);
  }
}

async function bareNode(bench: Bench): Promise<number> {
  const program = bench.start([node, '-e', '0']);
  await program.exited;
  const tookMs = performance.now() - program.startedMs;
  await bench.close(program);
  return tookMs;
}

/** Starts all of them in turns, so that whatever else the machine does meets all alike. */
async function measureStarts(bench: Bench, containers: number, runs: number): Promise<{ measures: Measure[]; bareMs: number[] }> {
  await bench.engine.sleepers(containers);
  const starts = new Map<string, Start[]>(bench.programs.map(({ id }) => [id, []]));
  const failures = new Map<string, string>();
  const bareMs: number[] = [];
  for (let run = -1; run < runs; run++) {
    if (run >= 0) bareMs.push(await bareNode(bench));
    for (const program of bench.programs) {
      if (failures.has(program.id)) continue;
      try {
        const start = await startOnce(bench, program);
        // The first one warms the caches.
        if (run >= 0) starts.get(program.id)?.push(start);
      } catch (error) {
        failures.set(program.id, (error as Error).message);
      }
    }
    bench.say(`  ${containers} containers: ${run + 1} of ${runs} runs`);
  }
  const cells = (pick: (start: Start) => number): Record<string, Cell> =>
    Object.fromEntries(
      bench.programs.map(({ id }): [string, Cell] => {
        const failed = failures.get(id);
        return [id, failed === undefined ? { value: median((starts.get(id) ?? []).map(pick)) } : { failed }];
      }),
    );
  return {
    bareMs,
    measures: [
      { what: `exec to first frame, ${containers} containers`, unit: 'ms', cells: cells(({ frameMs }) => frameMs) },
      {
        what: `exec to first frame with rows, ${containers} containers`,
        unit: 'ms',
        cells: cells(({ rowsMs }) => rowsMs),
        aim: {
          text: 'at most 3 times hand-written, and ahead of every peer',
          met: (own, others) =>
            Object.entries(others).every(
              ([id, cell]) => id === 'quarterdeck' || !('value' in cell) || own <= (id === 'hand-written' ? 3 : 1) * cell.value,
            ),
        },
      },
    ],
  };
}

export const firstFrame: BenchRow = {
  id: 'first-frame',
  title: 'Exec to first frame',
  limitMs: 240_000,
  method: (quick) =>
    `From just before the fork to the read after which the emulated screen shows anything at all, and to the one after which it shows the row of a container. Through \`bin/quarterdeck\`, warm: one start before is not counted. Median of ${quick ? 5 : 20} starts each, in turns with all others. \`node -e 0\` is timed to its end, in the same turns.`,
  async run(bench): Promise<RowResult> {
    const { measures, bareMs } = await measureStarts(bench, 20, bench.quick ? 5 : 20);
    const bare: Measure = { what: '`node -e 0`, exec to exit', unit: 'ms', cells: { 'hand-written': { value: median(bareMs) } } };
    const [own, floor] = ['quarterdeck', 'hand-written'].map((id) => measures[1]?.cells[id]);
    const times = own && floor && 'value' in own && 'value' in floor ? (own.value / floor.value).toFixed(1) : undefined;
    return {
      measures: [...measures, bare],
      notes: times === undefined ? [] : [`The first frame with rows takes ${times} times as long as the hand-written one.`],
    };
  },
};

export const firstFrameOfMany: BenchRow = {
  id: 'first-frame-many',
  title: 'Exec to first frame, many containers',
  limitMs: 420_000,
  method: (quick) => `As before, with ${quick ? 40 : 200} running containers and ${quick ? 3 : 7} starts each.`,
  async run(bench) {
    const { measures } = await measureStarts(bench, bench.quick ? 40 : 200, bench.quick ? 3 : 7);
    return { measures: measures.map((measure) => ({ ...measure, aim: undefined })) };
  },
};
