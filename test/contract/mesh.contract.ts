import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** A control server under test: new, without users, thrown away afterwards. */
export interface MeshServer {
  url: string;
  apiKey: string;
  /** Its own command, next to the server. */
  run(argv: string[], stdin?: string): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  close(): Promise<void>;
}

type Json = Record<string, unknown>;

const uniqueName = 'constraint failed: UNIQUE constraint failed: users.name (2067)';
const anyTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);
/** A library of the server varies the kind of blank in its errors from start to start, on purpose. */
const settled = (text: string) => text.replaceAll('\u00a0', ' ');
const newAuthId = () => `hskey-authreq-${randomBytes(18).toString('base64url')}`;

/**
 * What a console relies on, line by line of reference/headscale.md, for headscale 0.29: run against the practice server and against a real one.
 * The tests are one story, in order.
 */
export function meshContract(open: () => Promise<MeshServer>): void {
  let server: MeshServer;

  const ask = async (method: string, path: string, body?: unknown, authorization = `Bearer ${server.apiKey}`) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: authorization === '' ? {} : { Authorization: authorization },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    return { status: response.status, type, text, json: (type.includes('json') ? JSON.parse(text) : {}) as Json };
  };
  const api = (method: string, path: string, body?: unknown) => ask(method, `/api/v1/${path}`, body);
  const refused = async (method: string, path: string, body?: unknown) => {
    const { status, json } = await api(method, path, body);
    return [status, json['code'], settled(String(json['message'])), json['details']];
  };
  const refusal = (status: number, code: number, message: string) => [status, code, message, []];
  const set = (policy: unknown) => refused('PUT', 'policy', { policy: typeof policy === 'string' ? policy : JSON.stringify(policy) });
  const run = (...argv: string[]) => server.run(argv);
  const printedJson = async (...argv: string[]) => JSON.parse((await run(...argv, '-o', 'json')).stdout) as unknown;
  /** A node without a client: it waits until somebody registers it. */
  const knock = async (name: string, user: string, routes: string[] = []) => {
    const key = newAuthId();
    const said = await api('POST', 'debug/node', { user, key, name, routes });
    expect(said.json['node']).toMatchObject({
      id: '0',
      name,
      registerMethod: 'REGISTER_METHOD_UNSPECIFIED',
      lastSeen: '0001-01-01T00:00:00Z',
    });
    return key;
  };

  beforeAll(async () => {
    server = await open();
  });
  afterAll(() => server?.close());

  describe('without a login', () => {
    test('health and version', async () => {
      const health = await ask('GET', '/health', undefined, '');
      expect([health.status, health.type, health.json]).toEqual([200, 'application/health+json; charset=utf-8', { status: 'pass' }]);
      const version = await ask('GET', '/version', undefined, '');
      expect(version.json).toEqual({
        version: expect.stringMatching(/^v0\.29\.\d+$/),
        commit: expect.any(String),
        buildTime: expect.any(String),
        go: { version: expect.stringMatching(/^go1\./), os: 'linux', arch: expect.any(String) },
        dirty: false,
      });
    });

    test('an unknown path is a plain 404', async () => {
      for (const path of ['/nothing', '/machine/map', '/metrics']) {
        expect(await ask('GET', path, undefined, '')).toMatchObject({ status: 404, text: '404 page not found\n' });
      }
      expect(await ask('GET', '/api/v2/user', undefined)).toMatchObject({ status: 404, text: '404 page not found\n' });
    });

    test.each(['', 'Basic abc', 'Bearer wrong', 'Bearer hskey-api-aaaaaaaaaaaa-bbbb'])(
      'the API refuses %j in plain text',
      async (authorization) => {
        expect(await ask('GET', '/api/v1/user', undefined, authorization)).toMatchObject({
          status: 401,
          type: 'text/plain; charset=utf-8',
          text: expect.stringMatching(/^Unauthorized\n?$/),
        });
      },
    );
  });

  describe('users (R61)', () => {
    test('are created and listed, with ids as text', async () => {
      expect((await api('GET', 'user')).json).toEqual({ users: [] });
      const alice = await api('POST', 'user', { name: 'alice' });
      expect([alice.status, alice.json]).toEqual([
        200,
        {
          user: { id: '1', name: 'alice', createdAt: anyTime, displayName: '', email: '', providerId: '', provider: '', profilePicUrl: '' },
        },
      ]);
      const bob = { name: 'bob', displayName: 'Bob', email: 'bob@example.com' };
      expect((await api('POST', 'user', bob)).json['user']).toMatchObject({
        id: '2',
        displayName: 'Bob',
        email: 'bob@example.com',
      });
      expect((await api('GET', 'user')).json).toMatchObject({
        users: [
          { id: '1', name: 'alice' },
          { id: '2', name: 'bob' },
        ],
      });
    });

    test('are refused as the gateway words it', async () => {
      expect(await refused('POST', 'user', { name: 'alice' })).toEqual(refusal(500, 13, `creating user: creating user: ${uniqueName}`));
      expect(await refused('DELETE', 'user/77')).toEqual(refusal(500, 2, 'user not found'));
      expect(await refused('GET', 'nope')).toEqual(refusal(404, 5, 'Not Found'));
    });

    test('are renamed by id', async () => {
      expect((await api('POST', 'user/2/rename/robert')).json['user']).toMatchObject({ id: '2', name: 'robert' });
      expect(await refused('POST', 'user/2/rename/alice')).toEqual(refusal(500, 2, `updating user: ${uniqueName}`));
      expect(await refused('POST', 'user/77/rename/x')).toEqual(refusal(500, 2, 'user not found'));
      await api('POST', 'user/2/rename/bob');
    });
  });

  describe('pre-auth keys (R61)', () => {
    test('show their secret once', async () => {
      const made = await api('POST', 'preauthkey', {
        user: '1',
        reusable: true,
        ephemeral: true,
        expiration: '2040-01-02T03:04:05Z',
        aclTags: ['tag:web'],
      });
      expect(made.json['preAuthKey']).toEqual({
        user: expect.objectContaining({ id: '1', name: 'alice' }),
        id: '1',
        key: expect.stringMatching(/^hskey-auth-[\w-]{12}-[\w-]{64}$/),
        reusable: true,
        ephemeral: true,
        used: false,
        expiration: '2040-01-02T03:04:05Z',
        createdAt: anyTime,
        aclTags: ['tag:web'],
      });
      const whole = String((made.json['preAuthKey'] as Json)['key']);
      const [listed] = (await api('GET', 'preauthkey')).json['preAuthKeys'] as Json[];
      expect(listed?.['key']).toBe(`${whole.slice(0, 23)}-***`);
    });

    test('without an expiration have the first day of time', async () => {
      expect((await api('POST', 'preauthkey', { user: '1' })).json['preAuthKey']).toMatchObject({ expiration: '0001-01-01T00:00:00Z' });
      expect((await api('POST', 'preauthkey', { aclTags: ['tag:web'] })).json['preAuthKey']).toMatchObject({ user: null });
    });

    test.each([
      [{}, 500, 2, 'auth-key must be either tagged or owned by user'],
      [{ user: '99' }, 500, 2, 'user not found'],
      [{ user: '1', aclTags: ['web'] }, 400, 3, "tag must start with the string 'tag:'"],
    ])('%j is refused', async (body, status, code, message) => {
      expect(await refused('POST', 'preauthkey', body)).toEqual(refusal(status, code, message));
    });

    test('expire by id; one that does not exist does so too', async () => {
      const before = Date.now();
      expect((await api('POST', 'preauthkey/expire', { id: '1' })).json).toEqual({});
      const [key] = (await api('GET', 'preauthkey')).json['preAuthKeys'] as Json[];
      expect(Date.parse(String(key?.['expiration']))).toBeGreaterThan(before - 5000);
      expect(Date.parse(String(key?.['expiration']))).toBeLessThan(Date.now() + 5000);
      expect(await api('POST', 'preauthkey/expire', { id: '99' })).toMatchObject({ status: 200, json: {} });
    });
  });

  describe('API keys', () => {
    test('are shown once, listed by prefix and expired by id', async () => {
      const made = String((await api('POST', 'apikey', { expiration: '2040-01-02T03:04:05Z' })).json['apiKey']);
      expect(made).toMatch(/^hskey-api-[\w-]{12}-[\w-]{64}$/);
      const prefix = made.slice(10, 22);
      const listed = (await api('GET', 'apikey')).json['apiKeys'] as Json[];
      expect(listed.at(-1)).toEqual({
        id: '2',
        prefix: `hskey-api-${prefix}-***`,
        expiration: '2040-01-02T03:04:05Z',
        createdAt: anyTime,
        lastSeen: null,
      });
      expect(await refused('POST', 'apikey/expire', { id: '99' })).toEqual(refusal(500, 2, 'record not found'));
      expect(await ask('GET', '/api/v1/user', undefined, `Bearer ${made}`)).toMatchObject({ status: 200 });
      expect((await api('POST', 'apikey/expire', { id: '2' })).json).toEqual({});
      await expect.poll(() => ask('GET', '/api/v1/user', undefined, `Bearer ${made}`).then(({ status }) => status)).toBe(401);
    });
  });

  describe('the policy (R62)', () => {
    const accept = (more: object) => ({ acls: [{ action: 'accept', src: ['*'], dst: ['*:*'], ...more }] });

    test('is missing until one is set', async () => {
      expect(await refused('GET', 'policy')).toEqual(refusal(500, 2, 'loading ACL from database: acl policy not found'));
      expect(await run('policy', 'get')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('acl policy not found') });
    });

    test('may have comments and trailing commas, and comes back as it was written', async () => {
      const policy = '{"tagOwners":{"tag:web":["alice@"]},\n "acls":[{"action":"accept","src":["*"],"dst":["*:*"]},] // all\n}';
      expect((await api('PUT', 'policy', { policy })).json).toEqual({ policy, updatedAt: anyTime });
      expect((await api('GET', 'policy')).json).toMatchObject({ policy });
    });

    test.each<[unknown, string]>([
      ['{', 'setting policy: parsing policy: parsing HuJSON: hujson: line 1, column 2: parsing value: unexpected EOF'],
      [
        '{\n "acls":[\n  {"action":"accept" "src":["*"]}\n ]}',
        `setting policy: parsing policy: parsing HuJSON: hujson: line 3, column 22: invalid character '"' after object value (expecting ',' or '}')`,
      ],
      [{ acl: [] }, 'setting policy: parsing policy: unknown field: "acl"'],
      [{ tagOwners: { 'tag:web': ['group:none'] } }, 'setting policy: parsing policy: group not defined in policy: "group:none"'],
      [accept({ src: ['tag:none'] }), 'setting policy: parsing policy: src=tag not found: "tag:none"'],
      [accept({ src: ['myhost'] }), 'setting policy: parsing policy: host not defined in policy: "myhost"'],
      [accept({ dst: ['group:x:80'] }), 'setting policy: parsing policy: group not defined in policy: "group:x"'],
    ])('%j is refused with the reason, and the old one stays', async (policy, message) => {
      const before = (await api('GET', 'policy')).json['policy'];
      expect(await set(policy)).toEqual(refusal(500, 2, message));
      expect((await api('GET', 'policy')).json['policy']).toBe(before);
    });

    test('a check tells the same as the caller’s fault, and sets nothing', async () => {
      expect(await refused('POST', 'policy/check', { policy: '{"acl":1}' })).toEqual(
        refusal(400, 3, 'parsing policy: unknown field: "acl"'),
      );
      expect(await api('POST', 'policy/check', { policy: '{}' })).toMatchObject({ status: 200, json: {} });
      expect((await api('GET', 'policy')).json['policy']).toContain('tag:web');
    });

    test('the command prints it raw', async () => {
      const { policy } = (await api('GET', 'policy')).json;
      expect(await run('policy', 'get')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(String(policy)) });
    });
  });

  describe('nodes', () => {
    test('are registered by an id that was given out, once', async () => {
      const key = await knock('laptop', 'alice');
      expect(await refused('POST', 'auth/register', { user: 'nobody', authId: key })).toEqual(
        refusal(500, 2, 'looking up user: user not found'),
      );
      expect(await refused('POST', 'auth/register', { user: 'alice', authId: 'short' })).toEqual(
        refusal(500, 2, 'auth ID has invalid prefix: expected prefix "hskey-authreq-"'),
      );
      const made = await api('POST', 'auth/register', { user: 'alice', authId: key });
      expect(made.json['node']).toEqual({
        id: '1',
        machineKey: expect.stringMatching(/^mkey:[0-9a-f]{64}$/),
        nodeKey: expect.stringMatching(/^nodekey:[0-9a-f]{64}$/),
        discoKey: expect.stringMatching(/^discokey:0{64}$/),
        ipAddresses: ['100.64.0.1', 'fd7a:115c:a1e0::1'],
        name: 'laptop',
        user: expect.objectContaining({ id: '1', name: 'alice' }),
        lastSeen: anyTime,
        expiry: '0001-01-01T00:00:00Z',
        preAuthKey: null,
        createdAt: anyTime,
        registerMethod: 'REGISTER_METHOD_CLI',
        givenName: 'laptop',
        online: false,
        approvedRoutes: [],
        availableRoutes: [],
        subnetRoutes: [],
        tags: [],
      });
      expect(await refused('POST', 'auth/register', { user: 'alice', authId: key })).toEqual(
        refusal(500, 2, 'node not found in registration cache'),
      );
    });

    test('of the same name get another one; the old call still registers', async () => {
      const key = await knock('laptop', 'alice');
      const made = await api('POST', `node/register?user=bob&key=${key}`);
      expect(made.json['node']).toMatchObject({
        id: '2',
        name: 'laptop',
        givenName: 'laptop-1',
        ipAddresses: ['100.64.0.2', 'fd7a:115c:a1e0::2'],
      });
      expect((await api('GET', 'node')).json['nodes']).toHaveLength(2);
    });

    test('have routes approved', async () => {
      const approve = async (routes: string[]) =>
        ((await api('POST', 'node/2/approve_routes', { routes })).json['node'] as Json)['approvedRoutes'];
      expect(await approve(['10.1.0.0/24', '0.0.0.0/0'])).toEqual(['0.0.0.0/0', '10.1.0.0/24', '::/0']);
      expect(await refused('POST', 'node/99/approve_routes', { routes: [] })).toEqual(
        refusal(400, 3, 'node no longer exists in NodeStore: 99'),
      );
      expect(await approve(['10.2.0.0/16'])).toEqual(['10.2.0.0/16']);
    });

    test('are renamed to what can be a name in DNS', async () => {
      expect((await api('POST', 'node/2/rename/tablet')).json['node']).toMatchObject({ name: 'laptop', givenName: 'tablet' });
      expect(await refused('POST', 'node/2/rename/Bad_Name')).toEqual(
        refusal(500, 2, expect.stringMatching(/^renaming node: "Bad_Name" is not a valid DNS label/) as string),
      );
      expect(await refused('POST', 'node/2/rename/laptop')).toEqual(refusal(500, 2, 'node name is not unique: laptop'));
    });

    test('expire now, later or never: told in the query, a body is not read', async () => {
      const expiry = async (query: string, body?: unknown) =>
        ((await api('POST', `node/2/expire${query}`, body)).json['node'] as Json)['expiry'];
      expect(await expiry('?expiry=2040-01-01T00:00:00Z')).toBe('2040-01-01T00:00:00Z');
      expect(await expiry('?disableExpiry=true')).toBeNull();
      expect(Date.parse(String(await expiry('', { expiry: '2040-01-01T00:00:00Z' })))).toBeLessThan(Date.now() + 5000);
      expect(await refused('POST', 'node/99/expire')).toEqual(refusal(500, 2, 'node no longer exists in NodeStore: 99'));
    });

    test('with a tag belong to nobody any more', async () => {
      expect(await refused('POST', 'node/1/tags', { tags: [] })).toEqual(
        refusal(400, 3, 'cannot remove all tags from a node - tagged nodes must have at least one tag'),
      );
      expect(await refused('POST', 'node/1/tags', { tags: ['tag:nope'] })).toEqual(
        refusal(400, 3, 'requested tags [tag:nope] are invalid or not permitted'),
      );
      expect((await api('POST', 'node/1/tags', { tags: ['tag:web'] })).json['node']).toMatchObject({ user: null, tags: ['tag:web'] });
      const [first] = (await api('GET', 'node')).json['nodes'] as Json[];
      expect(first?.['user']).toMatchObject({ id: '2147455555', name: 'tagged-devices' });
    });

    test('keep their user from being deleted', async () => {
      expect(await refused('DELETE', 'user/2')).toEqual(refusal(500, 2, 'user not empty: node(s) found'));
      await api('POST', 'auth/register', { user: 'alice', authId: await knock('desk', 'alice') });
      expect((await api('DELETE', 'node/3')).json).toEqual({});
      expect(await refused('DELETE', 'node/3')).toEqual(refusal(404, 5, 'node not found'));
      // What is tagged belongs to nobody.
      expect((await api('DELETE', 'user/1')).json).toEqual({});
    });
  });

  describe('the command', () => {
    test('prints Go structs: snake case, ids as numbers, times in seconds, zeros left out', async () => {
      const time = { seconds: expect.any(Number), nanos: expect.any(Number) };
      expect(await printedJson('users', 'create', 'carol')).toEqual({ id: 3, name: 'carol', created_at: time });
      expect(await printedJson('users', 'list')).toMatchObject([
        { id: 2, name: 'bob' },
        { id: 3, name: 'carol', created_at: time },
      ]);
      expect(await printedJson('nodes', 'list')).toMatchObject([
        { id: 1, register_method: 2, given_name: 'laptop', tags: ['tag:web'], user: { id: 2147455555 } },
        { id: 2, given_name: 'tablet', ip_addresses: ['100.64.0.2', 'fd7a:115c:a1e0::2'], approved_routes: ['10.2.0.0/16'] },
      ]);
      expect(await printedJson('preauthkeys', 'list')).toMatchObject([
        { id: 3, key: expect.stringMatching(/^hskey-auth-.{12}-\*\*\*$/), acl_tags: ['tag:web'] },
      ]);
      expect(await printedJson('apikeys', 'list')).toMatchObject([
        { id: 1, prefix: expect.stringMatching(/^hskey-api-.{12}-\*\*\*$/) },
        { id: 2 },
      ]);
    });

    test('prints a new key and nothing else', async () => {
      expect((await run('apikeys', 'create', '--expiration', '30d')).stdout).toMatch(/^hskey-api-[\w-]{12}-[\w-]{64}\n$/);
      expect(await printedJson('apikeys', 'create', '--expiration', '90d')).toMatch(/^hskey-api-/);
      const [, , last] = (await printedJson('apikeys', 'list')) as { expiration: { seconds: number } }[];
      expect(Math.round((Number(last?.expiration.seconds) - Date.now() / 1000) / 86_400)).toBe(30);
    });

    test('expires and deletes nodes by their number, or says that there is none', async () => {
      expect(await printedJson('nodes', 'expire', '--identifier', '2', '--force')).toMatchObject({ id: 2 });
      expect(await run('nodes', 'expire', '--identifier', '99', '--force')).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('node no longer exists in NodeStore: 99'),
      });
      expect(await printedJson('nodes', 'delete', '--identifier', '2', '--force')).toEqual({ Result: 'Node deleted' });
      expect(await run('nodes', 'delete', '--identifier', '99', '--force')).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('node not found'),
      });
      expect((await api('GET', 'node')).json['nodes']).toHaveLength(1);
    });

    test('names its version, and refuses what it does not know', async () => {
      expect(await printedJson('version')).toMatchObject({ version: expect.stringMatching(/^v0\.29/), go: { os: 'linux' } });
      expect(await run('nonsense')).toMatchObject({ exitCode: 1, stderr: 'Error: unknown command "nonsense" for "headscale"\n' });
    });
  });
}
