import type { CatalogEntry } from '../catalog/catalog.ts';
import { portVariable } from '../catalog/port-mapping.ts';
import type { ComposeTool } from '../engine/compose-tool.ts';
import type { ContainerFacts, EngineKind } from '../engine/engine.ts';
import { hostPortOf } from './base-url.ts';
import { type ComponentSource, filePath } from './component-source.ts';
import { composeDocument } from './compose-document.ts';
import { readEnv } from './env-file.ts';
import { maskLine } from './mask-line.ts';
import type { Answers, Deployment, FileChange, ImagePin, Plan, PlanKind, PlannedPort, PlannedSecret, PlannedService } from './model.ts';
import { type NetworkUse, networkOf } from './networks.ts';
import { planFiles } from './plan-files.ts';
import { hashOf } from './read-deployment.ts';
import { isPinned } from './render.ts';
import { planServices, projectOf, readServices, serviceOf } from './service-changes.ts';
import { composeOf, variablesOf } from './variables.ts';

export interface PlanRequest {
  kind: Exclude<PlanKind, 'remove'>;
  entry: CatalogEntry;
  source: ComponentSource;
  answers: Answers;
  /** What stands there; undefined for a first deploy. */
  deployment: Deployment | undefined;
  place: string;
  /** Absolute, on the host. */
  stackFolder: string;
  runtime: EngineKind;
  tool: Pick<ComposeTool, 'kind'>;
  networks: readonly NetworkUse[];
  /** Names of the networks that the engine has. */
  networksThere: ReadonlySet<string>;
  /** All of the place: those of this project are picked out. */
  containers: readonly ContainerFacts[];
  /** What the engine has, by reference as compose.yaml names it. Undefined where nobody has looked. */
  images: ReadonlyMap<string, { id: string; digest?: string }> | undefined;
  /** Services for whose tag the registry has another image than this host: `update`. */
  newer?: ReadonlySet<string>;
  /** Exact images by service: `rollback`. */
  pins?: Readonly<Record<string, string>>;
  /** Variables of secrets whose version changes. */
  rotated?: ReadonlySet<string>;
  /** The operator's own texts, by path relative to the component's folder: `edit`. */
  edited?: Readonly<Record<string, string>>;
  /** Gives up what was changed by hand. */
  fresh?: true;
  authUrl?: string;
}

/** The exact changes that would put these answers in force. Pure, but for the time it takes. */
export function planDeploy(request: PlanRequest): Plan {
  const { entry, source, answers, deployment, kind } = request;
  const pins = request.pins ?? (kind === 'update' ? {} : pinsOf(entry, deployment));
  const { files, notes, compose, env, texts } = planFiles({ ...request, pins });
  const next = composeOf(compose, deployment ? `${deployment.folder}/compose.yaml` : filePath(source, 'compose.yaml')).compose;
  const { values } = readEnv(env);
  const secrets = plannedSecrets(request);
  const services = planServices({ ...request, compose, values, texts, files, secrets, pins });
  return {
    schema: 1,
    kind,
    component: entry.id,
    place: request.place,
    stackFolder: request.stackFolder,
    project: entry.id,
    files,
    services,
    ports: plannedPorts(entry, readServices(compose), values),
    networks: sharedNetworks(request, compose).map((name) => ({ name, exists: request.networksThere.has(name) })),
    volumes: namedVolumes(next.services.values(), entry.id),
    secrets,
    site: answers.site,
    after: [],
    notes: [...notes, ...clearTextNotes(files), ...ownerNotes(request)],
    rollback: entry.upgrade?.rollback ?? 'unsafe',
  };
}

/** Those that it joins by what the catalog says, and what else of ours its file names: a gateway is in the networks of those behind it (R15). */
function sharedNetworks({ networks }: PlanRequest, compose: string): string[] {
  const { networks: declared } = (composeDocument(compose).value ?? {}) as { networks?: Record<string, { external?: unknown } | null> };
  const named = Object.entries(declared ?? {}).flatMap(([name, network]) =>
    name.startsWith(networkOf('')) && network?.external === true ? [name] : [],
  );
  return [...new Set([...networks.map(({ name }) => name), ...named])];
}

/** Nothing to do: what stands there is what was asked for. */
export function isEmpty(plan: Plan): boolean {
  return (
    plan.files.every(({ before, after }) => before === after) &&
    plan.services.every(({ change }) => change === 'keep') &&
    plan.secrets.every(({ what }) => what === 'keep' || what === 'none') &&
    plan.networks.every(({ exists }) => exists) &&
    plan.after.length === 0 &&
    plan.kind !== 'adopt'
  );
}

