import { generate } from '../../catalog/generators.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Grant } from '../../grants/grant.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import { identityOf } from '../../session/identity.ts';
import { newRun } from '../../session/journal.ts';
import type { Session } from '../../session/session.ts';
import { applyTransaction, versionsIn } from '../../stack/apply/apply.ts';
import { markVerified, reasonsAgainstUndo } from '../../stack/apply/recover.ts';
import { readRuns } from '../../stack/apply/run-journal.ts';
import type { SecretValues } from '../../stack/apply/script.ts';
import type { ApplyEvent, RunOnHost, Transaction } from '../../stack/apply/transaction.ts';
import { listReplacedHalts, removeHalted } from '../../stack/backup/stopped-containers.ts';
import type { Deployment, Plan, PlannedSecret } from '../../stack/model.ts';
import { networkLabels } from '../../stack/plan/networks.ts';
import { variablesOf } from '../../stack/plan/variables.ts';
import { cleanLine } from '../../text/clean.ts';
import { namesText } from '../../text/words.ts';
import { namesWithoutVerdict, waitUntilHealthy } from '../components/wait-until-healthy.ts';
import type { EngineScope } from '../engine-scope.ts';
import { secretName } from '../secrets/secret-names.ts';
import { secretValues } from '../secrets/secret-values.ts';
import type { ReadyPlan } from './plan-component.ts';
import { noCompose, type StackFacts, usable } from './stack-facts.ts';

interface ApplyOptions {
  /** Backups taken before the change, by component: the run records them. */
  backups?: Transaction['backups'];
  /** Called between the end of the script and the wait for healthy components. */
  meanwhile?: () => Promise<void>;
}

/** Applies reviewed plans of one host as one transaction. Throws `refused.blocked` by preflight, `refused.locked` while another works. */
export async function applyPlans(ready: readonly ReadyPlan[], { backups = {}, meanwhile }: ApplyOptions = {}) {
  const [first] = ready;
  const tool = first?.facts.tool;
  const blocking = ready.flatMap(({ findings }) => findings).find(({ level }) => level === 'blocking');
  if (blocking) throw new Fault('refused.blocked', blocking.message, blocking.advice);
  if (!first || !tool) throw noCompose();
  const { scope, entry } = first.facts;
  const { session, context, engineName } = scope;
  const run = newRun();
  const { plans, values } = await keepSecrets(scope, ready, run);
  const transaction = { ...transactionOf(run, plans), ...(Object.keys(backups).length > 0 && { backups }) };
  await session.act({
    // Several transactions may be applied in one session, such as a deploy within another.
    id: `apply ${run}`,
    right: 'operate',
    title: ready.length === 1 ? `Deploy ${entry.id}` : `Deploy ${ready.length} components`,
    request: plans.map((plan) => requestOf(plan, tool.argv)).join('; '),
    target: { host: engineName, component: ready.length === 1 ? entry.id : undefined },
    // The script on the host has time limits of its own for each step.
    limitMs: Number.POSITIVE_INFINITY,
    run: (grant) => runTransaction(grant, scope, transaction, tool, values),
  });
  if (session.dryRun) return { run, component: undefined };
  context.fleet.refresh();
  await meanwhile?.();
  return { run, component: await seeThrough(scope, transaction) };
}

function transactionOf(run: string, plans: readonly Plan[]): Transaction {
  const { user, machine } = identityOf();
  return { schema: 1, run, by: `${user}@${machine}`, startedAt: new Date().toISOString(), plans };
}

function runTransaction(grant: Grant, scope: EngineScope, transaction: Transaction, tool: ComposeTool, secrets: SecretValues) {
  const { session, host, engine } = scope;
  return applyTransaction(grant, host, { transaction, tool, secrets, engine, networkLabels: labelsOfNetwork }, (event) =>
    showApplying(session, event),
  );
}

/** Waits until each component of an applied transaction is seen healthy, and records that. Returns the first component. */
export async function seeThrough(scope: EngineScope, transaction: Transaction): Promise<ComponentView | undefined> {
  // Earlier answers may have come from the previous container, while the script was running.
  const sinceMs = Date.now();
  const { plans } = transaction;
  let first: ComponentView | undefined;
  const unchecked: string[] = [];
  for (const plan of plans) {
    const { component, joins } = plan;
    if (joins?.starts === false) continue;
    const seen = await waitUntilHealthy(scope, component, { sinceMs, changed: await undoableChange(scope, plan) });
    first ??= seen;
    unchecked.push(...namesWithoutVerdict(seen));
    await forgetReplaced(scope, component);
  }
  await noteVerified(scope, transaction, unchecked);
  return first;
}

