import type { ContainerFacts, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';
import { type ApplyOptions, applyOptionsOf, makeNetworks, refuseWhenLocked, startScript } from './apply.ts';
import { lockedFault, stackFolderOf } from './apply-faults.ts';
import { followRun } from './apply-follow.ts';
import { runFolder, scriptOf } from './apply-script.ts';
import { isNew, recordPath } from './apply-script-steps.ts';
import { shellWord } from './apply-shell.ts';
import { ComposeEditor } from './compose-editor.ts';
import type { DeployRecord, Plan } from './model.ts';
import { imagesToPull, pullImages } from './pull-images.ts';
import { readDeployment } from './read-deployment.ts';
import { readJournal, readRun, readRuns } from './run-journal.ts';
import { readLock } from './stack-lock.ts';
import type { ApplyEvent, JournalEntry, RunOnHost, Transaction } from './transaction.ts';

const limitMs = 10_000;

/** What is needed to go on with a run: all but the transaction itself, which the host has. */
export type RecoverOptions = Omit<ApplyOptions, 'transaction'>;

/**
 * Goes on with a run that stopped or failed; what its journal says is done is left out. One that is finished already is answered as it is.
 * `secrets` are those in the versions that its plans name.
 */
export async function finishRun(
  grant: Grant,
  host: Host,
  { transaction }: Pick<RunOnHost, 'transaction'>,
  options: RecoverOptions,
  tell: (event: ApplyEvent) => void,
): Promise<RunOnHost> {
  const run = await readAgain(grant, host, transaction);
  if ((run.state === 'applied' || run.state === 'verified') && !(await isLockLeft(grant, host, transaction))) return run;
  if (run.entries.some(({ step }) => step === 'undo')) {
    throw new Fault({
      code: 'refused.undoBegun',
      message: `This run ${run.state === 'undone' ? 'was taken back' : 'is half taken back'}; it cannot be finished any more.`,
      remedy: run.state === 'undone' ? 'Plan the change anew.' : 'Take it back to the end, then plan the change anew.',
    });
  }
  await refuseWhenSuperseded(grant, host, run);
  const all: ApplyOptions = { ...options, transaction: run.transaction };
  await pullImages(grant, options.engine, imagesToPull(run.transaction), tell);
  await makeNetworks(grant, all);
  const { entries, lines } = await readJournal(host, stackFolderOf(run.transaction.plans), run.transaction.run, grant.signal);
  await startScript(grant, host, run.transaction, scriptOf(run.transaction, options.tool, await applyOptionsOf(grant, host, all, lines)));
  return followRun(grant, host, { transaction: run.transaction, seen: entries.length, secrets: options.secrets }, tell);
}

/**
 * Takes a run back: the files as they were, and `up` with them, with the secrets as they were (`recordBefore` names the versions) and the images that ran.
 * Volumes stay, also those that it made.
 * @throws Fault `refused.rollbackUnsafe` where a new image has run that may have changed its data for good.
 */
export async function undoRun(
  grant: Grant,
  host: Host,
  { transaction }: Pick<RunOnHost, 'transaction'>,
  options: RecoverOptions,
  tell: (event: ApplyEvent) => void,
): Promise<RunOnHost> {
  const run = await readAgain(grant, host, transaction);
  if (run.state === 'undone' && !(await isLockLeft(grant, host, transaction))) return run;
  await refuseWhenSuperseded(grant, host, run);
  const { plans } = run.transaction;
  const started = startedComponents(run.entries);
  const evidence = await reasonsAgainstUndo(
    options.engine,
    plans.filter(({ component }) => started.has(component)),
    grant.signal,
  );
  if (evidence.length > 0) {
    throw new Fault({
      code: 'refused.rollbackUnsafe',
      message: `Going back is not safe: ${evidence.join(' ')}`,
      remedy: snapshotRemedy(run.transaction) ?? 'Repair it and go on, or restore the backup that was made before.',
    });
  }
  const pinned: Record<string, string> = {};
  const composeTexts: Record<string, string> = {};
  for (const plan of plans) {
    if (isNew(plan) || !started.has(plan.component)) continue;
    const compose = await composeBefore(host, plan, grant.signal);
    composeTexts[plan.component] = compose;
    if (plan.kind === 'rejoin') continue;
    const text = await pinImages(grant, options.engine, plan, compose, tell);
    if (text !== compose) pinned[plan.component] = text;
    composeTexts[plan.component] = text;
  }
  const stackFolder = stackFolderOf(plans);
  const { entries, lines } = await readJournal(host, stackFolder, run.transaction.run, grant.signal);
  const script = scriptOf(run.transaction, options.tool, {
    mode: 'undo',
    secrets: options.secrets,
    records: {},
    composeTexts,
    seenLines: lines,
    undo: { touched: touchedComponents(run.entries), started, pinned },
    ...(options.stepLimitSeconds !== undefined && { stepLimitSeconds: options.stepLimitSeconds }),
  });
  await startScript(grant, host, run.transaction, script);
  const undone = await followRun(grant, host, { transaction: run.transaction, seen: entries.length, secrets: options.secrets }, tell);
  await removeNetworks(grant, options.engine, plans);
  return undone;
}

/** The way back where rolling back is none: the backups that a change took before it began. */
export function snapshotRemedy({ backups = {} }: Pick<Transaction, 'backups'>): string | undefined {
  const ways = Object.entries(backups).map(([component, { stamp }]) => `quarterdeck restore ${component} --snapshot ${stamp}`);
  if (ways.length === 0) return undefined;
  return `Repair it and go on, or go back to the backup that was taken before, with the data, the image and the files of then: ${ways.join('; ')}.`;
}

/** Writes down that everything was seen healthy. */
export async function markVerified(grant: Grant, host: Host, transaction: Transaction): Promise<void> {
  const journal = `${runFolder(stackFolderOf(transaction.plans), transaction.run)}/journal`;
  const line = JSON.stringify({ at: new Date().toISOString(), step: 'verified', state: 'done' } satisfies JournalEntry);
  const { exitCode } = await host.run(grant, ['sh', '-s'], {
    signal: grant.signal,
    limitMs,
    stdin: `[ -f ${shellWord(journal)} ] && printf '%s\\n' ${shellWord(line)} >>${shellWord(journal)}\n`,
  });
  if (exitCode === 0) return;
  throw new Fault({
    code: 'failed.journal',
    message: `The journal ${journal} cannot be written.`,
    remedy: 'Check who may write there, and the room on its filesystem.',
  });
}

/** What was written down of a component before this run: whose secrets, in which versions. Undefined where it was not deployed by us. */
export async function recordBefore(
  host: Host,
  { plans, run }: Transaction,
  component: string,
  signal: AbortSignal,
): Promise<DeployRecord | undefined> {
  const bytes = await host.files.read(`${runFolder(stackFolderOf(plans), run)}/before/${recordPath(component)}`, { signal });
  try {
    return bytes && (parseJson(Buffer.from(bytes).toString()) as DeployRecord);
  } catch {
    return undefined;
  }
}

/** As it stands now, not as somebody saw it a while ago. */
async function readAgain(grant: Grant, host: Host, transaction: Transaction): Promise<RunOnHost> {
  const run = await readRun(host, stackFolderOf(transaction.plans), transaction.run, grant.signal);
  if (!run) {
    throw new Fault({
      code: 'failed.noRun',
      message: `There is no run ${cleanLine(transaction.run)} on the host any more.`,
      remedy: 'Plan the change anew.',
    });
  }
  if (run.state === 'running') throw lockedFault({ by: run.transaction.by, since: run.transaction.startedAt, run: run.transaction.run });
  await refuseWhenLocked(grant, host, run.transaction);
  return run;
}

/** A script that died between its last entry and letting go of the lock has only that left to do. */
async function isLockLeft(grant: Grant, host: Host, { plans }: Transaction): Promise<boolean> {
  return (await readLock(host, stackFolderOf(plans), grant.signal)) !== undefined;
}

/** What came later stands on what this run left: its files would be lost. */
async function refuseWhenSuperseded(grant: Grant, host: Host, { transaction }: RunOnHost): Promise<void> {
  const changes = ({ kind }: Plan) => kind !== 'rejoin';
  const mine = new Set(transaction.plans.filter(changes).flatMap(({ component, files }) => [component, ...files.map(({ path }) => path)]));
  const later = (await readRuns(host, stackFolderOf(transaction.plans), grant.signal)).find(
    (run) =>
      run.transaction.run > transaction.run &&
      run.state !== 'staged' &&
      run.state !== 'undone' &&
      run.transaction.plans.some((plan) => changes(plan) && (mine.has(plan.component) || plan.files.some(({ path }) => mine.has(path)))),
  );
  if (!later) return;
  throw new Fault({
    code: 'refused.superseded',
    message: `The run ${later.transaction.run} of ${cleanLine(later.transaction.by)} has changed the same since.`,
    remedy: 'Take that one back first, or plan a new change.',
  });
}

/** Components whose files this run has changed, or may have. */
function touchedComponents(entries: readonly JournalEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ step }) => /^(?:place|down|part):(.*)$/s.exec(step)?.[1] ?? []));
}