/** What a rollback left in the compose file: stays until the next update. */
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
    const what = answer === undefined ? 'missing' : answer.from;
    if (rotated?.has(variable.name) && what === 'keep' && answer?.from === 'keep')
      return [{ variable: variable.name, label, what: 'given', version: answer.version }];
    return [{ variable: variable.name, label, what, version: answer?.from === 'keep' ? answer.version : undefined }];
  });
}

function plannedPorts(
  entry: CatalogEntry,
  services: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  values: Readonly<Record<string, string>>,
): PlannedPort[] {
  return entry.ports.flatMap((port): PlannedPort[] => {
    const host = hostPortOf(port, values);
    if (host === undefined || services[port.service] === undefined) return [];
    const onHost = services[port.service]?.['network_mode'] === 'host';
    const bind = portVariable(port.name).replace(/PORT$/, 'BIND');
    const written = port.exposure === 'loopback' ? '127.0.0.1' : '0.0.0.0';
    return [
      {
        service: port.service,
        name: port.name,
        address: onHost ? '0.0.0.0' : values[bind] || written,
        host,
        container: port.container,
        protocol: port.protocol,
        fixed: port.fixed,
      },
    ];
  });
}

function namedVolumes(services: Iterable<{ mounts: readonly { source: string }[] }>, project: string): string[] {
  const names = [...services].flatMap(({ mounts }) => mounts.map(({ source }) => source).filter((source) => /^[\w][\w.-]*$/.test(source)));
  return [...new Set(names)].map((name) => `${project}_${name}`);
}

/** To take a change back its files are kept as they were. A secret that moves out of one of them is then still there. */
function clearTextNotes(files: readonly FileChange[]): string[] {
  return files.flatMap(({ path, before = '', after = '' }) => {
    const left = new Set(after.split('\n'));
    if (!before.split('\n').some((line) => !left.has(line) && maskLine(line) !== line)) return [];
    return [
      `${path} seems to hold a secret in clear. It goes from there, but stays in the copy below .quarterdeck/runs that takes this change back: give it a new value afterwards (quarterdeck secrets rotate).`,
    ];
  });
}

/** Labels are claims, but whoever made the containers from another folder should be named before they are made again from ours. */
function ownerNotes({ entry, containers, stackFolder }: PlanRequest): string[] {
  const folders = new Set(
    containers.flatMap((container) => {
      const folder = container.labels['com.docker.compose.project.working_dir'];
      return projectOf(container) === entry.id && folder && folder !== `${stackFolder}/${entry.id}` ? [folder] : [];
    }),
  );
  return [...folders].map(
    (folder) => `Containers of this project were made from ${folder}: they are made again from ${stackFolder}/${entry.id}.`,
  );
}

export interface RemoveRequest {
  entry: Pick<CatalogEntry, 'id'>;
  deployment: Deployment | undefined;
  place: string;
  stackFolder: string;
  containers: readonly ContainerFacts[];
  /** Names of the project's volumes, where their data goes too. */
  volumes?: readonly string[];
}

/** Takes a component away: containers, and the files that we wrote and nobody changed. What else lies in its folder is named and stays. */
export function planRemove({ entry, deployment, place, stackFolder, containers, volumes = [] }: RemoveRequest): Plan {
  const { id } = entry;
  const notes: string[] = [];
  const files: FileChange[] = [];
  if (deployment) {
    const present: [string, string][] = [
      [`${id}/compose.yaml`, deployment.compose],
      ...(deployment.envText === '' ? [] : [[`${id}/.env`, deployment.envText] as [string, string]]),
      ...Object.entries(deployment.files).map(([path, text]): [string, string] => [`${id}/${path}`, text]),
    ];
    for (const [path, text] of present) {
      const written = deployment.record?.files[path];
      if (written === undefined) notes.push(`${path} stays: Quarterdeck did not write it.`);
      else if (written !== hashOf(text) || deployment.record?.edited?.includes(path)) notes.push(`${path} stays: it was changed by hand.`);
      else files.push({ path, before: text, after: undefined, mode: 0o644, touched: false });
    }
  }
  notes.push(
    volumes.length === 0 ? 'Volumes and their data stay.' : `Volumes are deleted with all that is in them: ${volumes.join(', ')}.`,
  );
  return {
    schema: 1,
    kind: 'remove',
    component: id,
    place,
    stackFolder,
    project: id,
    files,
    services: containers.flatMap((container): PlannedService[] => {
      if (projectOf(container) !== id) return [];
      const before: ImagePin = { reference: container.image, id: container.imageId };
      return [
        { name: serviceOf(container), image: container.image, before, change: 'remove', why: 'the component is removed', present: true },
      ];
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
