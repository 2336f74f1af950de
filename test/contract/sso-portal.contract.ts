import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallTarget } from '../../source/calls/call.ts';
import { runCall } from '../../source/calls/run-call.ts';
import type { Engine } from '../../source/engine/engine.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { readPortalConfig, usualDigestCost } from '../../source/products/authelia/client/sso-config.ts';
import { readBans } from '../../source/products/authelia/client/sso-portal.ts';
import { makeDigest, matchesDigest } from '../../source/secrets/password-digest.ts';
import { containerDetail } from '../doubles/container-facts.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

/** A portal under test, with the configuration and the users of this file. */
export interface PortalServer {
  url: string;
  /** Its own command, next to the server. */
  run(words: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  /** `authelia config validate` on this text. */
  validate(configuration: string): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  writeUsers(text: string): Promise<void>;
  /** What it has logged so far. */
  log(): string;
  close(): Promise<void>;
}

/** Without what differs from place to place: address, paths and secrets come from whoever starts it. */
export const accessControl = `access_control:
  default_policy: deny
  rules:
    - domain: 'public.home.example.org'
      policy: bypass
    - domain: 'mara.home.example.org'
      policy: two_factor
      subject: 'user:mara'
    - domain: 'wiki.home.example.org'
      policy: one_factor
      methods: [GET]
      subject: ['group:family', 'user:ida']
    - domain: '*.home.example.org'
      policy: two_factor
`;
const password = 'correct horse battery';

export async function contractUsers(): Promise<string> {
  const digest = await makeDigest(password, usualDigestCost);
  const user = (name: string, more = '') =>
    `  ${name}:\n    disabled: false\n    displayname: ${name.toUpperCase()}\n    password: '${digest}'\n    email: ${name}@example.org\n    groups: [family]\n${more}`;
  return `---\n# kept\nusers:\n${user('mara')}${user('jonas')}${user('ida')}`;
}

/** The portal knows its session by the name that a browser uses. */
const behindProxy = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'auth.home.example.org', 'X-Forwarded-Uri': '/' };

type Answer = { status: number; headers: Headers; text: string };

