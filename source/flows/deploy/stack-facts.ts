import { join } from 'node:path';
import { lacksLogin } from '../../catalog/built-in-checks.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { interpolate } from '../../catalog/interpolation.ts';
import { hasOwnForm, runLocation } from '../../catalog/run-location.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import type { ContainerDetail, ContainerFacts, Engine, ImageDetail, VolumeFacts } from '../../engine/engine.ts';
import { findComposeTool } from '../../engine/find-compose.ts';
import { Fault } from '../../faults/fault.ts';
import { composeLabel } from '../../fleet/grouping.ts';
import type { SecretEntry } from '../../secrets/secrets.ts';
import { notDeployed } from '../../stack/apply/confirm-setup-task.ts';
import { readUnfinishedRuns } from '../../stack/apply/run-journal.ts';
import type { RunOnHost } from '../../stack/apply/transaction.ts';
import { type RestoreRecord, readOpenRestores } from '../../stack/backup/restore-journal.ts';
import { type ComponentSource, readComponentSource } from '../../stack/component-source.ts';
import type { Answers, Deployment, Values } from '../../stack/model.ts';
import { answersOfContainers, answersOfDeployment } from '../../stack/plan/answers.ts';
import { readServices } from '../../stack/plan/compose-document.ts';
import type { FormContext } from '../../stack/plan/form.ts';
import { usedAddresses } from '../../stack/plan/networks.ts';
import { isProtected, proxyId } from '../../stack/plan/proxy-changes.ts';
import { projectOf } from '../../stack/plan/service-changes.ts';
import { variablesOf } from '../../stack/plan/variables.ts';
import { type HostAnswers, once, queryHost } from '../../stack/preflight/host-facts.ts';
import { listDeployments } from '../../stack/read-deployment.ts';
import type { EngineScope } from '../engine-scope.ts';
import { loginPrefix, secretName } from '../secrets/secret-names.ts';

export interface HostState {
  scope: EngineScope;
  stackFolder: string;
  /** Undefined if the host has no compose: preflight reports it. */
  tool: ComposeTool | undefined;
  deployments: readonly Deployment[];
  /** Folders of the stack that cannot be read, a sentence each. */
  problems: readonly Fault[];
  /** Containers of all projects. */
  allContainers: readonly ContainerFacts[];
  volumes: readonly VolumeFacts[];
  networksThere: ReadonlySet<string>;
  /** Interrupted changes of this stack that are neither finished nor undone. */
  unfinished: readonly RunOnHost[];
  restores: readonly RestoreRecord[];
  asked: HostAnswers;
  /** Opens the secret backend on first use. */
  secrets: () => Promise<readonly SecretEntry[]>;
}

export interface StackFacts extends HostState {
  entry: CatalogEntry;
  source: ComponentSource;
  deployment: Deployment | undefined;
  others: readonly Deployment[];
  /** Containers of the compose project, whatever created them. */
  containers: readonly ContainerFacts[];
  details: Readonly<Record<string, ContainerDetail>>;
  /** Images on the host, by reference as in the compose file. */
  images: ReadonlyMap<string, ImageDetail>;
  /** The newest version in the secret backend, by variable. */
  secretsKnown: Readonly<Record<string, string>>;
  /** The time when that version was created. */
  secretsMadeMs: Readonly<Record<string, number>>;
  /** Whether a volume, a container or a secret of it exists. Then no new values are generated. */
  hasData: boolean;
}

const tools = new WeakMap<Engine, Promise<ComposeTool | undefined>>();

/** Returns the compose command for this engine, detected once per connection. */
function composeToolOf({ context, host, engine, engineFacts, signal }: EngineScope): Promise<ComposeTool | undefined> {
  const known = tools.get(engine);
  if (known) return known;
  const { cacheFolder } = context;
  const versionsFile = cacheFolder === undefined ? undefined : join(cacheFolder, 'compose-versions.json');
  const finding = findComposeTool(host, { facts: engineFacts, address: engine.address, versionsFile }, signal);
  tools.set(engine, finding);
  // A missing program may be installed by now.
  finding.then(
    (tool) => (tool && !tool.refused) || tools.delete(engine),
    () => tools.delete(engine),
  );
  return finding;
}