/** Returns whether a rollback could undo a plan that was just applied: it refuses if a new image may have changed the data. */
export async function undoableChange({ engine, signal }: EngineScope, plan: Plan): Promise<boolean | 'new'> {
  if (plan.kind === 'deploy') return 'new';
  // An engine that does not answer yet must not end the wait for it.
  return plan.kind !== 'rejoin' && (await reasonsAgainstUndo(engine, [plan], signal).catch(() => [])).length === 0;
}

/** Removes the records of an interrupted flow about containers that the component no longer has. Nothing else would remove them. */
async function forgetReplaced(scope: EngineScope, component: string): Promise<void> {
  const { session, engineName, host } = scope;
  const stackFolder = await scope.stackFolder();
  // A record that cannot be checked stays: the change itself is complete.
  const replaced = await listReplacedHalts(host, scope.engine, { stackFolder, component }, session.signal).catch(() => []);
  for (const { run, containers } of replaced)
    await session.act({
      id: `forget ${cleanLine(run)}`,
      right: 'operate',
      request: `record that ${namesText(containers.map(({ name }) => cleanLine(name))) || 'the stopped container'} was replaced`,
      target: { host: engineName, component },
      run: (grant) => removeHalted(grant, host, stackFolder, run),
    });
}

/** `unchecked` are containers whose health check the engine did not run. */
export async function noteVerified({ session, host, engineName }: EngineScope, transaction: Transaction, unchecked: readonly string[]) {
  const { run, plans } = transaction;
  await session.act({
    id: `verified ${run}`,
    right: 'operate',
    request:
      unchecked.length === 0
        ? `record that run ${run} is healthy`
        : `record that run ${run} is running, without health check results for ${namesText(unchecked)}`,
    target: { host: engineName, component: onlyComponent(plans) },
    run: (grant) => markVerified(grant, host, transaction),
  });
}

