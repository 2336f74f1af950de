import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Holders, VaultFixture, walkAway } from '../doubles/vault-fixture.ts';
import { describeUnless, requiredProgram } from '../required.ts';
import { type RealOpenBao, startOpenBao } from './openbao.ts';
import { findServer } from './real-server.ts';

const { program, missing } = findServer('openbao');

/** The tests are one story, in order: who has the shares is known from those before. */
describeUnless(missing, 'the procedures of the secrets manager on a real OpenBao', () => {
  let server: RealOpenBao;
  let fixture: VaultFixture;
  /** All that ever opened something here. */
  const everything: string[] = [];
  const status = () => fixture.ask('GET', 'sys/seal-status');
  const share = (at: number) => fixture.shares[at] as string;
  const shares = (count: number) => fixture.shares.slice(0, count);
  const root = () => ({ token: fixture.token });
  /** A node elects itself first: until then it stands by. */
  const leads = () => expect.poll(async () => (await fixture.ask('GET', 'sys/health')).status, { timeout: 60_000 }).toBe(200);
  const open = async (count: number) => {
    const outcome = await fixture.run('unseal', new Holders({ share: [...shares(count)] }), {}, 'sealed');
    await leads();
    return outcome;
  };
  const secrets = (holders: Holders) => holders.shown.flatMap((shown) => (shown.kind === 'secret' ? [shown.value] : []));

  beforeAll(async () => {
    server = await startOpenBao(program ?? '');
    fixture = await VaultFixture.over(server);
  });
  afterAll(() => fixture?.close());

  test('initialised: five shares and a root token, each to one holder (R59, R75)', async () => {
    const holders = new Holders();
    const { message } = await fixture.run('initialise', holders, {}, 'not initialised');
    expect(message).toMatch(/Initialised.*3 of the 5 shares/);
    const { 'Root token': token = '', ...made } = holders.seen;
    fixture.shares = Object.values(made);
    fixture.token = token;
    everything.push(...fixture.shares, token);
    expect(await status()).toMatchObject({ initialized: true, sealed: true, t: 3, n: 5 });
  });

  test('unsealed with three of five; a wrong share shows at the end and drops them all (R59)', async () => {
    const used = new Set(fixture.shares.map((one) => one.slice(-2)));
    const free = ['01', '02', '03', '04', '05', '06'].find((number) => !used.has(number)) ?? '07';
    const holders = new Holders({ share: [share(0), `${'5a'.repeat(32)}${free}`, share(1), share(4), share(2), share(3)] });
    expect((await fixture.run('unseal', holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.texts().join(' ')).toMatch(/discarded them all/);
    expect(holders.asked.map(({ label }) => label)).toEqual([1, 2, 3, 1, 2, 3].map((number) => `Key share ${number} of 3`));
    await leads();
  });

  test('sealed with a token; a restart in the middle of unsealing is waited for', async () => {
    expect((await fixture.run('seal', new Holders(root()))).message).toBe('Sealed vault.');
    const restarted = async () => {
      await server.restart();
      return share(1);
    };
    const holders = new Holders({ share: [share(0), restarted, share(0), share(2)] });
    expect((await fixture.run('unseal', holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.texts().join(' ')).toMatch(/the count starts over/);
    await leads();
  });

  test('logged in, looked up; written and read in both engines, with the version that was read', async () => {
    await fixture.ask('POST', 'sys/mounts/secret', { type: 'kv', options: { version: '2' } });
    await fixture.ask('POST', 'sys/mounts/legacy', { type: 'kv', options: { version: '1' } });
    // A new engine of version 2 needs a moment.
    await expect.poll(async () => (await fixture.ask('GET', 'secret/config')).status, { timeout: 30_000 }).toBe(200);
    expect((await fixture.run('vault-login', new Holders({ ...root(), keep: 'yes' }))).data).toMatchObject({
      policies: ['root'],
      kept: true,
    });
    expect((await fixture.run('vault-token', new Holders({}, 'unattended'))).data).toMatchObject({
      path: 'auth/token/root',
      ttlSeconds: 0,
    });
    everything.push('first password', 'second password');
    for (const [path, version] of [
      ['secret/apps/web', 1],
      ['legacy/web', undefined],
    ] as const) {
      const first = new Holders({ ...root(), 'value-password': 'first password', 'again-password': 'first password' });
      expect((await fixture.run('vault-write', first, { words: [path, 'password'] })).data).toMatchObject({
        path,
        ...(version && { version }),
      });
      const second = new Holders({ ...root(), 'value-user': 'second password', 'again-user': 'second password' });
      await fixture.run('vault-write', second, { words: [path, 'user'] });
      const reader = new Holders({ ...root(), field: 'user' });
      expect((await fixture.run('vault-read', reader, { words: [path] })).data).toMatchObject({ keys: ['password', 'user'] });
      expect(secrets(reader)).toEqual(['second password']);
    }
    const slower = new Holders({
      ...root(),
      'value-user': async () => {
        await fixture.ask('PUT', 'secret/data/apps/web', { data: { user: 'faster' } });
        return 'too late for it';
      },
      'again-user': 'too late for it',
    });
    await expect(fixture.run('vault-write', slower, { words: ['secret/apps/web', 'user'] })).rejects.toMatchObject({
      code: 'failed.changed',
    });
    const listed = new Holders(root());
    expect((await fixture.run('vault-list', listed, { words: ['secret/'] })).data).toMatchObject({ keys: ['apps/'] });
    await expect(fixture.run('vault-read', new Holders(root()), { words: ['nowhere/x'] })).rejects.toMatchObject({ code: 'failed.vault' });
    await fixture.ask('DELETE', 'secret/data/apps/web');
    expect((await fixture.run('vault-read', new Holders(root()), { words: ['secret/apps/web'] })).message).toContain('was deleted');
  });

  test('a policy, and a program that logs in with it', async () => {
    await fixture.run('vault-policy', new Holders({ ...root(), allows: 'write', below: 'secret/data/apps' }), { words: ['apps'] });
    const stdin = Buffer.from('path "x" { capabilities = ["fly"] }');
    await expect(fixture.run('vault-policy', new Holders(root()), { words: ['bad'], stdin })).rejects.toMatchObject({
      code: 'failed.policy',
    });
    const holders = new Holders({ ...root(), policies: ['apps'], ttl: '30m' });
    const { data } = await fixture.run('vault-approle', holders, { words: ['web'] });
    const [secretId = ''] = secrets(holders);
    everything.push(secretId);
    const answers = { 'role-id': (data as { roleId: string }).roleId, 'secret-id': secretId, keep: 'no' };
    const login = await fixture.run('vault-login', new Holders(answers), { options: { method: 'approle' } });
    expect(login.data).toMatchObject({ policies: ['apps', 'default'] });
    // It counts down from the moment of the login.
    const { ttlSeconds } = login.data as { ttlSeconds: number };
    expect(ttlSeconds).toBeLessThanOrEqual(1800);
    expect(ttlSeconds).toBeGreaterThan(1740);
    await expect(
      fixture.run('vault-login', new Holders({ ...answers, 'secret-id': 'wrong-wrong' }), { options: { method: 'approle' } }),
    ).rejects.toMatchObject({ code: 'failed.login' });
  });

  test('a user with a password logs in too', async () => {
    await fixture.ask('POST', 'sys/auth/userpass', { type: 'userpass' });
    await fixture.ask('POST', 'auth/userpass/users/ada', { password: 'correct horse battery', token_policies: 'apps' });
    everything.push('correct horse battery');
    const holders = new Holders({ user: 'ada', password: 'correct horse battery', keep: 'no' });
    expect((await fixture.run('vault-login', holders, { options: { method: 'userpass' } })).data).toMatchObject({
      displayName: 'userpass-ada',
      policies: ['apps', 'default'],
    });
  });

  test('versions are deleted, come back and are destroyed; an engine without them loses the path', async () => {
    const reported = (answers = {}) => new Holders({ ...root(), ...answers });
    const words = ['secret/apps/web'];
    const [newest] = ((await fixture.run('vault-versions', reported(), { words })).data as { versions: { version: number }[] }).versions;
    await fixture.run('vault-delete', reported(), { words });
    expect((await fixture.ask('GET', 'secret/data/apps/web')).status).toBe(404);
    expect((await fixture.run('vault-undelete', reported(), { words })).message).toBe(
      `Restored version ${newest?.version} of secret/apps/web.`,
    );
    await fixture.run('vault-destroy', reported({ versions: [['1']] }), { words });
    await expect(fixture.run('vault-undelete', reported(), { words, options: { version: '1' } })).rejects.toMatchObject({
      code: 'refused.versions',
    });
    await fixture.run('vault-delete', reported(), { words: ['legacy/web'] });
    expect((await fixture.ask('GET', 'legacy/web')).status).toBe(404);
  });

  test('going back to a snapshot: what was written since is gone, and what was there is saved first', async () => {
    const [file, before] = ['back.snap', 'before.snap'].map((name) => join(fixture.fixture.folder, name)) as [string, string];
    await fixture.ask('PUT', 'legacy/router', { password: 'of the snapshot' });
    await fixture.run('vault-snapshot', new Holders(root()), { words: [file] });
    await fixture.ask('PUT', 'legacy/router', { password: 'written since' });
    expect((await fixture.run('vault-restore', new Holders(root()), { words: [file], options: { before } })).message).toContain(
      'The server is unsealed.',
    );
    await leads();
    expect((await fixture.ask('GET', 'legacy/router'))['data']).toEqual({ password: 'of the snapshot' });
    expect((await stat(before)).mode & 0o777).toBe(0o600);
    await Promise.all([file, before].map((each) => rm(each)));
  });

  test('a snapshot is whole, and only its owner may read it', async () => {
    const file = join(fixture.fixture.folder, 'real.snap');
    const { message } = await fixture.run('vault-snapshot', new Holders(root()), { words: [file] });
    expect(message).toMatch(/complete, as of index [1-9]/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(execFileSync('tar', ['-tzf', file], { encoding: 'utf8' })).toContain('state.bin');
    await rm(file);
  });

  test('a root token is made with the shares; left in the middle the attempt is cancelled', async () => {
    await expect(fixture.run('vault-root', new Holders({ ...root(), share: [share(0), walkAway] }))).rejects.toMatchObject({
      message: expect.stringContaining('cancelled'),
    });
    const holders = new Holders({ ...root(), share: [share(0), share(1), share(2)] });
    await fixture.run('vault-root', holders);
    expect(holders.asked.some(({ id }) => id === 'attempt')).toBe(false);
    const made = holders.seen['Root token'] ?? '';
    everything.push(made);
    expect(await fixture.ask('GET', 'auth/token/lookup-self', undefined, made)).toMatchObject({ data: { policies: ['root'] } });
    await fixture.ask('PUT', 'auth/token/revoke-self', undefined, made);
  });

  test('new shares: left in the middle the old ones stay; then four, of which two open it', async () => {
    const left = new Holders({ ...root(), share: [share(0), share(1), share(2)], 'share-3-shown': walkAway, 'leave-share-3': 'leave' });
    await expect(fixture.run('vault-rotate', left)).rejects.toMatchObject({ code: 'interrupted.handout' });
    everything.push(...Object.values(left.seen));
    expect(await status()).toMatchObject({ t: 3, n: 5 });
    const half = new Holders({ ...root(), shares: '4', threshold: '2', share: [share(0), walkAway] });
    await expect(fixture.run('vault-rotate', half)).rejects.toMatchObject({ message: expect.stringContaining('1 of 3') });
    const wrong = `${'a5'.repeat(32)}${share(1).slice(-2)}`;
    const holders = new Holders({ ...root(), attempt: 'continue', share: [wrong, share(2), share(0), share(1), share(2)] });
    await fixture.run('vault-rotate', holders);
    expect(holders.texts().join(' ')).toMatch(/discarded them all/);
    fixture.shares = Object.values(holders.seen);
    everything.push(...fixture.shares);
    expect(await status()).toMatchObject({ t: 2, n: 4 });
    await fixture.run('seal', new Holders(root()));
    expect((await open(2)).message).toBe('vault is unsealed.');
  });

  test('the root token goes when another admin was tried, and nothing else lets it go', async () => {
    await expect(fixture.run('vault-revoke-root', new Holders({ root: fixture.token, other: fixture.token }))).rejects.toMatchObject({
      code: 'refused.lastWayIn',
    });
    const made = new Holders({ ...root(), name: 'ada' });
    await fixture.run('vault-admin', made);
    const admin = made.seen['Admin token'] ?? '';
    everything.push(admin);
    const { message } = await fixture.run('vault-revoke-root', new Holders({ root: fixture.token, other: admin }));
    expect(message).toContain('Revoked the root token');
    fixture.token = admin;
    // The way back: the admin and the shares create a root token.
    const holders = new Holders({ ...root(), share: [...shares(2)] });
    await fixture.run('vault-root', holders);
    everything.push(holders.seen['Root token'] ?? '');
    expect(await fixture.ask('GET', 'auth/token/lookup-self', undefined, holders.seen['Root token'])).toMatchObject({ status: 200 });
  });

  test('a second node joins, and both open with the same shares, typed once', async () => {
    const second = await startOpenBao(program ?? '', { joins: { url: server.url } });
    try {
      fixture.addNode('nas2', second.url);
      const node = async () => (await fetch(`${second.url}/v1/sys/seal-status`)).json() as Promise<Record<string, unknown>>;
      // It asks for the shares once it has found its leader.
      await expect.poll(node, { timeout: 60_000 }).toMatchObject({ initialized: true, sealed: true, t: 2, n: 4 });
      await fixture.run('seal', new Holders(root()));
      const { message, data } = await fixture.run('unseal', new Holders({ share: [...shares(2)] }), {}, 'sealed');
      expect(message).toBe('vault is unsealed. Also unsealed: nas2.');
      expect(data).toMatchObject({ nodes: [{ host: 'nas2', sealed: false }] });
      expect(await node()).toMatchObject({ sealed: false });
    } finally {
      await second.close();
    }
  });

  test('nothing that opens something was left in the audit, in a journal, or in the log of the server', async () => {
    const written = `${await fixture.written()}${server.output()}`;
    expect(written).toContain('PUT /v1/sys/unseal with a key share');
    expect(everything.length).toBeGreaterThan(12);
    for (const secret of everything) expect(written.includes(secret), secret.slice(0, 4)).toBe(false);
  });
});

const gpg = '/usr/bin/gpg';
describeUnless(missing ?? requiredProgram(gpg, 'gnupg'), 'shares sealed with PGP on a real OpenBao', () => {
  let server: RealOpenBao;
  let fixture: VaultFixture;
  let folder: string;
  const run = (home: string, args: string[], input?: Buffer) =>
    execFileSync(gpg, ['--homedir', home, '--batch', '--quiet', '--no-tty', '--pinentry-mode', 'loopback', '--passphrase', '', ...args], {
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-gpg-'));
    server = await startOpenBao(program ?? '');
    fixture = await VaultFixture.over(server);
  });
  afterAll(async () => {
    await fixture?.close();
    for (const home of ['one', 'two']) execFileSync('gpgconf', ['--homedir', join(folder, home), '--kill', 'all'], { stdio: 'ignore' });
    await rm(folder, { recursive: true, force: true });
  });

  test('each holder opens theirs, and they open it; a sealed one is known as that', async () => {
    const keys: string[] = [];
    for (const [at, name] of ['one', 'two'].entries()) {
      const home = join(folder, name);
      execFileSync('mkdir', ['-m', '700', home]);
      run(home, ['--quick-generate-key', `${name}@example.org`, 'rsa2048', 'encr', 'never']);
      const key = run(home, at === 0 ? ['--armor', '--export'] : ['--export']);
      keys.push(join(folder, `${name}.pub`));
      await writeFile(join(folder, `${name}.pub`), key);
    }
    const secret = join(folder, 'one.secret');
    await writeFile(secret, run(join(folder, 'one'), ['--armor', '--export-secret-keys']));
    const answers = { shares: '2', threshold: '2', ready: 'pgp', folder: join(folder, 'shares') };
    const misled = new Holders({ ...answers, 'pgp-1': secret });
    await expect(fixture.run('initialise', misled, {}, 'not initialised')).rejects.toMatchObject({
      message: expect.stringContaining('secret key'),
    });

    const opened: string[] = [];
    const openShare = (number: number) => async () => {
      const sealed = await readFile(join(folder, 'shares', `share-${number}.pgp.base64`), 'utf8');
      const share = run(join(folder, number === 1 ? 'one' : 'two'), ['--decrypt'], Buffer.from(sealed, 'base64'))
        .toString()
        .trim();
      opened.push(share);
      return share;
    };
    const holders = new Holders({ ...answers, 'share-1-proof': openShare(1), 'share-2-proof': openShare(2) });
    await fixture.run('initialise', holders, { options: { pgp: keys } }, 'not initialised');
    expect(Object.keys(holders.seen)).toEqual(['Root token']);
    expect((await readdir(join(folder, 'shares'))).sort()).toEqual(['share-1.pgp.base64', 'share-2.pgp.base64']);
    expect((await stat(join(folder, 'shares', 'share-1.pgp.base64'))).mode & 0o777).toBe(0o600);
    const sealed = (await readFile(join(folder, 'shares', 'share-1.pgp.base64'), 'utf8')).trim();
    await expect(fixture.run('unseal', new Holders({ share: sealed }), {}, 'sealed')).rejects.toMatchObject({
      message: expect.stringContaining('encrypted with PGP for its holder'),
    });
    expect((await fixture.run('unseal', new Holders({ share: opened }), {}, 'sealed')).message).toBe('vault is unsealed.');
  });
});

describeUnless(missing, 'a real OpenBao that opens itself', () => {
  let fixture: VaultFixture;
  beforeAll(async () => {
    fixture = await VaultFixture.over(await startOpenBao(program ?? '', { opensItself: true }));
  });
  afterAll(() => fixture?.close());

  test('recovery shares are handed out; sealed by hand it is opened with them, and by a restart', async () => {
    const holders = new Holders({ shares: '3', threshold: '2' });
    expect((await fixture.run('initialise', holders, {}, 'not initialised')).message).toContain('The server is unsealed.');
    const { 'Root token': token = '', ...made } = holders.seen;
    expect(Object.keys(made)).toEqual([1, 2, 3].map((number) => `Recovery share ${number} of 3`));
    const leads = () => expect.poll(async () => (await fixture.ask('GET', 'sys/health')).status, { timeout: 60_000 }).toBe(200);
    await leads();
    await fixture.run('seal', new Holders({ token }));
    const given = new Holders({ recovery: 'shares', share: Object.values(made).slice(1) });
    expect((await fixture.run('unseal', given, {}, 'sealed')).message).toBe('vault is unsealed.');
    await leads();
    fixture.token = token;
    const rotated = new Holders({ token, share: Object.values(made), shares: '2', threshold: '2' });
    expect((await fixture.run('vault-rotate', rotated)).message).toContain('has new recovery shares: 2 of 2 are enough');
    await fixture.server.restart();
    await leads();
  });
});
