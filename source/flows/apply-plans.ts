import { generate } from '../catalog/generators.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import type { SecretVault } from '../secrets/vault.ts';
import { identityOf } from '../session/identity.ts';
import { newRun } from '../session/journal.ts';
import type { Act, Session } from '../session/session.ts';
import { applyTransaction } from '../stack/apply.ts';
import { versionsIn } from '../stack/apply-record.ts';
import type { SecretValues } from '../stack/apply-script.ts';
import { listReplacedHalts, removeHalted } from '../stack/halted-journal.ts';
import type { Deployment, Plan, PlannedSecret } from '../stack/model.ts';
import { networkLabels } from '../stack/networks.ts';
import { markVerified } from '../stack/recover.ts';
import type { ApplyEvent, Transaction } from '../stack/transaction.ts';
import { variablesOf } from '../stack/variables.ts';
import { cleanLine } from '../text/clean.ts';
import { namesText } from '../text/words.ts';
import type { FlowWorld } from './flow.ts';
import type { ReadyPlan } from './plan-component.ts';
import { secretValues } from './secret-values.ts';
import { noCompose, type StackFacts, secretName, usable } from './stack-facts.ts';
import { namesWithoutVerdict, waitUntilHealthy } from './wait-until-healthy.ts';

export interface Applied {
  run: string;
  /** The first component of the plans, as it is seen now. */
  component: ComponentView | undefined;
}

export interface ApplyMore {
  /** What was backed up before, by component: the run remembers it. */
  backups?: Transaction['backups'];
  /** Between the script's end and waiting until all are healthy. */
  meanwhile?: () => Promise<void>;
}

/**
 * Applies plans that were looked at, all of one host, as one transaction: keeps their secrets, fetches images, runs the script, waits until each component is
 * seen healthy. Throws `refused.blocked` where preflight forbids it, `refused.locked` while somebody else works on the stack.
 */
export async function applyPlans(
  session: Session,
  world: FlowWorld,
  ready: readonly ReadyPlan[],
  { backups = {}, meanwhile }: ApplyMore = {},
): Promise<Applied> {
  const [first] = ready;
  const tool = first?.facts.tool;
  if (!first || !tool || ready.some(({ findings }) => findings.some(({ level }) => level === 'blocking'))) throw blocked(ready);
  const { place, host, engine } = first.facts;
  const target = { host: place, ...(ready.length === 1 && { component: first.facts.entry.id }) };
  const run = newRun();
  const at = new Date().toISOString();
  const identity = identityOf();
  const by = `${identity.user}@${identity.machine}`;

  const { plans, values } = await keepSecrets(session, world, ready, run);
  const transaction: Transaction = {
    schema: 1,
    run,
    by,
    startedAt: at,
    plans,
    ...(Object.keys(backups).length > 0 && { backups }),
  };
  await session.act({
    // Several transactions may be applied in one session: a deploy in the middle of another.
    id: `apply ${run}`,
    right: 'operate',
    title: ready.length === 1 ? `Deploy ${first.facts.entry.id}` : `Deploy ${ready.length} components`,
    request: plans.map((plan) => requestOf(plan, tool.argv)).join('; '),
    target,
    // The script on the host has limits of its own, step by step.
    limitMs: Number.POSITIVE_INFINITY,
    run: (grant) =>
      applyTransaction(grant, host, { transaction, tool, secrets: values, engine, networkLabels: labelsOfNetwork }, (event) =>
        tellApplying(session, event),
      ),
  });
  if (session.rehearsing) return { run, component: undefined };
  world.fleet.refresh();
  await meanwhile?.();
  return { run, component: await seeThrough(session, world, place, transaction) };
}

/** Waits until each component of a transaction that is applied is seen healthy, and writes that down. @returns the first of them */
export async function seeThrough(
  session: Session,
  world: FlowWorld,
  place: string,
  transaction: Transaction,
): Promise<ComponentView | undefined> {
  // What answered while the script was at work may have been the container of before.
  const sinceMs = Date.now();
  const { plans } = transaction;
  let first: ComponentView | undefined;
  const unchecked: string[] = [];
  for (const { component, joins, kind } of plans) {
    if (joins?.starts === false) continue;
    const seen = await waitUntilHealthy(session, world, place, component, { sinceMs, changed: kind !== 'rejoin' });
    first ??= seen;
    unchecked.push(...namesWithoutVerdict(seen));
    await forgetReplaced(session, world, place, component);
  }
  const [only, ...others] = plans;
  const target = { host: place, ...(only && others.length === 0 && { component: only.component }) };
  await noteVerified(session, world.hostOf(place), transaction, target, unchecked);
  return first;
}

