import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parse } from 'yaml';
import { interpolate } from '../../source/catalog/interpolation.ts';
import { secretFilesOf } from '../../source/stack/plan/compose-editor.ts';
import { type RenderOptions, renderComponent } from '../../source/stack/plan/render.ts';
import { variablesOf } from '../../source/stack/plan/variables.ts';
import { type Answered, answeredCatalog, deployable, secretsOf, writeRendered } from '../catalog/rendered.ts';
import { type ComposeConfig, composeConfigs, currentComposeConfigs, isPythonCompose, podmanComposes } from '../doubles/compose-config.ts';

/** Every compose program that there is, and what is rendered for it. */
const tools = {
  'docker-compose 1.29, Docker': { runtime: 'docker', tool: { kind: 'docker-compose' }, networks: [] },
  'docker compose 2, Docker': { runtime: 'docker', tool: { kind: 'docker-compose' }, networks: [] },
  'docker compose 2, Podman': { runtime: 'podman', tool: { kind: 'docker-compose' }, networks: [] },
  'podman-compose': { runtime: 'podman', tool: { kind: 'podman-compose' }, networks: [] },
} as const satisfies Record<string, RenderOptions>;
type Tool = keyof typeof tools;

const composeFolder = inject('composeFolder');
const current = join(composeFolder, 'docker-compose');
const podmanCompose = join(composeFolder, 'podman-compose');
const present: Record<Tool, boolean> = {
  'docker-compose 1.29, Docker': isPythonCompose,
  'docker compose 2, Docker': composeFolder !== '' && existsSync(current),
  'docker compose 2, Podman': composeFolder !== '' && existsSync(current),
  'podman-compose': composeFolder !== '' && existsSync(podmanCompose),
};

interface Case extends Answered {
  id: string;
  profiles: readonly string[];
  secrets: Record<string, string>;
}
const titleOf = ({ id, profiles }: Pick<Case, 'id' | 'profiles'>) => (profiles.length === 0 ? id : `${id} with ${profiles.join(', ')}`);

const root = mkdtempSync(join(tmpdir(), 'qd-render-'));
afterAll(() => rmSync(root, { recursive: true }));
const cases: Case[] = [];
interface Read {
  folder: string;
  config: ComposeConfig;
}
const said = new Map<string, Read>();
/** By program, and what it was given. */
const read = new Map<string, Read>();

/** In each tool's folder what is rendered for it, with the secrets where that tool takes them from. */
function project(tool: Tool, one: Case) {
  const rendered = renderComponent(one.entry, one.source, one.answers, tools[tool]);
  const folder = writeRendered(join(root, tool.replaceAll(/\W+/g, '-'), titleOf(one).replaceAll(/\W+/g, '-'), one.id), rendered);
  const text = JSON.stringify(rendered);
  if (tool !== 'podman-compose') return { folder, env: one.secrets, text };
  const secretsFolder = join(dirname(folder), 'secrets');
  mkdirSync(secretsFolder, { recursive: true });
  for (const [service, texts] of Object.entries(secretFilesOf(rendered.compose))) {
    const lines = Object.entries(texts).map(([name, text]) => `${name}=${interpolate(text, one.secrets)}\n`);
    writeFileSync(join(secretsFolder, `${service}.env`), lines.join(''));
  }
  return { folder, env: { QUARTERDECK_SECRETS: secretsFolder }, text };
}

beforeAll(async () => {
  const take = await answeredCatalog();
  for (const id of deployable) {
    const { entry, source } = take(id);
    const all = variablesOf(entry, source).flatMap(({ profiles }) => profiles);
    for (const profiles of all.length > 0 ? [[], all] : [[]])
      cases.push({
        id,
        profiles,
        ...take(id, profiles.length > 0 ? { COMPOSE_PROFILES: profiles.join(',') } : {}),
        secrets: secretsOf({ entry, source }),
      });
  }
  const podman = join(root, 'podman');
  writeFileSync(podman, "#!/bin/sh\necho 'podman version 5.4.2'\n");
  chmodSync(podman, 0o755);
  for (const tool of Object.keys(tools) as Tool[]) {
    if (!present[tool]) continue;
    const projects = cases.map((one) => ({ title: titleOf(one), ...project(tool, one) }));
    // A program reads what is rendered only once, also if two engines get the same.
    const keyOf = ({ title, text }: (typeof projects)[number]) => `${tool.replace(/,.*/, '')} ${title} ${text}`;
    const unread = projects.filter((one) => !read.has(keyOf(one)));
    const configs =
      tool === 'podman-compose'
        ? podmanComposes(podmanCompose, ['--podman-path', podman, 'config'], unread)
        : tool === 'docker-compose 1.29, Docker'
          ? composeConfigs(unread)
          : await currentComposeConfigs(current, unread);
    for (const [index, one] of unread.entries())
      read.set(keyOf(one), { folder: one.folder, config: configs[index] ?? { code: -1, stdout: '', stderr: 'not read' } });
    for (const one of projects) said.set(`${tool}: ${one.title}`, read.get(keyOf(one)) ?? expect.fail(`${one.title} was not read`));
  }
}, 300_000);

