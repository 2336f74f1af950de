import { describe, expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, lan, running, silent, table, versions } from './answers.ts';

const gone = { state: 'exited', health: 'none', uptime: 0 };
const sick = { state: 'running', health: 'unhealthy', uptime: 300 };
const web = lan('web');

const bookstack = answered(200, '{"database":true,"cache":true,"session":true}');
const first = (state: 'default' | 'changed') => ({ defaultaccount: exited(0, state) });

table('docs-library', [
  ['ready', { answer: bookstack, calls: first('changed'), services: { db: running } }, 'healthy', 'ok'],
  ['default account', { answer: bookstack, calls: first('default') }, 'default account', 'warning', /default password/],
  ['account unknown', { answer: bookstack, calls: { defaultaccount: silent } }, 'healthy', 'ok'],
  ['database container down', { answer: silent, age: 5, services: { db: gone } }, 'database down', 'error', /exited/],
  ['cannot use its database', { answer: answered(500, '{"database":false,"cache":true,"session":true}') }, 'database down', 'error'],
  ['disk full', { answer: answered(500, '{"database":true,"cache":false,"session":false}') }, 'storage down', 'error', /logins fail/],
  ['no cache', { answer: answered(500, '{"database":true,"cache":false,"session":true}') }, 'storage down', 'error', /its cache/],
  ['error page', { answer: answered(500, '<h1>An Error Occurred</h1>') }, 'unhealthy', 'error'],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starting', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const outline = (text: string) => ({ inside: exited(0, text) });
const nobodySignsIn = { OIDC_ISSUER_URL: '', SMTP_HOST: '' };

table('docs-team-wiki', [
  [
    'ready',
    { answer: answered(200, 'OK'), calls: outline('workspaces 1 passkeys 0\n'), services: { db: running, redis: running } },
    'healthy',
    'ok',
  ],
  ['not set up', { answer: answered(200, 'OK'), calls: outline('workspaces 0 passkeys 0\n') }, 'setup required', 'warning'],
  [
    'nobody can sign in',
    { answer: answered(200, 'OK'), calls: outline('workspaces 1 passkeys 0\n'), env: nobodySignsIn },
    'no sign-in',
    'warning',
  ],
  [
    'a passkey is enough',
    { answer: answered(200, 'OK'), calls: outline('workspaces 1 passkeys 2\n'), env: nobodySignsIn },
    'healthy',
    'ok',
  ],
  ['database down', { answer: answered(500, ''), services: { db: sick } }, 'database down', 'error', /unhealthy/],
  ['cache down', { answer: answered(500, ''), services: { db: running, redis: gone } }, 'cache down', 'error', /exited/],
  ['lost one of them', { answer: answered(500, 'Internal Server Error') }, 'not ready', 'error'],
  ['too many questions', { answer: answered(429, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starting', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const hedgedoc = answered(200, '{"ready":true}');
const figures = (registeredUsers: number) =>
  answered(200, JSON.stringify({ onlineNotes: 1, onlineUsers: 2, distinctOnlineUsers: 2, notesCount: 40, registeredUsers }));

table('notes-collab-markdown', [
  ['ready', { answer: hedgedoc, calls: { status: figures(3) } }, 'healthy', 'ok', /: 40 notes, 2 users/],
  [
    'figures are switched off',
    { answer: hedgedoc, calls: { status: answered(403, 'Forbidden') } },
    'healthy',
    'ok',
    /^The web server responds\.$/,
  ],
  ['cannot count', { answer: hedgedoc, calls: { status: silent } }, 'database error', 'warning'],
  ['shutting down', { answer: answered(200, '{"ready":false}') }, 'not ready', 'busy'],
  ['database down', { answer: hedgedoc, services: { db: gone } }, 'database down', 'error'],
  ['too busy', { answer: answered(503, 'Service Unavailable') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starting', { answer: silent, age: 9 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const cryptpad = (fields: object) =>
  answered(200, `define(function(){;\nreturn ${JSON.stringify({ httpUnsafeOrigin: 'https://pad.home.lan', ...fields }, null, '\t')};\n});`);
const administered = cryptpad({ adminKeys: ['[me@pad.home.lan/abc=]'], restrictRegistration: true });

table('docs-encrypted-office', [
  ['ready', { answer: administered }, 'healthy', 'ok'],
  ['no administrator', { answer: cryptpad({ adminKeys: [] }) }, 'setup required', 'warning', /log/],
  ['fetches the editors', { answer: silent, age: 400, env: { CPAD_INSTALL_ONLYOFFICE: 'yes' } }, 'starting', 'busy', /editors/],
  ['starting', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['refuses', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, age: 400 }, 'unreachable', 'error'],
]);

const installing = answered(
  200,
  '<title>Installation · FreshRSS: Step 1</title><form action="index.php?step=0" method="post"><script src="../scripts/install.js"></script>',
);
const login = answered(200, '<title>Login · FreshRSS</title><script id="jsonVars" type="application/json">{}</script>');

table('rss-reader-second', [
  ['ready', { answer: login }, 'healthy', 'ok'],
  ['not set up', { answer: installing }, 'setup required', 'warning', /first/],
  ['half set up', { answer: answered(302, '', { location: 'index.php?step=1' }) }, 'setup required', 'warning', /not completed/],
  ['login of the proxy', { answer: answered(302, '', { location: 'https://auth.home.lan/' }) }, 'external login', 'ok'],
  ['login of the web server', { answer: answered(401, '') }, 'login required', 'ok'],
  ['database broken', { answer: answered(500, 'Error during context user init!') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const wallabag = (open = false) => answered(200, JSON.stringify({ appname: 'wallabag', version: '2.6.14', allowed_registration: open }));

table('read-later', [
  ['ready', { answer: wallabag(), calls: first('changed'), services: { db: running } }, 'healthy', 'ok', /^The web server responds\.$/],
  ['open', { answer: wallabag(true), calls: first('changed') }, 'healthy', 'ok', /sign-ups are open/],
  ['default account', { answer: wallabag(), calls: first('default') }, 'default account', 'warning'],
  ['database down', { answer: silent, services: { db: gone } }, 'database down', 'error'],
  ['needs migrations', { answer: answered(500, '') }, 'unhealthy', 'error'],
  ['refuses', { answer: answered(401, '{"error":"access_denied"}') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['clears its caches', { answer: silent, age: 200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const docmost = answered(200, '{"status":"ok","info":{"database":{"status":"up"},"redis":{"status":"up"}},"error":{},"details":{}}');
const down = (what: string) =>
  answered(503, JSON.stringify({ status: 'error', info: {}, error: { [what]: { status: 'down' } }, details: {} }));

table('docs-knowledge-base', [
  ['ready', { answer: docmost, calls: { inside: exited(0, 'workspaces 1\n') } }, 'healthy', 'ok'],
  ['not set up', { answer: docmost, calls: { inside: exited(0, 'workspaces 0\n') } }, 'setup required', 'warning'],
  ['nobody looks inside', { answer: docmost, calls: { inside: silent } }, 'healthy', 'ok'],
  ['database lost', { answer: down('database') }, 'database down', 'error', /reports/],
  ['cache lost', { answer: down('redis') }, 'cache down', 'error', /reports/],
  ['database container down', { answer: silent, services: { db: gone } }, 'database down', 'error', /exited/],
  ['cache container sick', { answer: down('redis'), services: { redis: sick } }, 'cache down', 'error', /unhealthy/],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const etherpad = answered(200, '{"status":"pass","releaseId":"2.5.3"}');

table('docs-collab-pad', [
  [
    'ready',
    { answer: etherpad, calls: { stats: answered(200, '{"totalUsers":2,"activePads":1}') } },
    'healthy',
    'ok',
    /: 2 users in 1 pad\./,
  ],
  [
    'one user',
    { answer: etherpad, calls: { stats: answered(200, '{"totalUsers":1,"activePads":2}') } },
    'healthy',
    'ok',
    /: 1 user in 2 pads\./,
  ],
  ['no figures', { answer: etherpad, calls: { stats: answered(404, '') } }, 'healthy', 'ok', /^The web server responds\.$/],
  ['fails', { answer: answered(200, '{"status":"fail"}') }, 'unhealthy', 'error'],
  ['database down', { answer: etherpad, services: { db: gone } }, 'database down', 'error'],
  ['behind a login', { answer: answered(401, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const calcom = answered(200, '<title>Login | Cal.com</title><script src="/_next/static/a.js"></script>');
const migrated = (text: string) => ({ migrations: exited(0, `${text}\n`) });

table('scheduling-app', [
  ['ready', { answer: calcom, calls: migrated('done, 3 accounts'), services: { db: running } }, 'healthy', 'ok'],
  ['nobody looks inside', { answer: calcom, calls: { migrations: silent } }, 'healthy', 'ok'],
  [
    'no account',
    { answer: answered(307, '', { location: '/auth/setup' }), calls: migrated('done, 3 accounts') },
    'setup required',
    'warning',
  ],
  ['no account, as the database has it', { answer: calcom, calls: migrated('done, 0 accounts') }, 'setup required', 'warning'],
  ['migrating (R85)', { answer: silent, age: 90, calls: migrated('unfinished') }, 'migrating', 'busy'],
  [
    'second stage missing (R85)',
    { answer: calcom, calls: migrated('second stage missing') },
    'migration required',
    'error',
    /second stage missing/,
  ],
  ['never migrated (R85)', { answer: answered(500, ''), calls: migrated('none') }, 'migration required', 'error'],
  ['writes its address', { answer: silent, age: 200, calls: migrated('done, 3 accounts') }, 'starting', 'busy'],
  ['database down', { answer: silent, services: { db: gone } }, 'database down', 'error'],
  ['refuses', { answer: answered(429, ''), calls: migrated('done, 3 accounts') }, 'busy', 'warning'],
  ['garbage', { answer: garbage, calls: migrated('done, 3 accounts') }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, calls: migrated('done, 3 accounts') }, 'unreachable', 'error'],
]);

const room = answered(200, 'Excalidraw collaboration server is up :)');

table('drawing-room', [
  ['ready', { answer: room, calls: { handshake: answered(200, '0{"sid":"a","upgrades":["websocket"]}') } }, 'healthy', 'ok'],
  ['no connections', { answer: room, calls: { handshake: answered(400, '{"code":5}') } }, 'connections refused', 'error', /400/],
  ['no answer to a connection', { answer: room, calls: { handshake: silent } }, 'connections refused', 'error', /collaboration\.$/],
  ['refuses', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const numbered = (version: string) => ({ package: answered(0, JSON.stringify({ version })) });

versions([
  ['docs-library', { answer: bookstack, calls: { release: answered(0, 'v25.07\n') } }, 'v25.07'],
  ['docs-library', { answer: bookstack, calls: { release: garbage } }, ''],
  ['docs-team-wiki', { answer: answered(200, 'OK'), calls: numbered('1.5.0') }, '1.5.0'],
  ['notes-collab-markdown', { answer: hedgedoc, calls: numbered('1.12.0') }, '1.12.0'],
  ['docs-encrypted-office', { answer: administered, calls: numbered('2026.2.2') }, '2026.2.2'],
  ['rss-reader-second', { answer: login, calls: { constants: answered(0, "<?php\nconst FRESHRSS_VERSION = '1.27.1';\n") } }, '1.27.1'],
  ['rss-reader-second', { answer: login, calls: { constants: garbage } }, ''],
  ['read-later', { answer: wallabag() }, '2.6.14'],
  ['docs-knowledge-base', { answer: docmost, calls: numbered('0.95.0') }, '0.95.0'],
  ['docs-collab-pad', { answer: etherpad }, '2.5.3'],
  ['docs-collab-pad', { answer: silent }, ''],
  ['scheduling-app', { answer: calcom, calls: { version: answered(200, '{"version":"5.9.0"}') } }, '5.9.0'],
]);

describe('checks', () => {
  it.each([
    ['docs-library', 'https://docs.home.lan', { defaultaccount: exited(0, 'default') }],
    ['read-later', 'https://later.home.lan', { defaultaccount: exited(0, 'default') }],
  ])('%s names a password that everybody knows (R47)', (id, _, calls) => {
    expect(findingsOf(id, calls)).toEqual(['default-account']);
    expect(findingsOf(id, { defaultaccount: exited(0, 'changed') })).toEqual([]);
    expect(findingsOf(id, { defaultaccount: exited(255, 'PHP Fatal error: could not find driver') })).toEqual([]);
  });

  it.each([
    ['docs-library', 'APP_URL'],
    ['docs-team-wiki', 'URL'],
    ['read-later', 'SYMFONY__ENV__DOMAIN_NAME'],
    ['docs-knowledge-base', 'APP_URL'],
    ['docs-collab-pad', 'SSO_ISSUER'],
    ['scheduling-app', 'NEXT_PUBLIC_WEBAPP_URL'],
  ])('%s is told that its address is still an example (R31)', (id, name) => {
    expect(findingsOf(id, {}, { env: { [name]: 'http://localhost:3900' } })).toEqual(['example-base-url']);
    expect(findingsOf(id, {}, { env: { [name]: 'https://docs.home.lan' } })).toEqual([]);
  });

  it('a slash behind the address of the library is named', () => {
    expect(findingsOf('docs-library', {}, { env: { APP_URL: 'https://docs.home.lan/' } })).toEqual(['slash-behind-base-url']);
  });

  it.each([
    ['docs-team-wiki', { inside: exited(0, 'workspaces 0 passkeys 0\n') }, { inside: exited(0, 'workspaces 1 passkeys 0\n') }],
    ['docs-knowledge-base', { inside: exited(0, 'workspaces 0\n') }, { inside: exited(0, 'workspaces 1\n') }],
    ['rss-reader-second', { front: installing }, { front: login }],
    ['scheduling-app', migrated('done, 0 accounts'), migrated('done, 3 accounts')],
  ])('%s that nobody has set up is open to whoever comes first', (id, open, closed) => {
    expect(findingsOf(id, open)).toEqual(['set-up-open']);
    expect(findingsOf(id, closed)).toEqual([]);
  });

  it('a wiki that nobody can sign in to is named', () => {
    const inside = exited(0, 'workspaces 1 passkeys 0\n');
    expect(findingsOf('docs-team-wiki', { inside }, { env: nobodySignsIn })).toEqual(['no-sign-in']);
    expect(findingsOf('docs-team-wiki', { inside }, { env: { ...nobodySignsIn, SMTP_HOST: 'mail.home.lan' } })).toEqual([]);
    expect(findingsOf('docs-team-wiki', { inside }, { env: { ...nobodySignsIn, GOOGLE_CLIENT_ID: 'x' } })).toEqual([]);
    const half = { OIDC_ISSUER_URL: 'https://id.home.lan', OIDC_CLIENT_ID: 'wiki', OIDC_CLIENT_SECRET: '' };
    expect(findingsOf('docs-team-wiki', {}, { env: half })).toEqual(['half-a-sign-on']);
    expect(findingsOf('docs-team-wiki', {}, { env: { ...half, OIDC_CLIENT_SECRET: 'x' } })).toEqual([]);
    expect(findingsOf('docs-team-wiki', {}, { env: { OIDC_ISSUER_URL: '', OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: 'x' } })).toEqual([
      'half-a-sign-on',
    ]);
    expect(findingsOf('docs-team-wiki', {}, { env: { ...half, OIDC_CLIENT_ID: '' } })).toEqual(['sign-on-without-client']);
  });

  it('open registration is named once there are accounts (R20)', () => {
    const env = { CMD_ALLOW_EMAIL_REGISTER: 'true' };
    expect(findingsOf('notes-collab-markdown', { status: figures(1) }, { env })).toEqual(['registration-open']);
    expect(findingsOf('notes-collab-markdown', { status: figures(0) }, { env })).toEqual([]);
    expect(findingsOf('notes-collab-markdown', { status: figures(1) }, { env: { CMD_ALLOW_EMAIL_REGISTER: 'false' } })).toEqual([]);
    expect(findingsOf('read-later', { info: wallabag(true) })).toEqual(['signups-open']);
    expect(findingsOf('read-later', { info: wallabag() })).toEqual([]);
    expect(findingsOf('docs-encrypted-office', { configuration: cryptpad({ adminKeys: ['k'], restrictRegistration: false }) })).toEqual([
      'registration-open',
    ]);
    expect(findingsOf('docs-encrypted-office', { configuration: administered })).toEqual([]);
  });

  it('what guests may do in notes is named', () => {
    expect(findingsOf('notes-collab-markdown', {}, { env: { CMD_ALLOW_ANONYMOUS: 'true' } })).toEqual(['guests-may-write']);
    const env = { CMD_DEFAULT_PERMISSION: 'freely', CMD_ALLOW_ANONYMOUS: 'false', CMD_ALLOW_ANONYMOUS_EDITS: 'false' };
    expect(findingsOf('notes-collab-markdown', {}, { env })).toEqual(['freely-for-nobody']);
    expect(findingsOf('notes-collab-markdown', {}, { env: { ...env, CMD_ALLOW_ANONYMOUS_EDITS: 'true' } })).toEqual([]);
  });

  it('the two names of the encrypted office differ, and are those that it serves', () => {
    const env = { CPAD_MAIN_DOMAIN: 'https://pad.home.lan', CPAD_SANDBOX_DOMAIN: 'https://sandbox.home.lan' };
    const configuration = administered;
    expect(findingsOf('docs-encrypted-office', { configuration }, { env })).toEqual([]);
    expect(findingsOf('docs-encrypted-office', {}, { env: { ...env, CPAD_SANDBOX_DOMAIN: env.CPAD_MAIN_DOMAIN } })).toEqual([
      'one-domain-for-both',
    ]);
    expect(findingsOf('docs-encrypted-office', { configuration }, { env: { ...env, CPAD_MAIN_DOMAIN: 'https://new.home.lan' } })).toEqual([
      'not-what-it-serves',
    ]);
    expect(findingsOf('docs-encrypted-office', { configuration: cryptpad({ adminKeys: [] }) })).toEqual(['no-administrator']);
  });

  it('feeds that are never fetched are named', () => {
    expect(findingsOf('rss-reader-second', {}, { env: { CRON_MIN: '' } })).toEqual(['never-refreshed']);
    expect(findingsOf('rss-reader-second', {}, { env: { CRON_MIN: '1,31' } })).toEqual([]);
  });

  it('a missing mail server is named', () => {
    expect(findingsOf('docs-knowledge-base', {}, { env: { SMTP_HOST: '', MAIL_DRIVER: 'smtp' } })).toEqual(['no-mail-server']);
    expect(findingsOf('docs-knowledge-base', {}, { env: { SMTP_HOST: 'mail.home.lan', MAIL_DRIVER: 'smtp' } })).toEqual([]);
    expect(findingsOf('scheduling-app', {}, { env: { EMAIL_SERVER_HOST: '' } })).toEqual(['no-mail-server']);
    expect(findingsOf('scheduling-app', {}, { env: { EMAIL_SERVER_HOST: 'mail.home.lan' } })).toEqual([]);
  });

  it('migrations that did not run are an error once there was time for them (R85)', () => {
    const migrations = exited(0, 'second stage missing\n');
    expect(findingsOf('scheduling-app', { migrations }, { age: 601 })).toEqual(['migrations-missing']);
    expect(findingsOf('scheduling-app', { migrations }, { age: 599 })).toEqual([]);
    expect(findingsOf('scheduling-app', { migrations: exited(0, 'done, 3 accounts\n') })).toEqual([]);
  });

  it('pads for everybody do not belong on the network', () => {
    expect(findingsOf('docs-collab-pad', {}, { ...web, env: { REQUIRE_AUTHENTICATION: 'false' } })).toEqual([
      'open-to-everybody',
      'wider-than-loopback',
    ]);
    expect(findingsOf('docs-collab-pad', {}, { env: { REQUIRE_AUTHENTICATION: 'false' } })).toEqual([]);
    expect(findingsOf('docs-collab-pad', {}, { env: { ADMIN_SECRET: 'admin' } })).toEqual(['known-client-secret']);
    expect(findingsOf('docs-collab-pad', {}, { env: { ADMIN_SECRET: 'a1b2', USER_SECRET: 'c3d4' } })).toEqual([]);
  });

  it('a drawing room that any page may use is named where the internet reaches it', () => {
    const ports = [{ name: 'web', exposure: 'public' as const, published: true }];
    expect(findingsOf('drawing-room', {}, { ports, env: { CORS_ORIGIN: '*' } })).toEqual(['any-origin']);
    expect(findingsOf('drawing-room', {}, { ports, env: { CORS_ORIGIN: 'https://draw.example.org' } })).toEqual([]);
    expect(findingsOf('drawing-room', {}, { env: { CORS_ORIGIN: '*' } })).toEqual([]);
  });
});
