import { join } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { interpolate } from '../catalog/interpolation.ts';
import { isMadeHere, whereItRuns } from '../catalog/where-it-runs.ts';
import { installationFolder } from '../config/installation.ts';
import type { ComposeTool } from '../engine/compose-tool.ts';
import type { ContainerDetail, ContainerFacts, Engine, EngineFacts, ImageDetail, VolumeFacts } from '../engine/engine.ts';
import { findComposeTool } from '../engine/find-compose.ts';
import { Fault } from '../faults/fault.ts';
import { composeLabel } from '../fleet/grouping.ts';
import type { Host } from '../hosts/host.ts';
import type { SecretEntry, SecretName } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import { type ComponentSource, readComponentSource } from '../stack/component-source.ts';
import { askHost, type HostAnswers, once } from '../stack/host-answers.ts';
import type { Deployment } from '../stack/model.ts';
import { listDeployments } from '../stack/read-deployment.ts';
import { type RestoreRecord, readOpenRestores } from '../stack/restore-journal.ts';
import { readUnfinishedRuns } from '../stack/run-journal.ts';
import { readServices } from '../stack/service-changes.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { variablesOf } from '../stack/variables.ts';
import type { FlowWorld } from './flow.ts';

/** Everything that planning a component on a host wants to know, asked once for each look. */
export interface StackFacts {
  place: string;
  host: Host;
  engine: Engine;
  engineFacts: EngineFacts;
  /** What was asked for all components of the host. */
  look: HostLook;
  /** Undefined where the host has no compose: preflight says so. */
  tool: ComposeTool | undefined;
  stackFolder: string;
  entry: CatalogEntry;
  source: ComponentSource;
  deployment: Deployment | undefined;
  /** The other components of the stack. */
  others: readonly Deployment[];
  /** Folders of the stack that cannot be read, a sentence each. */
  problems: readonly Fault[];
  /** Of the compose project, whoever made them. */
  containers: readonly ContainerFacts[];
  details: Readonly<Record<string, ContainerDetail>>;
  /** On the host, by reference as the compose file has it. */
  images: ReadonlyMap<string, ImageDetail>;
  networksThere: ReadonlySet<string>;
  /** Newest version in the vault, by variable. */
  secretsKnown: Readonly<Record<string, string>>;
  /** When that version was made. */
  secretsMadeMs: Readonly<Record<string, number>>;
  /** Changes of this stack that broke off, and are neither finished nor taken back. */
  unfinished: readonly RunOnHost[];
  /** Restores that were interrupted. */
  restores: readonly RestoreRecord[];
  /** Is there a volume, a container or a secret of it? Then nothing is made up anew. */
  hasData: boolean;
}

const tools = new WeakMap<Engine, Promise<ComposeTool | undefined>>();

/** The compose command that reaches this engine, looked for once per connection. */
export function composeToolOf(world: FlowWorld, place: string, signal: AbortSignal): Promise<ComposeTool | undefined> {
  const engine = world.engineOf(place);
  const known = tools.get(engine);
  if (known) return known;
  const { cacheFolder } = world;
  const finding = findComposeTool(
    world.hostOf(place),
    {
      facts: world.engineFactsOf(place),
      address: engine.address,
      ...(cacheFolder !== undefined && { versionsFile: join(cacheFolder, 'compose-versions.json') }),
    },
    signal,
  );
  tools.set(engine, finding);
  // What was missing may be installed by now.
  finding.then(
    (tool) => (tool && !tool.refused) || tools.delete(engine),
    () => tools.delete(engine),
  );
  return finding;
}

/** The same, where nothing can be done without one. Throws `refused.noCompose`, `refused.sudo`. */
export async function neededComposeTool(world: FlowWorld, place: string, signal: AbortSignal): Promise<ComposeTool> {
  const tool = await composeToolOf(world, place, signal);
  if (tool) return usable(tool);
  throw noCompose();
}

/** @throws Fault `refused.sudo` */
export function usable(tool: ComposeTool): ComposeTool {
  if (tool.refused) throw new Fault({ code: 'refused.sudo', ...tool.refused });
  return tool;
}

export function noCompose(): Fault {
  return new Fault({
    code: 'refused.noCompose',
    message: 'This host has no compose command.',
    remedy: 'Install docker-compose or podman-compose there.',
  });
}

export function secretName(place: string, component: string, variable: string): SecretName {
  return `${place}/${component}/${variable}`;
}

/** What is asked of a host once for a look at any number of its components. */
export interface HostLook {
  place: string;
  stackFolder: string;
  tool: ComposeTool | undefined;
  deployments: readonly Deployment[];
  problems: readonly Fault[];
  containers: readonly ContainerFacts[];
  volumes: readonly VolumeFacts[];
  networksThere: ReadonlySet<string>;
  unfinished: readonly RunOnHost[];
  /** Restores that were interrupted. */
  restores: readonly RestoreRecord[];
  asked: HostAnswers;
  /** Opens the vault when first asked. */
  secrets: () => Promise<readonly SecretEntry[]>;
}

