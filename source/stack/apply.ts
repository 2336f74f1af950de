import type { ComposeTool } from '../engine/compose-tool.ts';
import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { goesOn, lockedFault, noRoom, onHost, stackFolderOf, unchangedFault } from './apply-faults.ts';
import { followRun } from './apply-follow.ts';
import { imagePins, recordOf } from './apply-record.ts';
import { type ScriptOptions, type SecretValues, scriptOf } from './apply-script.ts';
import type { Plan } from './model.ts';
import { imagesToPull, pullImages } from './pull-images.ts';
import { readDeployment } from './read-deployment.ts';
import { readLock } from './stack-lock.ts';
import type { ApplyEvent, RunOnHost, Transaction } from './transaction.ts';

/** Copying a few files and taking a lock; a busy disk may need a moment. */
const startLimitMs = 60_000;

export interface ApplyOptions {
  transaction: Transaction;
  tool: ComposeTool;
  /** Of every component that is planned and of those whose programs run afterwards. In the versions that the plans name. */
  secrets: SecretValues;
  engine: Engine;
  /** Labels of a network of ours that has to be made. */
  networkLabels?: (name: string) => Readonly<Record<string, string>>;
  stepLimitSeconds?: number;
}

/**
 * Pulls what is missing, makes the networks, starts the script on the host and follows it to its end. Once it has been started it goes on whatever becomes of us.
 * @throws Fault `refused.locked` when somebody else works on the stack, `failed.apply` with the end of the output when a step failed, `failed.applyStopped`
 * when the script died, `failed.noRoom` on a full disk, `interrupted.applying` when the grant ended while it went on.
 */
export async function applyTransaction(
  grant: Grant,
  host: Host,
  options: ApplyOptions,
  tell: (event: ApplyEvent) => void,
): Promise<RunOnHost> {
  const { transaction, engine } = options;
  await refuseWhenLocked(grant, host, transaction);
  await pullImages(grant, engine, imagesToPull(transaction), tell).catch((thrown: unknown) => {
    throw unchangedFault(thrown);
  });
  await makeNetworks(grant, options);
  const script = scriptOf(transaction, options.tool, await applyOptionsOf(grant, host, options, 0));
  await startScript(grant, host, transaction, script);
  return followRun(grant, host, { transaction, seen: 0, secrets: options.secrets }, tell);
}

/** What the script of these plans has to know besides them. */
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
  return { mode: 'apply', secrets, records, composeTexts, seenLines, ...(stepLimitSeconds !== undefined && { stepLimitSeconds }) };
}

const composeAfter = ({ files, component }: Plan) => files.find(({ path }) => path === `${component}/compose.yaml`)?.after;

export async function makeNetworks(grant: Grant, { transaction, engine, networkLabels }: ApplyOptions): Promise<void> {
  const wanted = new Set(transaction.plans.flatMap(({ networks }) => networks.map(({ name }) => name)));
  if (wanted.size === 0) return;
  const there = new Set((await engine.networks(grant.signal)).map(({ name }) => name));
  for (const name of wanted) if (!there.has(name)) await engine.writer(grant).createNetwork(name, networkLabels?.(name) ?? {});
}

/** Before minutes of pulling; the script looks again. */
export async function refuseWhenLocked(grant: Grant, host: Host, { plans }: Transaction): Promise<void> {
  const lock = await readLock(host, stackFolderOf(plans), grant.signal);
  if (lock?.alive) throw lockedFault(lock);
}

/** Feeds a script to the host and waits until it has the lock and everything is staged. */
export async function startScript(grant: Grant, host: Host, transaction: Transaction, script: string): Promise<void> {
  const stackFolder = stackFolderOf(transaction.plans);
  let outcome: Awaited<ReturnType<Host['run']>>;
  try {
    outcome = await host.run(grant, ['sh', '-s'], { signal: grant.signal, limitMs: startLimitMs, stdin: script });
  } catch (thrown) {
    if (!grant.signal.aborted) throw thrown;
    throw goesOn(thrown);
  }
  const [answer = ''] = Buffer.from(outcome.stdout).toString().split('\n');
  const said = cleanLine(Buffer.from(outcome.stderr).toString().trim().split('\n').at(-1) ?? '');
  if (answer === 'started') return;
  if (answer === 'locked') {
    const lock = await readLock(host, stackFolder, grant.signal);
    throw lockedFault(lock ?? { run: '', by: 'somebody', since: 'a moment ago' });
  }
  if (answer === 'changed') {
    throw new Fault({
      code: 'refused.runChanged',
      message: 'Somebody else has gone on with this run in the meantime.',
      remedy: 'Look at how it stands now, then decide again.',
    });
  }
  const stale = /^failed stale (.*)$/.exec(answer)?.[1];
  if (stale !== undefined) {
    throw new Fault({
      code: 'refused.planStale',
      message: `${cleanLine(stale)} is not as it was when this was planned: somebody has changed it since. Nothing was changed.`,
      remedy: 'Plan anew, and look at what it would do now.',
    });
  }
  const reason = [cleanLine(answer.replace(/^failed /, '')), said].filter(Boolean).join(': ') || `the shell ended with ${outcome.exitCode}`;
  if (/no space left|disk quota/i.test(reason)) throw noRoom(stackFolder, reason, host);
  throw new Fault({
    code: 'failed.applyStart',
    message: `Nothing was changed: the change could not be prepared in ${stackFolder}${onHost(host)}: ${reason}.`,
    remedy: /read-only/i.test(reason)
      ? 'Have that filesystem mounted for writing, or name another folder for the stack (stackFolder).'
      : 'Check who may write there, then try again.',
  });
}