type Json = Record<string, unknown>;

/** What a service comes to, whoever wrote it down and however. */
function meaningOf(service: Json, folder: string): Json {
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);
  const meaning: Json = {
    image: service['image'],
    restart: service['restart'],
    user: service['user'],
    network_mode: service['network_mode'],
    command: list(typeof service['command'] === 'string' ? words(service['command']) : service['command']).map(String),
    entrypoint: list(typeof service['entrypoint'] === 'string' ? words(service['entrypoint']) : service['entrypoint']).map(String),
    environment: pairs(service['environment']),
    sysctls: pairs(service['sysctls']),
    ports: list(service['ports']).flatMap(portsOf).sort(),
    mounts: list(service['volumes'])
      .map((mount) => mountOf(mount, folder))
      .sort(),
    cap_add: list(service['cap_add']).map(String).sort(),
    devices: list(service['devices']).map(deviceOf).sort(),
    group_add: list(service['group_add']).map(String).sort(),
    tmpfs: list(service['tmpfs']).map(String).sort(),
    extra_hosts: list(service['extra_hosts']).map((host) => String(host).replace('=', ':')),
    depends_on: awaited(service['depends_on']),
    health: list((service['healthcheck'] as Json | undefined)?.['test']),
  };
  return Object.fromEntries(
    Object.entries(meaning).filter(
      ([, value]) => value !== undefined && value !== null && JSON.stringify(value) !== '[]' && JSON.stringify(value) !== '{}',
    ),
  );
}

function words(text: string): string[] {
  return [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'));
}

function pairs(value: unknown): Json {
  const entries = Array.isArray(value) ? value.map((line) => String(line).split(/=(.*)/s, 2)) : Object.entries((value ?? {}) as Json);
  return Object.fromEntries(entries.map(([name, text]) => [name, text === null || text === undefined ? '' : String(text)]));
}

function portsOf(port: unknown): string[] {
  if (typeof port === 'object' && port !== null) {
    const { host_ip: address = '', published, target, protocol = 'tcp' } = port as Json;
    return [`${address}:${published}:${target}/${protocol}`];
  }
  const [, address = '', host = '', container = '', protocol = 'tcp'] =
    /^(?:(.*):)?([\d-]+):([\d-]+)(?:\/(tcp|udp))?$/.exec(String(port)) ?? [];
  const range = (text: string) => {
    const [from = 0, to = from] = text.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, step) => from + step);
  };
  const inside = range(container);
  return range(host).map((number, index) => `${address}:${number}:${inside[index]}/${protocol}`);
}

function mountOf(mount: unknown, folder: string): string {
  const where = (source: string) => (/^[.~]/.test(source) ? resolve(folder, source) : source);
  if (typeof mount === 'object' && mount !== null) {
    const { source = '', target, read_only: fixed } = mount as { source?: string; target: string; read_only?: boolean };
    return `${where(source)}:${target}:${fixed ? 'ro' : 'rw'}`;
  }
  const [source = '', target = '', mode = 'rw'] = String(mount).split(':');
  return `${where(source)}:${target.replace(/(?<=.)\/$/, '')}:${mode}`;
}

function deviceOf(device: unknown): string {
  if (typeof device === 'object' && device !== null) {
    const { source, target } = device as Json;
    return `${source}:${target}`;
  }
  const [source, target = source] = String(device).split(':');
  return `${source}:${target}`;
}