export async function lookAtHost(
  session: Session,
  world: FlowWorld,
  place: string,
  secrets: HostLook['secrets'] = once(() => secretEntries(session, world)),
): Promise<HostLook> {
  const { signal } = session;
  const engine = world.engineOf(place);
  const host = world.hostOf(place);
  const asked = askHost(host, engine, signal);
  const stackFolder = await world.stackFolderOf(place, signal);
  const [tool, { deployments, problems }, containers, volumes, networks, unfinished, restores] = await Promise.all([
    composeToolOf(world, place, signal),
    listDeployments(host, stackFolder, signal),
    asked.containers(),
    asked.volumes(),
    engine.networks(signal),
    readUnfinishedRuns(host, stackFolder, signal),
    readOpenRestores(host, stackFolder, signal),
  ]);
  return {
    place,
    stackFolder,
    tool,
    deployments,
    problems,
    containers,
    volumes,
    networksThere: new Set(networks.map(({ name }) => name)),
    unfinished,
    restores,
    asked,
    secrets,
  };
}

/**
 * Asks host, engine and vault, all at once; `look` has what several components have in common. Throws `usage.*` for an entry that is not deployed with compose.
 */
export async function gatherStackFacts(
  session: Session,
  world: FlowWorld,
  place: string,
  entry: CatalogEntry,
  look?: HostLook,
): Promise<StackFacts> {
  const { signal } = session;
  if (entry.deploy !== 'compose') {
    throw new Fault({
      code: 'usage.notDeployed',
      message: `${entry.id} is not deployed from here. ${whereItRuns(entry, world.catalog.entries)}`,
      remedy: isMadeHere(entry)
        ? `"quarterdeck config make ${entry.id}" makes it.`
        : `"quarterdeck catalog show ${entry.id}" tells what it is.`,
    });
  }
  const engine = world.engineOf(place);
  const source = await sourceOf(entry);
  const wantsSecrets = variablesOf(entry, source).some(({ kind }) => kind === 'secret');
  const fromVault = look?.secrets ?? once(() => secretEntries(session, world));
  const [seen, secrets] = await Promise.all([look ?? lookAtHost(session, world, place, fromVault), wantsSecrets ? fromVault() : []]);
  const containers = seen.containers.filter((container) => composeLabel(container, 'project') === entry.id);
  const deployment = seen.deployments.find(({ component }) => component === entry.id);
  const references = new Set(entry.services.map(({ image }) => interpolate(image, deployment?.env)));
  for (const pin of Object.values(deployment?.record?.images ?? {})) references.add(pin.reference);
  // A compose file that was edited may name others than the catalog.
  for (const { image } of Object.values(deployment ? readServices(deployment.compose) : {}))
    if (typeof image === 'string') references.add(interpolate(image, deployment?.env));
  const [images, details] = await Promise.all([
    Promise.all([...references].map(async (reference) => [reference, await seen.asked.image(reference)] as const)),
    Promise.all(
      containers.map(async (container) => [composeLabel(container, 'service') ?? '', await engine.inspect(container.id, signal)] as const),
    ),
  ]);
  const newest = newestOf(secrets, place, entry.id);
  const secretsKnown = Object.fromEntries(newest.map(({ variable, id }) => [variable, id]));
  return {
    place,
    host: world.hostOf(place),
    engine,
    engineFacts: world.engineFactsOf(place),
    look: seen,
    tool: seen.tool,
    stackFolder: seen.stackFolder,
    entry,
    source,
    deployment,
    others: seen.deployments.filter(({ component }) => component !== entry.id),
    problems: seen.problems,
    containers,
    details: Object.fromEntries(details.flatMap(([service, detail]) => (detail ? [[service, detail]] : []))),
    images: new Map(images.flatMap(([reference, image]) => (image ? [[reference, image]] : []))),
    networksThere: seen.networksThere,
    secretsKnown,
    secretsMadeMs: Object.fromEntries(newest.map(({ variable, createdMs }) => [variable, createdMs])),
    unfinished: seen.unfinished,
    restores: seen.restores,
    hasData:
      containers.length > 0 ||
      newest.length > 0 ||
      seen.volumes.some(
        ({ labels }) => labels['com.docker.compose.project'] === entry.id || labels['io.podman.compose.project'] === entry.id,
      ),
  };
}

const sources = new WeakMap<CatalogEntry, Promise<ComponentSource>>();

/** The built-in catalog stays as it is while we run; an operator may be at work on their own. */
function sourceOf(entry: CatalogEntry): Promise<ComponentSource> {
  const known = sources.get(entry);
  if (known) return known;
  const reading = readComponentSource(entry, join(installationFolder(), 'catalog'));
  if (!entry.own) {
    sources.set(entry, reading);
    reading.catch(() => sources.delete(entry));
  }
  return reading;
}

/** What the vault has. A rehearsal goes without a vault that cannot be opened. */
async function secretEntries(session: Session, world: FlowWorld): Promise<readonly SecretEntry[]> {
  try {
    return await (await world.vault(session)).list(session.signal);
  } catch (thrown) {
    if (!session.rehearsing || session.signal.aborted) throw thrown;
    return [];
  }
}

function newestOf(
  entries: readonly SecretEntry[],
  place: string,
  component: string,
): { variable: string; id: string; createdMs: number }[] {
  const prefix = secretName(place, component, '');
  return entries.flatMap(({ name, versions }) => {
    const last = versions.at(-1);
    return last && name.startsWith(prefix) ? [{ variable: name.slice(prefix.length), id: last.id, createdMs: last.createdMs }] : [];
  });
}

/** The newest version of each secret of a component that the vault has, by variable. */
export async function newestVersions(
  session: Session,
  world: FlowWorld,
  place: string,
  component: string,
): Promise<Record<string, string>> {
  const entries = await (await world.vault(session)).list(session.signal);
  return Object.fromEntries(newestOf(entries, place, component).map(({ variable, id }) => [variable, id]));
}
