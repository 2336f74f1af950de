import { describe, expect, it } from 'vitest';
import { type ConditionFacts, evaluate, fillTemplate, holds, sayingOf } from '../../source/calls/conditions.ts';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';

// What each component really answers, taken from the reference sheets and from the products' own sources, and what an operator is told.
// Every probe has a success, a refusal and a garbage answer (R34), and silence.

const { entries } = await loadFolder(new URL('../../catalog', import.meta.url).pathname, { own: false });

type Answer = ConditionFacts['calls'][string];

/** A body as it comes: parsed where it is JSON, as the runner does it. */
function answered(status: number, body = '', headers: Record<string, string> = {}): Answer {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    json = undefined;
  }
  return { ok: true, status, json, text: body, headers };
}

const silent: Answer = { ok: false, status: 0, json: undefined, text: '', headers: {} };
const opened = answered(0);
const exited = (status: number, output: string) => answered(status, output);
const running = { state: 'running', health: 'healthy', uptime: 4000 };

interface Situation {
  answer: Answer;
  calls?: Record<string, Answer>;
  /** Seconds; half a day where it does not matter. */
  age?: number;
  env?: Record<string, string>;
  services?: ConditionFacts['services'];
  ports?: ConditionFacts['ports'];
}

function factsOf(
  entry: CatalogEntry,
  { answer, calls = {}, age = 43_200, env = {}, services = {}, ports = [] }: Situation,
): ConditionFacts {
  const own = entry.probe === undefined ? {} : { [entry.probe.call]: answer };
  const failure = answer.ok ? '' : 'No answer within 3 s.';
  return { answer: { ...answer, failure }, ageSeconds: age, env, fields: {}, ports, calls: { ...own, ...calls }, services };
}

function entryOf(id: string): CatalogEntry {
  const entry = entries.find((candidate) => candidate.id === id);
  if (!entry) throw new Error(`no entry ${id}`);
  return entry;
}

function saidOf(id: string, situation: Situation) {
  const entry = entryOf(id);
  return sayingOf(entry, factsOf(entry, situation));
}

function versionOf(id: string, situation: Situation): unknown {
  const entry = entryOf(id);
  return evaluate(entry.probe?.version ?? '""', factsOf(entry, situation)).value;
}

/** Checks that fire. Calls a check does not ask for are not there when it looks. */
function findingsOf(id: string, calls: Record<string, Answer>, more: Partial<Situation> = {}): string[] {
  const entry = entryOf(id);
  const { answer: _, ...facts } = factsOf(entry, { answer: silent, ...more });
  return entry.checks
    .filter(
      (check) => holds(check.when, { ...facts, calls: Object.fromEntries(check.calls.map((name) => [name, calls[name] ?? silent])) }).holds,
    )
    .map((check) => check.id);
}

type Case = [what: string, situation: Situation, word: string | undefined, tone?: string, detail?: RegExp];

const answeredFor = new Set<string>();

function table(id: string, cases: Case[]) {
  answeredFor.add(id);
  describe(id, () => {
    it.each(cases)('%s (R34)', (_, situation, word, tone, detail) => {
      const said = saidOf(id, situation);
      expect(said?.word).toBe(word);
      if (tone !== undefined) expect(said?.tone).toBe(tone);
      if (detail !== undefined) expect(said?.detail).toMatch(detail);
    });
  });
}

const garbage = answered(200, '<html><title>nginx</title></html>');

const sealed = (fields: object) =>
  answered(
    200,
    JSON.stringify({
      type: 'shamir',
      initialized: true,
      sealed: true,
      t: 3,
      n: 5,
      progress: 0,
      nonce: '',
      version: '2.6.2',
      commit_date: '2026-08-18T10:00:00Z',
      migration: false,
      recovery_seal: false,
      storage_type: 'raft',
      ...fields,
    }),
  );
const health = (status: number, fields: object) =>
  answered(
    status,
    JSON.stringify({
      initialized: true,
      sealed: false,
      standby: false,
      performance_standby: false,
      server_time_utc: 1795000000,
      version: '2.6.2',
      ...fields,
    }),
  );