/** Removes what an interrupted flow had noted of containers that the component, which runs, has no more. Nothing else would remove it. */
async function forgetReplaced(session: Session, world: FlowWorld, place: string, component: string): Promise<void> {
  const host = world.hostOf(place);
  const stackFolder = await world.stackFolderOf(place, session.signal);
  // One that cannot be checked stays: the change itself is done.
  const replaced = await listReplacedHalts(host, world.engineOf(place), { stackFolder, component }, session.signal).catch(() => []);
  for (const { run, containers } of replaced)
    await session.act({
      id: `forget ${cleanLine(run)}`,
      right: 'operate',
      request: `note that ${namesText(containers.map(({ name }) => cleanLine(name))) || 'what was stopped'} was replaced`,
      target: { host: place, component },
      run: (grant) => removeHalted(grant, host, stackFolder, run),
    });
}

/**
 * Records on the host that all components of a transaction were seen healthy.
 * @param unchecked containers whose health check the engine did not run
 */
export async function noteVerified(
  session: Session,
  host: Host,
  transaction: Transaction,
  target: Act<void>['target'],
  unchecked: readonly string[] = [],
): Promise<void> {
  const { run } = transaction;
  await session.act({
    id: `verified ${run}`,
    right: 'operate',
    request:
      unchecked.length === 0
        ? `note that run ${run} was seen healthy`
        : `note that run ${run} was seen running, with no health check of ${namesText(unchecked)}`,
    target,
    run: (grant) => markVerified(grant, host, transaction),
  });
}

/** Takes a component away, with the confirmation that `destroy` wants; volumes of the plan go last, when nothing uses them any more. Answers the run. */
export async function applyRemoval(
  session: Session,
  world: FlowWorld,
  facts: StackFacts,
  plan: Plan,
  consequences: readonly string[],
): Promise<string> {
  const { host, engine, tool, place } = facts;
  if (!tool) throw blocked([]);
  usable(tool);
  const run = newRun();
  const { user, machine } = identityOf();
  const transaction: Transaction = { schema: 1, run, by: `${user}@${machine}`, startedAt: new Date().toISOString(), plans: [plan] };
  const secrets: Record<string, Record<string, string>> = { [plan.component]: {} };
  for (const { component } of plan.after)
    secrets[component] ??= await secretValues(session, world, place, component, recordedSecrets(facts.others, component));
  const target = { host: place, component: plan.component };
  await session.act({
    id: 'remove',
    right: 'destroy',
    title: `Remove ${plan.component}`,
    request: [
      `${tool.argv.join(' ')} down in ${plan.stackFolder}/${plan.component}`,
      ...plan.volumes.map((name) => `DELETE /volumes/${name}`),
      ...plan.after.map(({ component, argv }) => `${argv.join(' ')} in ${component}`),
    ].join(', '),
    target,
    consequences,
    limitMs: Number.POSITIVE_INFINITY,
    run: async (grant) => {
      await applyTransaction(grant, host, { transaction, tool, secrets, engine, networkLabels: labelsOfNetwork }, (event) =>
        tellApplying(session, event),
      );
      for (const name of plan.volumes) await engine.writer(grant).removeVolume(name);
    },
  });
  world.fleet.refresh();
  return run;
}

function blocked(ready: readonly ReadyPlan[]): Fault {
  const [finding] = ready.flatMap(({ findings }) => findings).filter(({ level }) => level === 'blocking');
  return finding ? new Fault({ code: 'refused.blocked', message: finding.message, remedy: finding.advice }) : noCompose();
}

/** A network of ours says so. */
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

