import { describe, expect, it } from 'vitest';
import { fillTemplate } from '../../../source/calls/conditions.ts';
import { answered, entryOf, exited, factsOf, findingsOf, garbage, lan, opened, running, silent, table, versions } from './answers.ts';

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
    'warning',
    /all secrets are lost/,
  ],
  [
    'sealed, nothing given (R59)',
    { answer: sealed({}), calls: { health: health(503, { sealed: true }) }, age: 120 },
    'sealed 0/3',
    'warning',
    /^0 of 3 key shares entered \(5 exist\)\. Restarted 2 minutes ago\. Seals on every restart\.$/,
  ],
  [
    'sealed, one given (R59)',
    { answer: sealed({ progress: 1, nonce: 'b0c0' }), age: 30 },
    'sealed 1/3',
    'warning',
    /^1 of 3 key shares entered \(5 exist\)\. Restarted 30 seconds ago/,
  ],
  ['sealed for long', { answer: sealed({ progress: 2 }) }, 'sealed 2/3', 'warning', /Seals on every restart\.$/],
  ['sealed although it unseals itself', { answer: sealed({ type: 'awskms', recovery_seal: true }) }, 'sealed', 'error', /awskms/],
  ['sealed in the middle of a migration', { answer: sealed({ migration: true, progress: 1 }) }, 'sealed 1/3', 'warning', /migration/],
  ['unsealed and active', { answer: sealed({ sealed: false, cluster_name: 'c' }), calls: { health: health(200, {}) } }, 'healthy', 'ok'],
  [
    'unsealed, standing by',
    { answer: sealed({ sealed: false }), calls: { health: health(429, { standby: true }) } },
    'unsealed standby',
    'ok',
  ],
  [
    'HashiCorp Vault, performance standby (R86)',
    {
      answer: sealed({ sealed: false, version: '2.0.1', removed_from_cluster: false, build_date: 'x' }),
      calls: { health: health(473, {}) },
    },
    'unsealed secondary',
    'ok',
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
    'warning',
  ],
  ['unsealed, its role unknown', { answer: sealed({ sealed: false }), calls: { health: silent } }, 'unsealed', 'ok'],
  ['speaks TLS', { answer: answered(400, 'Client sent an HTTP request to an HTTPS server.\n') }, 'HTTPS only', 'warning'],
  ['another server', { answer: garbage }, 'unexpected response', 'warning'],
  ['an error body', { answer: answered(500, '{"errors":["internal error"]}') }, 'unexpected response', 'warning', /status 500/],
  ['silent and young', { answer: silent, age: 3 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error', /No response after 3 s/],
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
    /being loaded into the database/,
  ],
  [
    'still copying the tests (R60)',
    {
      answer: answered(200, '<html>'),
      calls: { tests: exited(0, '0 0\n') },
      age: 600,
      services: { 'vulnerability-tests': { state: 'running', health: 'starting', uptime: 600 } },
    },
    'loading 10/30 min',
    'busy',
    /still being copied/,
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
    'warning',
    /30 minutes/,
  ],
  ['ready', { answer: answered(200, '<html>'), calls: { tests: exited(0, '94211 8\n') }, age: 900 }, 'healthy', 'ok', /94211 tests/],
  [
    'feeds of this week (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(0, '94211 8 7\n') } },
    'healthy',
    'ok',
    /94211 tests, 7 days old/,
  ],
  [
    'old feeds (R60)',
    { answer: answered(200, '<html>'), calls: { tests: exited(0, '94211 8 23\n') } },
    'feeds 23 days old',
    'warning',
    /newer vulnerabilities are not found/,
  ],
  ['read-only, after a day', { answer: answered(200, '<html>'), calls: { tests: silent } }, undefined],
  ['page away later', { answer: silent, calls: { tests: exited(0, '94211 8\n') } }, 'unreachable', 'warning'],
  [
    'database down',
    { answer: answered(200, '<html>'), services: { 'pg-gvm': { state: 'exited', health: 'none', uptime: 0 } } },
    'database down',
    'error',
  ],
  ['page fails', { answer: answered(502, 'Bad Gateway'), calls: { tests: exited(0, '94211 8\n') } }, 'unhealthy', 'error'],
]);

table('internal-ca', [
  ['healthy', { answer: answered(200, '{"status":"ok"}'), calls: { version: answered(200, '{"version":"0.28.4"}') } }, undefined],
  ['starting', { answer: silent, age: 5 }, 'starting', 'busy'],
  ['away', { answer: silent }, 'unreachable', 'error', /private names are not renewed/],
  ['failing', { answer: answered(500, '{"status":500,"message":"internal"}') }, 'unhealthy', 'error'],
  ['somebody else', { answer: answered(200, '<html>') }, 'unexpected response', 'warning'],
]);

