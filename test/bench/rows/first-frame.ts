import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench, BenchRow, RowResult } from '../bench-row.ts';
import { node } from '../programs.ts';
import type { Cell, Measure } from '../result-table.ts';
import { median } from '../statistics.ts';

interface Start {
  frameMs: number;
  rowsMs: number;
}

export async function startOnce(
  bench: Bench,
  { id, argv }: { id: string; argv: readonly string[] },
  { url, limitMs = 15_000 }: { url?: string; limitMs?: number } = {},
): Promise<Start> {
  const program = bench.start(argv, { warm: id, ...(url !== undefined && { url }) });
  try {
    let frameMs: number | undefined;
    const rowsMs = await program.sees(
      (lines) => {
        return lines.some((line) => /bench-\d\d/.test(line));
      },
      'the row of a container',
      limitMs,
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

/** What no program with Ink can be faster than, bundled as the console is. */
async function withLeastInk<T>(use: (program: { id: string; argv: readonly string[] }) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'qd-least-ink-'));
  try {
    const cwd = fileURLToPath(new URL('../../..', import.meta.url));
    execFileSync(node, ['build.mjs', 'test/bench/least-ink.ts', folder], { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
    return await use({ id: 'least-ink', argv: [node, '--disable-sigusr1', join(folder, 'main.js')] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Starts all of them in turns, so that whatever else the machine does meets all alike.
 *
 * @param more one that has no column of its own
 */
async function measureStarts(
  bench: Bench,
  containers: number,
  runs: number,
  more?: { id: string; argv: readonly string[] },
): Promise<{ measures: Measure[]; bareMs: number[]; moreMs: number[] }> {
  const programs = [...bench.programs, ...(more ? [more] : [])];
  await bench.engine.sleepers(containers);
  const starts = new Map<string, Start[]>(programs.map(({ id }) => [id, []]));
  const failures = new Map<string, string>();
  const bareMs: number[] = [];
  for (let run = -1; run < runs; run++) {
    if (run >= 0) bareMs.push(await bareNode(bench));
    for (const program of programs) {
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
  const moreFailed = more && failures.get(more.id);
  if (moreFailed !== undefined) throw new Error(moreFailed);
  return {
    bareMs,
    moreMs: more ? (starts.get(more.id) ?? []).map(({ rowsMs }) => rowsMs) : [],
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
              ([id, cell]) =>
                id === 'quarterdeck' || id === 'before' || !('value' in cell) || own <= (id === 'hand-written' ? 3 : 1) * cell.value,
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
    `From just before the fork to the read after which the emulated screen shows anything at all, and to the one after which it shows the row of a container. Through \`bin/quarterdeck\`, warm: one start before is not counted. Median of ${quick ? 5 : 20} starts each, in turns with all others. \`node -e 0\` is timed to its end, in the same turns; so is \`test/bench/least-ink.ts\`, the least that Ink can do to show the same rows, to the first of them.`,
  async run(bench): Promise<RowResult> {
    const { measures, bareMs, moreMs } = await withLeastInk((least) => measureStarts(bench, 20, bench.quick ? 5 : 20, least));
    const ofFloor = (what: string, value: number): Measure => ({ what, unit: 'ms', cells: { 'hand-written': { value } } });
    const inkMs = median(moreMs);
    return {
      measures: [
        ...measures,
        ofFloor('the same rows from the least program with Ink', inkMs),
        ofFloor('`node -e 0`, exec to exit', median(bareMs)),
      ],
      notes: notesOn(measures[1]?.cells ?? {}, inkMs, bench.programs),
    };
  },
};

/** How far ours is from what its parts need, and which peers are faster than these parts alone. */
function notesOn(cells: Readonly<Record<string, Cell>>, inkMs: number, programs: Bench['programs']): string[] {
  const msOf = (id: string): number => {
    const cell = cells[id];
    return cell && 'value' in cell ? cell.value : Number.NaN;
  };
  const [own, floor] = [msOf('quarterdeck'), msOf('hand-written')];
  if (Number.isNaN(own) || Number.isNaN(floor)) return [];
  const notes = [
    `The first frame with rows takes ${(own / floor).toFixed(1)} times as long as the hand-written one, and ${(own / inkMs).toFixed(1)} times as long as the least that a program with Ink and React can show (\`test/bench/least-ink.ts\`, bundled and kept compiled in the same way).`,
  ];
  const out = programs.filter(({ id }) => id !== 'quarterdeck' && id !== 'hand-written' && msOf(id) < inkMs).map(({ title }) => title);
  if (out.length > 0) notes.push(`Ahead of what Ink alone takes, and so out of reach of any program with it: ${out.join(', ')}.`);
  return notes;
}

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
