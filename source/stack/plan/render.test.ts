import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { inventory } from '../../../test/catalog/inventory.ts';
import { answeredCatalog, deployable, secretsOf, writeRendered } from '../../../test/catalog/rendered.ts';
import { type ComposeConfig, composeConfigs } from '../../../test/doubles/compose-config.ts';
import { requiredProgram } from '../../../test/required.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { interpolate } from '../../catalog/interpolation.ts';
import type { Answers } from '../model.ts';
import { secretFilesOf } from './compose-editor.ts';
import { gatewayWith } from './gateway-route.ts';
import { type RenderOptions, renderComponent } from './render.ts';
import { variablesOf } from './variables.ts';

const docker: RenderOptions = { runtime: 'docker', tool: { kind: 'docker-compose' }, networks: [] };
const podman: RenderOptions = { ...docker, runtime: 'podman' };
const ids = deployable;
let take: Awaited<ReturnType<typeof answeredCatalog>>;
const folder = mkdtempSync(join(tmpdir(), 'render-'));

beforeAll(async () => {
  take = await answeredCatalog();
});
afterAll(() => rmSync(folder, { recursive: true }));

const hasCompose = requiredProgram('docker-compose') === undefined;
/** By id: compose's output for the rendered files with their secrets, and without. */
const accepted = new Map<string, ComposeConfig>();
const refused = new Map<string, ComposeConfig>();

beforeAll(() => {
  if (!hasCompose) return;
  const projects = ids.map((id) => {
    const { entry, source, answers } = take(id);
    return {
      id,
      folder: writeRendered(join(folder, id), renderComponent(entry, source, answers, docker)),
      env: secretsOf({ entry, source }),
    };
  });
  for (const [index, config] of composeConfigs(projects).entries()) accepted.set(projects[index]?.id ?? '', config);
  const without = projects.filter(({ env }) => Object.keys(env).length > 0).map((project) => ({ ...project, env: {} }));
  for (const [index, config] of composeConfigs(without).entries()) refused.set(without[index]?.id ?? '', config);
}, 120_000);