export async function neededComposeTool(scope: EngineScope): Promise<ComposeTool> {
  const tool = await composeToolOf(scope);
  if (tool) return usable(tool);
  throw noCompose();
}

export function usable(tool: ComposeTool): ComposeTool {
  if (tool.refused) throw new Fault('refused.sudo', tool.refused.message, tool.refused.remedy);
  return tool;
}

export function noCompose(): Fault {
  return new Fault('refused.noCompose', 'The host has no compose command.', 'Install docker-compose or podman-compose on the host.');
}

export async function inspectHost(scope: EngineScope, secrets: HostState['secrets'] = once(() => secretEntries(scope))) {
  const { host, engine, signal } = scope;
  const asked = queryHost(host, engine, signal);
  const stackFolder = await scope.stackFolder();
  const [tool, { deployments, problems }, allContainers, volumes, networks, unfinished, restores] = await Promise.all([
    composeToolOf(scope),
    listDeployments(host, stackFolder, signal),
    asked.containers(),
    asked.volumes(),
    engine.networks(signal),
    readUnfinishedRuns(host, stackFolder, signal),
    readOpenRestores(host, stackFolder, signal),
  ]);
  return {
    scope,
    stackFolder,
    tool,
    deployments,
    problems,
    allContainers,
    volumes,
    networksThere: new Set(networks.map(({ name }) => name)),
    unfinished,
    restores,
    asked,
    secrets,
  };
}

export async function gatherStackFacts(scope: EngineScope, entry: CatalogEntry, look?: HostState): Promise<StackFacts> {
  const { context, engineName, signal } = scope;
  if (entry.deploy !== 'compose') {
    throw new Fault(
      'usage.notDeployed',
      `${entry.id} cannot be deployed by Quarterdeck. ${runLocation(entry, context.catalog.entries)}`,
      hasOwnForm(entry)
        ? `Create its configuration: quarterdeck config make ${entry.id}`
        : `Show its catalog entry: quarterdeck catalog show ${entry.id}`,
    );
  }
  const { engine } = scope;
  const source = await sourceOf(entry);
  const wantsSecrets = variablesOf(entry, source).some(({ kind }) => kind === 'secret');
  const fromVault = look?.secrets ?? once(() => secretEntries(scope));
  const [seen, secrets] = await Promise.all([look ?? inspectHost(scope, fromVault), wantsSecrets ? fromVault() : []]);
  const containers = seen.allContainers.filter((container) => composeLabel(container, 'project') === entry.id);
  const deployment = seen.deployments.find(({ component }) => component === entry.id);
  const references = new Set(entry.services.map(({ image }) => interpolate(image, deployment?.env)));
  for (const pin of Object.values(deployment?.record?.images ?? {})) references.add(pin.reference);
  // An edited compose file may name other images than the catalog.
  for (const { image } of Object.values(deployment ? readServices(deployment.compose) : {}))
    if (typeof image === 'string') references.add(interpolate(image, deployment?.env));
  const [images, details] = await Promise.all([
    Promise.all([...references].map(async (reference) => [reference, await seen.asked.image(reference)] as const)),
    Promise.all(
      containers.map(async (container) => [composeLabel(container, 'service') ?? '', await engine.inspect(container.id, signal)] as const),
    ),
  ]);
  const newest = newestOf(secrets, engineName, entry.id);
  const secretsKnown = Object.fromEntries(newest.map(({ variable, id }) => [variable, id]));
  return {
    ...seen,
    entry,
    source,
    deployment,
    others: seen.deployments.filter(({ component }) => component !== entry.id),
    containers,
    details: Object.fromEntries(details.flatMap(([service, detail]) => (detail ? [[service, detail]] : []))),
    images: new Map(images.flatMap(([reference, image]) => (image ? [[reference, image]] : []))),
    secretsKnown,
    secretsMadeMs: Object.fromEntries(newest.map(({ variable, createdMs }) => [variable, createdMs])),
    hasData: containers.length > 0 || newest.length > 0 || seen.volumes.some((volume) => projectOf(volume) === entry.id),
  };
}

