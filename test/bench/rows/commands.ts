import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchRow } from '../bench-row.ts';
import { launcher } from '../programs.ts';
import { type Measure, ownCell } from '../result-table.ts';
import { runToEnd } from '../run-to-end.ts';
import { withServedEngines } from '../served-engines.ts';
import { inTurns } from '../statistics.ts';

const runsOf = (quick: boolean) => (quick ? 5 : 15);
const countsOf = (quick: boolean) => (quick ? [20, 300] : [20, 300, 2_000]);

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
      /** The first three write down what V8 compiled of them. */
      const timed = <T extends string>(programs: Record<T, readonly string[]>, asked: Readonly<Record<string, string>>) => {
        const works = Object.entries<readonly string[]>(programs).map(([name, argv]) => [name, () => runToEnd(argv, { env: asked })]);
        return inTurns(Object.fromEntries(works) as Record<T, () => Promise<unknown>>, runsOf(bench.quick), 3);
      };
      const took = await timed({ version: [launcher, '--version'], completion: [launcher, 'complete', '--', 'logs', 'pass'] }, env);
      const measures: Measure[] = [
        { what: '`quarterdeck --version`', unit: 'ms', cells: ownCell(took.version), aim: under(60) },
        { what: 'completion of a component', unit: 'ms', cells: ownCell(took.completion), aim: under(80) },
      ];
      for (const count of countsOf(bench.quick)) {
        await withServedEngines({ containers: count }, async ([url = '']) => {
          const { status, docker } = await timed(
            { status: [launcher, 'status'], docker: ['docker', 'ps', '--all'] },
            { ...env, DOCKER_HOST: url },
          );
          bench.say(`  ${count}: status ${Math.round(status)} ms, docker ps ${Math.round(docker)} ms`);
          measures.push({
            what: `\`quarterdeck status\`, ${count} containers`,
            unit: 'ms',
            cells: ownCell(status),
            aim: { text: `at most 1.5 times \`docker ps\` (${Math.round(docker)} ms)`, met: (value) => value <= 1.5 * docker },
          });
        });
      }
      return { measures };
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
};
