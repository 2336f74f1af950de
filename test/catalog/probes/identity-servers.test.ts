import { describe, expect, it } from 'vitest';
import { checkValue } from '../../../source/catalog/field-types.ts';
import { answered, entryOf, exited, findingsOf, garbage, lan, opened, running, silent, table, versions } from './answers.ts';

const json = (value: unknown, status = 200) => answered(status, JSON.stringify(value));
const stopped = { state: 'exited', health: '', uptime: 0 };

const minio = (status: number, headers: Record<string, string> = {}) => answered(status, '', { server: 'MinIO', ...headers });
const release = (version: string) =>
  exited(0, `minio version ${version} (commit-id=07c3a429bfed433e49018cb0f78a52145d4bedeb)\nRuntime: go1.24.6\n`);

table('object-storage', [
  ['it answers and can write', { answer: minio(200), calls: { cluster: minio(200) } }, 'healthy', 'ok', /and can write/],
  ['it answers, and no more is known', { answer: minio(200), calls: { cluster: silent } }, 'healthy', 'ok', /unknown/],
  ['drives are being read', { answer: minio(200, { 'x-minio-server-status': 'offline' }), age: 40 }, 'starting', 'busy'],
  ['no drives', { answer: minio(200, { 'x-minio-server-status': 'offline' }) }, 'storage down', 'error'],
  [
    'users are being read',
    { answer: minio(200), calls: { cluster: minio(503, { 'x-minio-server-status': 'iam-offline' }) }, age: 40 },
    'starting',
    'busy',
    /iam-offline/,
  ],
  ['a drive is gone', { answer: minio(200), calls: { cluster: minio(503) } }, 'read-only', 'error'],
  ['too much to do', { answer: answered(503, '<Error><Code>ServerBusy</Code></Error>') }, 'busy', 'warning'],
  ['refused', { answer: minio(403) }, 'login required', 'ok'],
  ['something else', { answer: garbage }, 'unexpected response', 'warning', /MinIO/],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  ['silent and young', { answer: silent, age: 10 }, 'starting', 'busy'],
]);

const none = answered(204);
const discovery = (issuer: string) => json({ issuer, jwks_uri: `${issuer}/.well-known/jwks.json` });
const signups = (value: string) =>
  json([
    { key: 'appName', type: 'string', value: 'Pocket ID' },
    { key: 'allowUserSignups', value },
  ]);
const done = json({ error: 'Not found', code: 'setup_not_available' }, 404);

