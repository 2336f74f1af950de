import { Fault } from '../../faults/fault.ts';
import type { Session } from '../../session/session.ts';
import { versionsIn } from '../../stack/apply/apply.ts';
import { notDeployed } from '../../stack/apply/confirm-setup-task.ts';
import { lockedFault } from '../../stack/apply/faults.ts';
import { readLock } from '../../stack/apply/lock.ts';
import { finishRun, recordBefore, undoRun } from '../../stack/apply/recover.ts';
import { damagedSentence, findDamagedJournals, readRuns, readUnfinishedRuns } from '../../stack/apply/run-journal.ts';
import type { RunOnHost } from '../../stack/apply/transaction.ts';
import { readOpenRestores } from '../../stack/backup/restore-journal.ts';
import { removeHalted, writeHalted } from '../../stack/backup/stopped-containers.ts';
import { readDeployment, recordPath } from '../../stack/read-deployment.ts';
import { cleanLine } from '../../text/clean.ts';
import { operatorOf } from '../backup/backup.ts';
import { forgetRotation, readInterrupted, recoverHalted, rotationRecord } from '../backup/recover-halted.ts';
import { chooseRecovery, type Recovery, recoverRestore } from '../backup/restore-data.ts';
import { componentOf } from '../components/service-targets.ts';
import { namesWithoutVerdict, waitUntilHealthy } from '../components/wait-until-healthy.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowInput, FlowOutcome } from '../flow.ts';
import { cancelled } from '../prompt-cancelled.ts';
import { secretValues } from '../secrets/secret-values.ts';
import { labelsOfNetwork, noteVerified, onlyComponent, showApplying, undoableChange } from './apply-plans.ts';
import { describeChoices, listRotated, type RotatedSecret, restoreNewest, verifyRotated, writeVersion } from './rotated-secrets.ts';
import { neededComposeTool } from './stack-facts.ts';

export const recover = onEngine(async (scope, input, session) => {
  const { host } = scope;
  const stackFolder = await scope.stackFolder();
  const runs = await readUnfinishedRuns(host, stackFolder, session.signal);
  const holder = await readLock(host, stackFolder, session.signal);
  // The other change continues by itself on the host; interrupted changes must wait until it has finished.
  if (holder?.alive) {
    return {
      message: `${lockedFault(holder).message} Try again when the operation has finished.`,
      data: { runs: [], working: { run: holder.run, by: holder.by, since: holder.since } },
    };
  }
  const restores = await readOpenRestores(host, stackFolder, session.signal);
  const halted = await readInterrupted(scope);
  const [damaged] = await findDamagedJournals(host, stackFolder, session.signal);
  const count = runs.length + restores.length + halted.length;
  if (damaged !== undefined && count === 0) throw damagedFault(damaged, input.engineName);
  if (count === 0) return { message: `No interrupted changes in ${cleanLine(stackFolder)}.`, data: { runs: [] } };
  const done: { run: string; outcome: Recovery }[] = [];
  // Data first: a change would start containers on half-restored data.
  for (const record of restores.toReversed()) done.push({ run: record.run, outcome: await recoverRestore(scope, input, record) });
  // Newest first: later changes build on earlier ones.
  for (const run of runs.toReversed()) {
    const choice = await chosen(session, run, await listRotated(scope, run.transaction), input);
    if (choice !== 'leave') await goOn(scope, run, choice);
    done.push({ run: run.transaction.run, outcome: choice });
  }
  // Last: a change that was finished or undone may have started or replaced these containers.
  for (const record of halted) done.push({ run: record.run, outcome: await recoverHalted(scope, record) });
  const outcome = summary(session, done, new Set(halted.map(({ run }) => run)));
  if (damaged !== undefined && !session.dryRun) throw damagedFault(damaged, input.engineName, outcome.message);
  return outcome;
});

function damagedFault(path: string, engineName: string, done = ''): Fault {
  const message = [done, damagedSentence(`${cleanLine(path)} on ${engineName}`)].filter(Boolean).join(' ');
  const remedy =
    'Check the components: quarterdeck status. Start or redeploy components that are not in the expected state, then move the journal to another folder.';
  return new Fault('failed.journal', message, remedy, { where: { file: path } });
}

