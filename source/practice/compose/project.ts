import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { circlesOf } from '../../catalog/component-circles.ts';
import { interpolate, variablesIn } from '../../catalog/interpolation.ts';

export interface ProjectService {
  name: string;
  image: string;
  command: readonly string[] | undefined;
  entrypoint: readonly string[] | undefined;
  environment: Readonly<Record<string, string>>;
  /** `127.0.0.1:8180:80/tcp`. */
  ports: readonly string[];
  /** Sources of binds are absolute; volumes have the names of the project. */
  binds: readonly string[];
  networks: readonly { name: string; aliases: readonly string[] }[];
  networkMode: string | undefined;
  dependsOn: readonly { name: string; condition: string }[];
  profiles: readonly string[];
  restart: string;
  healthcheck: Readonly<Record<string, unknown>> | undefined;
  labels: Readonly<Record<string, string>>;
  /** Of all that makes a container what it is: one that has another is made anew. */
  hash: string;
}

export interface Project {
  name: string;
  folder: string;
  file: string;
  services: readonly ProjectService[];
  networks: readonly { name: string; external: boolean; key: string }[];
  volumes: readonly { name: string; external: boolean; key: string }[];
}

type Json = Record<string, unknown>;

interface Reading {
  folder: string;
  file: string;
  name: string | undefined;
  environment: Readonly<Record<string, string | undefined>>;
}

/** Reads a compose file as far as the catalog uses it. Throws sentences as compose words them. */
export async function readProject({ folder, file, name, environment }: Reading): Promise<Project> {
  const path = resolve(folder, file);
  const text = await readFile(path, 'utf8').catch(() => {
    throw new Error(`open ${path}: no such file or directory`);
  });
  const values: Record<string, string> = { ...(await readDotEnv(join(folder, '.env'))) };
  // What the process is given wins over the file.
  for (const [variable, value] of Object.entries(environment)) if (value !== undefined) values[variable] = value;
  const document = filled(parse(text, { merge: true }), values, '') as Json;
  const project = name ?? values['COMPOSE_PROJECT_NAME'] ?? projectName(basename(folder));
  const active = new Set((values['COMPOSE_PROFILES'] ?? '').split(',').filter(Boolean));

  const networks = Object.entries(mapOf(document['networks'])).map(([key, value]) => {
    const { external, name: given } = mapOf(value);
    return { key, external: external === true, name: String(given ?? (external === true ? key : `${project}_${key}`)) };
  });
  const volumes = Object.entries(mapOf(document['volumes'])).map(([key, value]) => {
    const { external, name: given } = mapOf(value);
    return { key, external: external === true, name: String(given ?? (external === true ? key : `${project}_${key}`)) };
  });
  const networkName = (key: string) => networks.find((one) => one.key === key)?.name ?? `${project}_${key}`;

  const services: ProjectService[] = [];
  for (const [service, value] of Object.entries(mapOf(document['services']))) {
    const one = mapOf(value);
    const profiles = listOf(one['profiles']);
    if (profiles.length > 0 && !profiles.some((profile) => active.has(profile))) continue;
    const image = String(one['image'] ?? '');
    if (image === '') throw new Error(`service "${service}" has neither an image nor a build context specified: invalid compose project`);
    const environmentOf = { ...(await envFiles(one['env_file'], folder)), ...environmentMap(one['environment'], values) };
    const joined =
      one['networks'] === undefined ? { default: {} } : Array.isArray(one['networks']) ? keyed(one['networks']) : one['networks'];
    const mode = one['network_mode'] === undefined ? undefined : String(one['network_mode']);
    const facts = {
      name: service,
      image,
      command: argvOf(one['command']),
      entrypoint: argvOf(one['entrypoint']),
      environment: environmentOf,
      ports: listOf(one['ports']),
      binds: listOf(one['volumes']).map((mount) => bindOf(mount, folder, volumes)),
      networks: mode
        ? []
        : Object.entries(mapOf(joined)).map(([key, how]) => ({
            name: networkName(key),
            aliases: [service, ...listOf(mapOf(how)['aliases'])],
          })),
      networkMode: mode,
      dependsOn: Array.isArray(one['depends_on'])
        ? one['depends_on'].map((needed) => ({ name: String(needed), condition: 'service_started' }))
        : Object.entries(mapOf(one['depends_on'])).map(([needed, how]) => ({
            name: needed,
            condition: String(mapOf(how)['condition'] ?? 'service_started'),
          })),
      profiles,
      restart: String(one['restart'] ?? 'no'),
      healthcheck: one['healthcheck'] === undefined ? undefined : mapOf(one['healthcheck']),
      labels: Object.fromEntries(Object.entries(mapOf(one['labels'])).map(([key, label]) => [key, String(label)])),
    };
    services.push({ ...facts, hash: createHash('sha256').update(JSON.stringify(facts)).digest('hex') });
  }
  const [circle] = circlesOf(
    services.map((service) => service.name),
    (service) => services.find((one) => one.name === service)?.dependsOn.map((needed) => needed.name) ?? [],
  );
  if (circle) throw new Error(`dependency cycle detected: ${[...circle, circle[0]].join(' -> ')}`);
  return { name: project, folder, file: path, services, networks, volumes };
}