const sources = new WeakMap<CatalogEntry, Promise<ComponentSource>>();

/** Caches the source of built-in entries, which do not change while the program runs; the operator may be editing entries of their own. */
function sourceOf(entry: CatalogEntry): Promise<ComponentSource> {
  const known = sources.get(entry);
  if (known) return known;
  const reading = readComponentSource(entry);
  if (!entry.own) {
    sources.set(entry, reading);
    reading.catch(() => sources.delete(entry));
  }
  return reading;
}

async function secretEntries({ session, context }: EngineScope): Promise<readonly SecretEntry[]> {
  try {
    return await (await context.vault(session)).list(session.signal);
  } catch (thrown) {
    if (!session.dryRun || session.signal.aborted) throw thrown;
    return [];
  }
}

function newestOf(entries: readonly SecretEntry[], engineName: string, component: string) {
  const prefix = secretName(engineName, component, '');
  return entries.flatMap(({ name, versions }) => {
    const last = versions.at(-1);
    return last && name.startsWith(prefix) && !name.startsWith(`${prefix}${loginPrefix}`)
      ? [{ variable: name.slice(prefix.length), id: last.id, createdMs: last.createdMs }]
      : [];
  });
}

export async function newestVersions({ session, context, engineName }: EngineScope, component: string): Promise<Record<string, string>> {
  const entries = await (await context.vault(session)).list(session.signal);
  return Object.fromEntries(newestOf(entries, engineName, component).map(({ variable, id }) => [variable, id]));
}

/** If containers run, their secrets are adopted; if the folder was not created by Quarterdeck, their plain values too. */
export function formContextOf(facts: StackFacts, values: Values): FormContext {
  const { scope, entry, source, deployment, others, secretsKnown, hasData } = facts;
  const { catalog } = scope.context;
  const running = answersOfContainers(entry, source, facts.details);
  const portal = catalog.entries.find(({ site }) => site?.portal !== undefined);
  const ids = others.map(({ component }) => component);
  const deployed = portal !== undefined && ids.includes(portal.id);
  const proxy = others.find(({ component }) => component === proxyId);
  return {
    source,
    deployment,
    others,
    secretsKnown,
    imported: running.secrets,
    hasData,
    runtime: scope.engineFacts.kind,
    suggested: usedAddresses(entry, catalog, ids),
    portal: portal && { id: portal.id, deployed },
    behindPortal: isProtected(proxy, deployment?.record?.site ?? '') || (lacksLogin(entry) && deployed),
    values: deployment ? values : { ...running.values, ...values },
  };
}

export interface Deployed {
  facts: StackFacts;
  deployment: Deployment;
  answers: Answers;
}

/** Throws `usage.component` for a component that the catalog does not know, `refused.notOurs` for one that Quarterdeck did not deploy. */
export async function deployed(scope: EngineScope, id: string, look?: HostState): Promise<Deployed> {
  const { context } = scope;
  const entry = context.catalog.get(id);
  if (!entry) {
    const message = `${id} is not in the catalog, so Quarterdeck cannot change it.`;
    throw new Fault('usage.component', message, 'Use the tool that deployed the component.');
  }
  const facts = await gatherStackFacts(scope, entry, look);
  const { deployment } = facts;
  if (!deployment) throw notDeployed(id, `${facts.stackFolder} has no folder for ${id}`);
  return { facts, deployment, answers: answersOfDeployment(entry, formContextOf(facts, {})) };
}