/** @param halted records of halted containers and interrupted rotations, which are neither finished nor undone */
function summary(session: Session, done: readonly { run: string; outcome: Recovery }[], halted: ReadonlySet<string>): FlowOutcome {
  const words = { finish: 'finished', undo: 'undone', leave: 'left as is' } as const;
  const settled = { finish: 'containers started', undo: 'resolved', leave: 'not resolved' } as const;
  const outcomes = done.map(({ run, outcome }) => `${run}: ${(halted.has(run) ? settled : words)[outcome]}.`).join(' ');
  return { message: session.dryRun ? 'Dry run: nothing was changed.' : outcomes, data: { runs: done } };
}

function chosen(session: Session, run: RunOnHost, rotated: readonly RotatedSecret[], input: FlowInput): Promise<Recovery> {
  const means = describeChoices(rotated);
  const summary = [run.summary, means?.summary].filter(Boolean).join(' ');
  session.show({ kind: 'text', text: `${run.transaction.run}, by ${cleanLine(run.transaction.by)}: ${summary}` });
  const lines = run.output.split('\n').filter(Boolean).slice(-15);
  if (lines.length > 0)
    session.show({ kind: 'table', title: 'Last lines of the output', columns: [''], rows: lines.map((line) => [line]) });
  return chooseRecovery(session, input, {
    run: run.transaction.run,
    summary,
    choices: [
      { value: 'finish', label: 'Finish', detail: means?.finish ?? 'completed steps are skipped' },
      { value: 'undo', label: 'Undo', detail: means?.undo ?? 'restores the previous files, images and secrets' },
    ],
  });
}

export async function goOn(scope: EngineScope, run: RunOnHost, how: 'finish' | 'undo'): Promise<void> {
  const { session, context, engineName, host, engine, signal } = scope;
  const { transaction } = run;
  const tool = await neededComposeTool(scope);
  const secrets: Record<string, Record<string, string>> = {};
  for (const plan of transaction.plans) {
    const versions =
      how === 'finish'
        ? versionsIn(plan.secrets)
        : plan.kind === 'rejoin'
          ? ((await readDeployment(host, plan.stackFolder, plan.component, signal))?.record?.secrets ?? {})
          : ((await recordBefore(host, transaction, plan.component, signal))?.secrets ?? {});
    secrets[plan.component] = await secretValues(scope, plan.component, versions);
  }
  const rotated = await listRotated(scope, transaction);
  const components = transaction.plans.map(({ component }) => component);
  const options = { tool, secrets, engine, networkLabels: labelsOfNetwork };
  const stackFolder = await scope.stackFolder();
  // If this is killed after the script, the data would not have the value that the containers have.
  const record = rotated.length > 0 ? rotationRecord(await operatorOf(scope), rotated) : undefined;
  await session.act({
    id: `${how} ${transaction.run}`,
    right: 'operate',
    title: how === 'finish' ? `Finish the change to ${components.join(', ')}` : `Undo the change to ${components.join(', ')}`,
    request: `${how} run ${transaction.run}: ${components.join(', ')}`,
    target: { host: engineName, component: onlyComponent(transaction.plans) },
    limitMs: Number.POSITIVE_INFINITY,
    run: async (grant) => {
      if (record) await writeHalted(grant, host, stackFolder, record);
      try {
        return await (how === 'finish' ? finishRun : undoRun)(grant, host, transaction, options, (event) => showApplying(session, event));
      } catch (thrown) {
        // The run is unfinished as before, and has its own record.
        if (record && !grant.signal.aborted) await removeHalted(grant, host, stackFolder, record.run);
        throw thrown;
      }
    },
  });
  context.fleet.refresh();
  if (session.dryRun) return;
  const sinceMs = Date.now();
  for (const secret of rotated)
    await writeVersion(scope, {
      secret,
      ...(how === 'finish' ? { version: secret.after, which: 'new' } : { version: secret.before, which: 'old' }),
    });
  if (how === 'undo') await restoreNewest(scope, rotated);
  if (record) await forgetRotation(scope, record);
  const there = transaction.plans.filter(({ files, component, joins }) => {
    if (joins?.starts === false) return false;
    const compose = files.find(({ path }) => path === `${component}/compose.yaml`);
    return how === 'finish' || compose === undefined || compose.before !== undefined;
  });
  const unchecked: string[] = [];
  for (const plan of there) {
    const changed = how === 'finish' && (await undoableChange(scope, plan));
    const seen = await waitUntilHealthy(scope, plan.component, { sinceMs, changed });
    unchecked.push(...namesWithoutVerdict(seen));
  }
  if (how === 'undo') return;
  await verifyRotated(scope, rotated);
  await noteVerified(scope, transaction, unchecked);
}

