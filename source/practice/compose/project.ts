import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { circlesOf } from '../../catalog/component-circles.ts';
import { interpolate, variablesIn } from '../../catalog/interpolation.ts';
import { readPort } from '../../catalog/port-mapping.ts';
import { type JsonObject, mapOf, mapTexts } from '../../text/json-value.ts';
import { mountOf, restartNameOf, type SpecRequest } from '../engine/create-container.ts';

export const composeVersion = '2.40.3';

export interface ProjectService {
  name: string;
  /** Sources of binds are absolute; volumes and networks have the names of the project. */
  request: Omit<SpecRequest, 'name'>;
  dependsOn: readonly { name: string; condition: string }[];
  /** Of the whole configuration: a container with another hash is recreated. */
  hash: string;
}

export interface Project {
  name: string;
  services: readonly ProjectService[];
  networks: readonly Declared[];
  volumes: readonly Declared[];
  labelsOf(service: ProjectService, imageId: string): Record<string, string>;
}

/** A network or volume: `key` is its name in the file. */
export interface Declared {
  name: string;
  external: boolean;
  key: string;
}

interface ProjectOptions {
  folder: string;
  /** `compose.yaml` by default. */
  file?: string | undefined;
  name?: string | undefined;
  environment: Readonly<Record<string, string | undefined>>;
}

/** Reads a compose file as far as the catalog uses it. Throws errors with compose's messages. */
export async function readProject({ folder, file = 'compose.yaml', name: named, environment }: ProjectOptions): Promise<Project> {
  const path = resolve(folder, file);
  const text = await readFile(path, 'utf8').catch(() => {
    throw new Error(`open ${path}: no such file or directory`);
  });
  // The environment of the process wins over .env.
  const values = { ...(await readDotEnv(join(folder, '.env'))), ...definedOf(environment) };
  const document = interpolated(parse(text, { merge: true }), values) as JsonObject;
  const name =
    named ??
    values['COMPOSE_PROJECT_NAME'] ??
    basename(folder)
      .toLowerCase()
      .replace(/^[_-]+|[^a-z0-9_-]/g, '');
  const active = (values['COMPOSE_PROFILES'] ?? '').split(',');

  const declaredOf =
    (kind: 'networks' | 'volumes') =>
    (key: string): Declared => {
      const { external, name: given = external === true ? key : `${name}_${key}` } = mapOf(mapOf(document[kind])[key]);
      return { key, external: external === true, name: String(given) };
    };
  const [networkOf, volumes] = [declaredOf('networks'), Object.keys(mapOf(document['volumes'])).map(declaredOf('volumes'))];
  const networks = new Map<string, Declared>();
  const services: ProjectService[] = [];
  for (const [service, value] of Object.entries(mapOf(document['services']))) {
    const written = mapOf(value);
    const profiles = listOf(written['profiles']);
    if (profiles.length > 0 && !profiles.some((profile) => active.includes(profile))) continue;
    const { image, network_mode: networkMode, healthcheck } = written;
    if (!image) throw new Error(`service "${service}" has neither an image nor a build context specified: invalid compose project`);
    const joined = networkMode === undefined ? Object.keys(keyed(written['networks'] ?? ['default'])) : [];
    for (const key of joined) networks.set(key, networkOf(key));
    const joinedNames = joined.map((key) => networkOf(key).name);
    const request: ProjectService['request'] = {
      image: String(image),
      ...argvOf('command', written),
      ...argvOf('entrypoint', written),
      environment: pairsIn(written['environment'], values),
      labels: pairsIn(written['labels'], {}),
      ports: listOf(written['ports']).flatMap((port) => {
        const read = readPort(port);
        if ('problem' in read) throw new Error(`invalid port "${port}": ${read.problem}`);
        return read.ports.map(({ container: containerPort, host = 0, address: hostIp, protocol }) => ({
          ...{ containerPort, protocol, hostIp, hostPort: host },
        }));
      }),
      mounts: listOf(written['volumes']).map((mount) => mountOf(sourceIn(mount, folder, volumes))),
      networks: joinedNames,
      networkMode: networkMode === undefined ? joinedNames[0] : String(networkMode),
      restartPolicy: { name: restartNameOf(written['restart']), maximum: 0 },
      ...(healthcheck !== undefined && { healthcheck: { test: listOf(mapOf(healthcheck)['test']), intervalMs: 10_000 } }),
    };
    const dependsOn = Object.entries(keyed(written['depends_on'])).map(([needed, how]) => ({
      name: needed,
      condition: String(mapOf(how)['condition'] ?? 'service_started'),
    }));
    const hash = createHash('sha256')
      .update(JSON.stringify([request, dependsOn]))
      .digest('hex');
    services.push({ name: service, request, dependsOn, hash });
  }
  refuseCircles(services);
  const labelsOf: Project['labelsOf'] = (service, imageId) => ({
    ...service.request.labels,
    ...composeLabels({ ...service, project: name, service: service.name, imageId, folder, file: path }),
  });
  return { name, services, networks: [...networks.values()], volumes, labelsOf };
}

