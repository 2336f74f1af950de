import type { ContainerFacts, Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import { ignoreFault } from '../../faults/unless-fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { parsedJson } from '../../text/json-value.ts';
import { quotedWord } from '../../text/quoted-word.ts';
import type { DeployRecord, Plan } from '../model.ts';
import { ComposeEditor } from '../plan/compose-editor.ts';
import { readDeployment, recordFile, recordPath } from '../read-deployment.ts';
import { type ApplyOptions, applyOptionsOf, createNetworks, imagesToPull, pullImages, refuseWhenLocked, runScript } from './apply.ts';
import { lockedFault, noRunFault, stackFolderOf } from './faults.ts';
import { readLock } from './lock.ts';
import { readJournal, readRun, readRuns } from './run-journal.ts';
import { runFolder, type ScriptOptions } from './script.ts';
import { isNew } from './script-steps.ts';
import { shellWord } from './shell.ts';
import type { JournalEntry, Report, RunBackup, RunOnHost, Transaction } from './transaction.ts';

const limitMs = 10_000;

/** Everything needed to resume a run except the transaction itself, which is on the host. */
export type RecoverOptions = Omit<ApplyOptions, 'transaction'>;

/** Completed steps of the journal are skipped. `secrets` are those in the versions that the plans name. */
export async function finishRun(grant: Grant, host: Host, transaction: Transaction, options: RecoverOptions, tell: Report) {
  const run = await readAgain(grant, host, transaction);
  if ((run.state === 'applied' || run.state === 'verified') && !(await isLockLeft(grant, host, transaction))) return run;
  if (run.entries.some(({ step }) => step === 'undo')) {
    const isUndone = run.state === 'undone';
    const message = `This run ${isUndone ? 'was undone' : 'is partly undone'} and can no longer be finished.`;
    throw new Fault('refused.undoBegun', message, `${isUndone ? 'Plan' : 'Complete the undo, then plan'} the change again.`);
  }
  await refuseWhenSuperseded(grant, host, run);
  const all: ApplyOptions = { ...options, transaction: run.transaction };
  await pullImages(grant, options.engine, imagesToPull(run.transaction), tell);
  await createNetworks(grant, all);
  const { entries, lines } = await readJournal(host, stackFolderOf(run.transaction.plans), run.transaction.run, grant.signal);
  return runScript(grant, host, all, await applyOptionsOf(grant, host, all, lines), entries.length, tell);
}

/**
 * Restores the previous files and runs `up` with them, with the previous secrets (`recordBefore` names the versions) and images. Volumes
 * stay, also those that the run created.
 * @throws Fault `refused.rollbackUnsafe` if a new image has run that may have changed its data permanently.
 */
export async function undoRun(grant: Grant, host: Host, transaction: Transaction, options: RecoverOptions, tell: Report) {
  const run = await readAgain(grant, host, transaction);
  if (run.state === 'undone' && !(await isLockLeft(grant, host, transaction))) return run;
  await refuseWhenSuperseded(grant, host, run);
  const { plans } = run.transaction;
  const started = componentsOf(run.entries, ['up', 'down', 'part']);
  const startedPlans = plans.filter(({ component }) => started.has(component));
  const evidence = await reasonsAgainstUndo(options.engine, startedPlans, grant.signal);
  if (evidence.length > 0) {
    const remedy = snapshotRemedy(run.transaction) ?? `${repair} Or restore an earlier backup.`;
    throw new Fault('refused.rollbackUnsafe', `Rolling back is not safe: ${evidence.join(' ')}`, remedy);
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
  const { entries, lines } = await readJournal(host, stackFolderOf(plans), run.transaction.run, grant.signal);
  const undo = { touched: componentsOf(run.entries, ['place', 'down', 'part']), started, pinned };
  const { secrets, stepLimitSeconds } = options;
  const script: ScriptOptions = { mode: 'undo', secrets, records: {}, composeTexts, seenLines: lines, undo, stepLimitSeconds };
  const undone = await runScript(grant, host, { ...options, transaction: run.transaction }, script, entries.length, tell);
  for (const { name, exists } of plans.flatMap(({ networks }) => networks))
    if (!exists) await options.engine.writer(grant).removeNetwork(name).catch(ignoreFault);
  return undone;
}

const repair = 'Repair the component and, if the run is unfinished, finish it: quarterdeck recover --finish.';

/** Names the alternative if rolling back is not safe: the backups that a change took before it began. */
export function snapshotRemedy({ backups = {} }: Pick<Transaction, 'backups'>): string | undefined {
  const commands = Object.entries(backups).map(([component, backup]) => snapshotCommand(component, backup));
  if (commands.length === 0) return undefined;
  const targets = [...new Set(Object.values(backups).flatMap(({ where, to }) => (to === undefined ? where : [])))].join(' or ');
  const add = targets === '' ? '' : ` Add --to unless ${targets} is the configured backup destination.`;
  return `${repair} Or restore the earlier backup with its data, image and files: ${commands.join('; ')}.${add}`;
}

export function snapshotCommand(component: string, { stamp, to }: RunBackup): string {
  return `quarterdeck restore ${component} --snapshot ${stamp}${to === undefined ? '' : ` --to ${quotedWord(to)}`}`;
}

export async function markVerified(grant: Grant, host: Host, transaction: Transaction): Promise<void> {
  const journal = `${runFolder(stackFolderOf(transaction.plans), transaction.run)}/journal`;
  const line = JSON.stringify({ at: new Date().toISOString(), step: 'verified', state: 'done' } satisfies JournalEntry);
  const { exitCode } = await host.run(grant, ['sh', '-s'], {
    signal: grant.signal,
    limitMs,
    stdin: `[ -f ${shellWord(journal)} ] && printf '%s\\n' ${shellWord(line)} >>${shellWord(journal)}\n`,
  });
  if (exitCode === 0) return;
  const message = `The journal ${journal} cannot be written.`;
  throw new Fault('failed.journal', message, 'Check the permissions of the file and the free space on its filesystem.');
}

/** Has the versions of the secrets. Undefined if Quarterdeck had not deployed the component before this run. */
export async function recordBefore(host: Host, { plans, run }: Transaction, component: string, signal: AbortSignal) {
  const bytes = await host.files.read(`${runFolder(stackFolderOf(plans), run)}/before/${recordFile(component)}`, { signal });
  return bytes && (parsedJson(Buffer.from(bytes).toString()) as DeployRecord | undefined);
}

async function readAgain(grant: Grant, host: Host, transaction: Transaction): Promise<RunOnHost> {
  const run = await readRun(host, stackFolderOf(transaction.plans), transaction.run, grant.signal);
  if (!run) throw noRunFault(transaction);
  if (run.state === 'running') throw lockedFault({ by: run.transaction.by, since: run.transaction.startedAt, run: run.transaction.run });
  await refuseWhenLocked(grant, host, run.transaction);
  return run;
}

/** A script that died between its last entry and releasing the lock only has to release it. */
async function isLockLeft(grant: Grant, host: Host, { plans }: Transaction): Promise<boolean> {
  return (await readLock(host, stackFolderOf(plans), grant.signal)) !== undefined;
}

/** Later runs build on the files of this run, which would be lost. */
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
  const message = `Run ${later.transaction.run} by ${cleanLine(later.transaction.by)} has since changed the same component.`;
  throw new Fault('refused.superseded', message, 'Roll back that run first, or plan a new change.');
}

function componentsOf(entries: readonly JournalEntry[], kinds: readonly string[]): ReadonlySet<string> {
  const steps = entries.map(({ step }) => /^(\w+):(.*)$/s.exec(step) ?? []);
  return new Set(steps.flatMap(([, kind = '', component]) => (kinds.includes(kind) ? (component ?? []) : [])));
}

/** Returns a sentence for each service whose new image has run, unless the catalog states that a rollback is harmless. */
export async function reasonsAgainstUndo(engine: Engine, plans: readonly Plan[], signal: AbortSignal): Promise<string[]> {
  const doubtful = plans.filter(({ rollback, kind }) => rollback !== 'safe' && kind !== 'remove' && kind !== 'rejoin');
  if (doubtful.length === 0) return [];
  const containers = await engine.list(signal);
  const reasons: string[] = [];
  for (const plan of doubtful) {
    for (const { name, before } of plan.services) {
      // The same image, or no previous one: there are no data that a newer one could have changed.
      if (!before) continue;
      for (const container of containers) {
        if (!isOf(container, plan.project, name) || container.imageId === '' || bare(container.imageId) === bare(before.id)) continue;
        const detail = await engine.inspect(container.id, signal);
        if (detail?.startedMs === undefined) continue;
        reasons.push(
          `${name} of ${plan.component} was started with ${cleanLine(container.image)} (${bare(container.imageId).slice(0, 12)}) at ${new Date(detail.startedMs).toISOString()}, and its changes to the data cannot be undone.`,
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

async function pinImages(grant: Grant, engine: Engine, plan: Plan, compose: string, tell: Report): Promise<string> {
  if (compose === '') return compose;
  const editor = new ComposeEditor(compose, `${plan.component}/compose.yaml`);
  for (const { name, before } of plan.services) {
    const written = before && editor.imageOf(name);
    if (!before || written === undefined || written.includes('@sha256:')) continue;
    const now = await engine.image(before.reference, grant.signal);
    if (now && bare(now.id) === bare(before.id)) continue;
    if (!(await engine.image(before.id, grant.signal))) {
      if (before.digest === undefined) {
        const message = `The previous image of ${name} (${plan.component}) is no longer on this host, and no registry is known to have it.`;
        throw new Fault('refused.imageGone', message, 'Restore a backup instead.');
      }
      await pullImages(grant, engine, [before.digest], tell);
    }
    editor.setImage(name, before.digest ?? before.id);
  }
  return editor.text();
}

/** The changes of a component that can be undone: the last, and the one before, whose backup is kept as well. */
const undoableChanges = 2;

/** In deployments, in unfinished changes, and in the states before the last changes, which a rollback or a snapshot restores. */
export async function versionsInForce(
  host: Host,
  { stackFolder, component, variable }: { stackFolder: string; component: string; variable: string },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const bytes = await host.files.read(recordPath(stackFolder, component), { signal });
  const deployed = bytes && (parsedJson(Buffer.from(bytes).toString()) as Partial<DeployRecord> | null | undefined);
  const named = [deployed?.secrets?.[variable]];
  const runs = (await readRuns(host, stackFolder, signal)).filter(({ transaction }) =>
    transaction.plans.some((plan) => plan.component === component),
  );
  const open = runs.filter(({ state }) => state !== 'undone' && state !== 'verified');
  const last = runs.filter(({ state }) => state !== 'undone' && state !== 'staged').slice(-undoableChanges);
  for (const { transaction } of new Set([...open, ...last])) {
    for (const plan of transaction.plans.filter((one) => one.component === component))
      named.push(plan.secrets.find((secret) => secret.variable === variable)?.version);
    named.push((await recordBefore(host, transaction, component, signal))?.secrets?.[variable]);
  }
  return new Set(named.filter((version) => version !== undefined));
}
