import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench, BenchRow } from '../bench-row.ts';
import { EngineRelay } from '../engine-relay.ts';
import { type Measure, ownCell } from '../result-table.ts';
import { median } from '../statistics.ts';

/** What `plan-looker.ts` prints. */
interface Look {
  sinceMs: number;
  untilMs: number;
  cpuMs: number;
  components: number;
  findings: number;
  unknown: readonly string[];
}

interface Taken {
  beyondMs: number;
  engineMs: number;
  cpuMs: number;
}

const many = 20;
const aimMs = 300;
const runsOf = (quick: boolean) => (quick ? 5 : 15);

async function look(bench: Bench, folder: string, url: string, count: number, ...more: readonly string[]): Promise<Look> {
  const seen = await bench.look<Look>('plan-looker.ts', [url, folder, String(count), ...more], { home: folder, limitMs: 120_000 });
  if (seen.components !== count || seen.unknown.length > 0) throw new Error(seen.unknown[0] ?? `only ${seen.components} were planned`);
  return seen;
}

async function measure(bench: Bench, folder: string, count: number): Promise<Taken[]> {
  const socket = join(folder, 'relay.sock');
  const relay = await EngineRelay.open(socket, bench.engine.url.replace(/^unix:\/\//, ''));
  const taken: Taken[] = [];
  try {
    for (let turn = -1; turn < runsOf(bench.quick); turn++) {
      const { sinceMs, untilMs, cpuMs } = await look(bench, folder, `unix://${socket}`, count);
      const engineMs = relay.busyMs(sinceMs, untilMs);
      // The first one asks the compose programs for their versions.
      if (turn >= 0) taken.push({ beyondMs: untilMs - sinceMs - engineMs, engineMs, cpuMs });
    }
  } finally {
    relay.close();
  }
  bench.say(`  ${count}: ${taken.map(({ beyondMs }) => Math.round(beyondMs)).join(' ')} ms`);
  return taken;
}

function measuresOf(what: string, taken: readonly Taken[]): Measure[] {
  const cell = (pick: (one: Taken) => number) => ownCell(median(taken.map(pick)));
  return [
    {
      what: `plan and preflight of ${what}, beyond the engine's own answers`,
      unit: 'ms',
      cells: cell(({ beyondMs }) => beyondMs),
      aim: { text: `under ${aimMs} ms`, met: (own) => own < aimMs },
    },
    { what: "the engine's own answers meanwhile", unit: 'ms', cells: cell(({ engineMs }) => engineMs) },
    { what: 'CPU time of it', unit: 'ms', cells: cell(({ cpuMs }) => cpuMs) },
  ];
}

export const plan: BenchRow = {
  id: 'plan',
  title: 'Plan and preflight',
  limitMs: 300_000,
  method: (quick) =>
    `The component of the catalog with the most services, and ${many} that stand in one stack, are planned by a new process, with all that preflight asks of host and engine; from the first question to the last finding, without the time to load our modules. The engine is reached through a relay, which notes when there was a question that was not answered to its end: that time is the engine's own, and is taken off. Whatever of it we used as well counts for the engine, so the CPU time of the process stands beside it. Once before is not counted; median of ${runsOf(quick)}.`,
  async run(bench) {
    const folder = await mkdtemp(join(tmpdir(), 'qd-plan-'));
    try {
      const one = await measure(bench, folder, 1);
      await look(bench, folder, bench.engine.url, many, 'prepare');
      const all = await measure(bench, folder, many);
      return { measures: [...measuresOf('one component', one), ...measuresOf(`${many} components`, all)] };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
