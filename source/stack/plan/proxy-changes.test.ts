import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import { catalogOf } from '../../catalog/open-catalog.ts';
import type { Deployment, DeployRecord, PlannedPort } from '../model.ts';
import { publishedBy } from './ports.ts';
import { type ProxyRequest, proxyChanges } from './proxy-changes.ts';

const { entries } = await wholeCatalog();
const catalog = catalogOf(entries, []);
const entry = (id: string) => catalog.get(id) ?? expect.fail(`no ${id}`);
const hash = (text: string) => createHash('sha256').update(text).digest('hex');

function record(component: string, site: string, files: Record<string, string> = {}): DeployRecord {
  const hashes = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, hash(text)]));
  return { schema: 1, component, run: 'r', at: '', by: '', files: hashes, secrets: {}, images: {}, ...(site !== '' && { site }) };
}
function deployment(component: string, more: Partial<Deployment> = {}): Deployment {
  return { component, folder: `/s/${component}`, compose: '', envText: '', env: {}, files: {}, record: undefined, ...more };
}
const proxyWith = (files: Record<string, string> = {}) =>
  deployment('reverse-proxy', { files: { 'files/Caddyfile': 'import sites/*.caddy\n', ...files } });
const portal = deployment('sso-portal', { env: { PORTAL_URL: 'https://auth.lan', WEB_PORT: '19091' } });

function changes(id: string, more: Partial<ProxyRequest> & { env?: Record<string, string> }) {
  const ports: PlannedPort[] = publishedBy(entry(id), more.env ?? {});
  return proxyChanges({ entry: entry(id), site: '', ports, values: more.env ?? {}, deployments: [proxyWith()], catalog, ...more });
}
const vaultRule = (port: number) => `vault.lan {
	tls internal
	# WebSockets need no directive here. Do not remove the Upgrade header.
	reverse_proxy /notifications/hub localhost:3012 localhost:${port} {
		lb_policy first
		lb_try_duration 2s
		fail_duration 30s
	}
	reverse_proxy localhost:${port}
}
`;
const path = 'reverse-proxy/files/sites/vault.lan.caddy';