/** Every text with its variables filled in. */
function filled(value: unknown, values: Readonly<Record<string, string>>, at: string): unknown {
  if (typeof value === 'string') {
    for (const { name, operator, colon, word } of variablesIn(value)) {
      const given = Object.hasOwn(values, name) ? values[name] : undefined;
      if (operator === '?' && (given === undefined || (colon && given === '')))
        throw new Error(`error while interpolating ${at}: required variable ${name} is missing a value: ${word}`);
    }
    return interpolate(value, values);
  }
  if (Array.isArray(value)) return value.map((one, index) => filled(one, values, `${at}.[${index}]`));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, values, at === '' ? key : `${at}.${key}`)]));
}

/** `NAME=value`, quotes as compose takes them off. */
async function readDotEnv(path: string): Promise<Record<string, string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const values: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const [, name, raw = ''] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined) continue;
    const [, single] = /^'([^']*)'$/.exec(raw) ?? [];
    const [, double] = /^"((?:[^"\\]|\\.)*)"$/.exec(raw) ?? [];
    values[name] = single ?? double?.replace(/\\(.)/g, '$1') ?? raw.replace(/\s+#.*$/, '');
  }
  return values;
}

async function envFiles(value: unknown, folder: string): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const file of listOf(value)) {
    const path = resolve(folder, file);
    await readFile(path).catch(() => {
      throw new Error(`env file ${path} not found: stat ${path}: no such file or directory`);
    });
    Object.assign(values, await readDotEnv(path));
  }
  return values;
}

function environmentMap(value: unknown, values: Readonly<Record<string, string>>): Record<string, string> {
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((one): [string, unknown] => {
        const [name = '', ...rest] = String(one).split('=');
        return [name, rest.length === 0 ? null : rest.join('=')];
      })
    : Object.entries(mapOf(value));
  return Object.fromEntries(
    entries.flatMap(([name, one]) => (one === null ? (values[name] === undefined ? [] : [[name, values[name]]]) : [[name, String(one)]])),
  ) as Record<string, string>;
}

function bindOf(mount: string, folder: string, volumes: Project['volumes']): string {
  const [source = '', ...rest] = mount.split(':');
  if (source.startsWith('.') || source.startsWith('~')) return [resolve(folder, source), ...rest].join(':');
  if (source.startsWith('/')) return mount;
  return [volumes.find(({ key }) => key === source)?.name ?? source, ...rest].join(':');
}

/** As compose makes one of a folder's name. */
function projectName(folder: string): string {
  return folder
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '')
    .replace(/^[_-]+/, '');
}

function mapOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
}

function keyed(names: readonly unknown[]): Json {
  return Object.fromEntries(names.map((name) => [String(name), {}]));
}

function argvOf(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value.map(String) : String(value).split(/\s+/).filter(Boolean);
}
