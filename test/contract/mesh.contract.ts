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
/** Two libraries of the server vary their errors from start to start, on purpose: the verb, and the kind of blank. */
const settled = (text: string) => text.replaceAll('unable to unmarshal', 'cannot unmarshal').replaceAll('\u00a0', ' ');
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
      expect((await ask('POST', '/health', undefined, '')).status).toBe(405);
    });

    test('the key of the server, for clients that say their version', async () => {
      expect((await ask('GET', '/key?v=100', undefined, '')).json['publicKey']).toMatch(/^mkey:[0-9a-f]{64}$/);
      expect(await ask('GET', '/key', undefined, '')).toMatchObject({ status: 400, text: 'capability version must be set\n' });
      expect(await ask('GET', '/key?v=x', undefined, '')).toMatchObject({ status: 400, text: 'invalid capability version\n' });
    });

    test('an unknown path is a plain 404', async () => {
      for (const path of ['/nothing', '/machine/map', '/metrics']) {
        expect(await ask('GET', path, undefined, '')).toMatchObject({ status: 404, text: '404 page not found\n' });
      }
      expect(await ask('GET', '/api/v2/user', undefined)).toMatchObject({ status: 404, text: '404 page not found\n' });
    });

    test('a node’s way in: the page names the command, the tunnel wants an upgrade', async () => {
      const authId = newAuthId();
      expect((await ask('GET', `/register/${authId}`, undefined, '')).text).toContain(
        `headscale auth register --auth-id ${authId} --user USERNAME`,
      );
      expect(await ask('GET', '/register/x', undefined, '')).toMatchObject({ status: 400, text: 'invalid auth id\n' });
      expect(await ask('POST', '/ts2021', undefined, '')).toMatchObject({ status: 500, text: 'Internal error\n' });
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
    test('are made, listed with ids as text, and found by name, email and id', async () => {
      expect((await api('GET', 'user')).json).toEqual({ users: [] });
      const alice = await api('POST', 'user', { name: 'alice' });
      expect([alice.status, alice.json]).toEqual([
        200,
        {
          user: { id: '1', name: 'alice', createdAt: anyTime, displayName: '', email: '', providerId: '', provider: '', profilePicUrl: '' },
        },
      ]);
      const bob = { name: 'bob', displayName: 'Bob', email: 'bob@example.com', pictureUrl: 'http://x/p.png' };
      expect((await api('POST', 'user', bob)).json['user']).toMatchObject({
        id: '2',
        email: 'bob@example.com',
        profilePicUrl: 'http://x/p.png',
      });
      for (const query of ['name=bob', 'email=bob@example.com', 'id=2']) {
        expect((await api('GET', `user?${query}`)).json).toMatchObject({ users: [{ id: '2', name: 'bob' }] });
      }
      expect((await api('GET', 'user?name=none')).json).toEqual({ users: [] });
    });

    test('are refused as the gateway words it', async () => {
      expect(await refused('POST', 'user', { name: 'alice' })).toEqual(refusal(500, 13, `creating user: creating user: ${uniqueName}`));
      expect(await refused('POST', 'user', '{')).toEqual(refusal(400, 3, 'unexpected EOF'));
      expect(await refused('GET', 'user?id=x')).toEqual(
        refusal(400, 3, 'parsing field "id": strconv.ParseUint: parsing "x": invalid syntax'),
      );
      expect(await refused('DELETE', 'user/77')).toEqual(refusal(500, 2, 'user not found'));
      expect(await refused('DELETE', 'user/abc')).toEqual(
        refusal(400, 3, 'type mismatch, parameter: id, error: strconv.ParseUint: parsing "abc": invalid syntax'),
      );
      expect(await refused('GET', 'user/1')).toEqual(refusal(501, 12, 'Method Not Allowed'));
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
      [{ user: '1', aclTags: ['tag:Web'] }, 400, 3, 'tag should be lowercase'],
      [{ user: '1', aclTags: ['tag:w b'] }, 400, 3, 'tags must not contain spaces'],
      [{ user: 'x' }, 400, 3, 'proto: (line 1:9): invalid value for uint64 field user: "x"'],
      [{ user: '1', expiration: 'soon' }, 400, 3, 'proto: (line 1:26): invalid google.protobuf.Timestamp value "soon"'],
    ])('%j is refused', async (body, status, code, message) => {
      expect(await refused('POST', 'preauthkey', body)).toEqual(refusal(status, code, message));
    });

    test('expire and go by id; one that does not exist does so too', async () => {
      const before = Date.now();
      expect((await api('POST', 'preauthkey/expire', { id: '1' })).json).toEqual({});
      const [key] = (await api('GET', 'preauthkey')).json['preAuthKeys'] as Json[];
      expect(Date.parse(String(key?.['expiration']))).toBeGreaterThan(before - 5000);
      expect(Date.parse(String(key?.['expiration']))).toBeLessThan(Date.now() + 5000);
      expect(await api('POST', 'preauthkey/expire', { id: '99' })).toMatchObject({ status: 200, json: {} });
      expect(await api('DELETE', 'preauthkey?id=2')).toMatchObject({ status: 200, json: {} });
      expect(await api('DELETE', 'preauthkey?id=99')).toMatchObject({ status: 200, json: {} });
      expect((await api('GET', 'preauthkey')).json['preAuthKeys']).toHaveLength(2);
    });
  });

  describe('API keys', () => {
    test('are shown once, listed by prefix, expired and deleted by prefix or id', async () => {
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
      expect(await refused('POST', 'apikey/expire', { id: '2', prefix: 'x' })).toEqual(
        refusal(400, 3, 'provide either id or prefix, not both'),
      );
      expect(await refused('POST', 'apikey/expire', {})).toEqual(refusal(400, 3, 'must provide id or prefix'));
      expect(await refused('POST', 'apikey/expire', { prefix: 'nope' })).toEqual(refusal(500, 2, 'record not found'));
      expect(await ask('GET', '/api/v1/user', undefined, `Bearer ${made}`)).toMatchObject({ status: 200 });
      expect((await api('POST', 'apikey/expire', { id: '2' })).json).toEqual({});
      await expect.poll(() => ask('GET', '/api/v1/user', undefined, `Bearer ${made}`).then(({ status }) => status)).toBe(401);
      expect((await api('DELETE', `apikey/${prefix}`)).json).toEqual({});
      expect(await refused('DELETE', `apikey/${prefix}`)).toEqual(refusal(500, 2, 'record not found'));
    });
  });

  describe('the policy (R62)', () => {
    const accept = (more: object) => ({ acls: [{ action: 'accept', src: ['*'], dst: ['*:*'], ...more }] });
    const inBytes = (text: string) => `setting policy: parsing policy: parsing policy from bytes: json: cannot unmarshal JSON ${text}`;

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
      [accept({ foo: 1 }), 'setting policy: parsing policy: unknown field: "foo"'],
      ['[]', inBytes('array into Go v2.Policy')],
      [{ acls: 'x' }, inBytes('string into Go []v2.ACL within "/acls"')],
      [{ groups: { 'group:a': ['john'] } }, inBytes('object into Go v2.Groups within "/groups": username must contain @, got: "john"')],
      [
        { groups: { 'group:a': ['group:b'] } },
        inBytes('object into Go v2.Groups within "/groups": groups["group:a"]: "group:b": group members cannot be recursive'),
      ],
      [
        { groups: { 'group:a': 'x@' } },
        inBytes('object into Go v2.Groups within "/groups": group value must be an array of users: group "group:a" got string: "x@"'),
      ],
      [{ groups: { a: ['x@'] } }, inBytes(`object into Go v2.Groups within "/groups": group must start with 'group:', got: "a"`)],
      [
        { tagOwners: { web: ['alice@'] } },
        inBytes(`string into Go v2.Tag within "/tagOwners/web": tag must start with 'tag:', got: "web"`),
      ],
      [{ tagOwners: { 'tag:web': 'alice@' } }, inBytes('string into Go []v2.OwnerEnc within "/tagOwners/tag:web"')],
      [{ tagOwners: { 'tag:web': ['group:none'] } }, 'setting policy: parsing policy: group not defined in policy: "group:none"'],
      [
        { hosts: { a: 'banana' } },
        inBytes('object into Go v2.Hosts within "/hosts": hostname contains invalid IP address: hostname "a" address "banana"'),
      ],
      [accept({ src: ['tag:none'] }), 'setting policy: parsing policy: src=tag not found: "tag:none"'],
      [accept({ src: ['myhost'] }), 'setting policy: parsing policy: host not defined in policy: "myhost"'],
      [accept({ dst: ['group:x:80'] }), 'setting policy: parsing policy: group not defined in policy: "group:x"'],
      [accept({ dst: ['*'] }), inBytes('string into Go v2.AliasWithPorts within "/acls/0/dst/0": hostport must contain a colon')],
      [
        accept({ dst: ['*:0'] }),
        inBytes(
          `string into Go v2.AliasWithPorts within "/acls/0/dst/0": dst="*:0": port range "0": first port must be >0, or use '*' for wildcard`,
        ),
      ],
      [
        accept({ dst: ['*:99999'] }),
        inBytes('string into Go v2.AliasWithPorts within "/acls/0/dst/0": dst="*:99999": port range "99999": port number out of range'),
      ],
      [
        accept({ dst: ['*:abc'] }),
        inBytes('string into Go v2.AliasWithPorts within "/acls/0/dst/0": dst="*:abc": port range "abc": invalid first integer'),
      ],
      [
        accept({ action: 'deny' }),
        inBytes('string into Go v2.Action within "/acls/0/action": action="deny" is not supported: invalid ACL action'),
      ],
      [
        accept({ proto: 'foo' }),
        inBytes(
          'string into Go v2.Protocol within "/acls/0/proto": invalid protocol number: "foo" must be a known protocol name or valid protocol number 0-255',
        ),
      ],
      [
        accept({ src: ['autogroup:foo'] }),
        'setting policy: parsing policy: autogroup not supported for ACL sources: "autogroup:foo", can be [autogroup:member autogroup:tagged autogroup:danger-all]',
      ],
      [accept({ src: ['autogroup:internet'] }), 'setting policy: parsing policy: autogroup:internet can only be used in ACL destinations'],
      [{ grants: [{ src: ['*'], dst: ['*'] }] }, 'setting policy: parsing policy: ip and app can not both be empty'],
      [
        { ssh: [{ action: 'nope', src: ['alice@'], dst: ['alice@'], users: ['root'] }] },
        inBytes('string into Go v2.SSHAction within "/ssh/0/action": "nope" is not a valid action'),
      ],
      [
        { ssh: [{ action: 'check', src: ['alice@'], dst: ['alice@'], users: ['root'], checkPeriod: '200h' }] },
        'setting policy: parsing policy: checkPeriod 200h0m0s is above the max (168h)',
      ],
      [
        { autoApprovers: { routes: { '10.0.0.0/8': ['alice@'] }, exitNode: ['tag:web'] } },
        'setting policy: parsing policy: tag not found: "tag:web"',
      ],
      [
        { nodeAttrs: [{ target: ['*'], attr: ['funnel'] }] },
        'setting policy: parsing policy: nodeAttrs uses a feature headscale does not yet support: "funnel" tracked in https://github.com/juanfont/headscale/issues/2527',
      ],
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

    test('the command sets it from a file, prints it raw, and reports errors', async () => {
      const policy = '{"tagOwners":{"tag:web":["alice@"]},"acls":[{"action":"accept","src":["*"],"dst":["*:*"]}]}';
      expect(await server.run(['policy', 'check', '-f', '/dev/stdin'], policy)).toMatchObject({ exitCode: 0, stdout: 'Policy is valid\n' });
      expect(await server.run(['policy', 'set', '-f', '/dev/stdin'], policy)).toMatchObject({ exitCode: 0, stdout: 'Policy updated.\n' });
      expect(await run('policy', 'get', '-o', 'json')).toMatchObject({ exitCode: 0, stdout: `${policy}\n` });
      expect(await server.run(['policy', 'set', '-f', '/dev/stdin'], '{"acl":1}')).toMatchObject({
        exitCode: 1,
        stderr: 'Error: setting ACL policy: rpc error: code = Unknown desc = setting policy: parsing policy: unknown field: "acl"\n',
      });
      expect(await run('policy', 'set', '-f', '/none')).toMatchObject({
        exitCode: 1,
        stderr: 'Error: reading policy file: open /none: no such file or directory\n',
      });
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
      expect((await api('GET', 'node?user=bob')).json['nodes']).toMatchObject([{ id: '2' }]);
      expect(await refused('GET', 'node?user=none')).toEqual(refusal(500, 2, 'user not found'));
      expect((await api('GET', 'node/2')).json['node']).toMatchObject({ id: '2' });
      expect(await refused('GET', 'node/99')).toEqual(refusal(404, 5, 'node not found'));
    });

    test('that nobody waits for cannot be approved', async () => {
      expect(await refused('POST', 'auth/approve', { authId: 'abc' })).toEqual(
        refusal(400, 3, 'invalid auth_id: auth ID has invalid prefix: expected prefix "hskey-authreq-"'),
      );
      const none = newAuthId();
      expect(await refused('POST', 'auth/approve', { authId: none })).toEqual(
        refusal(404, 5, `no pending auth session for auth_id ${none}`),
      );
    });

    test('have routes approved', async () => {
      const approve = async (routes: string[]) =>
        ((await api('POST', 'node/2/approve_routes', { routes })).json['node'] as Json)['approvedRoutes'];
      expect(await approve(['10.1.0.0/24', '0.0.0.0/0'])).toEqual(['0.0.0.0/0', '10.1.0.0/24', '::/0']);
      expect(await refused('POST', 'node/2/approve_routes', { routes: ['banana'] })).toEqual(
        refusal(500, 2, `parsing route: netip.ParsePrefix("banana"): no '/'`),
      );
      expect(await refused('POST', 'node/99/approve_routes', { routes: [] })).toEqual(
        refusal(400, 3, 'node no longer exists in NodeStore: 99'),
      );
      expect(await approve(['10.2.0.0/16'])).toEqual(['10.2.0.0/16']);
    });

    test('are renamed to what can be a name in DNS', async () => {
      expect((await api('POST', 'node/2/rename/tablet')).json['node']).toMatchObject({ name: 'laptop', givenName: 'tablet' });
      expect(await refused('POST', 'node/2/rename/Bad_Name')).toEqual(
        refusal(
          500,
          2,
          `renaming node: "Bad_Name" is not a valid DNS label: "Bad_Name" is not a valid DNS label: contains invalid character '_'`,
        ),
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
      expect(await refused('POST', 'node/1/tags', { tags: ['x'] })).toEqual(refusal(500, 2, "tag must start with the string 'tag:'"));
      expect(await refused('POST', 'node/1/tags', { tags: ['tag:nope'] })).toEqual(
        refusal(400, 3, 'requested tags [tag:nope] are invalid or not permitted'),
      );
      expect((await api('POST', 'node/1/tags', { tags: ['tag:web'] })).json['node']).toMatchObject({ user: null, tags: ['tag:web'] });
      const [first] = (await api('GET', 'node')).json['nodes'] as Json[];
      expect(first?.['user']).toMatchObject({ id: '2147455555', name: 'tagged-devices', displayName: 'Tagged Devices' });
    });

    test('tests in a policy are run over them', async () => {
      await api('POST', 'auth/register', { user: 'alice', authId: await knock('desk', 'alice') });
      const acls = [{ action: 'accept', src: ['alice@'], dst: ['bob@:22'] }];
      expect(await set({ acls, tests: [{ src: 'alice@', accept: ['bob@:80'], deny: ['bob@:22'] }] })).toEqual(
        refusal(
          500,
          2,
          'setting policy: test(s) failed:\nalice@ -> bob@:80: expected ALLOWED, got DENIED\nalice@ -> bob@:22: expected DENIED, got ALLOWED',
        ),
      );
      const policy = JSON.stringify({ acls, tests: [{ src: 'alice@', accept: ['bob@:22'] }] });
      expect(await api('POST', 'policy/check', { policy })).toMatchObject({ status: 200, json: {} });
    });

    test('keep their user from being deleted', async () => {
      expect(await refused('DELETE', 'user/2')).toEqual(refusal(500, 2, 'user not empty: node(s) found'));
      expect((await api('DELETE', 'node/3')).json).toEqual({});
      expect(await refused('DELETE', 'node/3')).toEqual(refusal(404, 5, 'node not found'));
      // What is tagged belongs to nobody.
      expect((await api('DELETE', 'user/1')).json).toEqual({});
    });
  });

  describe('the command', () => {
    test('prints Go structs: snake case, ids as numbers, times in seconds, zeros left out', async () => {
      const time = { seconds: expect.any(Number), nanos: expect.any(Number) };
      expect(await printedJson('users', 'create', 'carol', '-d', 'Carol')).toEqual({
        id: 3,
        name: 'carol',
        created_at: time,
        display_name: 'Carol',
      });
      expect(await printedJson('users', 'list', '-n', 'carol')).toEqual([
        { id: 3, name: 'carol', created_at: time, display_name: 'Carol' },
      ]);
      expect(await printedJson('users', 'list', '-n', 'none')).toBeNull();
      expect(await printedJson('nodes', 'list')).toMatchObject([
        { id: 1, register_method: 2, given_name: 'laptop', tags: ['tag:web'], user: { id: 2147455555 } },
        { id: 2, given_name: 'tablet', ip_addresses: ['100.64.0.2', 'fd7a:115c:a1e0::2'], approved_routes: ['10.2.0.0/16'] },
      ]);
      expect(await printedJson('nodes', 'list-routes')).toMatchObject([{ id: 2 }]);
      expect(await printedJson('apikeys', 'list')).toMatchObject([{ id: 1, prefix: expect.stringMatching(/^hskey-api-.{12}-\*\*\*$/) }]);
      const { stdout } = await run('users', 'list', '-o', 'json-line');
      expect(stdout).toMatch(/^\[\{"id":2,"name":"bob",[^\n]*\}\]\n$/);
    });

    test('prints a new key and nothing else', async () => {
      const { stdout } = await run('preauthkeys', 'create', '-u', '3', '-e', '30d', '--reusable');
      expect(stdout).toMatch(/^hskey-auth-[\w-]{12}-[\w-]{64}\n$/);
      const listed = (await printedJson('preauthkeys', 'list')) as { key: string; reusable?: boolean; expiration: { seconds: number } }[];
      const last = listed.at(-1);
      expect(last).toMatchObject({ key: `${stdout.slice(0, 23)}-***`, reusable: true });
      expect(Math.round((Number(last?.expiration.seconds) - Date.now() / 1000) / 86_400)).toBe(30);
      expect(await printedJson('apikeys', 'create')).toMatch(/^hskey-api-/);
    });

    test.each([
      [['users', 'create', 'carol'], `creating user: rpc error: code = Internal desc = creating user: creating user: ${uniqueName}`],
      [['users', 'create'], 'missing parameters'],
      [['users', 'destroy'], '--name or --identifier flag is required'],
      [['users', 'destroy', '-i', '77'], 'multiple users match query, specify an ID'],
      [['users', 'rename', '-i', '3'], 'required flag(s) "new-name" not set'],
      [['users', 'list', '--bogus'], 'unknown flag: --bogus'],
      [['nonsense'], 'unknown command "nonsense" for "headscale"'],
      [['preauthkeys', 'create'], 'creating preauthkey: rpc error: code = Unknown desc = auth-key must be either tagged or owned by user'],
      [['preauthkeys', 'create', '-u', '99'], 'creating preauthkey: rpc error: code = Unknown desc = user not found'],
      [['preauthkeys', 'create', '-e', '1.5h'], 'parsing duration: unknown unit "." in duration "1.5h"'],
      [
        ['preauthkeys', 'create', '-u', 'bob'],
        'invalid argument "bob" for "-u, --user" flag: strconv.ParseUint: parsing "bob": invalid syntax',
      ],
      [['preauthkeys', 'expire'], 'missing --id parameter: missing parameters'],
      [['nodes', 'list', '-u', 'nobody'], 'listing nodes: rpc error: code = Unknown desc = user not found'],
      [['nodes', 'expire'], 'required flag(s) "identifier" not set'],
      [['nodes', 'expire', '-i', '99'], 'expiring node: rpc error: code = Unknown desc = node no longer exists in NodeStore: 99'],
      [
        ['nodes', 'expire', '-i', '2', '-e', '2030-01-01'],
        'parsing expiry time: parsing time "2030-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
      ],
      [['nodes', 'delete', '-i', '99'], 'getting node: rpc error: code = NotFound desc = node not found'],
      [['apikeys', 'expire'], 'either --id or --prefix must be provided: missing parameters'],
      [['apikeys', 'expire', '-p', 'nope'], 'expiring api key: rpc error: code = Unknown desc = record not found'],
      [
        ['auth', 'approve', '--auth-id', 'x'],
        'approving auth request: rpc error: code = InvalidArgument desc = invalid auth_id: auth ID has invalid prefix: expected prefix "hskey-authreq-"',
      ],
    ])('%j is refused', async (argv, message) => {
      expect(await run(...argv)).toMatchObject({ exitCode: 1, stdout: '', stderr: `Error: ${message}\n` });
      const { stderr } = await run(...argv, '-o', 'json');
      // Where reading ended before `-o`, the error is plain.
      const unread = /^(?:unknown|invalid argument)/.test(message);
      expect(unread ? stderr : JSON.parse(stderr)).toEqual(unread ? `Error: ${message}\n` : { error: message });
    });

    test('asks before it destroys; nobody answering is a no that ends well', async () => {
      expect(await run('nodes', 'delete', '-i', '2')).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/Node not deleted\n$/) });
      expect((await api('GET', 'node')).json['nodes']).toHaveLength(2);
      expect(await printedJson('nodes', 'delete', '-i', '2', '--force')).toEqual({ Result: 'Node deleted' });
      expect(await run('users', 'destroy', '-n', 'bob', '--force')).toMatchObject({ exitCode: 0, stdout: 'User destroyed\n' });
      expect((await api('GET', 'node')).json['nodes']).toHaveLength(1);
    });

    test('says how it is, and what it is', async () => {
      expect(await printedJson('health')).toEqual({ database_connectivity: true });
      expect(await run('health')).toMatchObject({ exitCode: 0 });
      expect(await printedJson('version')).toMatchObject({ version: expect.stringMatching(/^v0\.29/), go: { os: 'linux' } });
      expect((await run('users', 'list')).stdout.replace(/\x1b\[\d+m/g, '')).toMatch(
        /^ID \| Name +\| Username \| Email +\| Created +\n3 {2}\| Carol/,
      );
    });
  });
}