describe('what deploying changes at the reverse proxy', () => {
  it('is the file of its site with the port in force, which the proxy reads and takes over (R11, R51, R89)', () => {
    const { files, after, findings } = changes('password-vault', { site: 'vault.lan', env: { WEB_PORT: '18180' } });
    expect(files).toEqual([{ path, before: undefined, after: vaultRule(18180), mode: 0o644, touched: false }]);
    expect(after.map(({ component, service, argv }) => [component, service, ...argv])).toEqual([
      ['reverse-proxy', 'caddy', 'caddy', 'validate', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
      ['reverse-proxy', 'caddy', 'caddy', 'reload', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
    ]);
    expect(findings).toEqual([]);
  });

  it('is nothing when the rule stands there already, or when no site is wanted', () => {
    const deployments = [proxyWith({ 'files/sites/vault.lan.caddy': vaultRule(8180) })];
    expect(changes('password-vault', { site: 'vault.lan', deployments })).toEqual({ files: [], after: [], findings: [] });
    expect(changes('password-vault', {})).toEqual({ files: [], after: [], findings: [] });
  });

  it('moves with the port, and leaves a rule that was changed by hand (R89)', () => {
    const ours = [
      proxyWith({ 'files/sites/vault.lan.caddy': vaultRule(8180) }),
      deployment('password-vault', { record: record('password-vault', 'vault.lan', { [path]: vaultRule(8180) }) }),
    ];
    const env = { WEB_PORT: '18180' };
    expect(changes('password-vault', { site: 'vault.lan', env, deployments: ours }).files).toEqual([
      { path, before: vaultRule(8180), after: vaultRule(18180), mode: 0o644, touched: false },
    ]);
    const byHand = [proxyWith({ 'files/sites/vault.lan.caddy': `${vaultRule(8180)}# mine\n` }), ...ours.slice(1)];
    const kept = changes('password-vault', { site: 'vault.lan', env, deployments: byHand });
    expect(kept.files).toEqual([]);
    expect(kept.findings.map(({ id, level }) => `${level} ${id}`)).toEqual(['warning site-by-hand']);
    expect(changes('password-vault', { site: 'vault.lan', env, deployments: byHand, fresh: true }).files[0]?.touched).toBe(true);
  });

  it('takes the former site away, but only the file that we wrote', () => {
    const own = deployment('password-vault', { record: record('password-vault', 'vault.lan', { [path]: vaultRule(8180) }) });
    const ours = changes('password-vault', {
      site: 'safe.lan',
      deployments: [proxyWith({ 'files/sites/vault.lan.caddy': vaultRule(8180) }), own],
    });
    expect(ours.files.map((file) => [file.path, file.after === undefined])).toEqual([
      ['reverse-proxy/files/sites/safe.lan.caddy', false],
      [path, true],
    ]);
    const changed = changes('password-vault', { site: '', deployments: [proxyWith({ 'files/sites/vault.lan.caddy': '# mine' }), own] });
    expect(changed.files).toEqual([]);
    expect(changed.findings[0]?.message).toContain('is not deleted');
  });

  it.each([
    ['Vault.lan', 'site-name'],
    ['../x', 'site-name'],
  ])('refuses %s as a name', (site, id) => {
    const { files, findings } = changes('password-vault', { site });
    expect(files).toEqual([]);
    expect(findings.map((finding) => `${finding.level} ${finding.id}`)).toEqual([`blocking ${id}`]);
  });

  it('refuses a name that another component has', () => {
    const deployments = [proxyWith(), deployment('rss-reader', { record: record('rss-reader', 'vault.lan') })];
    expect(changes('password-vault', { site: 'vault.lan', deployments }).findings[0]).toMatchObject({
      id: 'site-taken',
      level: 'blocking',
    });
  });

  it('without a proxy offers to deploy one (R10)', () => {
    const { files, findings } = changes('password-vault', { site: 'vault.lan', deployments: [] });
    expect(files).toEqual([]);
    expect(findings).toMatchObject([{ id: 'no-proxy', level: 'warning', remedy: { kind: 'deploy', component: 'reverse-proxy' } }]);
  });

  it('warns when the Caddyfile imports no sites', () => {
    const deployments = [deployment('reverse-proxy', { files: { 'files/Caddyfile': ':80 {\n}\n' } })];
    expect(changes('password-vault', { site: 'vault.lan', deployments }).findings.map(({ id }) => id)).toEqual(['proxy-imports-nothing']);
  });
});

describe('a second name', () => {
  const site = 'pad.lan';
  const env = { CPAD_MAIN_DOMAIN: 'pad.lan', CPAD_SANDBOX_DOMAIN: 'box.pad.lan' };
  const pathOf = (name: string) => `reverse-proxy/files/sites/${name}.caddy`;
  const texts = (id: string, more: Parameters<typeof changes>[1]) =>
    Object.fromEntries(changes(id, more).files.map(({ path: file, after }) => [file, after]));

  it('gets a site of its own, to its own port in force (R11, R89)', () => {
    const made = texts('docs-encrypted-office', { site, env: { ...env, WEB_PORT: '13500' } });
    expect(Object.keys(made)).toEqual([pathOf('pad.lan'), pathOf('box.pad.lan')]);
    for (const text of Object.values(made)) expect(text).toContain('\ttls internal\n');
    expect(made[pathOf('box.pad.lan')]).toMatch(/^box\.pad\.lan \{\n[\s\S]*\treverse_proxy localhost:13500\n\}\n$/);
    const storage = texts('object-storage', { site: 'storage.lan', env: { API_NAME: 's3.example.org' } });
    expect(storage[pathOf('s3.example.org')]).toMatch(/^s3\.example\.org \{\n[\s\S]*reverse_proxy localhost:9002\n\}\n$/);
    expect(storage[pathOf('s3.example.org')]).not.toContain('tls internal');
    expect(Object.keys(texts('object-storage', { site: 'storage.lan' }))).toEqual([pathOf('storage.lan')]);
    expect(texts('docs-encrypted-office', { site: '', env })).toEqual({});
  });

  it('is behind the portal where it leads to what the portal stands before (R36)', () => {
    const deployments = [proxyWith(), portal];
    const pad = texts('docs-encrypted-office', { site, env, protect: true, deployments });
    expect(pad[pathOf('box.pad.lan')]).toContain('forward_auth');
    const storage = texts('object-storage', { site: 'storage.lan', env: { API_NAME: 's3.lan' }, protect: true, deployments });
    expect([storage[pathOf('storage.lan')]?.includes('forward_auth'), storage[pathOf('s3.lan')]?.includes('forward_auth')]).toEqual([
      true,
      false,
    ]);
  });

  it('moves, and goes with the site, but only the file that we wrote', () => {
    const made = texts('docs-encrypted-office', { site, env });
    const files = Object.fromEntries(Object.entries(made).map(([file, text = '']) => [file, text]));
    const existing = [
      proxyWith(Object.fromEntries(Object.entries(files).map(([file, text]) => [file.slice('reverse-proxy/'.length), text]))),
      deployment('docs-encrypted-office', { env, record: record('docs-encrypted-office', site, files) }),
    ];
    const moved = changes('docs-encrypted-office', { site, env: { ...env, CPAD_SANDBOX_DOMAIN: 'sand.lan' }, deployments: existing });
    expect(moved.files.map(({ path: file, after }) => [file, after === undefined])).toEqual([
      [pathOf('sand.lan'), false],
      [pathOf('box.pad.lan'), true],
    ]);
    const removed = changes('docs-encrypted-office', { site: '', deployments: existing });
    expect(removed.files.map(({ path: file, after }) => [file, after === undefined])).toEqual([
      [pathOf('pad.lan'), true],
      [pathOf('box.pad.lan'), true],
    ]);
    // No other component uses it meanwhile.
    expect(changes('rss-reader', { site: 'box.pad.lan', deployments: existing }).findings.map(({ id }) => id)).toEqual(['site-taken']);
    const hostile = changes('docs-encrypted-office', { site, env: { ...env, CPAD_SANDBOX_DOMAIN: 'a b{' } });
    expect([hostile.files, hostile.findings.map(({ id }) => id)]).toEqual([[], ['site-name']]);
  });
});

describe('behind the portal', () => {
  const ruleOf = (id: string, more: Partial<ProxyRequest>) => changes(id, { site: 'x.lan', ...more }).files[0]?.after ?? '';

  it('is what was asked for, with the port and the address of the portal (R36, R89)', () => {
    const text = ruleOf('password-vault', { protect: true, deployments: [proxyWith(), portal] });
    expect(text).toContain('forward_auth localhost:19091 {\n\t\t\turi /api/verify?rd=https://auth.lan\n');
    expect(text).toContain('copy_headers Remote-User Remote-Groups Remote-Name Remote-Email\n');
  });

  it('is what has no login of its own, unless the operator says otherwise (R42)', () => {
    const deployments = [proxyWith(), portal];
    expect(ruleOf('model-runtime', { deployments })).toContain('forward_auth');
    expect(ruleOf('model-runtime', { deployments, protect: false })).not.toContain('forward_auth');
    expect(ruleOf('password-vault', { deployments })).not.toContain('forward_auth');
    expect(ruleOf('model-runtime', {})).not.toContain('forward_auth');
  });

  it('stays there when a port moves', () => {
    const text = ruleOf('rss-reader', { protect: true, deployments: [proxyWith(), portal] });
    const own = deployment('rss-reader', { record: record('rss-reader', 'x.lan', { 'reverse-proxy/files/sites/x.lan.caddy': text }) });
    const deployments = [proxyWith({ 'files/sites/x.lan.caddy': text }), portal, own];
    const moved = changes('rss-reader', { site: 'x.lan', env: { WEB_PORT: '18090' }, deployments });
    expect(moved.files[0]?.after).toBe(text.replace('localhost:8090', 'localhost:18090'));
  });

  it('needs a portal, and is never the portal itself', () => {
    expect(changes('rss-reader', { site: 'x.lan', protect: true }).findings).toMatchObject([
      { id: 'no-portal', level: 'blocking', rule: 'R36', remedy: { kind: 'deploy', component: 'sso-portal' } },
    ]);
    const noAddress = deployment('sso-portal');
    expect(changes('rss-reader', { site: 'x.lan', protect: true, deployments: [proxyWith(), noAddress] }).findings[0]?.advice).toContain(
      'portal address',
    );
    const hostile = deployment('sso-portal', { env: { PORTAL_URL: 'https://x/}\nrespond "pwned"' } });
    expect(changes('rss-reader', { site: 'x.lan', protect: true, deployments: [proxyWith(), hostile] }).files).toEqual([]);
    const values = { PORTAL_URL: 'https://auth.lan' };
    expect(ruleOf('sso-portal', { protect: true, values, deployments: [proxyWith(), portal] })).not.toContain('forward_auth');
  });

  it('follows the portal to its new port and address (R89)', () => {
    const text = ruleOf('rss-reader', { protect: true, deployments: [proxyWith(), portal] });
    const deployments = [
      proxyWith({ 'files/sites/x.lan.caddy': text, 'files/sites/y.lan.caddy': 'y.lan {\n}\n' }),
      portal,
      deployment('rss-reader', { record: record('rss-reader', 'x.lan', { 'reverse-proxy/files/sites/x.lan.caddy': text }) }),
    ];
    const env = { WEB_PORT: '9999', PORTAL_URL: 'https://login.lan' };
    expect(changes('sso-portal', { env, deployments }).files).toEqual([
      {
        path: 'reverse-proxy/files/sites/x.lan.caddy',
        before: text,
        after: text.replace('localhost:19091', 'localhost:9999').replace('auth.lan', 'login.lan'),
        mode: 0o644,
        touched: false,
      },
    ]);
  });
});