/** New values go into the vault before anything is changed; what compose needs is read out of it again, in memory only. */
async function keepSecrets(
  session: Session,
  world: FlowWorld,
  ready: readonly ReadyPlan[],
  run: string,
): Promise<{ plans: readonly Plan[]; values: SecretValues }> {
  const wanted = ready.some(({ plan }) => plan.secrets.length > 0);
  const vault = wanted ? await world.vault(session) : undefined;
  const values: Record<string, Record<string, string>> = {};
  const plans: Plan[] = [];
  for (const one of ready) {
    const { plan, facts } = one;
    const secrets = vault ? await versionsOf(session, vault, one, run) : plan.secrets;
    plans.push({ ...plan, secrets });
    const { id } = facts.entry;
    const empty = Object.fromEntries(secrets.flatMap(({ variable, what }) => (what === 'none' ? [[variable, '']] : [])));
    values[id] = { ...empty, ...(await secretValues(session, world, facts.place, id, versionsIn(secrets))) };
    // A program in another component's container needs that component's compose file, and so its secrets.
    for (const { component } of plan.after) {
      values[component] ??= await secretValues(session, world, facts.place, component, recordedSecrets(facts.others, component));
    }
  }
  return { plans, values };
}

function recordedSecrets(deployments: readonly Deployment[], id: string): Readonly<Record<string, string>> {
  return deployments.find(({ component }) => component === id)?.record?.secrets ?? {};
}

async function versionsOf(
  session: Session,
  vault: SecretVault,
  { plan, facts, answers }: ReadyPlan,
  run: string,
): Promise<PlannedSecret[]> {
  const { entry, source, place } = facts;
  // A rotated one is in the vault already, in the version that the plan names.
  const isNew = ({ variable, what }: PlannedSecret) =>
    (what === 'generate' || what === 'given') && answers.secrets[variable]?.from !== 'keep';
  const made = plan.secrets.filter(isNew);
  const versions = new Map<string, string>();
  if (made.length > 0) {
    await session.act({
      id: `keep the secrets of ${entry.id} for ${run}`,
      right: 'operate',
      request: `keep ${made.map(({ variable }) => variable).join(', ')} in ${vault.where}`,
      target: { host: place, component: entry.id },
      run: async (grant) => {
        for (const { variable, what } of made) {
          const answer = answers.secrets[variable];
          const generator = variablesOf(entry, source).find(({ name }) => name === variable)?.field?.generator;
          const value = answer?.from === 'given' ? answer.value : generator ? generate(generator) : undefined;
          if (value === undefined) {
            throw new Fault({
              code: 'failed.generator',
              message: `Nothing says how to make up ${variable} of ${entry.id}.`,
              remedy: `Give it yourself: quarterdeck secrets set ${entry.id} ${variable}.`,
            });
          }
          session.hide(value);
          versions.set(
            variable,
            await vault.write(grant, secretName(place, entry.id, variable), value, what === 'given' ? 'given' : 'generated'),
          );
        }
      },
    });
  }
  return plan.secrets.map((secret) => ({ ...secret, version: versions.get(secret.variable) ?? secret.version }));
}

const itemStates = { begun: 'running', done: 'ok', failed: 'blocked' } as const;

/** Progress of a transaction, as an operator sees it. */
export function tellApplying(session: Session, event: ApplyEvent): void {
  switch (event.kind) {
    case 'pull':
      session.progress({
        id: `pull ${event.reference}`,
        label: `${event.done ? 'Fetched' : 'Fetching'} ${event.reference}${event.text ? `: ${event.text}` : ''}`,
        ...(event.fraction !== undefined && { fraction: event.fraction }),
        ...(event.done && { done: true }),
      });
      break;
    case 'step': {
      const label = stepLabel(event);
      if (label !== undefined) session.show({ kind: 'item', id: `step ${event.step}`, title: label, state: itemStates[event.state] });
      break;
    }
    case 'output':
      session.progress({ id: 'output', label: event.text, output: true });
      break;
  }
}

/** What a person wants to see of the journal; the rest is bookkeeping. */
function stepLabel({ step, component }: Extract<ApplyEvent, { kind: 'step' }>): string | undefined {
  const kind = step.split(':', 1)[0];
  switch (kind) {
    case 'stage':
      return 'Keeping what is there now';
    case 'part':
    case 'undo-part':
      return `Taking ${component} out of the network that goes`;
    case 'place':
      return `Writing the files of ${component}`;
    case 'up':
      return `Starting ${component}`;
    case 'down':
      return `Removing the containers of ${component}`;
    case 'after':
      return 'Putting the changed rules of the reverse proxy in force';
    case 'undo':
      return component === undefined ? undefined : `Putting ${component} back`;
    default:
      return undefined;
  }
}