describe.each(ids)('%s', (id) => {
  it('is rendered alike for both runtimes, and to the letter where nothing has to differ (R13)', () => {
    const { entry, source, answers } = take(id);
    const one = renderComponent(entry, source, answers, docker);
    const other = renderComponent(entry, source, answers, podman);
    // The gateway's name, and the entry that defines it.
    const alike = one.compose
      .replaceAll(/ +extra_hosts:\n +- host-gateway:host-gateway\n/g, '')
      .replaceAll('host-gateway', 'host.containers.internal');
    expect(alike).toBe(source.compose);
    expect(other).toEqual({ ...one, compose: source.compose });
  });

  it('leaves no placeholder and no secret in any file (R2)', () => {
    const { entry, source, answers } = take(id);
    const { compose, env, files } = renderComponent(entry, source, answers, docker);
    for (const text of [compose, env, ...Object.values(files)]) {
      expect(text).not.toMatch(/(?<![\w${])\{(?:base_url|host|auth_url)\}|<(?:ADMIN_TOKEN|API_KEY|PASSWORD|SESSION_COOKIE)>/);
    }
    for (const name of Object.keys(secretsOf({ entry, source }))) expect(env).not.toMatch(new RegExp(`^${name}=`, 'm'));
  });

  it.skipIf(!hasCompose)('is accepted by docker-compose, on loopback unless the table says otherwise (R6, R7, R18)', () => {
    const config = accepted.get(id);
    expect(config?.stderr.replace(/^.*WARNING.*\n/gm, '')).toBe('');
    expect(config?.code).toBe(0);
    const read = parse(config?.stdout ?? '') as {
      services: Record<
        string,
        { ports?: (string | { published: string; host_ip?: string; protocol?: string })[]; environment?: Record<string, unknown> }
      >;
    };
    const wide = new Set(
      (inventory.find((one) => one.id === id)?.ports ?? [])
        .filter(({ exposure }) => exposure !== 'loopback')
        .map(({ host, protocol }) => `${host}/${protocol}`),
    );
    for (const service of Object.values(read.services)) {
      for (const port of service.ports ?? []) {
        const written = String(port);
        const [, address = '', host = '', protocol = ''] = /^(?:(.*):)?(\d+):\d+\/(tcp|udp)$/.exec(written) ?? [];
        if (wide.has(`${host}/${protocol}`)) expect(address).toBe('0.0.0.0');
        else expect(written).toMatch(/^127\.0\.0\.1:/);
      }
      for (const value of Object.values(service.environment ?? {})) expect(typeof value).toBe('string');
    }
  });

  it.skipIf(!hasCompose)('is refused loudly by docker-compose without its secrets', () => {
    const { entry, source } = take(id);
    expect(variablesOf(entry, source).filter(({ kind, required }) => kind === 'secret' && !required)).toEqual([]);
    if (Object.keys(secretsOf({ entry, source })).length === 0) return;
    expect(refused.get(id)).toMatchObject({ code: 1, stderr: expect.stringMatching(/kept by Quarterdeck, use quarterdeck compose/) });
  });

  it('gives podman-compose no secret that would stand in its arguments', () => {
    const { entry, source, answers } = take(id);
    const secrets = secretsOf({ entry, source });
    const { compose } = renderComponent(entry, source, answers, { ...podman, tool: { kind: 'podman-compose' } });
    const read = parse(compose) as { services: Record<string, { env_file?: string[]; profiles?: string[] }> };
    const text = JSON.stringify(read.services);
    for (const name of Object.keys(secrets)) expect(text).not.toContain(`{${name}`);
    const files = secretFilesOf(compose);
    for (const [service, templates] of Object.entries(files)) {
      expect(read.services[service]?.env_file).toEqual([
        `\${QUARTERDECK_SECRETS:?kept by Quarterdeck, use quarterdeck compose}/${service}.env`,
      ]);
      expect(
        Object.values(templates)
          .map((template) => interpolate(template, secrets))
          .join(),
      ).toContain('secret-of-');
    }
    expect(text).not.toMatch(/:-\}/);
    expect(Object.values(read.services).every(({ profiles }) => profiles === undefined)).toBe(true);
  });
});

/** A test component with features that no entry of the catalog needs. */
function made(compose: string, files: Record<string, string> = {}, values: Record<string, string> = {}, site = '') {
  const vault = take('password-vault').entry;
  const entry: CatalogEntry = { ...vault, id: 'made', services: [], fields: [], ports: [] };
  return { entry, source: { folder: '/catalog/made', compose, files }, answers: { values, secrets: {}, site } as Answers };
}

