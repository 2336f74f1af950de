import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { initialise } from '../../source/flows/initialise.ts';
import { seal } from '../../source/flows/seal.ts';
import { unseal } from '../../source/flows/unseal.ts';
import { vaultAdmin } from '../../source/flows/vault-admin.ts';
import { vaultApprole } from '../../source/flows/vault-approle.ts';
import { vaultLogin, vaultToken } from '../../source/flows/vault-login.ts';
import { vaultPolicy } from '../../source/flows/vault-policy.ts';
import { vaultList, vaultRead } from '../../source/flows/vault-read.ts';
import { vaultRestore } from '../../source/flows/vault-restore.ts';
import { vaultRevokeRoot } from '../../source/flows/vault-revoke-root.ts';
import { vaultRoot } from '../../source/flows/vault-root.ts';
import { vaultRotate } from '../../source/flows/vault-rotate.ts';
import { vaultSnapshot } from '../../source/flows/vault-snapshot.ts';
import { vaultDelete, vaultDestroy, vaultUndelete, vaultVersions } from '../../source/flows/vault-versions.ts';
import { vaultWrite } from '../../source/flows/vault-write.ts';
import { Holders, VaultStage, walkAway } from '../doubles/vault-stage.ts';
import { type RealOpenBao, startOpenBao } from './openbao.ts';
import { findServer } from './real-server.ts';

const { program, missing } = findServer('openbao');

