import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { ContainerFacts } from '../../engine/engine.ts';
import { type ComponentSource, filePath } from '../component-source.ts';
import type { Answers, Deployment, FileChange, ImagePin, Plan, PlannedPort, PlannedSecret, PlannedService, Values } from '../model.ts';
import { hashOf } from '../read-deployment.ts';
import { readServices, topLevel } from './compose-document.ts';
import { readEnv } from './env-file.ts';
import { maskLine } from './mask-line.ts';
import { networkOf } from './networks.ts';
import { publishedBy } from './ports.ts';
import { isPinned, type RenderOptions, renderComponent } from './render.ts';
import { planServices, projectOf, serviceOf } from './service-changes.ts';
import { composeOf, variablesOf } from './variables.ts';

export interface PlanRequest extends Omit<RenderOptions, 'base'> {
  kind: Exclude<Plan['kind'], 'remove'>;
  entry: CatalogEntry;
  source: ComponentSource;
  answers: Answers;
  deployment: Deployment | undefined;
  engineName: string;
  stackFolder: string;
  networksThere: ReadonlySet<string>;
  /** All containers of the engine: those of this project are selected. */
  containers: readonly ContainerFacts[];
  /** Images on the engine, by reference as in compose.yaml. Undefined if they were not queried. */
  images: ReadonlyMap<string, { id: string; digest?: string }> | undefined;
  /** Services for whose tag the registry has another image than this host: `update`. */
  newer?: ReadonlySet<string>;
  rotated?: ReadonlySet<string>;
  /** The operator's own texts, by path relative to the component's folder: `edit`. */
  edited?: Readonly<Record<string, string>>;
  fresh?: true;
}

/** Returns the exact changes that would put these answers into effect. Pure, except for the time it takes. */
export function planDeploy(request: PlanRequest): Plan {
  const { entry, source, answers, deployment, kind } = request;
  const pins = request.pins ?? (kind === 'update' ? {} : pinsOf(entry, deployment));
  const { files, notes, compose, env } = planFiles({ ...request, pins });
  const next = composeOf(compose, deployment ? `${deployment.folder}/compose.yaml` : filePath(source, 'compose.yaml')).compose;
  const { values } = readEnv(env);
  const secrets = plannedSecrets(request);
  const services = planServices({ ...request, compose, values, files, secrets });
  return {
    schema: 1,
    kind,
    component: entry.id,
    engineName: request.engineName,
    stackFolder: request.stackFolder,
    project: entry.id,
    files,
    services,
    ports: plannedPorts(entry, compose, values),
    networks: sharedNetworks(request, compose).map((name) => ({ name, exists: request.networksThere.has(name) })),
    volumes: namedVolumes(next.services.values(), entry.id),
    secrets,
    site: answers.site,
    after: [],
    notes: [...notes, ...clearTextNotes(files), ...ownerNotes(request)],
    rollback: entry.upgrade?.rollback ?? 'unsafe',
  };
}