export const rollback = onEngine(async (scope, input, session) => {
  const { host } = scope;
  const component = componentOf(input);
  const { signal } = session;
  const stackFolder = await scope.stackFolder();
  const runs = await readRuns(host, stackFolder, signal);
  const last = runs.findLast(
    ({ state, transaction: { plans } }) =>
      state !== 'undone' &&
      state !== 'staged' &&
      plans.some((plan) => plan.component === component.id && plan.kind !== 'remove' && plan.kind !== 'rejoin'),
  );
  if (!last) {
    const ours = (await host.files.facts(recordPath(stackFolder, component.id), signal)) !== undefined;
    const message = `${component.id} has no change to roll back: Quarterdeck never changed it, or the change was already rolled back.`;
    const remedy = ours || !component.known ? `To restore a backup: quarterdeck restore ${component.id}` : notDeployed(component.id).remedy;
    throw new Fault('refused.nothingToRollBack', message, remedy);
  }
  const { transaction } = last;
  const at = `${cleanLine(transaction.startedAt).slice(0, 16).replace('T', ' ')} UTC`;
  const changed = transaction.plans.filter(({ kind }) => kind !== 'rejoin').map((plan) => plan.component);
  const others = changed.filter((id) => id !== component.id);
  const words = others.length === 1 ? 'was changed in the same run and is' : 'were changed in the same run and are';
  const advice = 'To roll back only this component, deploy it with its previous values.';
  const choice = await session.review({
    id: 'rollback',
    title: `Roll back the change made at ${at} by ${transaction.by}`,
    sections: transaction.plans.map((plan) => ({
      title: `${plan.component}: ${plan.kind === 'rejoin' ? 'joins the network again' : plan.kind}`,
      lines:
        plan.kind === 'rejoin'
          ? [{ text: `is recreated unchanged, in the network of ${plan.joins?.gateway ?? 'the gateway'}` }]
          : [
              ...plan.services
                .filter(({ change }) => change !== 'keep')
                .map(({ name, image, before }) => ({
                  text: before
                    ? `${name} is rolled back from ${image} to ${before.reference} (${before.id.replace('sha256:', '').slice(0, 12)})`
                    : `${name} is removed, because it did not exist before`,
                })),
              ...plan.files
                .filter((file) => file.before !== file.after)
                .map(({ path, before }) => ({ text: `${path} ${before === undefined ? 'is deleted' : 'is restored'}` })),
              { text: 'Volumes are not changed.' },
            ],
    })),
    findings:
      others.length === 0
        ? []
        : [{ id: 'changed-together', level: 'warning', message: `${others.join(', ')} ${words} rolled back too.`, advice }],
    actions: [
      { id: 'undo', label: 'Undo' },
      { id: 'cancel', label: 'Cancel' },
    ],
  });
  if (session.dryRun) return { message: 'Dry run: nothing was changed.' };
  if (choice !== 'undo') throw cancelled('Nothing was changed.');
  await goOn(scope, last, 'undo');
  return {
    message: `Rolled back the change of ${at}: ${changed.join(', ')}.`,
    data: { component: component.id, host: input.engineName, run: transaction.run },
  };
});