/** Components whose containers this run has touched, or may have. */
export function startedComponents(entries: readonly JournalEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ step }) => /^(?:up|down|part):(.*)$/s.exec(step)?.[1] ?? []));
}

/** A sentence for each service whose new image has run, where the catalog does not say that going back is harmless. */
export async function reasonsAgainstUndo(engine: Engine, plans: readonly Plan[], signal: AbortSignal): Promise<string[]> {
  const doubtful = plans.filter(({ rollback, kind }) => rollback !== 'safe' && kind !== 'remove' && kind !== 'rejoin');
  if (doubtful.length === 0) return [];
  const containers = await engine.list(signal);
  const reasons: string[] = [];
  for (const plan of doubtful) {
    for (const { name, before } of plan.services) {
      // The same image, or none before: there are no data that a newer one could have changed.
      if (!before) continue;
      for (const container of containers.filter((candidate) => isOf(candidate, plan.project, name))) {
        if (container.imageId === '' || bare(container.imageId) === bare(before.id)) continue;
        const detail = await engine.inspect(container.id, signal);
        if (detail?.startedMs === undefined) continue;
        reasons.push(
          `${name} of ${plan.component} has run on ${cleanLine(container.image)} (${bare(container.imageId).slice(0, 12)}) since ${new Date(detail.startedMs).toISOString()}, and what it did to its data cannot be taken back.`,
        );
      }
    }
  }
  return reasons;
}

