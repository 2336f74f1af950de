import { join } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { interpolate } from '../catalog/interpolation.ts';
import { installationFolder } from '../config/installation.ts';
import type { ComposeTool } from '../engine/compose-tool.ts';
import type { ContainerDetail, ContainerFacts, Engine, EngineFacts, ImageDetail } from '../engine/engine.ts';
import { findComposeTool } from '../engine/find-compose.ts';
import { Fault } from '../faults/fault.ts';
import { composeLabel } from '../fleet/grouping.ts';
import type { Host } from '../hosts/host.ts';
import type { SecretName } from '../secrets/vault.ts';
import type { Session } from '../session/session.ts';
import { type ComponentSource, readComponentSource } from '../stack/component-source.ts';
import type { Deployment } from '../stack/model.ts';
import { listDeployments } from '../stack/read-deployment.ts';
import { readUnfinishedRuns } from '../stack/run-journal.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { variablesOf } from '../stack/variables.ts';
import type { FlowWorld } from './flow.ts';

/** Everything that planning a component on a host wants to know, asked once for each look. */
export interface StackFacts {
  place: string;
  host: Host;
  engine: Engine;
  engineFacts: EngineFacts;
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
  /** Changes of this stack that broke off, and are neither finished nor taken back. */
  unfinished: readonly RunOnHost[];
  /** Is there a volume, a container or a secret of it? Then nothing is made up anew. */
  hasData: boolean;
}

const tools = new WeakMap<Engine, Promise<ComposeTool | undefined>>();

/** The compose command that reaches this engine, looked for once per connection. */
export function composeToolOf(world: FlowWorld, place: string, signal: AbortSignal): Promise<ComposeTool | undefined> {
  const engine = world.engineOf(place);
  const known = tools.get(engine);
  if (known) return known;
  const finding = findComposeTool(world.hostOf(place), { facts: world.engineFactsOf(place), address: engine.address }, signal);
  tools.set(engine, finding);
  // What was missing may be installed by now.
  finding.then(
    (tool) => tool ?? tools.delete(engine),
    () => tools.delete(engine),
  );
  return finding;
}

export function secretName(place: string, component: string, variable: string): SecretName {
  return `${place}/${component}/${variable}`;
}

/** Asks host, engine and vault, all at once. Throws `usage.*` for an entry that is not deployed with compose. */
export async function gatherStackFacts(session: Session, world: FlowWorld, place: string, entry: CatalogEntry): Promise<StackFacts> {
  const { signal } = session;
  if (entry.deploy !== 'compose') {
    throw new Fault({
      code: 'usage.notDeployed',
      message: `${entry.id} is not deployed as containers: it is of the kind "${entry.deploy}".`,
      remedy: `"quarterdeck catalog show ${entry.id}" tells what it is.`,
    });
  }
  const engine = world.engineOf(place);
  const host = world.hostOf(place);
  const [source, stackFolder] = await Promise.all([
    readComponentSource(entry, join(installationFolder(), 'catalog')),
    world.stackFolderOf(place, signal),
  ]);
  const wantsSecrets = variablesOf(entry, source).some(({ kind }) => kind === 'secret');
  const [tool, { deployments, problems }, listed, volumes, networks, secretsKnown, unfinished] = await Promise.all([
    composeToolOf(world, place, signal),
    listDeployments(host, stackFolder, signal),
    engine.list(signal),
    engine.volumes(signal),
    engine.networks(signal),
    wantsSecrets ? knownSecrets(session, world, place, entry.id) : {},
    readUnfinishedRuns(host, stackFolder, signal),
  ]);
  const containers = listed.filter((container) => composeLabel(container, 'project') === entry.id);
  const deployment = deployments.find(({ component }) => component === entry.id);
  const references = new Set(entry.services.map(({ image }) => interpolate(image, deployment?.env)));
  for (const pin of Object.values(deployment?.record?.images ?? {})) references.add(pin.reference);
  const [images, details] = await Promise.all([
    Promise.all([...references].map(async (reference) => [reference, await engine.image(reference, signal)] as const)),
    Promise.all(
      containers.map(async (container) => [composeLabel(container, 'service') ?? '', await engine.inspect(container.id, signal)] as const),
    ),
  ]);
  return {
    place,
    host,
    engine,
    engineFacts: world.engineFactsOf(place),
    tool,
    stackFolder,
    entry,
    source,
    deployment,
    others: deployments.filter(({ component }) => component !== entry.id),
    problems,
    containers,
    details: Object.fromEntries(details.flatMap(([service, detail]) => (detail ? [[service, detail]] : []))),
    images: new Map(images.flatMap(([reference, image]) => (image ? [[reference, image]] : []))),
    networksThere: new Set(networks.map(({ name }) => name)),
    secretsKnown,
    unfinished,
    hasData:
      containers.length > 0 ||
      Object.keys(secretsKnown).length > 0 ||
      volumes.some(({ labels }) => labels['com.docker.compose.project'] === entry.id || labels['io.podman.compose.project'] === entry.id),
  };
}

/** Newest versions of what the vault has of a component. A rehearsal goes without a vault that cannot be opened. */
async function knownSecrets(session: Session, world: FlowWorld, place: string, component: string): Promise<Record<string, string>> {
  try {
    return await newestVersions(session, world, place, component);
  } catch (thrown) {
    if (!session.rehearsing || session.signal.aborted) throw thrown;
    return {};
  }
}

/** The newest version of each secret of a component that the vault has, by variable. */
export async function newestVersions(
  session: Session,
  world: FlowWorld,
  place: string,
  component: string,
): Promise<Record<string, string>> {
  const vault = await world.vault(session);
  const prefix = secretName(place, component, '');
  const newest: Record<string, string> = {};
  for (const { name, versions } of await vault.list(session.signal)) {
    const last = versions.at(-1);
    if (last && name.startsWith(prefix)) newest[name.slice(prefix.length)] = last.id;
  }
  return newest;
}