/** What a console relies on, line by line of reference/authelia.md, for release 4.39: run against the practice portal and against a real one. The tests are one story, in order. */
export function ssoPortalContract(open: (users: string) => Promise<PortalServer>): void {
  let server: PortalServer;
  let users: string;

  const ask = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(`${server.url}${path}`, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const logIn = (username: string, secret: string) =>
    ask('/api/firstfactor', {
      method: 'POST',
      headers: { ...behindProxy, 'Content-Type': 'application/json' },
      body: JSON.stringify({ username, password: secret, keepMeLoggedIn: false }),
    });
  const asProxy = (address: string, more: Record<string, string> = {}, path = '/api/authz/forward-auth') => {
    const url = new URL(address);
    const forwarded = {
      'X-Forwarded-Method': 'GET',
      'X-Forwarded-Proto': url.protocol.replace(':', ''),
      'X-Forwarded-Host': url.host,
      'X-Forwarded-Uri': `${url.pathname}${url.search}`,
    };
    return ask(path, { headers: { Accept: 'text/html', ...forwarded, ...more } });
  };
  const seen = async (pattern: RegExp) => {
    await expect.poll(() => server.log(), { timeout: 20_000, interval: 100 }).toMatch(pattern);
  };
  const checked = async (...words: string[]) => (await server.run(['access-control', 'check-policy', ...words])).stdout;

  beforeAll(async () => {
    users = await contractUsers();
    server = await open(users);
  }, 60_000);
  afterAll(() => server?.close());

  test('is alive, and says that nobody is logged in', async () => {
    const health = await ask('/api/health');
    expect([health.status, JSON.parse(health.text)]).toEqual([200, { status: 'OK' }]);
    const state = await ask('/api/state', { headers: behindProxy });
    expect(JSON.parse(state.text)).toMatchObject({ status: 'OK', data: { username: '', authentication_level: 0 } });
  });

  test('turns away who comes by another name than its own', async () => {
    expect((await ask('/api/state')).status).toBe(403);
    const body = JSON.stringify({ username: 'mara', password, keepMeLoggedIn: false });
    const plain = await ask('/api/firstfactor', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    expect([plain.status, JSON.parse(plain.text)]).toMatchObject([401, { status: 'KO' }]);
    await seen(/no configured session cookie domain matches the url/);
  });

  test('answers the calls that the catalog declares, by the address that its container knows (R35)', async () => {
    const { entries } = await wholeCatalog();
    const entry = entries.find(({ id }) => id === 'sso-portal');
    if (!entry) throw new Error('no portal in the catalog');
    const container = containerDetail({
      ports: [{ address: '127.0.0.1', hostPort: Number(new URL(server.url).port), containerPort: 9091, protocol: 'tcp' }],
      env: [['PORTAL_URL', 'https://auth.home.example.org']],
    });
    const host = openLocalHost();
    const target: CallTarget = { entry, host, engine: {} as Engine, containers: new Map([['portal', container]]), execAllowed: true };
    const declared = (name: string, inputs: Record<string, string> = {}) => {
      const call = entry.calls[name];
      if (!call) throw new Error(`no call ${name}`);
      return runCall(target, { name, call: { ...call, reads: true }, inputs, signal: AbortSignal.timeout(20_000) });
    };
    expect(await declared('state')).toMatchObject({ status: 200, json: { status: 'OK', data: { username: '', authentication_level: 0 } } });
    expect(await declared('firstfactor', { username: 'mara', password })).toMatchObject({ status: 200, json: { status: 'OK' } });
    const verify = await declared('verify', { portal_url: 'https://auth.home.example.org/' });
    expect([verify.status, verify.headers['location'] ?? '']).toEqual([
      302,
      expect.stringMatching(/^https:\/\/auth\.home\.example\.org\//),
    ]);
    await host.close();
  });

  test('lets a right password in, made by our own argon2id, and answers wrong, unknown and disabled alike', async () => {
    const right = await logIn('mara', password);
    expect(right.status).toBe(200);
    expect(right.headers.get('set-cookie')).toMatch(/^authelia_session=/);
    for (const answer of [await logIn('mara', 'wrong'), await logIn('nobody', 'wrong')]) {
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        401,
        { status: 'KO', message: 'Authentication failed. Check your credentials.' },
      ]);
    }
  });

  test('tells a proxy who may pass: bypass, login, deny, and what it refuses', async () => {
    expect((await asProxy('https://public.home.example.org/')).status).toBe(200);
    const page = await asProxy('https://media.home.example.org/films?a=1');
    expect([page.status, page.headers.get('location')]).toEqual([
      302,
      `https://auth.home.example.org/?rd=${encodeURIComponent('https://media.home.example.org/films?a=1')}&rm=GET`,
    ]);
    expect((await asProxy('https://media.home.example.org/', { Accept: 'application/json' })).status).toBe(401);
    expect((await asProxy('https://home.example.org/')).status).toBe(403);
    expect((await asProxy('http://media.home.example.org/')).status).toBe(400);
    expect((await asProxy('https://media.elsewhere.org/')).status).toBe(400);
    expect((await asProxy('https://media.home.example.org/', { 'X-Forwarded-Method': '' })).status).toBe(400);
    const legacy = await asProxy('https://media.home.example.org/', {}, '/api/verify?rd=https%3A%2F%2Fauth.home.example.org%2F');
    expect([legacy.status, legacy.headers.get('location')?.startsWith('https://auth.home.example.org/')]).toEqual([302, true]);
  });

  test('hands on who somebody is, where a password is enough', async () => {
    const cookie = (await logIn('ida', password)).headers.get('set-cookie')?.split(';')[0] ?? '';
    const answer = await asProxy('https://wiki.home.example.org/', { Cookie: cookie });
    expect(answer.status).toBe(200);
    expect(['Remote-User', 'Remote-Groups', 'Remote-Name', 'Remote-Email'].map((name) => answer.headers.get(name))).toEqual([
      'ida',
      'family',
      'IDA',
      'ida@example.org',
    ]);
  });

  describe('its own command', () => {
    test('prints the configuration with its rules', async () => {
      const { exitCode, stdout } = await server.run(['config', 'template']);
      expect(exitCode).toBe(0);
      const config = readPortalConfig(stdout);
      expect(config).toMatchObject({ watches: true, defaultPolicy: 'deny', digestCost: usualDigestCost });
      expect(config.rules.map(({ domains, policy }) => [domains.join(), policy])).toEqual([
        ['public.home.example.org', 'bypass'],
        ['mara.home.example.org', 'two_factor'],
        ['wiki.home.example.org', 'one_factor'],
        ['*.home.example.org', 'two_factor'],
      ]);
      expect(config.rules[2]?.criteria).toEqual(['subject: group:family, user:ida', 'methods: GET']);
      expect(config.domains).toEqual([{ domain: 'home.example.org', portal: 'https://auth.home.example.org' }]);
    });

    test('says which rule is taken: the first that matches', async () => {
      const table = await checked('--url', 'https://wiki.home.example.org/', '--method', 'GET', '--username', 'ida');
      expect(table).toContain("Performing policy check for request to 'https://wiki.home.example.org/' method 'GET' username 'ida'.");
      expect(table).toMatch(/^ {2}# +Domain +Resource +Query +Method +Network +Subject$/m);
      expect(table).toMatch(/^ {2}1 +miss +hit +hit +hit +hit +hit$/m);
      expect(table).toMatch(/^\* 3 +hit +hit +hit +hit +hit +hit$/m);
      expect(table).toContain("The policy 'one_factor' from rule #3 will be applied to this request.");
      expect(table).not.toMatch(/^[*~ ] 4 /m);
      expect(await checked('--url', 'https://wiki.home.example.org/', '--method', 'POST', '--username', 'ida')).toContain(
        "The policy 'two_factor' from rule #4 will be applied to this request.",
      );
      expect(await checked('--url', 'https://mara.home.example.org/', '--method', 'GET')).toContain(
        "The policy 'two_factor' from rule #2 will potentially be applied to this request. If not policy 'two_factor' from rule #4 will be.",
      );
      expect(
        await checked('--url', 'https://elsewhere.org/', '--method', 'GET', '--username', 'x', '--groups', 'a,b', '--ip', '192.0.2.1'),
      ).toContain("The policy 'deny' from the default policy will be applied to this request as no rules matched the request.");
    });

    test('checks another configuration than its own', async () => {
      const own = (await server.run(['config', 'template'])).stdout.split(/^---$/m).at(-1) ?? '';
      expect((await server.validate(own)).exitCode).toBe(0);
      const wrong = await server.validate(own.replace('policy: bypass', "policy: bypass\n      subject: 'user:mara'"));
      expect(wrong.exitCode).toBe(1);
      expect(wrong.stdout).toMatch(
        /^\s+- access_control: rule #1 \(domain 'public\.home\.example\.org'\): 'policy' option 'bypass' is not supported/m,
      );
    });

    test('knows no second factor of somebody who has none', async () => {
      const codes = await server.run(['storage', 'user', 'totp', 'delete', 'ida']);
      expect([codes.exitCode, `${codes.stdout}${codes.stderr}`]).toEqual([1, expect.stringContaining('no TOTP configuration for user')]);
      const keys = await server.run(['storage', 'user', 'webauthn', 'list', 'ida']);
      expect([keys.exitCode, `${keys.stdout}${keys.stderr}`]).toEqual([
        1,
        expect.stringContaining("user 'ida' has no WebAuthn credentials"),
      ]);
      expect((await server.run(['storage', 'user', 'webauthn', 'delete', 'ida', '--all'])).exitCode).toBeTypeOf('number');
    });

    test('lists a ban after three wrong passwords, and lifts it', async () => {
      expect((await server.run(['storage', 'bans', 'user', 'list'])).stdout).toBe('No results.\n');
      for (let time = 0; time < 3; time++) await logIn('jonas', 'wrong');
      expect((await logIn('jonas', password)).status).toBe(401);
      const [ban] = readBans((await server.run(['storage', 'bans', 'user', 'list'])).stdout, 'user');
      expect(ban).toMatchObject({ kind: 'user', whom: 'jonas', expires: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) });
      const lifted = await server.run(['storage', 'bans', 'user', 'revoke', '--id', ban?.id ?? '']);
      expect([lifted.exitCode, lifted.stdout]).toEqual([
        0,
        expect.stringMatching(/^ID\s+Username\s+Result\s+Information\n\d+\s+jonas\s+SUCCESS\s+N\/A$/m),
      ]);
      expect((await server.run(['storage', 'bans', 'user', 'list'])).stdout).toBe('No results.\n');
      expect((await logIn('jonas', password)).status).toBe(200);
    });
  });

  test('reads a changed users file at once; a broken one is refused, and the users of before stay (R49)', async () => {
    const digest = await makeDigest('another one', usualDigestCost);
    await server.writeUsers(`${users}  noor:\n    displayname: Noor\n    password: '${digest}'\n    email: noor@example.org\n`);
    await seen(/Reloaded successfully/);
    expect((await logIn('noor', 'another one')).status).toBe(200);
    const broken = users.replace('displayname: MARA', 'displayname: [MARA');
    // What comes within half a second of the last time is left out.
    const written = async () => {
      await server.writeUsers(broken);
      return server.log();
    };
    await expect
      .poll(written, { timeout: 20_000, interval: 300 })
      .toMatch(/level=error msg="Error occurred during reload" .*error="failed to reload: .*YAML/);
    expect((await logIn('noor', 'another one')).status).toBe(200);
  });

  test('makes hashes that we read', async () => {
    const { exitCode, stdout } = await server.run(['crypto', 'hash', 'generate', 'argon2', '--password', 'for a test']);
    if (exitCode !== 0) return;
    expect(await matchesDigest(stdout.trim().replace(/^Digest: /, ''), 'for a test')).toBe(true);
  });
}