/** The tests are one story, in order: who has the shares is known from those before. */
describe.skipIf(missing)(`the procedures of the secrets manager on a real OpenBao${missing ? ` (${missing})` : ''}`, () => {
  let server: RealOpenBao;
  let stage: VaultStage;
  /** All that ever opened something here. */
  const everything: string[] = [];
  const status = () => stage.ask('GET', 'sys/seal-status');
  const share = (at: number) => stage.shares[at] as string;
  const shares = (count: number) => stage.shares.slice(0, count);
  const root = () => ({ token: stage.token });
  /** A node elects itself first: until then it stands by. */
  const leads = () => expect.poll(async () => (await stage.ask('GET', 'sys/health')).status, { timeout: 60_000 }).toBe(200);
  const open = async (count: number) => {
    const outcome = await stage.run(unseal, new Holders({ share: [...shares(count)] }), {}, 'sealed');
    await leads();
    return outcome;
  };
  const secrets = (holders: Holders) => holders.shown.flatMap((shown) => (shown.kind === 'secret' ? [shown.value] : []));

  beforeAll(async () => {
    server = await startOpenBao(program ?? '');
    stage = await VaultStage.over(server);
  });
  afterAll(() => stage?.close());

  test('initialised: five shares and a root token, each to one holder (R59, R75)', async () => {
    const holders = new Holders();
    const { message } = await stage.run(initialise, holders, {}, 'not initialised');
    expect(message).toMatch(/initialised.*3 of the 5 holders/);
    const { 'Root token': token = '', ...made } = holders.seen;
    stage.shares = Object.values(made);
    stage.token = token;
    everything.push(...stage.shares, token);
    expect(await status()).toMatchObject({ initialized: true, sealed: true, t: 3, n: 5 });
  });

  test('unsealed with three of five; a wrong share shows at the end and drops them all (R59)', async () => {
    const used = new Set(stage.shares.map((one) => one.slice(-2)));
    const free = ['01', '02', '03', '04', '05', '06'].find((number) => !used.has(number)) ?? '07';
    const holders = new Holders({ share: [share(0), `${'5a'.repeat(32)}${free}`, share(1), share(4), share(2), share(3)] });
    expect((await stage.run(unseal, holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.texts().join(' ')).toMatch(/dropped them all/);
    expect(holders.asked.map(({ label }) => label)).toEqual([1, 2, 3, 1, 2, 3].map((number) => `Key share ${number} of 3`));
    await leads();
  });

  test('sealed with a token; a restart in the middle of unsealing is waited for', async () => {
    expect((await stage.run(seal, new Holders(root()))).message).toBe('vault is sealed.');
    const restarted = async () => {
      await server.restart();
      return share(1);
    };
    const holders = new Holders({ share: [share(0), restarted, share(0), share(2)] });
    expect((await stage.run(unseal, holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.texts().join(' ')).toMatch(/the count starts over/);
    await leads();
  });

  test('logged in, looked up; written and read in both engines, with the version that was read', async () => {
    await stage.ask('POST', 'sys/mounts/secret', { type: 'kv', options: { version: '2' } });
    await stage.ask('POST', 'sys/mounts/legacy', { type: 'kv', options: { version: '1' } });
    // A new engine of version 2 needs a moment.
    await expect.poll(async () => (await stage.ask('GET', 'secret/config')).status, { timeout: 30_000 }).toBe(200);
    expect((await stage.run(vaultLogin, new Holders({ ...root(), keep: 'yes' }))).data).toMatchObject({ policies: ['root'], kept: true });
    expect((await stage.run(vaultToken, new Holders({}, 'unattended'))).data).toMatchObject({ path: 'auth/token/root', ttlSeconds: 0 });
    everything.push('first password', 'second password');
    for (const [path, version] of [
      ['secret/apps/web', 1],
      ['legacy/web', undefined],
    ] as const) {
      const first = new Holders({ ...root(), 'value-password': 'first password', 'again-password': 'first password' });
      expect((await stage.run(vaultWrite, first, { words: [path, 'password'] })).data).toMatchObject({ path, ...(version && { version }) });
      const second = new Holders({ ...root(), 'value-user': 'second password', 'again-user': 'second password' });
      await stage.run(vaultWrite, second, { words: [path, 'user'] });
      const reader = new Holders({ ...root(), field: 'user' });
      expect((await stage.run(vaultRead, reader, { words: [path] })).data).toMatchObject({ keys: ['password', 'user'] });
      expect(secrets(reader)).toEqual(['second password']);
    }
    const slower = new Holders({
      ...root(),
      'value-user': async () => {
        await stage.ask('PUT', 'secret/data/apps/web', { data: { user: 'faster' } });
        return 'too late for it';
      },
      'again-user': 'too late for it',
    });
    await expect(stage.run(vaultWrite, slower, { words: ['secret/apps/web', 'user'] })).rejects.toMatchObject({ code: 'failed.changed' });
    const listed = new Holders(root());
    expect((await stage.run(vaultList, listed, { words: ['secret/'] })).data).toMatchObject({ keys: ['apps/'] });
    await expect(stage.run(vaultRead, new Holders(root()), { words: ['nowhere/x'] })).rejects.toMatchObject({ code: 'failed.vault' });
    await stage.ask('DELETE', 'secret/data/apps/web');
    expect((await stage.run(vaultRead, new Holders(root()), { words: ['secret/apps/web'] })).message).toContain('was deleted');
  });

  test('a policy, and a program that logs in with it', async () => {
    await stage.run(vaultPolicy, new Holders({ ...root(), allows: 'write', below: 'secret/data/apps' }), { words: ['apps'] });
    const stdin = Buffer.from('path "x" { capabilities = ["fly"] }');
    await expect(stage.run(vaultPolicy, new Holders(root()), { words: ['bad'], stdin })).rejects.toMatchObject({ code: 'failed.policy' });
    const holders = new Holders({ ...root(), policies: ['apps'], ttl: '30m' });
    const { data } = await stage.run(vaultApprole, holders, { words: ['web'] });
    const [secretId = ''] = secrets(holders);
    everything.push(secretId);
    const answers = { 'role-id': (data as { roleId: string }).roleId, 'secret-id': secretId, keep: 'no' };
    const login = await stage.run(vaultLogin, new Holders(answers), { options: { method: 'approle' } });
    expect(login.data).toMatchObject({ policies: ['apps', 'default'], ttlSeconds: 1800 });
    await expect(
      stage.run(vaultLogin, new Holders({ ...answers, 'secret-id': 'wrong-wrong' }), { options: { method: 'approle' } }),
    ).rejects.toMatchObject({ code: 'failed.login' });
  });

  test('a user with a password logs in too', async () => {
    await stage.ask('POST', 'sys/auth/userpass', { type: 'userpass' });
    await stage.ask('POST', 'auth/userpass/users/ada', { password: 'correct horse battery', token_policies: 'apps' });
    everything.push('correct horse battery');
    const holders = new Holders({ user: 'ada', password: 'correct horse battery', keep: 'no' });
    expect((await stage.run(vaultLogin, holders, { options: { method: 'userpass' } })).data).toMatchObject({
      displayName: 'userpass-ada',
      policies: ['apps', 'default'],
    });
  });

  test('versions are deleted, come back and are destroyed; an engine without them loses the path', async () => {
    const told = (answers = {}) => new Holders({ ...root(), ...answers });
    const words = ['secret/apps/web'];
    const [newest] = ((await stage.run(vaultVersions, told(), { words })).data as { versions: { version: number }[] }).versions;
    await stage.run(vaultDelete, told(), { words });
    expect((await stage.ask('GET', 'secret/data/apps/web')).status).toBe(404);
    expect((await stage.run(vaultUndelete, told(), { words })).message).toBe(
      `Version ${newest?.version} of secret/apps/web is there again.`,
    );
    await stage.run(vaultDestroy, told({ versions: [['1']] }), { words });
    await expect(stage.run(vaultUndelete, told(), { words, options: { version: '1' } })).rejects.toMatchObject({
      code: 'refused.versions',
    });
    await stage.run(vaultDelete, told(), { words: ['legacy/web'] });
    expect((await stage.ask('GET', 'legacy/web')).status).toBe(404);
  });

  test('going back to a snapshot: what was written since is gone, and what was there is saved first', async () => {
    const [file, before] = ['back.snap', 'before.snap'].map((name) => join(stage.stage.folder, name)) as [string, string];
    await stage.ask('PUT', 'legacy/router', { password: 'of the snapshot' });
    await stage.run(vaultSnapshot, new Holders(root()), { words: [file] });
    await stage.ask('PUT', 'legacy/router', { password: 'written since' });
    expect((await stage.run(vaultRestore, new Holders(root()), { words: [file], options: { before } })).message).toContain('It is open.');
    await leads();
    expect((await stage.ask('GET', 'legacy/router'))['data']).toEqual({ password: 'of the snapshot' });
    expect((await stat(before)).mode & 0o777).toBe(0o600);
    await Promise.all([file, before].map((each) => rm(each)));
  });

  test('a snapshot is whole, and only its owner may read it', async () => {
    const file = join(stage.stage.folder, 'real.snap');
    const { message } = await stage.run(vaultSnapshot, new Holders(root()), { words: [file] });
    expect(message).toMatch(/whole, as of index [1-9]/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(execFileSync('tar', ['-tzf', file], { encoding: 'utf8' })).toContain('state.bin');
    await rm(file);
  });

  test('a root token is made with the shares; left in the middle the attempt is cancelled', async () => {
    await expect(stage.run(vaultRoot, new Holders({ ...root(), share: [share(0), walkAway] }))).rejects.toMatchObject({
      message: expect.stringContaining('cancelled'),
    });
    const holders = new Holders({ ...root(), share: [share(0), share(1), share(2)] });
    await stage.run(vaultRoot, holders);
    expect(holders.asked.some(({ id }) => id === 'attempt')).toBe(false);
    const made = holders.seen['Root token'] ?? '';
    everything.push(made);
    expect(await stage.ask('GET', 'auth/token/lookup-self', undefined, made)).toMatchObject({ data: { policies: ['root'] } });
    await stage.ask('PUT', 'auth/token/revoke-self', undefined, made);
  });

  test('new shares: left in the middle the old ones stay; then four, of which two open it', async () => {
    const left = new Holders({ ...root(), share: [share(0), share(1), share(2)], 'share-3-shown': walkAway, 'leave-share-3': 'leave' });
    await expect(stage.run(vaultRotate, left)).rejects.toMatchObject({ code: 'interrupted.handout' });
    everything.push(...Object.values(left.seen));
    expect(await status()).toMatchObject({ t: 3, n: 5 });
    const half = new Holders({ ...root(), shares: '4', threshold: '2', share: [share(0), walkAway] });
    await expect(stage.run(vaultRotate, half)).rejects.toMatchObject({ message: expect.stringContaining('1 of 3') });
    const wrong = `${'a5'.repeat(32)}${share(1).slice(-2)}`;
    const holders = new Holders({ ...root(), attempt: 'continue', share: [wrong, share(2), share(0), share(1), share(2)] });
    await stage.run(vaultRotate, holders);
    expect(holders.texts().join(' ')).toMatch(/dropped them all/);
    stage.shares = Object.values(holders.seen);
    everything.push(...stage.shares);
    expect(await status()).toMatchObject({ t: 2, n: 4 });
    await stage.run(seal, new Holders(root()));
    expect((await open(2)).message).toBe('vault is unsealed.');
  });

  test('the root token goes when another admin was tried, and nothing else lets it go', async () => {
    await expect(stage.run(vaultRevokeRoot, new Holders({ root: stage.token, other: stage.token }))).rejects.toMatchObject({
      code: 'refused.lastWayIn',
    });
    const made = new Holders({ ...root(), name: 'ada' });
    await stage.run(vaultAdmin, made);
    const admin = made.seen['Admin token'] ?? '';
    everything.push(admin);
    const { message } = await stage.run(vaultRevokeRoot, new Holders({ root: stage.token, other: admin }));
    expect(message).toContain('opens nothing any more');
    stage.token = admin;
    // The way back: the admin and the shares make a root token.
    const holders = new Holders({ ...root(), share: [...shares(2)] });
    await stage.run(vaultRoot, holders);
    everything.push(holders.seen['Root token'] ?? '');
    expect(await stage.ask('GET', 'auth/token/lookup-self', undefined, holders.seen['Root token'])).toMatchObject({ status: 200 });
  });

  test('a second node joins, and both open with the same shares, typed once', async () => {
    const second = await startOpenBao(program ?? '', { joins: { url: server.url } });
    try {
      stage.addNode('nas2', second.url);
      const node = async () => (await fetch(`${second.url}/v1/sys/seal-status`)).json() as Promise<Record<string, unknown>>;
      // It asks for the shares once it has found its leader.
      await expect.poll(node, { timeout: 60_000 }).toMatchObject({ initialized: true, sealed: true, t: 2, n: 4 });
      await stage.run(seal, new Holders(root()));
      const { message, data } = await stage.run(unseal, new Holders({ share: [...shares(2)] }), {}, 'sealed');
      expect(message).toBe('vault is unsealed. Unsealed too: nas2.');
      expect(data).toMatchObject({ nodes: [{ host: 'nas2', sealed: false }] });
      expect(await node()).toMatchObject({ sealed: false });
    } finally {
      await second.close();
    }
  });

  test('nothing that opens something was left in the audit, in a journal, or in the log of the server', async () => {
    const written = `${await stage.written()}${server.output()}`;
    expect(written).toContain('PUT /v1/sys/unseal with a key share');
    expect(everything.length).toBeGreaterThan(12);
    for (const secret of everything) expect(written.includes(secret), secret.slice(0, 4)).toBe(false);
  });
});

const gpg = '/usr/bin/gpg';
describe.skipIf(missing || !existsSync(gpg))('shares sealed with PGP on a real OpenBao', () => {
  let server: RealOpenBao;
  let stage: VaultStage;
  let folder: string;
  const run = (home: string, args: string[], input?: Buffer) =>
    execFileSync(gpg, ['--homedir', home, '--batch', '--quiet', '--no-tty', '--pinentry-mode', 'loopback', '--passphrase', '', ...args], {
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-gpg-'));
    server = await startOpenBao(program ?? '');
    stage = await VaultStage.over(server);
  });
  afterAll(async () => {
    await stage?.close();
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
    await expect(stage.run(initialise, misled, {}, 'not initialised')).rejects.toMatchObject({
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
    await stage.run(initialise, holders, { options: { pgp: keys } }, 'not initialised');
    expect(Object.keys(holders.seen)).toEqual(['Root token']);
    expect((await readdir(join(folder, 'shares'))).sort()).toEqual(['share-1.pgp.base64', 'share-2.pgp.base64']);
    expect((await stat(join(folder, 'shares', 'share-1.pgp.base64'))).mode & 0o777).toBe(0o600);
    const sealed = (await readFile(join(folder, 'shares', 'share-1.pgp.base64'), 'utf8')).trim();
    await expect(stage.run(unseal, new Holders({ share: sealed }), {}, 'sealed')).rejects.toMatchObject({
      message: expect.stringContaining('sealed with PGP for its holder'),
    });
    expect((await stage.run(unseal, new Holders({ share: opened }), {}, 'sealed')).message).toBe('vault is unsealed.');
  });
});

describe.skipIf(missing)('a real OpenBao that opens itself', () => {
  let stage: VaultStage;
  beforeAll(async () => {
    stage = await VaultStage.over(await startOpenBao(program ?? '', { opensItself: true }));
  });
  afterAll(() => stage?.close());

  test('recovery shares are handed out; sealed by hand it is opened with them, and by a restart', async () => {
    const holders = new Holders({ shares: '3', threshold: '2' });
    expect((await stage.run(initialise, holders, {}, 'not initialised')).message).toContain('It is open.');
    const { 'Root token': token = '', ...made } = holders.seen;
    expect(Object.keys(made)).toEqual([1, 2, 3].map((number) => `Recovery share ${number} of 3`));
    const leads = () => expect.poll(async () => (await stage.ask('GET', 'sys/health')).status, { timeout: 60_000 }).toBe(200);
    await leads();
    await stage.run(seal, new Holders({ token }));
    const given = new Holders({ recovery: 'shares', share: Object.values(made).slice(1) });
    expect((await stage.run(unseal, given, {}, 'sealed')).message).toBe('vault is unsealed.');
    await leads();
    stage.token = token;
    const rotated = new Holders({ token, share: Object.values(made), shares: '2', threshold: '2' });
    expect((await stage.run(vaultRotate, rotated)).message).toContain('has new recovery shares: 2 of 2 are enough');
    await stage.server.restart();
    await leads();
  });
});