table('password-vault', [
  [
    'sign-ups open (R20)',
    {
      answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":false},"environment":{}}'),
      calls: { alive: answered(200, '"2026-11-20T09:00:00Z"') },
    },
    'sign-ups open',
    'warning',
  ],
  [
    'sign-ups set to closed, and a release that reports them as open without mail (R20)',
    {
      answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":false},"environment":{}}'),
      calls: { alive: answered(200, '"2026-11-20T09:00:00Z"'), version: answered(200, '"1.34.3"') },
      env: { SIGNUPS_ALLOWED: 'false' },
    },
    'healthy',
    'ok',
    /^The server can read its database\. Whether sign-ups are open is unknown\.$/,
  ],
  [
    'sign-ups set to closed, and open all the same in a release that tells (R20)',
    {
      answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":false},"environment":{}}'),
      calls: { alive: answered(200, '"2026-11-20T09:00:00Z"'), version: answered(200, '"1.34.2"') },
      env: { SIGNUPS_ALLOWED: 'false' },
    },
    'sign-ups open',
    'warning',
  ],
  [
    'sign-ups closed (R20)',
    {
      answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":true},"environment":{}}'),
      calls: { alive: answered(200, '"2026-11-20T09:00:00Z"') },
    },
    'healthy',
    'ok',
  ],
  [
    'a release that does not tell whether sign-ups are open',
    { answer: answered(200, '{"version":"2024.1.0","environment":{}}'), calls: { alive: answered(200, '"2026-11-20T09:00:00Z"') } },
    'healthy',
    'ok',
    /^The server can read its database\.$/,
  ],
  [
    'database away',
    { answer: answered(200, '{"version":"2025.12.0","settings":{"disableUserRegistration":true}}'), calls: { alive: answered(500, '{}') } },
    'database down',
    'error',
    /status 500/,
  ],
  ['refuses', { answer: answered(429, 'Too Many Requests') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  ['silent and young', { answer: silent, age: 5 }, 'starting', 'busy'],
]);

table('sso-portal', [
  ['well: the container speaks for itself', { answer: answered(200, '{"status":"OK"}'), services: { redis: running } }, undefined],
  [
    'cache down',
    { answer: answered(200, '{"status":"OK"}'), services: { redis: { state: 'restarting', health: 'none', uptime: 0 } } },
    'session store down',
    'error',
  ],
  [
    'database unhealthy',
    { answer: answered(200, '{"status":"OK"}'), services: { db: { state: 'running', health: 'unhealthy', uptime: 9 } } },
    'database down',
    'error',
    /is unhealthy/,
  ],
  [
    'rate limited',
    { answer: answered(429, '{"status":"KO","message":"Authentication failed. Check your credentials."}') },
    'busy',
    'warning',
  ],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
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
    'warning',
  ],
  [
    'plain http issuer',
    { answer: issuer('http://id.example.org'), calls: { container: started('/opt/keycloak/bin/kc.sh', 'start') } },
    'issuer not HTTPS',
    'warning',
    /http:\/\/id\.example\.org/,
  ],
  ['first start', { answer: silent, age: 45 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  [
    'database down',
    { answer: answered(500, '{"error":"unknown_error"}'), services: { db: { state: 'exited', health: 'none', uptime: 0 } } },
    'database down',
    'error',
  ],
  ['cannot use the database', { answer: answered(500, '{"error":"unknown_error"}') }, 'unhealthy', 'error'],
  ['another path', { answer: answered(404, '{"error":"Unable to find matching target resource method"}') }, 'no master realm', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
]);

table('ldap-directory', [
  ['well', { answer: answered(200), calls: { ldap: opened } }, undefined],
  ['LDAP closed', { answer: answered(200), calls: { ldap: silent } }, 'LDAP down', 'error'],
  ['page away', { answer: silent, calls: { ldap: opened } }, 'web UI down', 'warning'],
  ['silent', { answer: silent, calls: { ldap: silent } }, 'unreachable', 'error'],
  ['fails', { answer: answered(500), calls: { ldap: opened } }, 'unhealthy', 'error'],
  ['young', { answer: silent, age: 4 }, 'starting', 'busy'],
]);

table('intrusion-prevention', [
  ['healthy', { answer: answered(200, '{"status":"up"}') }, 'healthy', 'ok'],
  ['refuses', { answer: answered(403, '{"message":"access forbidden"}') }, 'healthy', 'ok'],
  ['busy', { answer: answered(503, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['fetching the hub', { answer: silent, age: 40 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'API down', 'error'],
]);

versions([
  ['secrets-manager-path', { answer: sealed({}) }, '2.6.2'],
  ['secrets-manager-path', { answer: garbage }, ''],
  ['password-vault', { answer: answered(200, '{"version":"2025.12.0"}'), calls: { version: answered(200, '"1.37.0"') } }, '1.37.0'],
]);

describe('checks', () => {
  it('start-dev is an error when others reach it, a warning before (R23)', () => {
    const calls = { container: started('/opt/keycloak/bin/kc.sh', 'start-dev'), master: issuer('http://localhost:8080') };
    expect(findingsOf('idp-enterprise', calls)).toEqual(['start-dev']);
    expect(findingsOf('idp-enterprise', calls, lan('web'))).toEqual(['start-dev-when-public', 'start-dev', 'wider-than-loopback']);
    expect(findingsOf('idp-enterprise', { ...calls, master: issuer('https://id.example.org') })).toContain('start-dev-when-public');
    expect(findingsOf('idp-enterprise', { ...calls, container: started('kc.sh', 'start') })).toEqual([]);
  });

  it('signups that are still open are a standing warning (R20)', () => {
    const config = (closed: boolean, version = '1.37.2') => ({
      config: answered(200, JSON.stringify({ version: 'x', settings: { disableUserRegistration: closed } })),
      version: answered(200, JSON.stringify(version)),
    });
    expect(findingsOf('password-vault', config(false))).toEqual(['signups-open']);
    expect(findingsOf('password-vault', config(true))).toEqual([]);
    const set = { env: { SIGNUPS_ALLOWED: 'false' } };
    for (const version of ['1.34.3', '1.35.0', '1.37.2', '2.0.0'])
      expect(findingsOf('password-vault', config(false, version), set)).toEqual(['signups-unknown']);
    for (const version of ['1.32.1', '1.33.2', '1.34.0', '1.34.2'])
      expect(findingsOf('password-vault', config(false, version), set)).toEqual(['signups-open']);
    expect(findingsOf('password-vault', config(true), set)).toEqual([]);
    const reachedBy = (vault: string) => ({ config: answered(200, JSON.stringify({ environment: { vault } })) });
    expect(findingsOf('password-vault', reachedBy('http://localhost'))).toEqual(['unknown-address']);
    expect(findingsOf('password-vault', reachedBy('https://vault.home.lan'))).toEqual([]);
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

  it('a secrets manager that uses TLS itself is not said to be without (R9)', () => {
    const seal = answered(400, 'Client sent an HTTP request to an HTTPS server.\n');
    expect(findingsOf('secrets-manager-path', { seal }, lan('api'))).toEqual([]);
    expect(findingsOf('secrets-manager-path', { seal: answered(200, '{"sealed":false}') }, lan('api'))).toEqual(['wider-than-loopback']);
  });

  it('users and storage of the portal are one or the other (R21)', () => {
    expect(findingsOf('sso-portal', {}, { env: { LDAP_URL: 'ldap://ldap:3890', USERS_FILE: '/config/users.yml' } })).toContain(
      'both-user-stores',
    );
    expect(findingsOf('sso-portal', {}, { env: { STORAGE_LOCAL_PATH: '/config/db', STORAGE_POSTGRES_HOST: 'db' } })).toContain(
      'both-storages',
    );
    expect(findingsOf('sso-portal', {}, { env: { LDAP_URL: 'ldap://ldap:3890', USERS_FILE: '' } })).toEqual([]);
    const users = answered(0, 'email: nobody@example.invalid');
    expect(findingsOf('sso-portal', { users })).toEqual(['no-user-yet']);
    expect(findingsOf('sso-portal', { users }, { env: { LDAP_URL: 'ldap://ldap:3890' } })).toEqual([]);
  });

  it('a scanner that is not ready within 30 minutes is a warning (R60)', () => {
    const calls = { tests: exited(0, '0 0\n') };
    expect(findingsOf('vulnerability-scanner', calls, { age: 1799 })).toEqual([]);
    expect(findingsOf('vulnerability-scanner', calls, { age: 1800 })).toEqual(['loading-too-long']);
    expect(findingsOf('vulnerability-scanner', { tests: exited(0, '94211 8\n') })).toEqual([]);
    expect(findingsOf('vulnerability-scanner', { firstpassword: exited(0, '') })).toEqual(['default-password']);
    expect(findingsOf('vulnerability-scanner', { firstpassword: exited(1, '') })).toEqual([]);
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

  it('half an unseal is worth a word (R59)', () => {
    const entry = entryOf('secrets-manager-path');
    const seal = sealed({ progress: 1 });
    expect(findingsOf('secrets-manager-path', { seal })).toEqual(['sealed', 'unsealing-under-way']);
    const check = entry.checks.find(({ id }) => id === 'unsealing-under-way');
    const { answer: _, ...facts } = factsOf(entry, { answer: silent, calls: { seal } });
    expect(fillTemplate(check?.message ?? '', facts)).toBe('An unseal attempt is in progress: 1 of 3 shares entered.');
    expect(findingsOf('secrets-manager-path', { seal: sealed({ sealed: false, t: 1, n: 1 }) })).toEqual([
      'not-the-stated-threshold',
      'single-key',
    ]);
  });
});