function awaited(value: unknown): Json {
  if (Array.isArray(value)) return Object.fromEntries(value.map((name) => [String(name), 'service_started']));
  return Object.fromEntries(
    Object.entries((value ?? {}) as Record<string, { condition?: string }>).map(([name, what]) => [
      name,
      what?.condition ?? 'service_started',
    ]),
  );
}

function deep(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((one) => deep(one, change));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, deep(one, change)]));
}

/** What the catalog means: its own compose file with the answers and the secrets in it, and the gateway as the runtime calls it (R13). */
function meant({ source, answers, secrets, profiles }: Case, folder: string, tool: Tool): Json {
  const { runtime } = tools[tool];
  // That one shows services of every profile.
  const everything = tool === 'docker-compose 1.29, Docker';
  const file = deep(parse(source.compose), (text) => interpolate(text, { ...answers.values, ...secrets })) as {
    services: Record<string, Json>;
  };
  const gateway = runtime === 'docker' ? 'host-gateway' : 'host.containers.internal';
  const named = /(?<![\w.-])host\.containers\.internal(?![\w.-])/g;
  // Docker is told who the gateway is; Podman knows.
  const reported = (service: Json): Json =>
    runtime === 'docker' && JSON.stringify(service).includes(gateway)
      ? { ...service, extra_hosts: [...((service['extra_hosts'] as unknown[] | undefined) ?? []), 'host-gateway:host-gateway'] }
      : service;
  return Object.fromEntries(
    Object.entries(file.services)
      .filter(([, service]) =>
        ((service['profiles'] as string[] | undefined) ?? ['']).some(
          (profile) => profile === '' || everything || profiles.includes(profile),
        ),
      )
      .map(([name, service]) => [name, meaningOf(reported(deep(service, (text) => text.replaceAll(named, gateway)) as Json), folder)]),
  );
}

const titles = (Object.keys(tools) as Tool[]).map(
  (tool) => [present[tool] ? tool : `${tool}: skipped, there is no such program here`, tool] as const,
);

describe.each(titles)('%s', (_, tool) => {
  test.skipIf(!present[tool])('accepts every entry, and reads of it what the catalog means (R3, R6, R13, R18)', () => {
    const wrong: Json = {};
    for (const one of cases) {
      const { folder, config } = said.get(`${tool}: ${titleOf(one)}`) ?? {
        folder: '',
        config: { code: -1, stdout: '', stderr: 'not run' },
      };
      const complaint = config.stderr.replaceAll(/^.*(?:WARNING|level=warning).*\n/gm, '').trim();
      if (config.code !== 0 || complaint !== '') {
        wrong[titleOf(one)] = config;
        continue;
      }
      const file = parse(config.stdout) as { services: Record<string, Json> };
      const { kind } = tools[tool].tool;
      const expected = meant(one, folder, tool);
      const compose = renderComponent(one.entry, one.source, one.answers, tools[tool]).compose;
      const fromFiles = secretFilesOf(compose);
      const got: Json = {};
      for (const [name, service] of Object.entries(file.services)) {
        const read = meaningOf(kind === 'docker-compose' ? (deep(service, (text) => text.replaceAll('$$', '$')) as Json) : service, folder);
        const secret = Object.fromEntries(
          Object.entries(fromFiles[name] ?? {}).map(([key, text]) => [key, interpolate(text, one.secrets)]),
        );
        if (Object.keys(secret).length > 0) read['environment'] = { ...(read['environment'] as Json), ...secret };
        got[name] = read;
      }
      const differences = compare(expected, got);
      if (differences.length > 0) wrong[titleOf(one)] = differences;
    }
    expect(wrong).toEqual({});
  });
});

/** Path, what was meant, what was read. */
function compare(expected: unknown, got: unknown, path = ''): string[] {
  if (JSON.stringify(expected) === JSON.stringify(got)) return [];
  const isMap = (value: unknown): value is Json => value !== null && typeof value === 'object' && !Array.isArray(value);
  if (isMap(expected) && isMap(got))
    return [...new Set([...Object.keys(expected), ...Object.keys(got)])].flatMap((key) =>
      compare(expected[key], got[key], `${path}/${key}`),
    );
  return [`${path}: meant ${JSON.stringify(expected)}, read ${JSON.stringify(got)}`];
}