table('secrets-manager-path', [
  [
    'not initialised',
    { answer: sealed({ initialized: false, t: 0, n: 0 }), calls: { health: health(501, { initialized: false, sealed: true }) } },
    'not initialised',
    'warn',
    /losing them loses every secret/,
  ],
  [
    'sealed, nothing given (R59)',
    { answer: sealed({}), calls: { health: health(503, { sealed: true }) }, age: 120 },
    'sealed 0/3',
    'warn',
    /^0 of 3 key shares given \(5 exist\)\. Restarted 2 minutes ago, seals on every restart\.$/,
  ],
  [
    'sealed, one given (R59)',
    { answer: sealed({ progress: 1, nonce: 'b0c0' }), age: 30 },
    'sealed 1/3',
    'warn',
    /^1 of 3 key shares given \(5 exist\)\. Restarted 30 seconds ago/,
  ],
  ['sealed for long', { answer: sealed({ progress: 2 }) }, 'sealed 2/3', 'warn', /Seals on every restart\.$/],
  ['sealed although it unseals itself', { answer: sealed({ type: 'awskms', recovery_seal: true }) }, 'sealed', 'bad', /awskms/],
  ['sealed in the middle of a migration', { answer: sealed({ migration: true, progress: 1 }) }, 'sealed 1/3', 'warn', /migration/],
  ['unsealed and active', { answer: sealed({ sealed: false, cluster_name: 'c' }), calls: { health: health(200, {}) } }, 'healthy', 'good'],
  [
    'unsealed, standing by',
    { answer: sealed({ sealed: false }), calls: { health: health(429, { standby: true }) } },
    'unsealed standby',
    'good',
  ],
  [
    'HashiCorp Vault, performance standby (R86)',
    {
      answer: sealed({ sealed: false, version: '2.0.1', removed_from_cluster: false, build_date: 'x' }),
      calls: { health: health(473, {}) },
    },
    'unsealed secondary',
    'good',
  ],
  [
    'HashiCorp Vault, sealed (R86)',
    {
      answer: answered(
        200,
        '{"type":"shamir","initialized":true,"sealed":true,"t":3,"n":5,"progress":2,"nonce":"x","version":"1.19.0","build_date":"2025-03-04","migration":false,"recovery_seal":false,"storage_type":"raft","removed_from_cluster":false}',
      ),
    },
    'sealed 2/3',
    'warn',
  ],
  ['unsealed, its role unknown', { answer: sealed({ sealed: false }), calls: { health: silent } }, 'unsealed', 'good'],
  ['speaks TLS', { answer: answered(400, 'Client sent an HTTP request to an HTTPS server.\n') }, 'speaks https', 'warn'],
  ['another server', { answer: garbage }, 'strange answer', 'warn'],
  ['an error body', { answer: answered(500, '{"errors":["internal error"]}') }, 'strange answer', 'warn', /status 500/],
  ['silent and young', { answer: silent, age: 3 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'not answering', 'bad', /No answer within 3 s/],
]);

table('vulnerability-scanner', [
  [
    'copying feeds (R60)',
    {
      answer: answered(200, '<html>'),
      calls: { tests: silent },
      age: 720,
      services: { 'vulnerability-tests': { state: 'running', health: 'starting', uptime: 720 } },
    },
    'loading 12/30 min',
    'busy',
    /15 to 30 minutes/,
  ],
  [
    'loading tests into the database (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(0, '0 0\n') }, age: 1200, services: { 'vulnerability-tests': running } },
    'loading 20/30 min',
    'busy',
    /go into the database/,
  ],
  [
    'tests there, scan configurations not yet (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(0, '94211 0\n') }, age: 1700 },
    'loading 28/30 min',
    'busy',
  ],
  [
    'no tables yet (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(1, 'ERROR:  relation "nvts" does not exist') }, age: 300 },
    'loading 5/30 min',
    'busy',
  ],
  ['page away while loading (R60)', { answer: silent, calls: { tests: exited(0, '0 0\n') }, age: 1799 }, 'loading 29/30 min', 'busy'],
  [
    'still nothing after half an hour (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(0, '0 0\n') }, age: 1800 },
    'feeds not loaded',
    'warn',
    /30 minutes/,
  ],
  ['ready', { answer: answered(200, '<html>'), calls: { tests: exited(0, '94211 8\n') }, age: 900 }, 'ready', 'good', /94211 tests/],
  [
    'feeds of this week (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(0, '94211 8 7\n') } },
    'ready',
    'good',
    /94211 tests, 7 days old/,
  ],
  [
    'old feeds (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(0, '94211 8 23\n') } },
    'feeds 23 days old',
    'warn',
    /what became known since is not found/,
  ],
  ['read-only, after a day', { answer: answered(200, '<html>'), calls: { tests: silent } }, undefined],
  ['page away later', { answer: silent, calls: { tests: exited(0, '94211 8\n') } }, 'not answering', 'warn'],
  [
    'database down',
    { answer: answered(200, '<html>'), services: { 'pg-gvm': { state: 'exited', health: 'none', uptime: 0 } } },
    'database away',
    'bad',
  ],
  ['page fails', { answer: answered(502, 'Bad Gateway'), calls: { tests: exited(0, '94211 8\n') } }, 'failing', 'bad'],
]);

table('internal-ca', [
  ['healthy', { answer: answered(200, '{"status":"ok"}'), calls: { version: answered(200, '{"version":"0.28.4"}') } }, undefined],
  ['starting', { answer: silent, age: 5 }, 'starting', 'busy'],
  ['away', { answer: silent }, 'not answering', 'bad', /private names are not renewed/],
  ['failing', { answer: answered(500, '{"status":500,"message":"internal"}') }, 'failing', 'bad'],
  ['somebody else', { answer: answered(200, '<html>') }, 'strange answer', 'warn'],
]);

table('password-vault', [
  [
    'signups open (R20)',
    {
      answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":false},"environment":{}}'),
      calls: { alive: answered(200, '"2026-11-20T09:00:00Z"') },
    },
    'signups open',
    'warn',
  ],
  [
    'signups closed (R20)',
    {
      answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":true},"environment":{}}'),
      calls: { alive: answered(200, '"2026-11-20T09:00:00Z"') },
    },
    'healthy',
    'good',
  ],
  [
    'database away',
    { answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":true}}'), calls: { alive: answered(500, '{}') } },
    'database away',
    'bad',
    /status 500/,
  ],
  ['refuses', { answer: answered(429, 'Too Many Requests') }, 'busy', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
  ['silent and young', { answer: silent, age: 5 }, 'starting', 'busy'],
]);

table('sso-portal', [
  ['well: the container speaks for itself', { answer: answered(200, '{"status":"OK"}'), services: { redis: running } }, undefined],
  [
    'cache down',
    { answer: answered(200, '{"status":"OK"}'), services: { redis: { state: 'restarting', health: 'none', uptime: 0 } } },
    'sessions away',
    'bad',
  ],
  [
    'database unhealthy',
    { answer: answered(200, '{"status":"OK"}'), services: { db: { state: 'running', health: 'unhealthy', uptime: 9 } } },
    'database away',
    'bad',
    /is unhealthy/,
  ],
  ['rate limited', { answer: answered(429, '{"status":"KO","message":"Authentication failed. Check your credentials."}') }, 'busy', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
  ['silent and young', { answer: silent, age: 10 }, 'starting', 'busy'],
]);

const issuer = (address: string) => answered(200, JSON.stringify({ issuer: `${address}/realms/master`, authorization_endpoint: 'x' }));
const started = (...argv: string[]) => answered(0, JSON.stringify({ state: 'running', argv, devices: [] }));

table('idp-enterprise', [
  ['well', { answer: issuer('https://id.example.org'), calls: { container: started('/opt/keycloak/bin/kc.sh', 'start') } }, undefined],
  [
    'development mode (R23)',
    { answer: issuer('https://id.example.org'), calls: { container: started('/opt/keycloak/bin/kc.sh', 'start-dev') } },
    'development mode',
    'warn',
  ],
  [
    'plain http issuer',
    { answer: issuer('http://id.example.org'), calls: { container: started('/opt/keycloak/bin/kc.sh', 'start') } },
    'issuer is plain http',
    'warn',
    /http:\/\/id\.example\.org/,
  ],
  ['first start', { answer: silent, age: 45 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
  [
    'database down',
    { answer: answered(500, '{"error":"unknown_error"}'), services: { db: { state: 'exited', health: 'none', uptime: 0 } } },
    'database away',
    'bad',
  ],
  ['cannot use the database', { answer: answered(500, '{"error":"unknown_error"}') }, 'failing', 'bad'],
  ['another path', { answer: answered(404, '{"error":"Unable to find matching target resource method"}') }, 'no master realm', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
]);

table('ldap-directory', [
  ['well', { answer: answered(200), calls: { ldap: opened } }, undefined],
  ['LDAP closed', { answer: answered(200), calls: { ldap: silent } }, 'LDAP closed', 'bad'],
  ['page away', { answer: silent, calls: { ldap: opened } }, 'web page away', 'warn'],
  ['silent', { answer: silent, calls: { ldap: silent } }, 'not answering', 'bad'],
  ['fails', { answer: answered(500), calls: { ldap: opened } }, 'failing', 'bad'],
  ['young', { answer: silent, age: 4 }, 'starting', 'busy'],
]);

table('intrusion-prevention', [
  ['healthy', { answer: answered(200, '{"status":"up"}') }, 'watching', 'good'],
  ['refuses', { answer: answered(403, '{"message":"access forbidden"}') }, 'healthy', 'good'],
  ['busy', { answer: answered(503, '') }, 'busy', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['fetching the hub', { answer: silent, age: 40 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'API away', 'bad'],
]);

const tags = (...names: string[]) =>
  answered(
    200,
    JSON.stringify({
      models: names.map((name) => ({
        name,
        model: name,
        size: 2_019_393_189,
        digest: 'a80c4f17acd5',
        modified_at: '2026-11-01T10:00:00Z',
      })),
    }),
  );

table('model-runtime', [
  ['no model', { answer: tags() }, 'needs a model', 'warn', /8 GB/],
  ['null models', { answer: answered(200, '{"models":null}') }, 'needs a model', 'warn'],
  [
    'one model',
    { answer: tags('llama3.2:latest'), calls: { loaded: answered(200, '{"models":[]}') } },
    '1 model',
    'good',
    /1 model is here, none is in memory/,
  ],
  [
    'two models, one loaded',
    { answer: tags('a', 'b'), calls: { loaded: answered(200, '{"models":[{"name":"a","size":5,"size_vram":5}]}') } },
    '2 models, 1 loaded',
    'good',
    /a is in memory/,
  ],
  ['a login in front', { answer: answered(401, 'Unauthorized') }, 'up, login needed', 'good'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
  ['busy', { answer: answered(503, '{"error":"server busy"}') }, 'busy', 'warn'],
]);

const ready = (fields: object) =>
  answered(
    200,
    JSON.stringify({ status: 'healthy', db: 'connected', cache: null, litellm_version: '1.80.0', success_callbacks: [], ...fields }),
  );

table('llm-proxy', [
  ['ready', { answer: ready({}), services: { db: running } }, 'ready', 'good'],
  [
    'ready with traces (R57)',
    { answer: ready({ success_callbacks: ['langfuse', 'sync_deployment_callback_on_success'] }) },
    'ready',
    'good',
    /observability server/,
  ],
  ['older word for the same', { answer: answered(200, '{"status":"connected","db":"connected"}') }, 'ready', 'good'],
  ['database lost', { answer: ready({ db: 'disconnected' }) }, 'database away', 'bad'],
  ['without a database', { answer: ready({ db: 'Not connected' }) }, 'no database', 'warn'],
  [
    'database container down',
    { answer: ready({}), services: { db: { state: 'exited', health: 'none', uptime: 0 } } },
    'database away',
    'bad',
  ],
  ['not ready', { answer: answered(503, '{"detail":"Service Unhealthy (...)"}') }, 'not ready', 'bad'],
  ['wants a key', { answer: answered(401, '{"error":{"message":"Authentication Error","code":"401"}}') }, 'up, key needed', 'good'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['migrating', { answer: silent, age: 60 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
]);

const info = (done: boolean, version = '10.11.2') =>
  answered(
    200,
    JSON.stringify({
      LocalAddress: 'http://172.18.0.2:8096',
      ServerName: 'nas',
      Version: version,
      ProductName: 'Jellyfin Server',
      Id: 'x',
      StartupWizardCompleted: done,
    }),
  );

table('media-server', [
  ['healthy', { answer: answered(200, 'Healthy'), calls: { public: info(true) } }, 'healthy', 'good'],
  ['wizard not done', { answer: answered(200, 'Healthy'), calls: { public: info(false) } }, 'needs set-up', 'warn'],
  ['degraded', { answer: answered(200, 'Degraded'), calls: { public: info(true) } }, 'degraded', 'warn'],
  ['unhealthy', { answer: answered(503, 'Unhealthy'), calls: { public: info(true) } }, 'unhealthy', 'bad'],
  [
    'migrating after an upgrade',
    { answer: answered(503, 'Jellyfin Server is loading. Please try again shortly.'), age: 60 },
    'starting',
    'busy',
  ],
  ['base URL', { answer: answered(404, '') }, 'up, other path', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
]);

const pass = answered(200, '{"status":"pass"}', { 'content-type': 'application/health+json' });

table('mesh-control-server', [
  ['pass', { answer: pass, calls: { page: answered(200, '{"status":"OK"}') }, services: { ui: running } }, 'healthy', 'good'],
  ['fail', { answer: answered(500, '{"status":"fail"}') }, 'failing', 'bad', /database/],
  [
    'web page cannot reach it',
    { answer: pass, calls: { page: answered(500, '{"status":"ERROR"}') }, services: { ui: running } },
    'web page degraded',
    'warn',
  ],
  [
    'web page in a loop',
    { answer: pass, calls: { page: silent }, services: { ui: { state: 'restarting', health: 'none', uptime: 0 } } },
    'web page away',
    'warn',
  ],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
  ['silent and young', { answer: silent, age: 2 }, 'starting', 'busy'],
]);

table('dns-filter-second', [
  [
    'never set up',
    { answer: answered(302, '<a href="/install.html">Found</a>.', { location: '/install.html' }), calls: { dns: silent } },
    'needs set-up',
    'warn',
  ],
  [
    'never set up, relative redirect of newer releases',
    { answer: answered(302, '', { location: 'install.html' }), calls: { dns: silent } },
    'needs set-up',
    'warn',
  ],
  ['set up, wants a login', { answer: answered(401, ''), calls: { dns: opened } }, 'healthy', 'good'],
  ['older refusal', { answer: answered(403, 'Forbidden'), calls: { dns: opened } }, 'healthy', 'good'],
  ['login blocked', { answer: answered(429, 'auth: blocked for 15m'), calls: { dns: opened } }, 'logins blocked', 'warn'],
  [
    'no login, filtering',
    { answer: answered(200, '{"version":"v0.107.79","running":true,"protection_enabled":true}'), calls: { dns: opened } },
    'no login',
    'warn',
  ],
  [
    'no login, protection off',
    { answer: answered(200, '{"version":"v0.107.79","running":true,"protection_enabled":false}'), calls: { dns: opened } },
    'protection off',
    'warn',
  ],
  ['DNS closed', { answer: answered(401, ''), calls: { dns: silent } }, 'DNS closed', 'bad'],
  ['page moved away', { answer: silent, calls: { dns: opened } }, 'web page away', 'warn'],
  ['silent', { answer: silent, calls: { dns: silent } }, 'not answering', 'bad'],
  ['garbage', { answer: garbage, calls: { dns: opened } }, 'strange answer', 'warn'],
]);

table('file-sync', [
  ['healthy', { answer: answered(200, '{"status":"OK"}'), calls: { sync: opened } }, 'healthy', 'good'],
  ['1.19 without a health page', { answer: answered(403, 'CSRF Error\n'), calls: { sync: opened } }, 'up, key needed', 'good'],
  ['1.19 behind a login', { answer: answered(404, '404 page not found\n'), calls: { sync: opened } }, 'up, key needed', 'good'],
  ['host check', { answer: answered(403, 'Host check error\n'), calls: { sync: opened } }, 'up, host check', 'warn'],
  ['sync port closed', { answer: answered(200, '{"status":"OK"}'), calls: { sync: silent } }, 'sync port closed', 'warn'],
  ['page away', { answer: silent, calls: { sync: opened } }, 'web page away', 'warn'],
  ['garbage', { answer: garbage, calls: { sync: opened } }, 'strange answer', 'warn'],
  ['silent', { answer: silent, calls: { sync: silent } }, 'not answering', 'bad'],
]);

table('rss-reader', [
  ['ready', { answer: answered(200, 'OK'), services: { db: running } }, 'ready', 'good'],
  ['database away', { answer: answered(503, 'Database Connection Error: "dial tcp: lookup db: no such host"\n') }, 'database away', 'bad'],
  [
    'database container down',
    { answer: silent, age: 5, services: { db: { state: 'exited', health: 'none', uptime: 0 } } },
    'database away',
    'bad',
    /exited/,
  ],
  ['behind another path', { answer: answered(404, '404 page not found\n') }, 'healthy', 'good'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['migrating', { answer: silent, age: 8 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
]);

const mealie = answered(200, '{"production":true,"version":"v3.5.0","demoStatus":false,"allowSignup":false}');
const firstLogin = (isFirstLogin: boolean) => ({ startup: answered(200, JSON.stringify({ isFirstLogin, isDemo: false })) });

table('recipe-manager', [
  ['ready', { answer: mealie, calls: firstLogin(false), services: { db: running } }, 'ready', 'good'],
  ['default account', { answer: mealie, calls: firstLogin(true) }, 'default account', 'warn'],
  ['first account unknown', { answer: mealie, calls: { startup: silent } }, 'ready', 'good'],
  ['database down', { answer: silent, services: { db: { state: 'exited', health: 'none', uptime: 0 } } }, 'database away', 'bad', /exited/],
  ['fails', { answer: answered(500, 'Internal Server Error') }, 'failing', 'bad'],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['migrating', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
]);

const asks = (requiresPassword: boolean) => answered(200, JSON.stringify({ requiresPassword, authenticated: !requiresPassword }));

table('tunnel-server-ui', [
  ['healthy', { answer: asks(true) }, 'healthy', 'good'],
  ['no password', { answer: asks(false) }, 'no password', 'bad', /can read the keys of all clients/],
  ['release 15', { answer: answered(401, '{"statusCode":401,"statusMessage":"Not authenticated"}') }, 'up, login needed', 'good'],
  ['busy', { answer: answered(503, '') }, 'busy', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
  ['silent and young', { answer: silent, age: 5 }, 'starting', 'busy'],
]);

const wantsKey = answered(401, 'Unauthorized\n');

table('vpn-client-gateway', [
  ['tunnel up', { answer: wantsKey, calls: { tunnel: exited(0, '') } }, 'tunnel up', 'good'],
  [
    'tunnel down',
    { answer: wantsKey, calls: { tunnel: exited(1, 'dialing: i/o timeout') } },
    'tunnel down',
    'bad',
    /nothing that is routed through it gets out/,
  ],
  ['connecting', { answer: wantsKey, calls: { tunnel: exited(1, 'dialing') }, age: 20 }, 'connecting', 'busy'],
  [
    'read-only, the container knows',
    { answer: wantsKey, calls: { tunnel: silent }, services: { gluetun: { ...running, health: 'unhealthy' } } },
    'tunnel down',
    'bad',
  ],
  [
    'read-only, with a key (R34)',
    { answer: wantsKey, calls: { tunnel: silent }, services: { gluetun: running } },
    'up, key needed',
    'good',
  ],
  ['open control server', { answer: answered(200, '{"status":"running"}'), calls: { tunnel: silent } }, 'up', 'good'],
  [
    'control server away, container well',
    { answer: silent, calls: { tunnel: silent }, services: { gluetun: running } },
    'tunnel up',
    'good',
  ],
  ['silent', { answer: silent, calls: { tunnel: silent } }, 'not answering', 'bad'],
  ['young', { answer: silent, calls: { tunnel: silent }, age: 10 }, 'starting', 'busy'],
  ['garbage', { answer: garbage, calls: { tunnel: silent } }, 'strange answer', 'warn'],
]);

table('overlay-mesh', [
  ['in order', { answer: exited(0, '') }, 'in the mesh', 'good'],
  ['expired', { answer: exited(1, 'nebula certificate for this host is expired') }, 'certificate expired', 'bad'],
  [
    'without certificates',
    { answer: exited(1, 'Failed to load PKI: open /etc/nebula/host.crt: no such file or directory') },
    'configuration wrong',
    'bad',
  ],
  ['read-only', { answer: silent }, undefined],
  ['young', { answer: silent, age: 3 }, 'starting', 'busy'],
]);

table('outbound-tunnel', [
  ['connected', { answer: exited(0, '') }, 'connected', 'good'],
  ['not connected', { answer: exited(1, 'http://127.0.0.1:20241/ready endpoint returned status code 503') }, 'not connected', 'bad'],
  ['young', { answer: exited(1, ''), age: 5 }, 'connecting', 'busy'],
  [
    'rules wrong (R24)',
    { answer: exited(1, ''), calls: { rules: exited(1, 'Validation failed: The last ingress rule must match all URLs') } },
    'rules wrong',
    'bad',
  ],
  ['a release that cannot be asked', { answer: exited(3, "No help topic for 'ready'") }, 'running', 'unknown'],
  ['read-only', { answer: silent }, undefined],
]);

const rules = (text: string) => exited(0, text);

table('reverse-proxy', [
  [
    'proxying',
    {
      answer: answered(404, 'There is no site of this name here.', { server: 'Caddy' }),
      calls: { https: opened, sites: rules('{"apps":{"http":{"servers":{"srv0":{"listen":[":443"]},"srv1":{"listen":[":80"]}}}}}') },
    },
    'proxying',
    'good',
  ],
  [
    'no site yet',
    {
      answer: answered(404, 'There is no site of this name here.'),
      calls: { https: silent, sites: rules('{"apps":{"http":{"servers":{"srv0":{"listen":[":80"]}}}}}') },
    },
    'no sites yet',
    'idle',
  ],
  [
    'rules on disk broken',
    {
      answer: answered(404, ''),
      calls: {
        https: opened,
        sites: exited(1, 'Error: adapting config using caddyfile: /etc/caddy/sites/a.caddy:3: unrecognized directive: revers_proxy'),
      },
    },
    'rules broken',
    'warn',
  ],
  [
    '443 closed',
    { answer: answered(308, '', { location: 'https://127.0.0.1/' }), calls: { https: silent, sites: rules('{"listen":[":443"]}') } },
    'HTTPS closed',
    'warn',
  ],
  ['80 closed', { answer: silent, calls: { https: opened } }, 'port 80 closed', 'warn'],
  ['silent', { answer: silent, calls: { https: silent } }, 'not answering', 'bad'],
  ['a component behind it is away', { answer: answered(502, ''), calls: { https: opened } }, 'proxying', 'good'],
  ['fails', { answer: answered(500, ''), calls: { https: opened } }, 'failing', 'bad'],
  ['garbage', { answer: garbage, calls: { https: opened, sites: silent } }, 'proxying', 'good'],
]);

/** Programs of one family, which answer alike. */
const automation = ['movie-automation', 'tv-automation', 'music-automation', 'indexer-manager'] as const;
for (const id of automation) {
  table(id, [
    ['running', { answer: answered(200, '{"status": "OK"}') }, 'running', 'good'],
    ['its database cannot be read', { answer: answered(500, '{"status": "Error"}') }, 'database trouble', 'bad', /room on the disk/],
    ['a login in front of it', { answer: answered(401) }, 'up, login needed', 'good'],
    ['a URL base', { answer: answered(404) }, 'up, other path', 'warn'],
    ['another program', { answer: garbage }, 'strange answer', 'warn'],
    ['just started', { answer: silent, age: 8 }, 'starting', 'busy', /^Started 8 seconds ago/],
    ['silent', { answer: silent }, 'not answering', 'bad', /No answer within/],
  ]);
}

it('every component that is probed has its answers here', () => {
  expect(entries.flatMap(({ id, probe }) => (probe && !answeredFor.has(id) ? [id] : []))).toEqual([]);
});

describe('version that the product tells', () => {
  it.each<[id: string, situation: Situation, version: string]>([
    ['secrets-manager-path', { answer: sealed({}) }, '2.6.2'],
    ['secrets-manager-path', { answer: garbage }, ''],
    ['password-vault', { answer: answered(200, '{"version":"2025.12.0"}'), calls: { version: answered(200, '"1.37.0"') } }, '1.37.0'],
    ['model-runtime', { answer: tags(), calls: { version: answered(200, '{"version":"0.33.0"}') } }, '0.33.0'],
    ['llm-proxy', { answer: ready({}) }, '1.80.0'],
    ['media-server', { answer: answered(200, 'Healthy'), calls: { public: info(true) } }, '10.11.2'],
    ['mesh-control-server', { answer: pass, calls: { version: answered(200, '{"version":"v0.29.2","commit":"x"}') } }, 'v0.29.2'],
    ['mesh-control-server', { answer: pass, calls: { version: answered(404, '404 page not found') } }, ''],
    [
      'file-sync',
      {
        answer: answered(200, '{"status":"OK"}'),
        calls: { program: exited(0, 'syncthing v1.19.2 "Fermium Flea" (go1.19.8 linux-amd64)\n') },
      },
      'v1.19.2',
    ],
    ['tunnel-server-ui', { answer: asks(true), calls: { release: answered(200, '13') } }, '13'],
    ['overlay-mesh', { answer: exited(0, ''), calls: { version: exited(0, 'Version: 1.9.5\n') } }, '1.9.5'],
    [
      'outbound-tunnel',
      { answer: exited(0, ''), calls: { program: exited(0, 'cloudflared version 2026.9.0 (built 2026-09-08-1200 UTC)') } },
      '2026.9.0',
    ],
    ['rss-reader', { answer: answered(200, 'OK'), calls: { program: exited(0, '2.3.3\n') } }, '2.3.3'],
    ['recipe-manager', { answer: mealie }, 'v3.5.0'],
    ['reverse-proxy', { answer: answered(404, ''), calls: { version: exited(0, 'v2.11.2 h1:abc\n') } }, 'v2.11.2'],
    ['reverse-proxy', { answer: answered(404, ''), calls: { version: exited(0, '2.6.2\n') } }, '2.6.2'],
    ['dns-filter-second', { answer: answered(200, '{"version":"v0.107.79","protection_enabled":true}') }, 'v0.107.79'],
  ])('%s %#', (id, situation, version) => {
    expect(versionOf(id, situation)).toBe(version);
  });
});

describe('what is asked without being asked to', () => {
  const asked = (entry: CatalogEntry) => [
    ...new Set([...(entry.probe ? [entry.probe.call, ...entry.probe.also] : []), ...entry.checks.flatMap(({ calls }) => calls)]),
  ];

  it.each(entries.filter(({ deploy }) => deploy === 'compose').map((entry) => [entry.id, entry] as const))(
    '%s only reads, and logs in nowhere',
    (_, entry) => {
      expect(entry.probe).toBeDefined();
      for (const name of asked(entry)) {
        const call = entry.calls[name];
        expect(call, name).toMatchObject({ reads: true, auth: 'none' });
        expect(call?.http?.basic, name).toBeUndefined();
        for (const header of Object.keys(call?.http?.headers ?? {}))
          expect(header.toLowerCase(), name).not.toMatch(/^(?:authorization|cookie|x-.*(?:key|token))$/);
        if (call?.http) expect(['GET', 'HEAD'], name).toContain(call.http.method);
      }
    },
  );

  it.each(entries.map((entry) => [entry.id, entry] as const))('%s runs programs inside containers at most once a minute', (_, entry) => {
    for (const name of asked(entry)) {
      const call = entry.calls[name];
      if (call?.exec) expect(call.keep, name).not.toMatch(/^0|s$/);
    }
  });

  it('never asks the LLM proxy for the health of its models, which costs money', () => {
    for (const [name, call] of Object.entries(entryOf('llm-proxy').calls)) expect(call.http?.path, name).not.toBe('/health');
  });

  it('never gives the single sign-on portal or the DNS filter a password that could be wrong', () => {
    for (const id of ['sso-portal', 'dns-filter-second']) {
      const entry = entryOf(id);
      for (const name of asked(entry)) expect(Object.keys(entry.calls[name]?.inputs ?? {}), `${id} ${name}`).toEqual([]);
    }
  });
});

describe('checks', () => {
  it('download automation: no login beyond this machine is an error, two filesystems are a warning (R27, R42)', () => {
    const settings = (way: string) => ({
      settings: answered(200, `<Config>\n  <AuthenticationMethod>${way}</AuthenticationMethod>\n</Config>`),
    });
    const wide = { ports: [{ name: 'web', exposure: 'lan' as const, published: true }] };
    for (const id of automation) {
      expect(findingsOf(id, settings('None'), wide), id).toEqual(['no-login']);
      expect(findingsOf(id, settings('Forms'), wide), id).toEqual([]);
      expect(findingsOf(id, settings('None')), id).toEqual([]);
    }
    expect(findingsOf('movie-automation', { devices: exited(0, '2049\n2049\n') })).toEqual([]);
    expect(findingsOf('movie-automation', { devices: exited(0, '2049\n64770\n') })).toEqual(['two-filesystems']);
    // One of them is not there.
    expect(findingsOf('movie-automation', { devices: exited(1, '2049\n') })).toEqual([]);
  });

  const lan = (name: string) => ({ ports: [{ name, exposure: 'lan' as const, published: true }] });

  it('start-dev is an error when others reach it, a warning before (R23)', () => {
    const calls = { container: started('/opt/keycloak/bin/kc.sh', 'start-dev'), master: issuer('http://localhost:8080') };
    expect(findingsOf('idp-enterprise', calls)).toEqual(['start-dev']);
    expect(findingsOf('idp-enterprise', calls, lan('web'))).toEqual(['start-dev-when-public', 'start-dev', 'wider-than-loopback']);
    expect(findingsOf('idp-enterprise', { ...calls, master: issuer('https://id.example.org') })).toContain('start-dev-when-public');
    expect(findingsOf('idp-enterprise', { ...calls, container: started('kc.sh', 'start') })).toEqual([]);
  });

  it('signups that are still open are a standing warning (R20)', () => {
    const config = (closed: boolean) => ({
      config: answered(200, JSON.stringify({ version: 'x', settings: { disableUserRegistration: closed } })),
    });
    expect(findingsOf('password-vault', config(false))).toEqual(['signups-open']);
    expect(findingsOf('password-vault', config(true))).toEqual([]);
  });

  it('a security component beyond loopback is an error (R9)', () => {
    for (const [id, port] of [
      ['password-vault', 'web'],
      ['sso-portal', 'web'],
      ['idp-enterprise', 'web'],
      ['ldap-directory', 'ldap'],
      ['intrusion-prevention', 'api'],
      ['secrets-manager-path', 'api'],
      ['vulnerability-scanner', 'web'],
    ] as const) {
      expect(findingsOf(id, {}, lan(port)), id).toContain('wider-than-loopback');
      expect(findingsOf(id, {}), id).not.toContain('wider-than-loopback');
    }
  });

  it('a model runtime beyond loopback is an error, for it has no login (R42)', () => {
    expect(findingsOf('model-runtime', {}, lan('api'))).toContain('wider-than-loopback');
  });

  it('localhost in an address that is used inside a container is an error (R14)', () => {
    expect(findingsOf('idp-enterprise', {}, { env: { KC_DB_URL: 'jdbc:postgresql://localhost:5432/keycloak' } })).toContain(
      'database-url-is-localhost',
    );
    expect(findingsOf('idp-enterprise', {}, { env: { KC_DB_URL: 'jdbc:postgresql://db:5432/keycloak' } })).toEqual([]);
    expect(findingsOf('rss-reader', {}, { env: { DATABASE_URL: 'postgres://miniflux:x@127.0.0.1/miniflux' } })).toContain(
      'database-at-localhost',
    );
    expect(findingsOf('sso-portal', {}, { env: { LDAP_URL: 'ldap://localhost:3890' } })).toContain('ldap-from-localhost');
    expect(
      findingsOf('llm-proxy', {
        configuration: answered(
          0,
          'model_list:\n  - model_name: a\n    litellm_params:\n      model: ollama/a\n      api_base: http://localhost:11434\n',
        ),
      }),
    ).toEqual(['runtime-at-localhost']);
  });

  it('users and storage of the portal are one or the other (R21)', () => {
    expect(findingsOf('sso-portal', {}, { env: { LDAP_URL: 'ldap://ldap:3890', USERS_FILE: '/config/users.yml' } })).toContain(
      'both-user-stores',
    );
    expect(findingsOf('sso-portal', {}, { env: { STORAGE_LOCAL_PATH: '/config/db', STORAGE_POSTGRES_HOST: 'db' } })).toContain(
      'both-storages',
    );
    expect(findingsOf('sso-portal', {}, { env: { LDAP_URL: 'ldap://ldap:3890', USERS_FILE: '' } })).toEqual([]);
  });

  it('traces need both the callback and the key pair (R57)', () => {
    const traced = { configuration: answered(0, 'model_list: []\nlitellm_settings:\n  success_callback: [langfuse]\n') };
    expect(findingsOf('llm-proxy', traced)).toEqual(['traces-without-keys']);
    expect(findingsOf('llm-proxy', traced, { env: { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk' } })).toEqual([]);
    expect(
      findingsOf(
        'llm-proxy',
        { configuration: answered(0, 'model_list: []\n') },
        { env: { LANGFUSE_PUBLIC_KEY: 'pk', LANGFUSE_SECRET_KEY: 'sk' } },
      ),
    ).toEqual(['keys-without-traces']);
  });

  it('the delivered configuration of the LLM proxy is free of complaints, one with a key or without the prefix is not (R25)', async () => {
    const { readFile } = await import('node:fs/promises');
    const delivered = await readFile(new URL('../../catalog/ai/llm-proxy/files/config.yaml', import.meta.url), 'utf8');
    expect(findingsOf('llm-proxy', { configuration: answered(0, delivered) })).toEqual([]);
    expect(
      findingsOf('llm-proxy', { configuration: answered(0, delivered.replace('os.environ/LITELLM_MASTER_KEY', 'sk-1234567890abcdef')) }),
    ).toEqual(['key-in-configuration']);
    expect(findingsOf('llm-proxy', { configuration: answered(0, delivered.replaceAll('ollama/', '')) })).toEqual(['model-without-prefix']);
  });

  it('a scanner that is not ready within 30 minutes is a warning (R60)', () => {
    const calls = { tests: exited(0, '0 0\n') };
    expect(findingsOf('vulnerability-scanner', calls, { age: 1799 })).toEqual([]);
    expect(findingsOf('vulnerability-scanner', calls, { age: 1800 })).toEqual(['loading-too-long']);
    expect(findingsOf('vulnerability-scanner', { tests: exited(0, '94211 8\n') })).toEqual([]);
  });

  it('no graphics device is a warning for the media server (R28)', () => {
    const devices = (...list: string[]) => ({ container: answered(0, JSON.stringify({ devices: list })) });
    expect(findingsOf('media-server', devices())).toEqual(['no-graphics-device']);
    expect(findingsOf('media-server', devices('/dev/null'))).toEqual(['no-graphics-device']);
    expect(findingsOf('media-server', devices('/dev/dri'))).toEqual([]);
  });

  it('bans that nobody enforces are a warning', () => {
    expect(
      findingsOf('intrusion-prevention', {
        bouncers: exited(0, 'null'),
        machines: exited(0, '[{"machineId":"localhost"}]'),
        capi: exited(0, ''),
      }),
    ).toEqual(['no-bouncer']);
    expect(
      findingsOf('intrusion-prevention', {
        bouncers: exited(0, '[{"name":"firewall"}]'),
        machines: exited(0, '[{"machineId":"localhost"}]'),
        capi: exited(0, ''),
      }),
    ).toEqual([]);
  });

  it('a rule that removes Upgrade breaks websockets (R54)', () => {
    const removed = '{"handler":"reverse_proxy","headers":{"request":{"delete":["Upgrade"]}}}';
    expect(findingsOf('reverse-proxy', { sites: rules(removed), https: opened })).toEqual(['websocket-header-removed']);
  });

  it('a mesh without a policy is worth a word, and so is an address that its base domain hides (R62)', () => {
    const policy = exited(1, 'Error: loading ACL policy: rpc error: code = Unknown desc = loading ACL from database: acl policy not found');
    expect(findingsOf('mesh-control-server', { policy })).toEqual(['no-policy']);
    expect(findingsOf('mesh-control-server', { policy: exited(0, '{"acls":[]}') })).toEqual([]);
    const env = { HEADSCALE_SERVER_URL: 'https://head.example.org', HEADSCALE_DNS_BASE_DOMAIN: 'example.org' };
    expect(findingsOf('mesh-control-server', {}, { env })).toEqual(['base-domain-in-server-url']);
    expect(findingsOf('mesh-control-server', {}, { env: { ...env, HEADSCALE_DNS_BASE_DOMAIN: 'mesh.internal' } })).toEqual([]);
  });

  it('half an unseal is worth a word (R59)', () => {
    const entry = entryOf('secrets-manager-path');
    const seal = sealed({ progress: 1 });
    expect(findingsOf('secrets-manager-path', { seal })).toEqual(['sealed', 'unsealing-under-way']);
    const check = entry.checks.find(({ id }) => id === 'unsealing-under-way');
    const { answer: _, ...facts } = factsOf(entry, { answer: silent, calls: { seal } });
    expect(fillTemplate(check?.message ?? '', facts)).toBe('Somebody is unsealing: 1 of 3 shares are given.');
    expect(findingsOf('secrets-manager-path', { seal: sealed({ sealed: false, t: 1, n: 1 }) })).toEqual([
      'not-the-stated-threshold',
      'single-key',
    ]);
  });

  it.each(entries.map((entry) => [entry.id, entry] as const))('%s finds nothing when nothing answers and nothing is known', (_, entry) => {
    expect(findingsOf(entry.id, {}, { age: 10 })).toEqual([]);
  });
});

describe('checks of tunnels', () => {
  it('a tunnel without an MTU, or with too large a one, is named (R77)', () => {
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_MTU: '1500' } })).toContain('tunnel-mtu');
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_HOST: 'vpn.example.net' } })).toContain('no-mtu');
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_MTU: '1420' } })).toEqual([]);
  });

  it('a control server that wants no key is named', () => {
    expect(findingsOf('vpn-client-gateway', { status: answered(200, '{"status":"running"}') })).toEqual(['control-open']);
    expect(findingsOf('vpn-client-gateway', { status: wantsKey })).toEqual([]);
  });

  it('a web page beyond this machine is named (R8)', () => {
    const ports = [{ name: 'web', exposure: 'lan' as const, published: true }];
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_MTU: '1420' }, ports })).toEqual([
      'web-wider-than-loopback',
    ]);
  });
});

describe('operations', () => {
  it.each(entries.map((entry) => [entry.id, entry] as const))(
    '%s puts no secret into the arguments of a program, and says what is lost',
    (_, entry) => {
      for (const operation of entry.operations) {
        const call = entry.calls[operation.call];
        const argv = call?.exec?.argv.join(' ') ?? '';
        for (const [name, input] of Object.entries(call?.inputs ?? {}))
          if (input.secret) expect(argv, operation.id).not.toContain(`<${name}>`);
        if (operation.right === 'destroy') expect(operation.consequences.length, operation.id).toBeGreaterThan(0);
        if (operation.right === 'read') expect(call?.reads, operation.id).toBe(true);
      }
    },
  );
});
