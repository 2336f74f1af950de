import { join } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Flow } from '../flows/flow.ts';
import type { OpenRun } from '../session/journal.ts';
import { cleanLine } from '../text/clean.ts';
import { runFlowVerb } from './flow-verb.ts';
import { tableLines } from './table.ts';
import type { VerbContext } from './verb.ts';

/** `run` alone: what was begun and can be gone on with. `--resume RUN` goes on with it. */
export async function runRunVerb(context: VerbContext, flows: readonly Flow[], resume: string | undefined): Promise<number> {
  const { openRuns } = await import('../session/journal.ts');
  const resumable = new Map(flows.filter(({ resumes }) => resumes).map((flow) => [flow.id, flow]));
  const runs = (await openRuns(join(context.paths.state, 'journal'))).filter(({ flow }) => resumable.has(flow));
  if (resume === undefined) return list(context, runs, resumable);
  const run = runs.find((each) => each.run === resume);
  const flow = run && resumable.get(run.flow);
  if (!run || !flow) {
    throw new Fault({
      code: 'usage.run',
      message: `There is no run "${cleanLine(resume)}" that can be gone on with.`,
      remedy: 'quarterdeck run lists them.',
    });
  }
  const { options } = context;
  const there = { ...context, options: { ...options, ...(options.host === undefined && run.place !== 'local' && { host: run.place }) } };
  const words = run.component === undefined ? run.words : [run.component, ...run.words];
  return runFlowVerb(there, flow, words, run.options, run.run);
}

function list({ output, options }: VerbContext, runs: readonly OpenRun[], flows: ReadonlyMap<string, Flow>): number {
  if (options.json) {
    output.json({
      schema: 1,
      runs: runs.map(({ run, flow, place, component, words, at, acts }) => ({
        run,
        flow,
        host: place,
        ...(component !== undefined && { component }),
        ...(words.length > 0 && { words }),
        begun: at,
        acts: acts.length,
      })),
    });
    return 0;
  }
  if (runs.length === 0) {
    output.line('Nothing was left in the middle.');
    return 0;
  }
  const columns = [
    { heading: 'RUN' },
    { heading: 'WHAT', least: 12 },
    { heading: 'HOST' },
    { heading: 'BEGUN' },
    { heading: 'DONE', align: 'right' as const },
  ];
  const rows = runs.map(({ run, flow, place, component, words, at, acts }) => [
    run,
    [flows.get(flow)?.verb ?? flow, ...(component === undefined ? [] : [component]), ...words].join(' '),
    place,
    at.slice(0, 16).replace('T', ' '),
    String(acts.length),
  ]);
  for (const line of tableLines(columns, rows, { width: output.columns, heading: (text) => output.paint('faint', text) }))
    output.line(line);
  output.note('Go on with one: quarterdeck run --resume RUN');
  return 0;
}