const bare = (id: string): string => id.replace(/^sha256:/, '');

function isOf({ labels }: ContainerFacts, project: string, service: string): boolean {
  return labels['com.docker.compose.project'] === project && labels['com.docker.compose.service'] === service;
}

async function composeBefore(host: Host, plan: Plan, signal: AbortSignal): Promise<string> {
  const planned = plan.files.find(({ path }) => path === `${plan.component}/compose.yaml`)?.before;
  return planned ?? (await readDeployment(host, plan.stackFolder, plan.component, signal))?.compose ?? '';
}

/** The compose file with the images that ran before, where a tag means another one by now. */
async function pinImages(grant: Grant, engine: Engine, plan: Plan, compose: string, tell: (event: ApplyEvent) => void): Promise<string> {
  if (compose === '') return compose;
  const editor = new ComposeEditor(compose, `${plan.component}/compose.yaml`);
  for (const { name, before } of plan.services) {
    const written = before && editor.imageOf(name);
    if (!before || written === undefined || written.includes('@sha256:')) continue;
    const now = await engine.image(before.reference, grant.signal);
    if (now && bare(now.id) === bare(before.id)) continue;
    if (!(await engine.image(before.id, grant.signal))) {
      if (before.digest === undefined) {
        throw new Fault({
          code: 'refused.imageGone',
          message: `The image that ${name} of ${plan.component} ran on is no longer on this host, and came from no registry.`,
          remedy: 'Restore a backup instead.',
        });
      }
      await pullImages(grant, engine, [before.digest], tell);
    }
    editor.setImage(name, before.digest ?? before.id);
  }
  return editor.text();
}

/** Those that were made for this run. One that somebody uses by now stays. */
async function removeNetworks(grant: Grant, engine: Engine, plans: readonly Plan[]): Promise<void> {
  for (const { name, exists } of plans.flatMap(({ networks }) => networks)) {
    if (exists) continue;
    try {
      await engine.writer(grant).removeNetwork(name);
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown;
    }
  }
}