describe('renderComponent', () => {
  const gateway =
    'services:\n  app:\n    image: a\n    environment:\n      # asks the host\n      URL: "${URL:-http://host.containers.internal:9}"\n  config:\n    image: b\n    volumes:\n      - ./files/c.yaml:/c.yaml:ro\n  plain:\n    image: c\n';

  it('names the gateway as the runtime does, with extra_hosts exactly where it is used (R13)', () => {
    const { entry, source, answers } = made(gateway, { 'files/c.yaml': 'to: host.containers.internal:1\n' });
    const forPodman = renderComponent(entry, source, answers, podman);
    expect(forPodman.compose).toBe(gateway);
    expect(forPodman.files).toEqual(source.files);
    const forDocker = renderComponent(entry, source, answers, docker);
    expect(forDocker.files).toEqual({ 'files/c.yaml': 'to: host-gateway:1\n' });
    expect(forDocker.compose).toBe(
      gateway
        .replace('host.containers.internal', 'host-gateway')
        .replace('  config:', '    extra_hosts:\n      - host-gateway:host-gateway\n  config:')
        .replace('  plain:', '    extra_hosts:\n      - host-gateway:host-gateway\n  plain:'),
    );
  });

  it('finds the gateway in what the operator typed (R13)', () => {
    const { entry, source, answers } = made(
      'services:\n  app:\n    image: a\n    environment:\n      URL: "${URL:-}"\n',
      {},
      { URL: 'http://host.containers.internal:9' },
    );
    const { compose, env } = renderComponent(entry, source, answers, docker);
    expect(compose).toContain('extra_hosts');
    expect(env).toContain('URL=http://host-gateway:9\n');
  });

  it('finds the gateway in a secret that was typed, which is not written (R13)', () => {
    const { entry, source, answers } = made('services:\n  app:\n    image: a\n    environment:\n      URL: "${URL:?required}"\n', {});
    const secrets = { URL: { from: 'given', value: 'postgres://me@host-gateway/db' } } as const;
    const rendered = renderComponent(entry, source, { ...answers, secrets }, docker);
    expect(rendered.compose).toContain('extra_hosts:\n      - host-gateway:host-gateway');
    expect(`${rendered.compose}${rendered.env}`).not.toContain('postgres:');
  });

  it('joins shared networks and keeps the siblings', () => {
    const { entry, source, answers } = take('llm-proxy');
    const networks = [
      { name: 'quarterdeck-model-runtime', services: [{ service: 'litellm', aliases: [] }] },
      { name: 'quarterdeck-llm-proxy', services: [{ service: 'litellm', aliases: ['llm-proxy'] }] },
    ];
    const rendered = renderComponent(entry, source, answers, { ...docker, networks });
    const read = parse(rendered.compose);
    expect(read.services.litellm.networks).toEqual({
      default: {},
      'quarterdeck-model-runtime': {},
      'quarterdeck-llm-proxy': { aliases: ['llm-proxy'] },
    });
    expect(read.services.db.networks).toBeUndefined();
    expect(read.networks).toEqual({
      default: {},
      'quarterdeck-model-runtime': { external: true },
      'quarterdeck-llm-proxy': { external: true },
    });
    if (hasCompose)
      expect(
        composeConfigs([{ folder: writeRendered(join(folder, 'joined'), rendered), env: secretsOf({ entry, source }) }]),
      ).toMatchObject([{ code: 0 }]);
    const other = parse(renderComponent(entry, source, answers, { ...podman, tool: { kind: 'podman-compose' }, networks }).compose);
    expect(other.services.litellm).toMatchObject({
      networks: ['default', 'quarterdeck-model-runtime', 'quarterdeck-llm-proxy'],
      container_name: 'llm-proxy',
    });
    const left = renderComponent(entry, source, answers, { ...docker, base: { compose: rendered.compose } });
    expect(left.compose).toBe(source.compose);
  });

  it('leaves a gateway the networks of those behind it, with their names, and none of their container names (R15)', () => {
    const { entry, source, answers } = take('vpn-client-gateway');
    const routed = { ports: ['127.0.0.1:8080:8080/tcp'], networks: { 'quarterdeck-torrent-client': ['torrent-client'] } };
    const compose = gatewayWith(source.compose, 'compose.yaml', 'gluetun', routed, {});
    const networks = { default: {}, 'quarterdeck-torrent-client': { aliases: ['torrent-client'] } };
    const later = renderComponent(entry, source, answers, { ...docker, base: { compose } });
    expect(parse(later.compose).services.gluetun.networks).toEqual(networks);
    expect(parse(later.compose).networks).toEqual({ default: {}, 'quarterdeck-torrent-client': { external: true } });
    const other = renderComponent(entry, source, answers, { ...podman, tool: { kind: 'podman-compose' }, base: { compose } });
    expect(parse(other.compose).services.gluetun).toMatchObject({ networks: Object.keys(networks) });
    expect(parse(other.compose).services.gluetun).not.toHaveProperty('container_name');
  });

  it('keeps a name that a service has among its siblings, whatever else changes', () => {
    const { entry, source, answers } = take('siem');
    const pins = { indexer: `wazuh/wazuh-indexer@sha256:${'a'.repeat(64)}` };
    const pinned = renderComponent(entry, source, answers, { ...docker, pins, base: { compose: source.compose } });
    expect(parse(pinned.compose).services.indexer.networks).toEqual({ default: { aliases: ['wazuh.indexer'] } });
    const other = parse(renderComponent(entry, source, answers, { ...podman, tool: { kind: 'podman-compose' } }).compose);
    expect(other.services.indexer).toMatchObject({ networks: ['default'], container_name: 'wazuh.indexer' });
  });

  it('pins images, and lets go of them again', () => {
    const { entry, source, answers } = take('rss-reader');
    const pinned = renderComponent(entry, source, answers, { ...docker, pins: { reader: `miniflux/miniflux@sha256:${'a'.repeat(64)}` } });
    expect(pinned.compose).toBe(source.compose.replace('miniflux/miniflux:latest', `miniflux/miniflux@sha256:${'a'.repeat(64)}`));
    expect(renderComponent(entry, source, answers, { ...docker, base: { compose: pinned.compose } }).compose).toBe(source.compose);
  });

  it('fills in the placeholders, and names file and line of those it cannot (R2, R89)', () => {
    const text = 'first\nurl: {base_url}/x {{host}} ${host}\n';
    const one = take('password-vault', { WEB_PORT: '18180' });
    const source = { ...one.source, files: { 'files/a.conf': text } };
    expect(renderComponent(one.entry, source, one.answers, docker).files).toEqual({
      'files/a.conf': 'first\nurl: http://localhost:18180/x {{host}} ${host}\n',
    });
    expect(renderComponent(one.entry, source, { ...one.answers, site: 'vault.lan' }, docker).files['files/a.conf']).toContain(
      'url: https://vault.lan/x',
    );
    for (const [placeholder, remedy] of [
      ['{auth_url}', 'portal'],
      ['{host}', 'site=NAME'],
      ['<ADMIN_TOKEN>', 'must not contain secrets'],
    ]) {
      expect(() =>
        renderComponent(one.entry, { ...source, files: { 'files/a.conf': `a\nb: ${placeholder}\n` } }, one.answers, docker),
      ).toThrowError(
        expect.objectContaining({
          code: 'failed.placeholder',
          remedy: expect.stringContaining(remedy ?? ''),
          where: { file: join(source.folder, 'files/a.conf'), line: 2, column: 4 },
        }),
      );
    }
  });

  it('gives podman-compose what is asked for in no profile, which it would leave out, and leaves out the rest', () => {
    const forPodman: RenderOptions = { ...podman, tool: { kind: 'podman-compose' } };
    const services = (compose: string) =>
      Object.entries((parse(compose) as { services: Record<string, { profiles?: string[] }> }).services);
    const off = take('sso-portal');
    expect(services(renderComponent(off.entry, off.source, off.answers, forPodman).compose).map(([name]) => name)).not.toContain('db');
    const on = take('sso-portal', { COMPOSE_PROFILES: 'postgres' });
    const { compose } = renderComponent(on.entry, on.source, on.answers, forPodman);
    expect(services(compose).find(([name]) => name === 'db')?.[1].profiles).toBeUndefined();
    expect(services(compose).map(([name]) => name)).toContain('db');
  });

  it('gives podman-compose an empty value where it would take a variable for its own name', () => {
    const { entry, source, answers } = take('workflow-automation');
    const env = (kind: 'docker-compose' | 'podman-compose') => renderComponent(entry, source, answers, { ...podman, tool: { kind } }).env;
    expect(source.compose).toContain('WEBHOOK_URL: "${WEBHOOK_URL:-}"');
    expect(env('docker-compose')).not.toContain('WEBHOOK_URL');
    expect(env('podman-compose')).toMatch(/^WEBHOOK_URL=$/m);
  });

  it('says which value no .env file can hold', () => {
    const { entry, source, answers } = take('media-server', { MEDIA_FOLDER: '/a\nb' });
    expect(() => renderComponent(entry, source, answers, docker)).toThrowError(
      expect.objectContaining({ code: 'usage.value', message: expect.stringContaining('one line') }),
    );
  });

  it('takes a secret that somebody wrote into .env out of it', () => {
    const { entry, source, answers } = take('password-vault');
    const base = { env: '# mine\nADMIN_TOKEN=in-the-clear\nOTHER=1\n' };
    expect(renderComponent(entry, source, answers, { ...docker, base }).env).toBe('# mine\nOTHER=1\n');
  });
});