/**
 * Returns the planned content of the component's folder. A file that was changed by hand, or with `edit`, belongs to the operator: in
 * compose.yaml only the required changes are made, in `.env` only the lines of changed values, and configuration files stay as they are,
 * unless `fresh` discards the changes.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one rule for who owns a file, applied to each kind of file
function planFiles(request: PlanRequest) {
  const { entry, source, answers, deployment, edited = {}, fresh } = request;
  const { id } = entry;
  const notes: string[] = [];
  const record = deployment?.record;
  const touched = (path: string, text: string) => {
    const written = record?.files[`${id}/${path}`];
    return written !== undefined && written !== hashOf(text);
  };
  const owned = (path: string, text: string | undefined) =>
    text !== undefined &&
    (record?.files[`${id}/${path}`] === undefined || touched(path, text) || record.edited?.includes(`${id}/${path}`) === true);
  const keepsCompose = owned('compose.yaml', deployment?.compose) && !fresh;
  const envBefore = deployment?.envText || undefined;
  const rendered = renderComponent(entry, source, answers, {
    runtime: request.runtime,
    tool: request.tool,
    networks: request.networks,
    pins: request.pins,
    base: {
      compose: edited['compose.yaml'] ?? (keepsCompose ? deployment?.compose : undefined),
      env: edited['.env'] ?? envBefore,
      file: `${request.stackFolder}/${id}/compose.yaml`,
    },
  });

  const changes: FileChange[] = [];
  const add = (path: string, before: string | undefined, after: string) => {
    const isOwned = owned(path, before);
    changes.push({
      path: `${id}/${path}`,
      before,
      after,
      mode: path === '.env' ? 0o600 : 0o644,
      touched: before !== undefined && touched(path, before),
      ...((edited[path] !== undefined || (isOwned && path !== '.env' && !fresh)) && { edited: true }),
    });
    if (edited[path] !== undefined || !record || !isOwned) return;
    const changed = fresh && path !== '.env' ? 'The edits are discarded' : 'Only the required lines are changed';
    const kept = before === after ? 'The edits are kept' : changed;
    notes.push(`${id}/${path} was edited by hand. ${kept}.`);
  };
  add('compose.yaml', deployment?.compose, rendered.compose);
  const isNeeded = Object.keys(answers.values).length > 0 || Object.keys(readEnv(rendered.env).values).length > 0;
  if (envBefore !== undefined || isNeeded || edited['.env'] !== undefined) add('.env', envBefore, rendered.env);
  const editedFiles = Object.fromEntries(Object.entries(edited).filter(([path]) => path.startsWith('files/')));
  for (const [path, text] of Object.entries({ ...rendered.files, ...editedFiles })) {
    const before = deployment?.files[path];
    const after = edited[path] ?? (before !== undefined && owned(path, before) && !fresh ? before : text);
    add(path, before, after);
  }
  for (const path of record && !fresh ? Object.keys(record.files) : []) {
    const inner = path.slice(id.length + 1);
    if (!path.startsWith(`${id}/files/`) || rendered.files[inner] !== undefined) continue;
    const before = deployment?.files[inner];
    if (before === undefined || edited[inner] !== undefined || owned(inner, before)) continue;
    changes.push({ path, before, after: undefined, mode: 0o644, touched: false });
  }
  return { files: changes, notes, compose: rendered.compose, env: rendered.env };
}

/** Includes our other networks in its file: a gateway is in the networks of the services behind it (R15). */
function sharedNetworks({ networks }: PlanRequest, compose: string): string[] {
  const declared = (topLevel(compose)['networks'] ?? {}) as Readonly<Record<string, { external?: unknown } | null>>;
  const named = Object.keys(declared).filter((name) => name.startsWith(networkOf('')) && declared[name]?.external === true);
  return [...new Set([...networks.map(({ name }) => name), ...named])];
}

export function isEmpty(plan: Plan): boolean {
  return (
    plan.files.every(({ before, after }) => before === after) &&
    plan.services.every(({ change }) => change === 'keep') &&
    plan.secrets.every(({ what }) => what === 'keep' || what === 'none') &&
    plan.networks.every(({ exists }) => exists) &&
    plan.after.length === 0
  );
}

/** Returns the pinned images that a rollback left in the compose file: they stay until the next update. */
function pinsOf(entry: CatalogEntry, deployment: Deployment | undefined): Record<string, string> {
  if (!deployment) return {};
  const services = readServices(deployment.compose);
  return Object.fromEntries(
    entry.services.flatMap(({ name, image }) => {
      const present = services[name]?.['image'];
      return typeof present === 'string' && isPinned(present) && present !== image ? [[name, present]] : [];
    }),
  );
}

function plannedSecrets({ entry, source, answers, rotated }: PlanRequest): PlannedSecret[] {
  return variablesOf(entry, source).flatMap((variable): PlannedSecret[] => {
    if (variable.kind !== 'secret') return [];
    const answer = answers.secrets[variable.name];
    const label = variable.field?.name ?? variable.name;
    const version = answer?.from === 'keep' ? answer.version : undefined;
    const what = version !== undefined && rotated?.has(variable.name) ? 'given' : (answer?.from ?? 'missing');
    return [{ variable: variable.name, label, what, version }];
  });
}

