import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, BenchRow } from '../bench-row.ts';
import { cpuMs, rssBytes } from '../processes.ts';
import type { Cell } from '../result-table.ts';

interface Idle {
  cpuPercent: number;
  bytes: number;
}

async function idle(bench: Bench, ids: readonly string[], settleS: number, seconds: number): Promise<Map<string, Idle | Error>> {
  const chosen = bench.programs.filter(({ id }) => ids.includes(id));
  const running = chosen.map(({ id, argv }) => ({ id, program: bench.start(argv) }));
  await delay(settleS * 1000);
  for (const { program } of running) await program.replay();
  const before = running.map(({ program }) => ({ atMs: performance.now(), cpu: cpuMs(program.pid) }));
  for (let second = 0; second < seconds; second++) {
    await delay(1000);
    for (const { program } of running) await program.replay();
  }
  const results = running.map(({ id, program }, index): [string, Idle | Error] => {
    const from = before[index];
    if (program.ended || !from) return [id, new Error('it ended by itself')];
    const share = (cpuMs(program.pid) - from.cpu) / (performance.now() - from.atMs);
    return [id, { cpuPercent: 100 * share, bytes: rssBytes(program.pid) }];
  });
  await bench.close(...running.map(({ program }) => program));
  return new Map(results);
}

export const idleCpu: BenchRow = {
  id: 'idle-cpu',
  title: 'CPU with many containers',
  limitMs: 420_000,
  method: (quick) =>
    `${quick ? 40 : 200} running containers that only sleep, nobody presses a key. CPU time of the program and its children over ${quick ? 10 : 60} s, ${quick ? 5 : 15} s after its start, in per cent of one core: ours alone, then all others at once. Memory is what they have at the end of it.`,
  async run(bench) {
    await bench.engine.sleepers(bench.quick ? 40 : 200);
    const [settleS, seconds] = bench.quick ? [5, 10] : [15, 60];
    bench.say('  quarterdeck alone');
    const own = await idle(bench, ['quarterdeck'], settleS, seconds);
    bench.say('  the others');
    const others = bench.programs.map(({ id }) => id).filter((id) => id !== 'quarterdeck');
    const results = new Map([...own, ...(await idle(bench, others, settleS, seconds))]);
    const cells = (pick: (idle: Idle) => number): Record<string, Cell> =>
      Object.fromEntries(
        [...results].map(([id, result]) => [id, result instanceof Error ? { failed: result.message } : { value: pick(result) }]),
      );
    const containers = bench.quick ? 40 : 200;
    return {
      measures: [
        {
          what: `CPU at rest, ${containers} containers`,
          unit: '%',
          cells: cells(({ cpuPercent }) => cpuPercent),
          aim: { text: 'under 1 %', met: (value) => value < 1 },
        },
        { what: `memory at rest, ${containers} containers`, unit: 'MB', cells: cells(({ bytes }) => bytes / 1e6) },
      ],
    };
  },
};
