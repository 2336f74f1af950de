import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import { versionsIn } from '../stack/apply-record.ts';
import { damagedSentence, findDamagedJournals } from '../stack/damaged-journals.ts';
import { removeHalted, writeHalted } from '../stack/halted-journal.ts';
import { readDeployment } from '../stack/read-deployment.ts';
import { finishRun, recordBefore, undoRun } from '../stack/recover.ts';
import { readOpenRestores } from '../stack/restore-journal.ts';
import { readUnfinishedRuns } from '../stack/run-journal.ts';
import { readLock } from '../stack/stack-lock.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { cleanLine } from '../text/clean.ts';
import { recoverAbout } from './about-stack.ts';
import { labelsOfNetwork, noteVerified, tellApplying } from './apply-plans.ts';
import { operatorOf } from './backup.ts';
import type { Flow, FlowOutcome, FlowWorld } from './flow.ts';
import { forgetRotation, readInterrupted, recoverHalted, rotationRecord } from './recover-halted.ts';
import { recoverRestore } from './recover-restore.ts';
import { makeNewest, type RotatedSecret, rotatedIn, tellRotated, tryRotated, whatChoicesMean } from './rotated-secrets.ts';
import { secretValues } from './secret-values.ts';
import { neededComposeTool } from './stack-facts.ts';
import { namesWithoutVerdict, waitUntilHealthy } from './wait-until-healthy.ts';

export const recover: Flow = {
  ...recoverAbout,
  async run(session, input, world) {
    const stackFolder = await world.stackFolderOf(input.place, session.signal);
    const host = world.hostOf(input.place);
    const runs = await readUnfinishedRuns(host, stackFolder, session.signal);
    const holder = await readLock(host, stackFolder, session.signal);
    // Its own script goes on without us; what broke off before waits for it.
    if (holder?.alive) {
      return {
        message: `${cleanLine(holder.by)} has been changing this stack since ${cleanLine(holder.since)}, and needs nobody for it: look again when that is done.`,
        data: { runs: [], working: { run: holder.run, by: holder.by, since: holder.since } },
      };
    }
    const restores = await readOpenRestores(host, stackFolder, session.signal);
    const halted = await readInterrupted(session, world, input.place);
    const [damaged] = await findDamagedJournals(host, stackFolder, session.signal);
    const count = runs.length + restores.length + halted.length;
    if (damaged !== undefined && count === 0) throw damagedFault(damaged, input.place);
    if (count === 0) return { message: `Nothing broke off in ${cleanLine(stackFolder)}.`, data: { runs: [] } };
    const done: { run: string; outcome: string }[] = [];
    // Data first: what a change does to containers would start them on half of each.
    for (const record of restores.toReversed())
      done.push({ run: record.run, outcome: await recoverRestore(session, input, world, record) });
    // The youngest first: what came later stands on what came before.
    for (const run of runs.toReversed()) {
      const choice = await chosen(session, run, await rotatedIn(world, host, run.transaction, session.signal), input.options);
      if (choice !== 'leave') await goOn(session, world, input.place, run, choice);
      done.push({ run: run.transaction.run, outcome: choice });
    }
    // Last: a change that was finished or undone may have started or replaced them.
    for (const record of halted) {
      done.push({ run: record.run, outcome: await recoverHalted(session, world, input.place, record) });
    }
    const outcome = summary(session, done);
    if (damaged !== undefined && !session.rehearsing) throw damagedFault(damaged, input.place, outcome.message);
    return outcome;
  },
};

/** @param done what was settled before it is said */
function damagedFault(path: string, place: string, done = ''): Fault {
  return new Fault({
    code: 'failed.journal',
    message: [done, damagedSentence(`${cleanLine(path)} on ${place}`)].filter(Boolean).join(' '),
    remedy: 'Check the components: quarterdeck status. Start or deploy again what differs, then move it away.',
    where: { file: path },
  });
}

function summary(session: Session, done: readonly { run: string; outcome: string }[]): FlowOutcome {
  const words = { finish: 'finished', undo: 'taken back', leave: 'left as it is' } as const;
  if (session.rehearsing) return { message: 'Rehearsed: nothing was changed.', data: { runs: done } };
  return {
    message: done.map(({ run, outcome }) => `${run}: ${words[outcome as keyof typeof words]}.`).join(' '),
    data: { runs: done },
  };
}

