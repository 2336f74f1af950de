import pLimit from 'p-limit';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import type { Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import type { DeployRecord, ImagePin, Plan } from '../model.ts';
import { pinOf } from '../plan/image-pin.ts';
import { hashOf, readDeployment } from '../read-deployment.ts';
import { continuesFault, lockedFault, noSpaceFault, onHost, stackFolderOf, unchangedFault } from './faults.ts';
import { followRun } from './follow.ts';
import { readLock } from './lock.ts';
import { type ScriptOptions, type SecretValues, scriptOf } from './script.ts';
import type { Report, RunOnHost, Transaction } from './transaction.ts';

const startLimitMs = 60_000;

export interface ApplyOptions {
  transaction: Transaction;
  tool: ComposeTool;
  /** Secrets of every planned component and of those whose programs run afterwards, in the versions that the plans name. */
  secrets: SecretValues;
  engine: Engine;
  networkLabels?: (name: string) => Readonly<Record<string, string>>;
  stepLimitSeconds?: number;
}

/**
 * Once started, the script on the host continues even if this process ends.
 * @throws Fault `refused.locked` if another user works on the stack, `failed.apply` with the end of the output if a step failed,
 * `failed.applyStopped` if the script died, `failed.noRoom` on a full disk, `interrupted.applying` if the grant ended while it was running.
 */
export async function applyTransaction(grant: Grant, host: Host, options: ApplyOptions, tell: Report): Promise<RunOnHost> {
  const { transaction, engine } = options;
  await refuseWhenLocked(grant, host, transaction);
  await pullImages(grant, engine, imagesToPull(transaction), tell).catch((thrown: unknown) => {
    throw unchangedFault(thrown);
  });
  await createNetworks(grant, options);
  return runScript(grant, host, options, await applyOptionsOf(grant, host, options, 0), 0, tell);
}

export async function runScript(
  grant: Grant,
  host: Host,
  { transaction, tool, secrets }: ApplyOptions,
  options: ScriptOptions,
  seen: number,
  tell: Report,
): Promise<RunOnHost> {
  await startScript(grant, host, transaction, scriptOf(transaction, tool, options));
  return followRun(grant, host, { transaction, seen, secrets }, tell);
}

export async function applyOptionsOf(grant: Grant, host: Host, options: ApplyOptions, seenLines: number): Promise<ScriptOptions> {
  const { transaction, engine, secrets, stepLimitSeconds } = options;
  const records: Record<string, string> = {};
  const composeTexts: Record<string, string> = {};
  for (const plan of transaction.plans) {
    const before = await readDeployment(host, plan.stackFolder, plan.component, grant.signal);
    const record = recordOf(transaction, plan, before?.record, await imagePins(engine, plan, grant.signal));
    if (record) records[plan.component] = `${JSON.stringify(record, undefined, 2)}\n`;
    composeTexts[plan.component] = composeAfter(plan) ?? before?.compose ?? '';
  }
  return { mode: 'apply', secrets, records, composeTexts, seenLines, stepLimitSeconds };
}

const composeAfter = ({ files, component }: Plan) => files.find(({ path }) => path === `${component}/compose.yaml`)?.after;

export async function createNetworks(grant: Grant, { transaction, engine, networkLabels }: ApplyOptions): Promise<void> {
  const wanted = new Set(transaction.plans.flatMap(({ networks }) => networks.map(({ name }) => name)));
  if (wanted.size === 0) return;
  const there = new Set((await engine.networks(grant.signal)).map(({ name }) => name));
  for (const name of wanted) if (!there.has(name)) await engine.writer(grant).createNetwork(name, networkLabels?.(name) ?? {});
}

/** Before minutes of pulling; the script checks the lock again. */
export async function refuseWhenLocked(grant: Grant, host: Host, { plans }: Transaction): Promise<void> {
  const lock = await readLock(host, stackFolderOf(plans), grant.signal);
  if (lock?.alive) throw lockedFault(lock);
}

async function startScript(grant: Grant, host: Host, { plans }: Transaction, script: string): Promise<void> {
  const stackFolder = stackFolderOf(plans);
  const running = host.run(grant, ['sh', '-s'], { signal: grant.signal, limitMs: startLimitMs, stdin: script });
  const outcome = await running.catch((thrown: unknown) => {
    throw grant.signal.aborted ? continuesFault(thrown, 'and if it has started, it continues on the host') : thrown;
  });
  const [answer = ''] = Buffer.from(outcome.stdout).toString().split('\n');
  if (answer === 'started') return;
  if (answer === 'locked') throw lockedFault(await readLock(host, stackFolder, grant.signal));
  if (answer === 'changed') {
    const message = 'Another process has resumed this run in the meantime.';
    throw new Fault('refused.runChanged', message, 'Check its state before you continue: quarterdeck recover');
  }
  const [, stale] = /^failed stale (.*)$/.exec(answer) ?? [];
  if (stale !== undefined) {
    const message = `${cleanLine(stale)} has been changed since the plan was created. Nothing was changed.`;
    throw new Fault('refused.planStale', message, 'Plan the change again and review it.');
  }
  const output = cleanLine(Buffer.from(outcome.stderr).toString().trim().split('\n').at(-1) ?? '');
  const answers = [cleanLine(answer.replace(/^failed /, '')), output].filter(Boolean);
  const reason = answers.join(': ') || `the shell exited with code ${outcome.exitCode}`;
  if (/no space left|disk quota/i.test(reason)) throw noSpaceFault(stackFolder, `No files were changed. ${reason}`, host);
  const message = `The change could not be prepared in ${stackFolder}${onHost(host)}: ${reason}. Nothing was changed.`;
  const remount = 'Remount the filesystem of the stack folder for writing, or set another stackFolder.';
  const remedy = /read-only/i.test(reason) ? remount : 'Check the permissions of the stack folder, then try again.';
  throw new Fault('failed.applyStart', message, remedy);
}

/** More parallel pulls are not faster, and registries limit the rate. */
const pullsAtOnce = 4;

/** Returns the images that a transaction needs and the host does not have, and those that an update must pull again. Each once. */
export function imagesToPull({ plans }: Transaction): string[] {
  const wanted = plans.flatMap(({ services, kind }) =>
    services
      .filter(({ change, present }) => change !== 'remove' && (present === false || (kind === 'update' && change !== 'keep')))
      .map(({ image }) => image),
  );
  return [...new Set(wanted)];
}

/** Pulls four at a time. After a failure no further pull starts; images that have arrived stay, and are not pulled again. */
export async function pullImages(grant: Grant, engine: Engine, references: readonly string[], tell: Report): Promise<void> {
  const limit = pLimit(pullsAtOnce);
  let failed = false;
  const pull = async (reference: string) => {
    if (failed) return;
    grant.signal.throwIfAborted();
    const report = (fraction: number | undefined, text = '', done = false) => tell({ kind: 'pull', reference, fraction, text, done });
    report(undefined);
    const pulling = engine.writer(grant).pull(reference, ({ fraction, text }) => report(fraction, cleanLine(text)));
    await pulling.catch((thrown: unknown) => {
      failed = true;
      throw thrown;
    });
    report(1, '', true);
  };
  const pulls = references.map((reference) => limit(pull, reference));
  const outcomes = await Promise.allSettled(pulls);
  const refused = outcomes.find((outcome) => outcome.status === 'rejected');
  if (refused) throw refused.reason;
}

export function recordOf(
  { run, startedAt, by }: Transaction,
  plan: Plan,
  before: DeployRecord | undefined,
  images: Readonly<Record<string, ImagePin>>,
): DeployRecord | undefined {
  if (plan.kind === 'remove' || plan.kind === 'rejoin') return undefined;
  const files: Record<string, string> = { ...before?.files };
  for (const { path, after } of plan.files) {
    if (after === undefined) delete files[path];
    else files[path] = hashOf(after);
  }
  const planned = new Set(plan.files.map(({ path }) => path));
  const edited = [
    ...(before?.edited ?? []).filter((path) => !planned.has(path)),
    ...plan.files.flatMap(({ path, after, edited: own }) => (own && after !== undefined ? [path] : [])),
  ];
  return {
    schema: 1,
    component: plan.component,
    run,
    at: startedAt,
    by,
    files,
    secrets: versionsIn(plan.secrets),
    images,
    ...(plan.site !== '' && { site: plan.site }),
    ...(edited.length > 0 && { edited }),
    ...(before?.setupTasks && { setupTasks: before.setupTasks }),
  };
}

export function versionsIn(secrets: Plan['secrets']): Record<string, string> {
  return Object.fromEntries(secrets.flatMap(({ variable, version }) => (version === undefined ? [] : [[variable, version]])));
}

export async function imagePins(engine: Engine, plan: Plan, signal: AbortSignal): Promise<Record<string, ImagePin>> {
  const pins = await Promise.all(
    plan.services.map(async ({ name, image, change }): Promise<[string, ImagePin][]> => {
      const found = change === 'remove' ? undefined : await engine.image(image, signal);
      return found ? [[name, pinOf(image, found)]] : [];
    }),
  );
  return Object.fromEntries(pins.flat());
}