function plannedPorts(entry: CatalogEntry, compose: string, values: Values): PlannedPort[] {
  const services = readServices(compose);
  return publishedBy(entry, values)
    .filter(({ service }) => services[service] !== undefined)
    .map((port) => (services[port.service]?.['network_mode'] === 'host' ? { ...port, address: '0.0.0.0' } : port));
}

function namedVolumes(services: Iterable<{ mounts: readonly { source: string }[] }>, project: string): string[] {
  const names = [...services].flatMap(({ mounts }) => mounts.map(({ source }) => source).filter((source) => /^[\w][\w.-]*$/.test(source)));
  return [...new Set(names)].map((name) => `${project}_${name}`);
}

/** The previous files are kept for a rollback, so a secret that is removed from one of them is still there. */
function clearTextNotes(files: readonly FileChange[]): string[] {
  return files.flatMap(({ path, before = '', after = '' }) => {
    const left = new Set(after.split('\n'));
    if (!before.split('\n').some((line) => !left.has(line) && maskLine(line) !== line)) return [];
    return [
      `${path} contains what looks like a plaintext secret. It is removed here, but the rollback copy in .quarterdeck/runs keeps it: rotate the secret afterwards (quarterdeck secrets rotate).`,
    ];
  });
}

/** Labels are not reliable, but if the containers were created from another folder, it is named before ours replaces it. */
function ownerNotes({ entry, containers, stackFolder }: PlanRequest): string[] {
  const own = `${stackFolder}/${entry.id}`;
  const folders = new Set(
    containers.flatMap((container) => {
      const folder = container.labels['com.docker.compose.project.working_dir'];
      return projectOf(container) === entry.id && folder && folder !== own ? [folder] : [];
    }),
  );
  return [...folders].map((folder) => `Containers of this project were created from ${folder}. They will be managed from ${own}.`);
}

interface RemoveRequest extends Pick<PlanRequest, 'deployment' | 'engineName' | 'stackFolder' | 'containers'> {
  entry: Pick<CatalogEntry, 'id'>;
  /** Names of the project's volumes, if their data are deleted too. */
  volumes?: readonly string[];
}

/** Plans to remove a component: its containers, and the unchanged files that we wrote. Other files in its folder are named and stay. */
export function planRemove({ entry, deployment, engineName, stackFolder, containers, volumes = [] }: RemoveRequest): Plan {
  const { id } = entry;
  const notes: string[] = [];
  const files: FileChange[] = [];
  const { compose, envText, record, files: texts } = deployment ?? {};
  for (const [inner, text] of Object.entries({ 'compose.yaml': compose, '.env': envText || undefined, ...texts })) {
    if (text === undefined) continue;
    const path = `${id}/${inner}`;
    const written = record?.files[path];
    if (written === undefined) notes.push(`${path} is kept, because Quarterdeck did not write it.`);
    else if (written !== hashOf(text) || record?.edited?.includes(path)) notes.push(`${path} is kept, because it was changed by hand.`);
    else files.push({ path, before: text, after: undefined, mode: 0o644, touched: false });
  }
  const deleted = `Volumes are deleted with all their data: ${volumes.join(', ')}.`;
  notes.push(volumes.length === 0 ? 'Volumes and their data are kept.' : deleted);
  return {
    schema: 1,
    kind: 'remove',
    component: id,
    engineName,
    stackFolder,
    project: id,
    files,
    services: containers.flatMap((container): PlannedService[] => {
      if (projectOf(container) !== id) return [];
      const { image, imageId } = container;
      const before: ImagePin = { reference: image, id: imageId };
      return [{ name: serviceOf(container), image, before, change: 'remove', why: 'the component is removed', present: true }];
    }),
    ports: [],
    networks: [],
    volumes: [...volumes],
    secrets: [],
    site: '',
    after: [],
    notes,
    rollback: 'unsafe',
  };
}