table('oidc-passkey-provider', [
  [
    'set up',
    { answer: none, calls: { discovery: discovery('https://id.lan'), setupopen: done, configuration: signups('disabled') } },
    'healthy',
    'ok',
    /https:\/\/id\.lan/,
  ],
  [
    'an older release',
    { answer: none, calls: { discovery: discovery('https://id.lan'), setupopen: json({ error: 'API endpoint not found' }, 404) } },
    'healthy',
    'ok',
  ],
  ['nobody is administrator', { answer: none, calls: { setupopen: none } }, 'setup required', 'warning', /\/setup/],
  ['everybody may come', { answer: none, calls: { setupopen: done, configuration: signups('open') } }, 'sign-ups open', 'warning'],
  ['no https', { answer: none, calls: { discovery: discovery('http://id.lan'), setupopen: done } }, 'issuer not HTTPS', 'warning'],
  ['no database', { answer: none, calls: { discovery: answered(500) } }, 'database down', 'error'],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['something else', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('identity-server', [
  ['it says that it is well', { answer: answered(200, 'true'), calls: { ldaps: opened } }, 'healthy', 'ok'],
  ['it says that it is not', { answer: answered(200, 'false'), calls: { ldaps: opened } }, 'unhealthy', 'error'],
  ['no LDAPS', { answer: answered(200, 'true'), calls: { ldaps: silent } }, 'LDAP down', 'warning'],
  ['LDAPS alone', { answer: silent, calls: { ldaps: opened } }, 'web UI down', 'error'],
  ['certificate just made', { answer: silent, age: 5, services: { certificates: stopped } }, 'starting', 'busy', /certificate/],
  ['refused', { answer: answered(401) }, 'login required', 'ok'],
  ['something else', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, calls: { ldaps: silent } }, 'unreachable', 'error'],
]);

const ok = answered(200);
table('idp-server-worker', [
  [
    'all is well',
    { answer: ok, calls: { ready: ok }, services: { server: running, worker: running, postgresql: running } },
    'healthy',
    'ok',
  ],
  ['all is well, as older releases say it', { answer: none, calls: { ready: none } }, 'healthy', 'ok', /database and cache/],
  ['the worker has ended', { answer: ok, calls: { ready: ok }, services: { worker: stopped } }, 'worker down', 'warning'],
  ['no database or cache', { answer: ok, calls: { ready: answered(503) } }, 'database down', 'error'],
  ['the database has ended', { answer: silent, services: { postgresql: stopped } }, 'database down', 'error', /exited/],
  ['its front alone, early', { answer: answered(503, 'authentik starting'), age: 60 }, 'starting', 'busy'],
  ['its front alone', { answer: answered(503, 'authentik starting') }, 'not ready', 'error'],
  ['silent for four minutes', { answer: silent, age: 240 }, 'starting', 'busy'],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['something else', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('idp-cloud-native', [
  ['ready', { answer: answered(200, '"ok"\n') }, 'healthy', 'ok'],
  ['not ready, early', { answer: answered(412, '{"message":"DB CONNECTION ERROR"}'), age: 60 }, 'starting', 'busy'],
  ['not ready', { answer: answered(412, '{"message":"DB CONNECTION ERROR"}') }, 'database down', 'error'],
  ['the database has ended', { answer: silent, services: { db: stopped } }, 'database down', 'error', /exited/],
  ['a release without this page', { answer: answered(404), calls: { alive: answered(200, 'ok') } }, 'healthy', 'ok'],
  ['silent for four minutes', { answer: silent, age: 240 }, 'starting', 'busy'],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['something else', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const status = json({ date: '2026-11-22T15:00:00.000Z', message: 'Ok', emailConfigured: false, redisConfigured: true });
const config = (initialized: boolean, allowSignUp: boolean) => json({ config: { initialized, allowSignUp } });

table('secrets-manager-env', [
  ['migrating', { answer: answered(503, '{"message":"Server is starting up, migrations in progress"}'), age: 9000 }, 'starting', 'busy'],
  ['set up and closed', { answer: status, calls: { configuration: config(true, false) } }, 'healthy', 'ok', /no mail server/],
  ['no account yet', { answer: status, calls: { configuration: config(false, true) } }, 'setup required', 'warning'],
  ['everybody may come', { answer: status, calls: { configuration: config(true, true) } }, 'sign-ups open', 'warning'],
  ['the database has ended', { answer: silent, services: { db: stopped } }, 'database down', 'error'],
  ['Redis has ended', { answer: silent, services: { redis: stopped } }, 'cache down', 'error', /exited/],
  ['silent for four minutes', { answer: silent, age: 240 }, 'starting', 'busy'],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['something else', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const up = json({ header: { status: 'success', code: 200 }, body: 'OK' });
const key = json({ header: { status: 'success' }, body: { fingerprint: '2FC8945833C51946E937F9FED47B0811573EE67E', keydata: '' } });

table('team-password-manager', [
  ['all is well', { answer: up, calls: { verify: key } }, 'healthy', 'ok', /2FC8945833C5/],
  ['it cannot read its key', { answer: up, calls: { verify: answered(500) } }, 'no server key', 'error'],
  ['https wanted', { answer: answered(302, '', { location: 'https://pass.lan/' }) }, 'redirecting', 'warning', /https:\/\/pass\.lan/],
  ['the database has ended', { answer: answered(500), services: { db: stopped } }, 'database down', 'error'],
  ['its front alone, early', { answer: answered(502), age: 60 }, 'starting', 'busy'],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['something else', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const login = answered(401, 'Unauthorized');
const uninitialised = answered(503, 'OpenSearch Security not initialized.');
const daemons = (remoted: string) =>
  exited(0, `wazuh-clusterd not running...\nwazuh-modulesd is running...\nwazuh-remoted ${remoted}...\nwazuh-analysisd is running...\n`);
const three = { indexer: login, dashboard: ok, enrollment: opened, daemons: daemons('is running') };

table('siem', [
  ['all three want a login', { answer: login, calls: three }, 'healthy', 'ok', /require a login/],
  ['an indexer without a login', { answer: login, calls: { ...three, indexer: ok } }, 'healthy', 'ok', /dashboard respond\.$/],
  ['inside nothing may be asked', { answer: login, calls: { ...three, daemons: silent } }, 'healthy', 'ok'],
  [
    'security index being made',
    { answer: login, calls: { ...three, indexer: uninitialised }, age: 120 },
    'starting',
    'busy',
    /security index/,
  ],
  ['no security index', { answer: login, calls: { ...three, indexer: uninitialised } }, 'indexer down', 'error', /503/],
  ['no indexer', { answer: login, calls: { ...three, indexer: silent } }, 'indexer down', 'error', /max_map_count/],
  ['no programs for agents', { answer: login, calls: { ...three, daemons: daemons('not running') } }, 'manager degraded', 'error'],
  ['no enrollment', { answer: login, calls: { ...three, enrollment: silent } }, 'enrollment closed', 'warning'],
  ['no dashboard', { answer: login, calls: { ...three, dashboard: silent } }, 'dashboard down', 'warning'],
  [
    'certificates being made',
    { answer: silent, age: 10, services: { 'certificate-generator': { ...running, health: '' } } },
    'initializing',
    'busy',
  ],
  ['something else', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  ['object-storage', { answer: minio(200), calls: { program: release('RELEASE.2025-09-07T16-13-09Z') } }, 'RELEASE.2025-09-07T16-13-09Z'],
  ['object-storage', { answer: garbage }, ''],
  ['oidc-passkey-provider', { answer: none, calls: { program: exited(0, 'pocket-id 2.14.0\n') } }, '2.14.0'],
  ['oidc-passkey-provider', { answer: none, calls: { program: exited(1, 'Error: unknown command') } }, ''],
  ['identity-server', { answer: silent, calls: { program: exited(0, 'kanidmd 1.11.1\n') } }, '1.11.1'],
  ['idp-server-worker', { answer: ok, calls: { release: answered(0, '"""authentik"""\n__version__ = "2025.2.4"\nENV = ""') } }, '2025.2.4'],
  ['idp-server-worker', { answer: ok, calls: { release: answered(0, 'from os import environ\n\nVERSION = "2025.12.0"\n') } }, '2025.12.0'],
  ['idp-server-worker', { answer: ok, calls: { release: answered(0, 'ENV_VERSION = "no"\n') } }, ''],
  ['idp-server-worker', { answer: garbage }, ''],
  ['idp-cloud-native', { answer: garbage, calls: { program: exited(0, 'zitadel version v4.11.0\n') } }, 'v4.11.0'],
  ['siem', { answer: login, calls: { release: exited(0, 'v4.13.1\n') } }, '4.13.1'],
]);

describe('checks', () => {
  it('object storage that nobody mends any more (R82), with a password that everybody knows (R47)', () => {
    expect(findingsOf('object-storage', { program: release('RELEASE.2025-09-07T16-13-09Z') })).toEqual(['unpatched-image']);
    expect(findingsOf('object-storage', { program: release('RELEASE.2025-10-15T17-29-55Z') })).toEqual([]);
    expect(findingsOf('object-storage', {}, { env: { MINIO_ROOT_PASSWORD: 'minioadmin' } })).toEqual(['default-credentials']);
    expect(findingsOf('object-storage', {}, lan('web'))).toEqual(['wider-than-loopback']);
    const open = { ports: [{ name: 'web', exposure: 'public' as const, published: true }] };
    expect(findingsOf('object-storage', {}, { ...open, env: { MINIO_BROWSER_REDIRECT_URL: '' } })).toContain('public-without-redirect');
    expect(findingsOf('object-storage', {}, { ...open, env: { MINIO_BROWSER_REDIRECT_URL: 'https://s3.lan' } })).toEqual([
      'wider-than-loopback',
    ]);
  });

  it('open signups (R20), and an address that is not the one it was given', () => {
    expect(findingsOf('oidc-passkey-provider', { configuration: signups('open') })).toEqual(['signups-open']);
    expect(findingsOf('oidc-passkey-provider', { configuration: signups('withToken') })).toEqual([]);
    const env = { APP_URL: 'https://id.lan', ENCRYPTION_KEY: 'x'.repeat(44) };
    expect(findingsOf('oidc-passkey-provider', { discovery: discovery('https://other.lan') }, { env })).toEqual(['other-issuer']);
    expect(findingsOf('oidc-passkey-provider', { discovery: discovery('https://id.lan') }, { env })).toEqual([]);
    expect(findingsOf('oidc-passkey-provider', {}, { env: { APP_URL: 'https://id.lan' } })).toEqual(['no-encryption-key']);
  });

  it('a domain that the address does not end with', () => {
    const found = (origin: string, domain: string) =>
      findingsOf('identity-server', {}, { env: { KANIDM_ORIGIN: origin, KANIDM_DOMAIN: domain } });
    expect(found('https://idm.home.lan:8443', 'home.lan')).toEqual([]);
    expect(found('https://home.lan', 'home.lan')).toEqual([]);
    expect(found('https://badhome.lan', 'home.lan')).toEqual(['origin-outside-domain']);
    expect(findingsOf('identity-server', {}, { env: { KANIDM_BINDADDRESS: '127.0.0.1:8443' } })).toEqual(['listens-on-loopback']);
  });

  it('a release that gets no updates (R82), a short key, a worker that has ended', () => {
    const version = (text: string) => answered(0, `__version__ = "${text}"`);
    expect(findingsOf('idp-server-worker', { release: version('2025.2.4') })).toEqual(['frozen-release']);
    expect(findingsOf('idp-server-worker', { release: version('2026.2.2') })).toEqual([]);
    expect(findingsOf('idp-server-worker', {}, { env: { AUTHENTIK_SECRET_KEY: 'short' } })).toEqual(['short-secret-key']);
    expect(findingsOf('idp-server-worker', {}, { services: { server: running, worker: stopped } })).toEqual(['worker-away']);
    expect(findingsOf('idp-server-worker', {}, { services: { server: running, worker: running } })).toEqual([]);
    expect(findingsOf('idp-server-worker', {}, { env: { AUTHENTIK_EMAIL__HOST: 'localhost' } })).toEqual(['no-mail-server']);
    expect(findingsOf('idp-server-worker', {}, { env: { AUTHENTIK_EMAIL__HOST: 'mail.lan' } })).toEqual([]);
  });

  it('a master key of another length (R19), plain http (R9), the known administrator (R47)', () => {
    const found = (env: Record<string, string>) => findingsOf('idp-cloud-native', {}, { env });
    expect(found({ ZITADEL_MASTERKEY: 'MasterkeyNeedsToHave32Character' })).toEqual(['master-key-length']);
    expect(found({ ZITADEL_MASTERKEY: 'MasterkeyNeedsToHave32Characters' })).toEqual([]);
    expect(found({ ZITADEL_EXTERNALSECURE: 'false', ZITADEL_EXTERNALDOMAIN: 'id.lan' })).toEqual(['plain-outside']);
    expect(found({ ZITADEL_EXTERNALSECURE: 'true', ZITADEL_EXTERNALDOMAIN: 'id.lan' })).toEqual([]);
    expect(found({ ZITADEL_FIRSTINSTANCE_ORG_HUMAN_PASSWORD: 'Password1!' })).toEqual(['default-administrator']);
  });

  it('secrets manager: signups (R20), keys of a wrong form (R19) or of the example (R47)', () => {
    expect(findingsOf('secrets-manager-env', { configuration: config(true, true) })).toEqual(['signups-open']);
    expect(findingsOf('secrets-manager-env', { configuration: config(false, true) })).toEqual([]);
    expect(findingsOf('secrets-manager-env', {}, { env: { INFISICAL_PLATFORM_VERSION: 'v0.146.2-postgres' } })).toEqual(['frozen-release']);
    expect(findingsOf('secrets-manager-env', {}, { env: { INFISICAL_PLATFORM_VERSION: 'v0.164.1' } })).toEqual([]);
    expect(findingsOf('secrets-manager-env', {}, { env: { SMTP_HOST: '127.0.0.1' } })).toEqual(['mail-at-localhost']);
    expect(findingsOf('secrets-manager-env', {}, { env: { SMTP_HOST: '' } })).toEqual([]);
    expect(findingsOf('secrets-manager-env', {}, { env: { ENCRYPTION_KEY: 'secret' } })).toEqual(['encryption-key-form']);
    expect(findingsOf('secrets-manager-env', {}, { env: { ENCRYPTION_KEY: '0123456789abcdef0123456789abcdef' } })).toEqual([]);
    expect(findingsOf('secrets-manager-env', {}, { env: { AUTH_SECRET: '5lrMXKKWCVocS/uerPsl7V+TX/aaUaI7iDkgl3tSmLE=' } })).toEqual([
      'known-keys',
    ]);
  });

  it('team password manager: no mail server (R14), plain http (R9)', () => {
    expect(findingsOf('team-password-manager', {}, { env: { EMAIL_TRANSPORT_DEFAULT_HOST: 'localhost' } })).toEqual(['no-mail-server']);
    expect(findingsOf('team-password-manager', {}, { env: { EMAIL_TRANSPORT_DEFAULT_HOST: 'mail.lan' } })).toEqual([]);
    expect(findingsOf('team-password-manager', {}, { env: { APP_FULL_BASE_URL: 'http://pass.lan' } })).toEqual(['plain-address']);
    expect(findingsOf('team-password-manager', {}, { env: { APP_FULL_BASE_URL: 'https://pass.lan' } })).toEqual([]);
  });

  it('SIEM: passwords of the example (R47), an indexer or a program that has ended', () => {
    expect(findingsOf('siem', {}, { env: { INDEXER_PASSWORD: 'SecretPassword' } })).toEqual(['known-password']);
    expect(findingsOf('siem', {}, { env: { INDEXER_PASSWORD: 'Zz1-abcdefghijkl' } })).toEqual([]);
    expect(findingsOf('siem', {}, { services: { manager: running, indexer: stopped } })).toEqual(['indexer-away']);
    expect(findingsOf('siem', { daemons: daemons('not running') })).toEqual(['manager-incomplete']);
    expect(findingsOf('siem', { daemons: daemons('is running') }, { services: { manager: running, indexer: running } })).toEqual([]);
    expect(findingsOf('siem', {}, lan('api'))).toEqual(['wider-than-loopback']);
    expect(findingsOf('siem', {}, lan('agent'))).toEqual([]);
  });
});

describe('what else the specification wants of them', () => {
  const fieldOf = (id: string, name: string) => {
    const field = entryOf(id).fields.find((candidate) => candidate.name === name);
    if (!field) throw new Error(`${id} has no field ${name}`);
    return field;
  };

  it('nobody is asked for a password of the provider that has none (R45)', () => {
    const { calls, fields, auth } = entryOf('oidc-passkey-provider');
    expect(auth).toMatch(/Passkeys only/);
    expect(Object.values(calls).flatMap(({ inputs }) => Object.keys(inputs))).toEqual(['user']);
    expect(fields.filter(({ target }) => target === 'credential')).toEqual([]);
  });

  it('first-run pages lead where the first administrator is made, and are urgent (R38)', () => {
    for (const [id, page] of [
      ['idp-server-worker', '/if/flow/initial-setup/'],
      ['oidc-passkey-provider', '/setup'],
      ['secrets-manager-env', '/admin/signup'],
    ] as const)
      expect(entryOf(id).firstRun.find(({ urgent }) => urgent)).toMatchObject({ page });
  });

  it('no call of the identity server tries a login, which would lock the account (R50)', () => {
    for (const { inputs, http } of Object.values(entryOf('identity-server').calls)) {
      expect(Object.values(inputs).some(({ secret }) => secret)).toBe(false);
      expect(http?.method ?? 'GET').toBe('GET');
    }
  });

  it('a backup schedule has a cron expression and a duration (R66), with the examples as defaults (R67)', () => {
    const [schedule, ttl] = [fieldOf('cluster-backup', 'spec.schedule'), fieldOf('cluster-backup', 'spec.template.ttl')];
    expect([schedule.default, ttl.default]).toEqual(['0 2 * * *', '720h']);
    for (const good of ['0 2 * * *', '0 * * * *']) expect(checkValue(schedule, good)).toBeUndefined();
    expect(checkValue(schedule, 'every night')).toMatch(/five fields/);
    for (const good of ['720h', '168h']) expect(checkValue(ttl, good)).toBeUndefined();
    expect(checkValue(ttl, '30 days')).toMatch(/duration/);
  });

  it.each([
    ['idp-cloud-native', 'ZITADEL_MASTERKEY', 'a'.repeat(32), 'a'.repeat(31)],
    ['idp-cloud-native', 'ZITADEL_FIRSTINSTANCE_ORG_HUMAN_PASSWORD', 'Zz1-abcd', 'alllowercase1'],
    ['siem', 'API password', 'Zz1-abcdefgh', 'withoutSign1'],
    ['siem', 'indexer password', 'Zz1-abcdefgh', "Zz1-it's$HOME"],
    ['oidc-passkey-provider', 'PUBLIC_APP_URL', 'https://id.home.lan', 'https://home.lan/id'],
    ['identity-server', 'origin', 'https://idm.home.lan:8443', 'http://idm.home.lan'],
    ['team-password-manager', 'APP_FULL_BASE_URL', 'https://pass.home.lan/team', 'https://pass.home.lan/'],
    ['secrets-manager-env', 'database password', 'abcDEF123', 'a@b'],
    ['object-storage', 'secret key', 'abcdefgh', 'short'],
  ])('%s: %s takes what the product takes, and refuses the rest (R17)', (id, name, good, bad) => {
    expect(checkValue(fieldOf(id, name), good)).toBeUndefined();
    expect(checkValue(fieldOf(id, name), bad)).toBeDefined();
  });
});