/** Volumes of the plan are removed last, when they are no longer in use. Returns the run. */
export async function applyRemoval({ scope, tool, others }: StackFacts, plan: Plan, consequences: readonly string[]): Promise<string> {
  const { session, context, engineName, engine } = scope;
  if (!tool) throw noCompose();
  usable(tool);
  const run = newRun();
  const secrets: Record<string, Record<string, string>> = { [plan.component]: {} };
  for (const { component } of plan.after) secrets[component] ??= await recordedSecrets(scope, others, component);
  await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove ${plan.component}`,
    request: [
      `${tool.argv.join(' ')} down in ${plan.stackFolder}/${plan.component}`,
      ...plan.volumes.map((name) => `DELETE /volumes/${name}`),
      ...plan.after.map(({ component, argv }) => `${argv.join(' ')} in ${component}`),
    ].join(', '),
    target: { host: engineName, component: plan.component },
    consequences,
    limitMs: Number.POSITIVE_INFINITY,
    run: async (grant) => {
      await runTransaction(grant, scope, transactionOf(run, [plan]), tool, secrets);
      for (const name of plan.volumes) await engine.writer(grant).removeVolume(name);
    },
  });
  context.fleet.refresh();
  return run;
}

/** The component of a change to a single one. */
export const onlyComponent = (plans: readonly Plan[]) => (plans.length === 1 ? plans[0]?.component : undefined);

export const labelsOfNetwork = (network: string) => networkLabels(network.replace(/^quarterdeck-/, ''));

function requestOf(plan: Plan, compose: readonly string[]): string {
  const files = plan.files.filter(({ before, after }) => before !== after).map(({ path }) => path);
  const changed = plan.services.filter(({ change }) => change !== 'keep').map(({ name, change }) => `${change} ${name}`);
  return [
    files.length > 0 ? `write ${files.join(', ')}` : '',
    `${compose.join(' ')} up in ${plan.stackFolder}/${plan.component}${changed.length > 0 ? ` (${changed.join(', ')})` : ''}`,
    ...plan.after.map(({ component, argv }) => `${argv.join(' ')} in ${component}`),
  ]
    .filter(Boolean)
    .join(', ');
}

/** Stores new values in the secret backend before anything is changed; the values for compose are read back from it, in memory only. */
async function keepSecrets(scope: EngineScope, ready: readonly ReadyPlan[], run: string) {
  const { session, context } = scope;
  const wanted = ready.some(({ plan }) => plan.secrets.length > 0);
  const vault = wanted ? await context.vault(session) : undefined;
  const values: Record<string, Record<string, string>> = {};
  const plans: Plan[] = [];
  for (const one of ready) {
    const { plan, facts } = one;
    const secrets = vault ? await versionsOf(vault, one, run) : plan.secrets;
    plans.push({ ...plan, secrets });
    const { id } = facts.entry;
    const empty = Object.fromEntries(secrets.flatMap(({ variable, what }) => (what === 'none' ? [[variable, '']] : [])));
    values[id] = { ...empty, ...(await secretValues(scope, id, versionsIn(secrets))) };
    // A program in another component's container requires that component's compose file, and so its secrets.
    for (const { component } of plan.after) values[component] ??= await recordedSecrets(scope, facts.others, component);
  }
  return { plans, values };
}

function recordedSecrets(scope: EngineScope, deployments: readonly Deployment[], id: string): Promise<Record<string, string>> {
  return secretValues(scope, id, deployments.find(({ component }) => component === id)?.record?.secrets ?? {});
}

async function versionsOf(vault: SecretStorage, { plan, facts, answers }: ReadyPlan, run: string): Promise<PlannedSecret[]> {
  const { entry, source } = facts;
  const { session, engineName } = facts.scope;
  // A rotated secret is already stored, in the version that the plan names.
  const isNew = ({ variable, what }: PlannedSecret) =>
    (what === 'generate' || what === 'given') && answers.secrets[variable]?.from !== 'keep';
  const made = plan.secrets.filter(isNew);
  const versions = new Map<string, string>();
  if (made.length > 0) {
    await session.act({
      id: `keep the secrets of ${entry.id} for ${run}`,
      right: 'operate',
      request: `store ${made.map(({ variable }) => variable).join(', ')} in ${vault.where}`,
      target: { host: engineName, component: entry.id },
      run: async (grant) => {
        for (const { variable, what } of made) {
          const answer = answers.secrets[variable];
          const generator = variablesOf(entry, source).find(({ name }) => name === variable)?.field?.generator;
          const value = answer?.from === 'given' ? answer.value : generator ? generate(generator) : undefined;
          if (value === undefined) {
            const message = `${variable} of ${entry.id} has no value and cannot be generated.`;
            throw new Fault('failed.generator', message, `Set a value: quarterdeck secrets set ${entry.id} ${variable}`);
          }
          session.hide(value);
          const origin = what === 'given' ? 'given' : 'generated';
          versions.set(variable, await vault.write(grant, secretName(engineName, entry.id, variable), value, origin));
        }
      },
    });
  }
  return plan.secrets.map((secret) => ({ ...secret, version: versions.get(secret.variable) ?? secret.version }));
}

const itemStates = { begun: 'running', done: 'ok', failed: 'blocked' } as const;

/** The steps that operators see; the rest is bookkeeping. */
const stepTitles: Readonly<Record<string, (component: string | undefined) => string | undefined>> = {
  stage: () => 'Saving the current state',
  part: (component) => `Disconnecting ${component} from the network to be removed`,
  'undo-part': (component) => `Disconnecting ${component} from the network to be removed`,
  place: (component) => `Writing the files of ${component}`,
  up: (component) => `Starting ${component}`,
  down: (component) => `Removing the containers of ${component}`,
  after: () => 'Applying the changed reverse proxy rules',
  undo: (component) => component && `Restoring ${component}`,
};

export function showApplying(session: Session, event: ApplyEvent): void {
  switch (event.kind) {
    case 'pull':
      session.progress({
        id: `pull ${event.reference}`,
        label: `${event.done ? 'Pulled' : 'Pulling'} ${event.reference}${event.text ? `: ${event.text}` : ''}`,
        ...(event.fraction !== undefined && { fraction: event.fraction }),
        ...(event.done && { done: true }),
      });
      break;
    case 'step': {
      const title = stepTitles[event.step.split(':', 1)[0] ?? '']?.(event.component);
      if (title !== undefined) session.show({ kind: 'item', id: `step ${event.step}`, title, state: itemStates[event.state] });
      break;
    }
    case 'output':
      session.progress({ id: 'output', label: event.text, output: true });
      break;
  }
}

/** Undefined if the last recorded change of the component was interrupted, failed, or was undone. */
export async function lastApplied({ scope, stackFolder, entry }: StackFacts): Promise<RunOnHost | undefined> {
  const runs = await readRuns(scope.host, stackFolder, scope.signal);
  const last = runs.findLast(
    ({ transaction: { plans }, state }) => state !== 'staged' && plans.some(({ component }) => component === entry.id),
  );
  return last?.state === 'applied' || last?.state === 'verified' ? last : undefined;
}

export async function seeLastThrough(facts: StackFacts): Promise<void> {
  const { dryRun, readOnly } = facts.scope.session;
  if (dryRun || readOnly) return;
  const last = await lastApplied(facts);
  if (last?.state === 'applied') await seeThrough(facts.scope, last.transaction);
}
