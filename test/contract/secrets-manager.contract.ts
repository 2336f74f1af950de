import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foreignShare } from '../doubles/vault-fixture.ts';

/** A server under test: new, without keys, and thrown away afterwards. */
export interface SecretsServer {
  url: string;
  /** Ends it and starts it again on the same storage. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface Said {
  status: number;
  json: Record<string, unknown> & { errors?: string[]; data?: Record<string, unknown>; auth?: Record<string, unknown> };
  bytes: Buffer;
}

const anyUuid = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

/**
 * What a console relies on, line by line of reference/openbao-vault.md, for OpenBao 2.6: run against the practice server and against a real one.
 * The tests are one story, in order: a server is initialised, unsealed in every wrong way, used, and sealed again.
 */
export function secretsManagerContract(open: () => Promise<SecretsServer>): void {
  let server: SecretsServer;
  let keys: string[] = [];
  let keysBase64: string[] = [];
  let root = '';

  const ask = async (method: string, path: string, body?: unknown, token = ''): Promise<Said> => {
    const response = await fetch(`${server.url}/v1/${path}`, {
      method,
      headers: token === '' ? {} : { 'X-Vault-Token': token },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isJson = response.headers.get('content-type')?.includes('json') && bytes.length > 0;
    return { status: response.status, json: isJson ? (JSON.parse(bytes.toString()) as Said['json']) : {}, bytes };
  };
  const give = (key: string | undefined) => ask('PUT', 'sys/unseal', { key });
  const refused = (said: Said) => ({ status: said.status, errors: said.json.errors });
  const seal = () => ask('GET', 'sys/seal-status').then((said) => said.json);
  const asRoot = (method: string, path: string, body?: unknown) => ask(method, path, body, root);
  /** A single node elects itself first: until then it is a standby. */
  const active = () => expect.poll(() => ask('GET', 'sys/health').then((said) => said.status), { timeout: 30_000 }).toBe(200);

  beforeAll(async () => {
    server = await open();
  });
  afterAll(() => server?.close());

  describe('before there are keys', () => {
    test('health is 501 with a body, and its code can be mapped', async () => {
      const said = await ask('GET', 'sys/health');
      expect(said.status).toBe(501);
      expect(said.json).toMatchObject({ initialized: false, sealed: true });
      expect((await ask('GET', 'sys/health?uninitcode=200')).status).toBe(200);
      expect(refused(await ask('GET', 'sys/health?uninitcode=abc'))).toEqual({ status: 400, errors: [] });
    });

    test('seal status answers with zeros', async () => {
      expect(await seal()).toMatchObject({
        type: 'shamir',
        initialized: false,
        sealed: true,
        t: 0,
        n: 0,
        progress: 0,
        nonce: '',
        storage_type: 'raft',
      });
      expect(await seal()).not.toHaveProperty('cluster_name');
      expect((await ask('GET', 'sys/init')).json).toEqual({ initialized: false });
    });

    test.each([
      [{}, "'key' must be specified in request body as JSON, or 'reset' set to true"],
      [{ key: 'zz!' }, "'key' must be a valid hex or base64 string"],
      [{ key: 'ab'.repeat(33) }, 'Vault is not initialized'],
    ])('unsealing with %j is refused', async (body, error) => {
      expect(refused(await ask('PUT', 'sys/unseal', body))).toEqual({ status: 400, errors: [error] });
    });

    test('only PUT and POST unseal', async () => {
      expect((await ask('GET', 'sys/unseal')).status).toBe(405);
      expect((await ask('DELETE', 'sys/unseal')).status).toBe(405);
    });

    test.each([
      [{}, 'invalid seal configuration: shares must be at least one'],
      [{ secret_shares: 5 }, 'invalid seal configuration: threshold must be at least one'],
      [{ secret_shares: 5, secret_threshold: 6 }, 'invalid seal configuration: threshold cannot be larger than shares'],
      [{ secret_shares: 5, secret_threshold: 1 }, 'invalid seal configuration: threshold must be greater than one for multiple shares'],
      [{ secret_shares: 256, secret_threshold: 3 }, 'invalid seal configuration: shares must be less than 256'],
      [
        { secret_shares: 5, secret_threshold: 3, recovery_shares: 5, recovery_threshold: 3 },
        'parameters recovery_shares,recovery_threshold not applicable to seal type shamir',
      ],
      [
        { secret_shares: 2, secret_threshold: 2, pgp_keys: ['aa'] },
        'invalid seal configuration: count mismatch between number of provided PGP keys and number of shares',
      ],
    ])('initialising with %j is refused', async (body, error) => {
      expect(refused(await ask('PUT', 'sys/init', body))).toEqual({ status: 400, errors: [error] });
    });

    test('initialising hands out shares and a root token once, and leaves it sealed', async () => {
      const said = await ask('PUT', 'sys/init', { secret_shares: 5, secret_threshold: 3 });
      expect(said.status).toBe(200);
      keys = said.json['keys'] as string[];
      keysBase64 = said.json['keys_base64'] as string[];
      root = said.json['root_token'] as string;
      expect(keys).toHaveLength(5);
      for (const key of keys) expect(key).toMatch(/^[0-9a-f]{66}$/);
      expect(keysBase64).toEqual(keys.map((key) => Buffer.from(key, 'hex').toString('base64')));
      expect(new Set(keys.map((key) => key.slice(-2))).size).toBe(5);
      expect(await seal()).toMatchObject({ initialized: true, sealed: true, t: 3, n: 5, progress: 0 });
      const again = await ask('PUT', 'sys/init', { secret_shares: 5, secret_threshold: 3 });
      expect(refused(again)).toEqual({ status: 400, errors: ['Vault is already initialized'] });
    });
  });

  describe('sealed', () => {
    test('health is 503 with a body; every other path says that it is sealed', async () => {
      const said = await ask('GET', 'sys/health');
      expect(said.status).toBe(503);
      expect(said.json).toMatchObject({ initialized: true, sealed: true, standby: true });
      expect((await ask('GET', 'sys/health?sealedcode=299')).status).toBe(299);
      for (const path of ['sys/mounts', 'secret/data/x', 'sys/leader', 'nonsense']) {
        expect(refused(await asRoot('GET', path))).toEqual({ status: 503, errors: ['Vault is sealed'] });
      }
      expect((await ask('PUT', 'sys/seal')).status).toBe(204);
    });

    test('a share is accepted, wrong or right; the same one again changes nothing (R59)', async () => {
      const first = await give(keys[0]);
      expect(first).toMatchObject({ status: 200, json: { sealed: true, progress: 1, t: 3, n: 5, nonce: anyUuid } });
      expect((await give(keys[0])).json).toEqual(first.json);
      const wrong = await give(randomBytes(33).toString('hex'));
      expect(wrong).toMatchObject({ status: 200, json: { progress: 2, nonce: first.json['nonce'] } });
    });

    test('a reset needs no login, drops what was given, and the next attempt has another nonce', async () => {
      const before = (await seal())['nonce'];
      expect(await ask('PUT', 'sys/unseal', { reset: true })).toMatchObject({
        status: 200,
        json: { sealed: true, progress: 0, nonce: '' },
      });
      const after = (await give(keys[0])).json['nonce'];
      expect(after).toEqual(anyUuid);
      expect(after).not.toBe(before);
    });

    test('at the threshold one wrong share drops them all, and nothing says whose it was', async () => {
      await give(keys[1]);
      expect(refused(await give(foreignShare(keys)))).toEqual({
        status: 400,
        errors: ['unable to retrieve stored keys: invalid key: failed to decrypt keys from storage: cipher: message authentication failed'],
      });
      expect(await seal()).toMatchObject({ sealed: true, progress: 0, nonce: '' });
    });

    test('a share that cannot be one is refused and not counted', async () => {
      expect(refused(await give('aabb'))).toEqual({ status: 400, errors: ['invalid key: key is shorter than minimum 16 bytes'] });
      expect(refused(await give('aa'.repeat(40)))).toEqual({ status: 400, errors: ['invalid key: key is longer than maximum 33 bytes'] });
      expect(await seal()).toMatchObject({ progress: 0 });
    });

    test('two different shares with one coordinate show at the threshold', async () => {
      await give(keys[0]);
      expect((await give('00'.repeat(32) + keys[0]?.slice(-2))).json).toMatchObject({ progress: 2 });
      expect(refused(await give(keys[1]))).toEqual({
        status: 400,
        errors: ['invalid key: failed to compute combined key: duplicate part detected'],
      });
      expect(await seal()).toMatchObject({ progress: 0 });
    });

    test('shares of different length show at the threshold', async () => {
      await give(keys[0]);
      await give('aabbccdd'.repeat(4));
      expect(refused(await give(keys[2]))).toEqual({
        status: 400,
        errors: ['invalid key: failed to compute combined key: all parts must be the same length'],
      });
    });

    test('migrating without a configured migration is refused', async () => {
      expect(refused(await ask('PUT', 'sys/unseal', { key: keys[0], migrate: true }))).toEqual({
        status: 500,
        errors: ["can't perform a seal migration, no migration seal found"],
      });
    });

    test('three distinct shares unseal it, hex and base64 mixed (R59)', async () => {
      await give(keysBase64[3]);
      await give(keys[1]);
      const last = await give(keysBase64[4]);
      expect(last).toMatchObject({ status: 200, json: { sealed: false, progress: 0, nonce: '', cluster_name: expect.any(String) } });
      await active();
      expect((await ask('GET', 'sys/health?activecode=299')).status).toBe(299);
    });
  });

  describe('unsealed', () => {
    test('a further share is not looked at; a reset is refused', async () => {
      expect(await give('anything')).toMatchObject({ status: 200, json: { sealed: false } });
      expect(refused(await ask('PUT', 'sys/unseal', { reset: true }))).toEqual({ status: 400, errors: ['vault is unsealed'] });
    });

    test('who leads is told to everybody', async () => {
      expect((await ask('GET', 'sys/leader')).json).toMatchObject({ ha_enabled: true, is_self: true, active_time: expect.any(String) });
    });

    test('without a token, or with a bad one, permission is denied', async () => {
      for (const token of ['', 'bad']) {
        expect(refused(await ask('GET', 'auth/token/lookup-self', undefined, token))).toEqual({
          status: 403,
          errors: ['permission denied'],
        });
      }
    });

    test('the root token looks itself up', async () => {
      expect((await asRoot('GET', 'auth/token/lookup-self')).json.data).toMatchObject({
        id: root,
        display_name: 'root',
        expire_time: null,
        ttl: 0,
        orphan: true,
        path: 'auth/token/root',
        policies: ['root'],
        type: 'service',
        num_uses: 0,
        meta: null,
      });
    });

    test('engines are mounted once, and tell their version', async () => {
      expect((await asRoot('POST', 'sys/mounts/notes', { type: 'kv', options: { version: '2' } })).status).toBe(204);
      expect((await asRoot('POST', 'sys/mounts/old', { type: 'kv' })).status).toBe(204);
      expect(refused(await asRoot('POST', 'sys/mounts/old', { type: 'kv' }))).toEqual({
        status: 400,
        errors: ['path is already in use at old/'],
      });
      expect(refused(await asRoot('POST', 'sys/mounts/zz', { type: 'nope' }))).toEqual({
        status: 400,
        errors: ['plugin not found in the catalog: nope'],
      });
      expect((await asRoot('GET', 'sys/internal/ui/mounts/notes/x')).json.data).toMatchObject({
        path: 'notes/',
        type: 'kv',
        options: { version: '2' },
      });
      expect((await asRoot('GET', 'sys/mounts')).json).toMatchObject({ 'sys/': { type: 'system' }, data: { 'notes/': { type: 'kv' } } });
      expect((await asRoot('GET', 'sys/auth')).json.data).toMatchObject({ 'token/': { type: 'token' } });
    });

    test('a path nobody handles, and one the system does not know, are two refusals', async () => {
      expect(refused(await asRoot('GET', 'nowhere'))).toEqual({
        status: 404,
        errors: ['no handler for route "nowhere". route entry not found.'],
      });
      expect(refused(await asRoot('GET', 'sys/nowhere'))).toEqual({ status: 404, errors: ['1 error occurred:\n\t* unsupported path\n\n'] });
    });

    test('KV 1: what is written is read, what is missing is an empty 404', async () => {
      expect(refused(await asRoot('GET', 'old/a'))).toEqual({ status: 404, errors: [] });
      expect(refused(await asRoot('PUT', 'old/a', {}))).toEqual({ status: 400, errors: ['missing data fields'] });
      expect((await asRoot('PUT', 'old/a', { x: '1' })).status).toBe(204);
      expect((await asRoot('GET', 'old/a')).json).toMatchObject({ data: { x: '1' }, lease_duration: 2_764_800, auth: null });
      expect((await asRoot('GET', 'old?list=true')).json.data).toEqual({ keys: ['a'] });
      expect((await asRoot('DELETE', 'old/a')).status).toBe(204);
      expect((await asRoot('GET', 'old/a')).status).toBe(404);
    });

    test('KV 2: versions, and check-and-set', async () => {
      const at = 'notes/data/app';
      expect(refused(await asRoot('GET', at))).toEqual({ status: 404, errors: [] });
      expect(refused(await asRoot('PUT', at, { a: '1' }))).toEqual({ status: 400, errors: ['no data provided'] });
      expect((await asRoot('PUT', at, { data: { a: '1' } })).json.data).toMatchObject({
        version: 1,
        destroyed: false,
        deletion_time: '',
        custom_metadata: null,
      });
      expect(refused(await asRoot('PUT', at, { data: { a: '2' }, options: { cas: 0 } }))).toEqual({
        status: 400,
        errors: ['check-and-set parameter did not match the current version'],
      });
      expect((await asRoot('PUT', at, { data: { a: '2' }, options: { cas: 1 } })).json.data).toMatchObject({ version: 2 });
      expect((await asRoot('GET', at)).json.data).toMatchObject({ data: { a: '2' }, metadata: { version: 2 } });
      expect((await asRoot('GET', `${at}?version=1`)).json.data).toMatchObject({ data: { a: '1' }, metadata: { version: 1 } });
      expect((await asRoot('GET', `${at}?version=9`)).status).toBe(404);
      expect((await asRoot('GET', 'notes/metadata/app')).json.data).toMatchObject({
        current_version: 2,
        oldest_version: 0,
        max_versions: 0,
        cas_required: false,
        versions: { 1: { destroyed: false }, 2: { destroyed: false } },
      });
      expect((await asRoot('GET', 'notes/metadata?list=true')).json.data).toEqual({ keys: ['app'] });
      expect((await asRoot('GET', 'notes/metadata/none?list=true')).status).toBe(404);
    });

    test('KV 2: a deleted version is a 404 that still tells about it, and comes back; a destroyed one does not', async () => {
      expect((await asRoot('DELETE', 'notes/data/app')).status).toBe(204);
      const gone = await asRoot('GET', 'notes/data/app');
      expect(gone.status).toBe(404);
      expect(gone.json.data).toMatchObject({
        data: null,
        metadata: { version: 2, destroyed: false, deletion_time: expect.stringMatching(/^20/) },
      });
      expect((await asRoot('POST', 'notes/undelete/app', { versions: [2] })).status).toBe(204);
      expect((await asRoot('GET', 'notes/data/app')).status).toBe(200);
      expect((await asRoot('POST', 'notes/destroy/app', { versions: [1] })).status).toBe(204);
      const destroyed = await asRoot('GET', 'notes/data/app?version=1');
      expect(destroyed.status).toBe(404);
      expect(destroyed.json.data).toMatchObject({ data: null, metadata: { destroyed: true } });
      const misled = await asRoot('GET', 'notes/app');
      expect(misled.status).toBe(404);
      expect(String(misled.json['warnings'])).toContain('Invalid path for a versioned K/V secrets engine');
    });

    test('policies decide what a token may do', async () => {
      expect((await asRoot('PUT', 'sys/policies/acl/app', { policy: 'path "notes/data/app" { capabilities = ["read"] }' })).status).toBe(
        204,
      );
      expect(refused(await asRoot('PUT', 'sys/policies/acl/bad', { policy: 'path "x" { capabilities = ["fly"] }' }))).toEqual({
        status: 400,
        errors: ['failed to parse policy: path "x": invalid capability "fly"'],
      });
      expect(refused(await asRoot('DELETE', 'sys/policies/acl/root'))).toEqual({ status: 400, errors: ['cannot delete "root" policy'] });
      expect(refused(await asRoot('GET', 'sys/policies/acl/none'))).toEqual({ status: 404, errors: [] });
      const made = await asRoot('POST', 'auth/token/create', { policies: ['app'], ttl: '1h' });
      expect(made.json.auth).toMatchObject({ policies: ['app', 'default'], lease_duration: 3600, renewable: true, orphan: false });
      const token = String(made.json.auth?.['client_token']);
      expect((await ask('GET', 'notes/data/app', undefined, token)).status).toBe(200);
      const denied = { status: 403, errors: ['1 error occurred:\n\t* permission denied\n\n'] };
      expect(refused(await ask('PUT', 'notes/data/app', { data: { a: '9' } }, token))).toEqual(denied);
      expect(refused(await ask('PUT', 'sys/seal', undefined, token))).toEqual(denied);
      expect((await ask('POST', 'sys/capabilities-self', { paths: ['notes/data/app', 'sys/seal'] }, token)).json.data).toEqual({
        'notes/data/app': ['read'],
        'sys/seal': ['deny'],
      });
      expect((await ask('PUT', 'auth/token/revoke-self', undefined, token)).status).toBe(204);
      expect(refused(await ask('GET', 'auth/token/lookup-self', undefined, token))).toEqual({ status: 403, errors: ['permission denied'] });
    });

    test('an orphan outlives who made it, a child does not; what is behind an accessor is told without the token', async () => {
      const tokenOf = async (how: string, body: object, by = root) =>
        (await ask('POST', `auth/token/${how}`, body, by)).json.auth as { client_token: string; accessor: string; orphan: boolean };
      const parent = await tokenOf('create', { policies: ['root'] });
      const child = await tokenOf('create', { policies: ['root'] }, parent.client_token);
      const orphan = await tokenOf(
        'create-orphan',
        { policies: ['default'], display_name: 'ada', period: '2764800s', renewable: true },
        parent.client_token,
      );
      expect([parent.orphan, child.orphan, orphan.orphan]).toEqual([false, false, true]);
      const accessors = (await asRoot('GET', 'auth/token/accessors?list=true')).json.data?.['keys'];
      expect(accessors).toEqual(expect.arrayContaining([parent.accessor, child.accessor, orphan.accessor]));
      const behind = await asRoot('POST', 'auth/token/lookup-accessor', { accessor: orphan.accessor });
      expect(behind.json.data).toMatchObject({ id: '', display_name: 'token-ada', policies: ['default'], orphan: true, renewable: true });
      expect((await asRoot('POST', 'auth/token/lookup-accessor', { accessor: 'none' })).status).toBe(400);
      await ask('PUT', 'auth/token/revoke-self', undefined, parent.client_token);
      const now = async (token: string) => (await ask('GET', 'auth/token/lookup-self', undefined, token)).status;
      expect([await now(child.client_token), await now(orphan.client_token)]).toEqual([403, 200]);
    });

    test('AppRole: role id and secret id give a token', async () => {
      expect((await asRoot('POST', 'sys/auth/approle', { type: 'approle' })).status).toBe(204);
      expect((await asRoot('POST', 'auth/approle/role/app', { token_policies: 'app', token_ttl: '20m' })).status).toBe(204);
      expect((await asRoot('GET', 'auth/approle/role/app')).json.data).toMatchObject({
        token_policies: ['app'],
        token_ttl: 1200,
        bind_secret_id: true,
      });
      const roleId = (await asRoot('GET', 'auth/approle/role/app/role-id')).json.data?.['role_id'];
      const secretId = (await asRoot('POST', 'auth/approle/role/app/secret-id', {})).json.data?.['secret_id'];
      const refusal = { status: 400, errors: ['invalid role or secret ID'] };
      expect(refused(await ask('POST', 'auth/approle/login', { role_id: roleId, secret_id: 'wrong' }))).toEqual(refusal);
      expect(refused(await ask('POST', 'auth/approle/login', { role_id: 'wrong', secret_id: secretId }))).toEqual(refusal);
      const made = await ask('POST', 'auth/approle/login', { role_id: roleId, secret_id: secretId });
      expect(made.json.auth).toMatchObject({ policies: ['app', 'default'], lease_duration: 1200, metadata: { role_name: 'app' } });
    });

    test('AppRole: a secret id is ended by its accessor, for who does not have it', async () => {
      const role = 'auth/approle/role/app';
      const roleId = (await asRoot('GET', `${role}/role-id`)).json.data?.['role_id'];
      const { secret_id: secretId, secret_id_accessor: accessor } = (await asRoot('POST', `${role}/secret-id`, {})).json.data ?? {};
      expect((await asRoot('GET', `${role}/secret-id?list=true`)).json.data?.['keys']).toContain(accessor);
      const about = { secret_id_accessor: accessor };
      expect((await asRoot('POST', `${role}/secret-id-accessor/destroy`, about)).status).toBe(204);
      expect(refused(await ask('POST', 'auth/approle/login', { role_id: roleId, secret_id: secretId })).status).toBe(400);
      expect((await asRoot('GET', `${role}/secret-id?list=true`)).json.data?.['keys'] ?? []).not.toContain(accessor);
      expect(refused(await asRoot('POST', `${role}/secret-id-accessor/destroy`, about))).toEqual({
        status: 500,
        errors: [`1 error occurred:\n\t* failed to find accessor entry for secret_id_accessor: "${accessor}"\n\n`],
      });
    });

    test('a token is ended by its accessor too; one that is gone is a warning', async () => {
      const { client_token: token, accessor } = (await asRoot('POST', 'auth/token/create-orphan', { policies: ['default'] })).json.auth as {
        client_token: string;
        accessor: string;
      };
      expect((await asRoot('POST', 'auth/token/revoke-accessor', { accessor })).status).toBe(204);
      expect((await ask('GET', 'auth/token/lookup-self', undefined, token)).status).toBe(403);
      expect((await asRoot('POST', 'auth/token/revoke-accessor', { accessor })).status).toBe(200);
    });

    test('the ceremonies of old are closed', async () => {
      for (const path of ['sys/rekey/init', 'sys/generate-root/attempt']) {
        expect(refused(await ask('GET', path))).toEqual({ status: 405, errors: ['unsupported operation'] });
      }
    });

    test('a root token is made with the threshold of shares, and decoded with the one-time password', async () => {
      const begun = await asRoot('PUT', 'sys/generate-root-token/attempt', {});
      expect(begun.json.data).toMatchObject({ started: true, complete: false, progress: 0, required: 3, otp_length: 26, nonce: anyUuid });
      const { nonce, otp } = begun.json.data as { nonce: string; otp: string };
      expect(otp).toHaveLength(26);
      const give = (key?: string, of = nonce) => asRoot('PUT', 'sys/generate-root-token/update', { key, nonce: of });
      expect((await give(keys[0], 'bad')).json.errors?.[0]).toContain(
        `incorrect nonce supplied; nonce for this root generation operation is "${nonce}"`,
      );
      expect((await give(keys[0])).json.data).toMatchObject({ progress: 1, complete: false, encoded_token: '' });
      expect((await give(keys[0])).status).toBe(500);
      await give(keys[1]);
      const last = (await give(keys[2])).json.data as { complete: boolean; encoded_token: string };
      expect(last.complete).toBe(true);
      const encoded = Buffer.from(last.encoded_token, 'base64');
      const token = Buffer.from(encoded.map((byte, index) => byte ^ (Buffer.from(otp)[index] ?? 0))).toString();
      expect((await ask('GET', 'auth/token/lookup-self', undefined, token)).json.data).toMatchObject({ policies: ['root'] });
    });

    test('a ceremony that was begun is cancelled, whether or not its nonce is named', async () => {
      for (const [path, body] of [
        ['sys/rotate/root/init', { secret_shares: 3, secret_threshold: 2 }],
        ['sys/generate-root-token/attempt', {}],
      ] as const) {
        const { nonce } = (await asRoot('PUT', path, body)).json.data as { nonce: string };
        expect((await asRoot('DELETE', path, { nonce })).status).toBe(204);
        expect((await asRoot('GET', path)).json.data).toMatchObject({ started: false });
        expect((await asRoot('DELETE', path)).status).toBe(204);
      }
    });

    test('new shares: nonce required, verified, and only then in force', async () => {
      const at = 'sys/rotate/root';
      expect((await asRoot('GET', `${at}/init`)).json.data).toEqual({ n: 0, required: 3, started: false, t: 0 });
      const begun = await asRoot('PUT', `${at}/init`, { secret_shares: 4, secret_threshold: 2, require_verification: true });
      expect(begun.json.data).toMatchObject({
        n: 4,
        t: 2,
        progress: 0,
        required: 3,
        started: true,
        verification_required: true,
        nonce: anyUuid,
      });
      const nonce = begun.json.data?.['nonce'];
      expect(refused(await asRoot('PUT', `${at}/init`, { secret_shares: 4, secret_threshold: 2 }))).toEqual({
        status: 400,
        errors: ['rotation already in progress'],
      });
      const update = (key?: string, of: unknown = nonce) => asRoot('PUT', `${at}/update`, { key, nonce: of });
      expect(refused(await update(keys[0], 'bad'))).toEqual({
        status: 400,
        errors: [`incorrect nonce supplied; nonce for rotation is "${nonce}"`],
      });
      expect(refused(await asRoot('PUT', `${at}/update`, { key: keys[0] }))).toEqual({
        status: 400,
        errors: ["missing required field 'nonce'"],
      });
      expect((await update(keys[0])).json.data).toMatchObject({ progress: 1 });
      expect(refused(await update(keys[0]))).toEqual({
        status: 400,
        errors: ['given key has already been provided during this rotation'],
      });
      await update(keys[1]);
      expect((await update(randomBytes(32).toString('hex') + keys[2]?.slice(-2))).status).toBe(400);
      expect((await asRoot('GET', `${at}/init`)).json.data).toMatchObject({ progress: 0, started: true });
      for (const key of keys.slice(0, 2)) await update(key);
      const done = (await update(keys[2])).json.data as { complete: boolean; keys: string[]; verification_nonce: string };
      expect(done).toMatchObject({ complete: true, keys: expect.any(Array), verification_nonce: anyUuid });
      expect(done.keys).toHaveLength(4);
      expect(await seal()).toMatchObject({ t: 3, n: 5 });
      let proof = done.verification_nonce;
      const verify = (key?: string) => asRoot('PUT', `${at}/verify`, { key, nonce: proof });
      expect((await verify(done.keys[3])).json.data).toMatchObject({ progress: 1, t: 2 });
      // Begun anew, by somebody who was not there when it broke off: another nonce, which is told.
      expect((await asRoot('GET', `${at}/init`)).json.data).toMatchObject({ started: true, verification_nonce: proof });
      expect([200, 204]).toContain((await asRoot('DELETE', `${at}/verify`)).status);
      const anew = (await asRoot('GET', `${at}/verify`)).json.data as { nonce: string };
      expect(anew).toMatchObject({ progress: 0, n: 4, t: 2, nonce: anyUuid });
      expect(anew.nonce).not.toBe(proof);
      proof = anew.nonce;
      expect((await verify(done.keys[3])).json.data).toMatchObject({ progress: 1, t: 2 });
      expect((await verify(done.keys[0])).json.data).toMatchObject({ complete: true });
      expect(await seal()).toMatchObject({ t: 2, n: 4 });
      keys = done.keys;
    });

    test('a snapshot is a gzip file, and comes back', async () => {
      const said = await asRoot('GET', 'sys/storage/raft/snapshot');
      expect(said.status).toBe(200);
      expect(said.bytes.subarray(0, 2).toString('hex')).toBe('1f8b');
      await asRoot('PUT', 'old/late', { x: '1' });
      const response = await fetch(`${server.url}/v1/sys/storage/raft/snapshot`, {
        method: 'POST',
        headers: { 'X-Vault-Token': root },
        body: new Uint8Array(said.bytes),
      });
      expect(response.status).toBe(204);
      await active();
      expect((await asRoot('GET', 'old/late')).status).toBe(404);
      expect((await asRoot('GET', 'notes/data/app')).json.data).toMatchObject({ data: { a: '2' } });
    });

    test('sealing takes what was open; the new shares open it, and what was stored is there', async () => {
      expect((await asRoot('PUT', 'sys/seal')).status).toBe(204);
      expect(await seal()).toMatchObject({ sealed: true, progress: 0 });
      expect((await asRoot('GET', 'notes/data/app')).status).toBe(503);
      for (const key of keys.slice(0, 2)) await give(key);
      expect(await seal()).toMatchObject({ sealed: false });
      await active();
      expect((await asRoot('GET', 'notes/data/app')).json.data).toMatchObject({ data: { a: '2' } });
    });

    test('a restart seals it; an attempt that was under way is forgotten (R59)', async () => {
      await server.restart();
      expect(await seal()).toMatchObject({ initialized: true, sealed: true, progress: 0, nonce: '' });
      await give(keys[0]);
      await server.restart();
      expect(await seal()).toMatchObject({ sealed: true, progress: 0 });
    });
  });
}