export function composeLabels(of: {
  project: string;
  service: string;
  hash: string;
  imageId: string;
  folder: string;
  file: string;
  dependsOn: ProjectService['dependsOn'];
}): Record<string, string> {
  return {
    'com.docker.compose.config-hash': of.hash,
    'com.docker.compose.container-number': '1',
    'com.docker.compose.depends_on': of.dependsOn.map(({ name, condition }) => `${name}:${condition}:false`).join(','),
    'com.docker.compose.image': of.imageId,
    'com.docker.compose.oneoff': 'False',
    'com.docker.compose.project': of.project,
    'com.docker.compose.project.config_files': of.file,
    'com.docker.compose.project.working_dir': of.folder,
    'com.docker.compose.service': of.service,
    'com.docker.compose.version': composeVersion,
  };
}

function refuseCircles(services: readonly ProjectService[]): void {
  const [circle] = circlesOf(
    services.map(({ name }) => name),
    (name) => services.find((service) => service.name === name)?.dependsOn.map((needed) => needed.name) ?? [],
  );
  if (circle) throw new Error(`dependency cycle detected: ${[...circle, circle[0]].join(' -> ')}`);
}

/** Fills in the variables of every text. */
function interpolated(document: unknown, values: Readonly<Record<string, string>>) {
  return mapTexts(document, (text, path) => {
    for (const { name, operator, colon, word } of variablesIn(text)) {
      const set = Object.hasOwn(values, name) && !(colon && values[name] === '');
      const at = () => path.map((step) => (typeof step === 'number' ? `[${step}]` : step)).join('.');
      if (operator === '?' && !set)
        throw new Error(`error while interpolating ${at()}: required variable ${name} is missing a value: ${word}`);
    }
    return interpolate(text, values);
  });
}

/** Reads lines of `NAME=value`, and removes quotes as compose does. */
async function readDotEnv(path: string): Promise<Record<string, string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const values: Record<string, string> = {};
  for (const [, name = '', raw = ''] of text.matchAll(/^[ \t]*(?:export\s+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(.*?)[ \t\r]*$/gm)) {
    const [, single] = /^'([^']*)'$/.exec(raw) ?? [];
    const [, double] = /^"((?:[^"\\]|\\.)*)"$/.exec(raw) ?? [];
    values[name] = single ?? double?.replace(/\\(.)/g, '$1') ?? raw.replace(/\s+#.*$/, '');
  }
  return values;
}

/** Reads a map or a list of `NAME=value`. A name without a value gets that of the environment. */
function pairsIn(value: unknown, values: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = Array.isArray(value)
    ? value.map((line) => /^([^=]*)(?:=(.*))?$/s.exec(String(line))?.slice(1) ?? [])
    : Object.entries(mapOf(value));
  return definedOf(Object.fromEntries(pairs.map(([name, given]) => [name, given ?? values[String(name)]])));
}

function definedOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
}

/** Returns a mount with an absolute path, or the volume's name in the project. */
function sourceIn(mount: string, folder: string, volumes: readonly Declared[]): string {
  const [source = '', ...rest] = mount.split(':');
  const path = /^[.~]/.test(source) ? resolve(folder, source) : (volumes.find(({ key }) => key === source)?.name ?? source);
  return [path, ...rest].join(':');
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
}

/** A list of names is short for a map. */
function keyed(value: unknown): JsonObject {
  return Array.isArray(value) ? Object.fromEntries(value.map((name) => [String(name), {}])) : mapOf(value);
}

function argvOf(key: 'command' | 'entrypoint', service: JsonObject): Partial<Record<typeof key, string[]>> {
  const value = service[key];
  if (value === undefined || value === null) return {};
  return { [key]: Array.isArray(value) ? value.map(String) : String(value).split(/\s+/).filter(Boolean) };
}