async function chosen(
  session: Session,
  run: RunOnHost,
  rotated: readonly RotatedSecret[],
  options: Readonly<Record<string, unknown>>,
): Promise<'finish' | 'undo' | 'leave'> {
  const means = whatChoicesMean(rotated);
  const sentence = [run.sentence, means?.sentence].filter(Boolean).join(' ');
  session.show({ kind: 'text', text: `${run.transaction.run}, by ${cleanLine(run.transaction.by)}: ${sentence}` });
  const lines = run.output.split('\n').filter(Boolean).slice(-15);
  if (lines.length > 0)
    session.show({ kind: 'table', title: 'Last lines of its output', columns: [''], rows: lines.map((line) => [line]) });
  if (options['finish'] === true) return 'finish';
  if (options['undo'] === true) return 'undo';
  if (!session.attended) {
    throw new Fault({
      code: 'refused.unfinished',
      message: sentence,
      remedy: 'Say which: quarterdeck recover --finish, or quarterdeck recover --undo.',
    });
  }
  return (await session.ask.choice({
    id: `recover ${run.transaction.run}`,
    label: 'What about it?',
    choices: [
      { value: 'finish', label: 'Finish it', detail: means?.finish ?? 'what is done is left out' },
      { value: 'undo', label: 'Take it back', detail: means?.undo ?? 'files, images and secrets as they were before' },
      { value: 'leave', label: 'Leave it' },
    ],
  })) as 'finish' | 'undo' | 'leave';
}

/** Finishes a run or takes it back, with the secrets in the versions that it names. */
export async function goOn(session: Session, world: FlowWorld, place: string, run: RunOnHost, how: 'finish' | 'undo'): Promise<void> {
  const { signal } = session;
  const { transaction } = run;
  const host = world.hostOf(place);
  const engine = world.engineOf(place);
  const tool = await neededComposeTool(world, place, signal);
  const secrets: Record<string, Record<string, string>> = {};
  for (const plan of transaction.plans) {
    const versions =
      how === 'finish'
        ? versionsIn(plan.secrets)
        : plan.kind === 'rejoin'
          ? ((await readDeployment(host, plan.stackFolder, plan.component, signal))?.record?.secrets ?? {})
          : ((await recordBefore(host, transaction, plan.component, signal))?.secrets ?? {});
    secrets[plan.component] = await secretValues(session, world, place, plan.component, versions);
  }
  const rotated = await rotatedIn(world, host, transaction, signal);
  const components = transaction.plans.map(({ component }) => component);
  const target = { host: place, ...(components.length === 1 && { component: components[0] ?? '' }) };
  const options = { tool, secrets, engine, networkLabels: labelsOfNetwork };
  const stackFolder = await world.stackFolderOf(place, signal);
  // Killed behind the script, the data would not have the value that the containers have.
  const record = rotated.length > 0 ? rotationRecord(await operatorOf(world, place, signal), rotated) : undefined;
  await session.act({
    id: `${how} ${transaction.run}`,
    right: 'operate',
    title: how === 'finish' ? `Finish the change to ${components.join(', ')}` : `Take back the change to ${components.join(', ')}`,
    request: `${how} run ${transaction.run}: ${components.join(', ')}`,
    target,
    limitMs: Number.POSITIVE_INFINITY,
    run: async (grant) => {
      if (record) await writeHalted(grant, host, stackFolder, record);
      try {
        return await (how === 'finish' ? finishRun : undoRun)(grant, host, run, options, (event) => tellApplying(session, event));
      } catch (thrown) {
        // The run is unfinished as before, and says so itself.
        if (record && !grant.signal.aborted) await removeHalted(grant, host, stackFolder, record.run);
        throw thrown;
      }
    },
  });
  world.fleet.refresh();
  if (session.rehearsing) return;
  const sinceMs = Date.now();
  await tellRotated(session, world, place, rotated, how === 'finish' ? 'after' : 'before');
  if (how === 'undo') await makeNewest(session, world, place, rotated);
  if (record) await forgetRotation(session, world, place, record);
  const there = transaction.plans.filter(({ files, component, joins }) => {
    if (joins?.starts === false) return false;
    const compose = files.find(({ path }) => path === `${component}/compose.yaml`);
    return how === 'finish' || compose === undefined || compose.before !== undefined;
  });
  const unchecked: string[] = [];
  for (const { component } of there) {
    const seen = await waitUntilHealthy(session, world, place, component, { sinceMs, changed: how === 'finish' });
    unchecked.push(...namesWithoutVerdict(seen));
  }
  if (how === 'undo') return;
  await tryRotated(session, world, place, rotated);
  await noteVerified(session, host, transaction, target, unchecked);
}
