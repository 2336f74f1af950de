import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bench, BenchRow } from '../bench-row.ts';
import { launcher } from '../programs.ts';
import type { Measure } from '../result-table.ts';
import { withServedEngines } from '../served-engines.ts';
import { median } from '../statistics.ts';

const runsOf = (quick: boolean) => (quick ? 5 : 15);
const countsOf = (quick: boolean) => (quick ? [20, 300] : [20, 300, 2_000]);

/** From just before the fork to the end. Fails with what it says if it does not end well. */
async function timed(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const startedMs = performance.now();
  const child = spawn(argv[0] ?? '', argv.slice(1), { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  const tookMs = performance.now() - startedMs;
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${said}`);
  return tookMs;
}

/** In turns, so that whatever else the machine does meets all alike; the first turns warm the caches. */
async function inTurns(
  bench: Bench,
  env: Readonly<Record<string, string>>,
  ...commands: readonly (readonly string[])[]
): Promise<number[]> {
  const taken: number[][] = commands.map(() => []);
  for (let turn = -3; turn < runsOf(bench.quick); turn++) {
    for (const [at, argv] of commands.entries()) {
      const tookMs = await timed(argv, env);
      if (turn >= 0) taken[at]?.push(tookMs);
    }
  }
  return taken.map(median);
}

const own = (value: number) => ({ quarterdeck: { value } });

export const commands: BenchRow = {
  id: 'commands',
  title: 'Commands',
  limitMs: 300_000,
  method: (quick) =>
    `From just before the fork to the end, with the output thrown away; median of ${runsOf(quick)} after three that are not counted. ${countsOf(quick).join(', ')} containers without a probe are served by the practice stack's engine, in a process of its own: \`docker ps --all\` asks the same one, in turns with \`quarterdeck status\`. Completion answers \`quarterdeck logs pass\`.`,
  async run(bench) {
    const home = mkdtempSync(join(tmpdir(), 'qd-commands-'));
    const under = (limitMs: number): Measure['aim'] => ({ text: `under ${limitMs} ms`, met: (value) => value < limitMs });
    try {
      const env = { ...bench.env(home), QUARTERDECK_KEYCHAIN: 'off' };
      const [versionMs = Number.NaN, completionMs = Number.NaN] = await inTurns(
        bench,
        env,
        [launcher, '--version'],
        [launcher, 'complete', '--', 'logs', 'pass'],
      );
      const measures: Measure[] = [
        { what: '`quarterdeck --version`', unit: 'ms', cells: own(versionMs), aim: under(60) },
        { what: 'completion of a component', unit: 'ms', cells: own(completionMs), aim: under(80) },
      ];
      for (const count of countsOf(bench.quick)) {
        await withServedEngines({ containers: count }, async ([url = '']) => {
          const asking = { ...env, DOCKER_HOST: url };
          const [statusMs = Number.NaN, dockerMs = Number.NaN] = await inTurns(
            bench,
            asking,
            [launcher, 'status'],
            ['docker', 'ps', '--all'],
          );
          bench.say(`  ${count}: status ${Math.round(statusMs)} ms, docker ps ${Math.round(dockerMs)} ms`);
          measures.push({
            what: `\`quarterdeck status\`, ${count} containers`,
            unit: 'ms',
            cells: own(statusMs),
            aim: { text: `at most 1.5 times \`docker ps\` (${Math.round(dockerMs)} ms)`, met: (value) => value <= 1.5 * dockerMs },
          });
        });
      }
      return { measures };
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
};
