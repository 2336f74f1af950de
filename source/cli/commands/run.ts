import { join } from 'node:path';
import { pick } from '../../app/pick.ts';
import { Fault } from '../../faults/fault.ts';
import type { Flow } from '../../flows/flow.ts';
import type { DamagedRun, OpenRun, RunJournals } from '../../session/journal.ts';
import { cleanLine } from '../../text/clean.ts';
import type { VerbContext } from '../command.ts';
import { runFlowVerb } from './flow.ts';

export async function runRunVerb(context: VerbContext, flows: readonly Flow[], resume: string | undefined): Promise<number> {
  const { damagedRunFault, readRunJournals } = await import('../../session/journal.ts');
  const resumable = new Map(flows.filter(({ resumes }) => resumes).map((flow) => [flow.id, flow]));
  const found = await readRunJournals(join(context.paths.state, 'journal'));
  const open = found.open.filter(({ flow }) => resumable.has(flow));
  const damaged = found.damaged.filter(({ flow }) => flow === undefined || resumable.has(flow));
  if (resume === undefined) return list(context, { open, damaged }, resumable);
  const broken = damaged.find((each) => each.run === resume);
  if (broken) throw damagedRunFault(broken);
  const run = open.find((each) => each.run === resume);
  const flow = run && resumable.get(run.flow);
  if (!run || !flow) {
    throw new Fault('usage.run', `No interrupted run is named "${cleanLine(resume)}".`, 'List interrupted runs: quarterdeck run');
  }
  const { options } = context;
  const { host } = options;
  if (host !== undefined && run.engineName !== host && !run.engineName.startsWith(`${host}/`)) {
    const message = `Run ${run.run} belongs to ${cleanLine(run.engineName)}, not ${cleanLine(host)}.`;
    throw new Fault('usage.host', message, `Resume the run without --host: quarterdeck run --resume ${run.run}`);
  }
  const meant = host === undefined && run.engineName !== 'local' && context.practice === undefined ? run.engineName : undefined;
  const there: VerbContext =
    meant === undefined ? context : { ...context, options: { ...options, host: meant }, app: () => context.app(meant) };
  const name = await nameOf(there, flow, run);
  const words = name === undefined ? run.words : [name, ...run.words];
  return runFlowVerb(there, flow, words, run.options, run.run);
}

/** Returns the name of the component that the run was about, even where others have the same name. */
async function nameOf({ app, signal }: VerbContext, flow: Flow, { component, key }: OpenRun): Promise<string | undefined> {
  if (flow.about !== 'component' || key === undefined) return component;
  const { components } = await (await app()).fleet.settle(signal);
  return components.some((one) => one.key === key) ? key : component;
}

function list({ output, options }: VerbContext, { open: runs, damaged }: RunJournals, flows: ReadonlyMap<string, Flow>): number {
  if (options.json) {
    output.json({
      schema: 1,
      runs: runs.map((run) => ({
        ...pick(run, 'run', 'flow'),
        host: run.engineName,
        ...pick(run, 'component', 'key'),
        words: run.words.length > 0 ? run.words : undefined,
        startedAt: run.at,
        acts: run.acts.length,
      })),
      damaged: damaged.length > 0 ? damaged.map((one) => pick(one, 'run', 'file', 'reason')) : undefined,
    });
    return 0;
  }
  if (runs.length === 0) output.line(damaged.length === 0 ? 'No interrupted runs.' : 'No run can be resumed.');
  else {
    const whatOf = ({ flow, component, key, words }: OpenRun) =>
      [flows.get(flow)?.verb ?? flow, ...(component === undefined ? [] : [shownName(component, key)]), ...words].join(' ');
    output.list(runs, {
      RUN: ({ run }) => run,
      WHAT: { cell: whatOf, least: 12 },
      HOST: ({ engineName }) => engineName,
      STARTED: ({ at }) => at.slice(0, 16).replace('T', ' '),
      DONE: { cell: ({ acts }) => String(acts.length), align: 'right' },
    });
    output.note('Resume a run: quarterdeck run --resume RUN');
  }
  for (const one of damaged) output.note(damageText(one));
  return 0;
}

function shownName(component: string, key: string | undefined): string {
  const project = key?.split('/').at(-2);
  return cleanLine(project ? `${project}/${component}` : component);
}

function damageText({ file, reason }: DamagedRun): string {
  return cleanLine(
    `${reason} The run may have been interrupted. Check what the run changed: quarterdeck audit. Then delete the journal or move it elsewhere: ${file}`,
  );
}
