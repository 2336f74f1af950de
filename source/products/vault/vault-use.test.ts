import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Holders, VaultFixture } from '../../../test/doubles/vault-fixture.ts';

let fixture: VaultFixture;
beforeEach(async () => {
  fixture = await VaultFixture.open();
  await fixture.unseal();
});
afterEach(() => fixture.close());

const kept = 'local/vault.login/TOKEN';
const tables = (holders: Holders) =>
  holders.shown.flatMap((shown) => (shown.kind === 'table' ? shown.rows.map((row) => row.join(' ')) : []));
const secrets = (holders: Holders) => holders.shown.flatMap((shown) => (shown.kind === 'secret' ? [shown.value] : []));

async function expectNoTrace(holders: Holders, ...values: readonly string[]): Promise<void> {
  const everywhere = holders.reported + (await fixture.written());
  for (const value of [fixture.token, ...values]) expect(everywhere).not.toContain(value);
}
/** Creates a token with only this policy, valid for an hour. */
async function tokenWith(policy: string): Promise<string> {
  const { auth } = (await fixture.ask('POST', 'auth/token/create', { policies: [policy], ttl: '1h' })) as unknown as {
    auth: { client_token: string };
  };
  return auth.client_token;
}

describe('logging in', () => {
  test('a token is looked up, told without itself, and kept when that is wanted; then nothing asks for it any more', async () => {
    const token = await tokenWith('apps');
    const holders = new Holders({ method: 'token', token, keep: 'yes' });
    const { message, data } = await fixture.run('vault-login', holders);
    expect(message).toMatch(/Logged in to vault as token; the token is stored/);
    expect(data).toMatchObject({ policies: ['apps', 'default'], kept: true });
    expect(await fixture.fixture.vault.read(kept)).toBe(token);
    expect(tables(holders).join('\n')).toMatch(/policies apps, default.*\n.*expires in/);
    await expectNoTrace(holders, token);
    const later = new Holders({}, 'unattended');
    expect((await fixture.run('vault-token', later)).data).toMatchObject({ policies: ['apps', 'default'] });
    const out = await fixture.run('vault-logout', new Holders());
    expect(out.message).toContain('was revoked and deleted');
    expect(await fixture.ask('GET', 'auth/token/lookup-self', undefined, token)).toMatchObject({ status: 403 });
    expect((await fixture.run('vault-logout', new Holders())).message).toBe('No token is stored for vault.');
    await expect(fixture.run('vault-token', new Holders({}, 'unattended'))).rejects.toMatchObject({
      code: 'usage.unanswered',
      remedy: expect.stringContaining('quarterdeck vault login vault'),
    });
  });

  test('a root token is not kept by itself, and logging out does not revoke it', async () => {
    const holders = new Holders({ token: fixture.token });
    expect((await fixture.run('vault-login', holders)).data).toMatchObject({ kept: false });
    expect(holders.asked.find(({ id }) => id === 'keep')?.help).toContain('has all permissions');
    await fixture.run('vault-login', new Holders({ token: fixture.token, keep: 'yes' }));
    expect((await fixture.run('vault-logout', new Holders())).message).toContain('not revoked');
    expect(await fixture.ask('GET', 'auth/token/lookup-self')).toMatchObject({ status: 200 });
  });

  test('AppRole: both halves give a token; a wrong one is refused without being repeated', async () => {
    const { data: role } = (await fixture.ask('GET', 'auth/approle/role/backup/role-id')) as unknown as { data: { role_id: string } };
    const { data: secret } = (await fixture.ask('POST', 'auth/approle/role/backup/secret-id', {})) as unknown as {
      data: { secret_id: string };
    };
    const answers = { 'role-id': role.role_id, 'secret-id': secret.secret_id, keep: 'no' };
    const holders = new Holders(answers);
    const { data } = await fixture.run('vault-login', holders, { options: { method: 'approle' } });
    expect(data).toMatchObject({ policies: ['backup', 'default'], path: 'auth/approle/login' });
    await expectNoTrace(holders, secret.secret_id);
    const wrong = new Holders({ ...answers, 'secret-id': 'not-the-secret-id' });
    await expect(fixture.run('vault-login', wrong, { options: { method: 'approle' } })).rejects.toMatchObject({
      code: 'failed.login',
      message: expect.not.stringContaining('not-the-secret-id'),
    });
  });

  test('bad input: a token of another server, one with a space, a way that is none', async () => {
    await expect(fixture.run('vault-login', new Holders({ token: 's.elsewhere' }))).rejects.toMatchObject({ code: 'failed.login' });
    await expect(fixture.run('vault-login', new Holders({ token: 'a b' }))).rejects.toMatchObject({ code: 'usage.token' });
    await expect(fixture.run('vault-login', new Holders(), { options: { method: 'ldap' } })).rejects.toMatchObject({
      code: 'usage.method',
    });
    await expect(fixture.run('vault-token', new Holders({ token: '' }))).rejects.toMatchObject({ code: 'usage.token' });
  });
});

describe('reading and writing paths', () => {
  const token = () => ({ token: fixture.token });

  test('engines and names are listed; values stay hidden until one is chosen', async () => {
    const engines = new Holders(token());
    await fixture.run('vault-list', engines);
    expect(tables(engines)).toEqual(['legacy/ 1 from before the move', 'secret/ 2 secrets of the household']);
    const names = new Holders(token());
    await fixture.run('vault-list', names, { words: ['secret/apps'] });
    expect(tables(names)).toEqual(['secret/apps/file-sync', 'secret/apps/rss-reader']);
    const holders = new Holders({ ...token(), field: 'gui_user' });
    const { data } = await fixture.run('vault-read', holders, { words: ['secret/apps/file-sync'] });
    expect(tables(holders)).toEqual(['api_key (hidden)', 'gui_user (hidden)']);
    expect(secrets(holders)).toEqual(['captain']);
    expect(data).toMatchObject({ engine: 2, keys: ['api_key', 'gui_user'], version: 1 });
    await expectNoTrace(holders);
  });

  test('a dry run reveals nothing, and does not say that it did', async () => {
    fixture.fixture.policy = { ...fixture.fixture.policy, dryRun: true };
    const holders = new Holders(token());
    const { message } = await fixture.run('vault-read', holders, { words: ['secret/apps/file-sync'], options: { field: 'gui_user' } });
    expect(message).toBe('Dry run: nothing was revealed.');
    expect(secrets(holders)).toEqual([]);
  });

  test('without a path one goes down through the folders', async () => {
    const holders = new Holders({ ...token(), path: 'secret/', 'path-2': 'apps/', 'path-3': 'rss-reader', field: '' });
    expect((await fixture.run('vault-read', holders)).message).toBe('secret/apps/rss-reader (version 2) has 1 key.');
  });

  test('version 2: other keys stay, an older version can be read, and who was slower is refused (check-and-set)', async () => {
    const path = 'secret/apps/file-sync';
    const values = { ...token(), 'value-gui_user': 'ada', 'again-gui_user': 'ada' };
    const holders = new Holders(values);
    const { message } = await fixture.run('vault-write', holders, { words: [path, 'gui_user'] });
    expect(message).toBe(`Wrote ${path}, version 2.`);
    expect(await fixture.written()).toContain('keeps api_key, if it is still at version 1');
    const older = new Holders({ ...token(), field: 'gui_user' });
    await fixture.run('vault-read', older, { words: [path], options: { version: '1' } });
    expect(secrets(older)).toEqual(['captain']);
    const slower = new Holders({
      ...token(),
      'value-gui_user': async () => {
        await fixture.ask('PUT', 'secret/data/apps/file-sync', { data: { gui_user: 'grace' } });
        return 'eve';
      },
      'again-gui_user': 'eve',
    });
    await expect(fixture.run('vault-write', slower, { words: [path, 'gui_user'] })).rejects.toMatchObject({ code: 'failed.changed' });
    expect(await fixture.ask('GET', 'secret/data/apps/file-sync')).toMatchObject({ data: { data: { gui_user: 'grace' } } });
  });

  test('version 1 keeps nothing: overwriting is confirmed with what is lost', async () => {
    const holders = new Holders({ ...token(), 'value-password': 'correct horse', 'again-password': 'correct horse' });
    const { message } = await fixture.run('vault-write', holders, { words: ['legacy/router', 'password'] });
    expect(message).toBe('Wrote legacy/router.');
    expect(holders.confirmations[0]?.consequences.join(' ')).toMatch(/lost: password/);
    expect(await fixture.ask('GET', 'legacy/router')).toMatchObject({ data: { user: 'admin', password: 'correct horse' } });
    await expectNoTrace(holders, 'correct horse');
  });

  test('something new, and the same once more: the second time there is nothing to do', async () => {
    const values = { ...token(), 'value-a': 'first value', 'again-a': 'first value' };
    const words = ['secret/new/thing', 'a'];
    expect((await fixture.run('vault-write', new Holders(values), { words })).data).toMatchObject({ version: 1 });
    expect((await fixture.run('vault-write', new Holders(values), { words })).data).toMatchObject({ version: 1 });
  });

  test('a deleted version is told as deleted, and written over', async () => {
    await fixture.ask('DELETE', 'secret/data/apps/file-sync');
    const { message } = await fixture.run('vault-read', new Holders(token()), { words: ['secret/apps/file-sync'] });
    expect(message).toMatch(/was deleted; quarterdeck vault undelete vault secret\/apps\/file-sync --version 1 restores it/);
    const values = { ...token(), 'value-a': 'anew', 'again-a': 'anew' };
    expect((await fixture.run('vault-write', new Holders(values), { words: ['secret/apps/file-sync', 'a'] })).data).toEqual({
      path: 'secret/apps/file-sync',
      keys: ['a'],
      version: 2,
    });
  });

  test.each([
    ['a value on the command line', ['secret/x', 'password=hunter2'], 'usage.words'],
    ['no such path', ['secret/nothing/here'], 'usage.path'],
    ['no engine', ['nowhere/x'], 'failed.vault'],
  ])('%s', async (_, words, code) => {
    const flow = words.length > 1 ? 'vault-write' : 'vault-read';
    const fault = (await fixture.run(flow, new Holders(token()), { words }).catch((thrown: unknown) => thrown)) as { message: string };
    expect(fault).toMatchObject({ code });
    expect(JSON.stringify(fault)).not.toContain('hunter2');
  });

  test('a token that may not is refused, and read-only reveals nothing', async () => {
    const apps = await tokenWith('apps');
    await expect(fixture.run('vault-read', new Holders({ token: apps }), { words: ['secret/backup/repository'] })).rejects.toMatchObject({
      message: expect.stringMatching(/not permitted to read/),
    });
    fixture.fixture.policy = { ...fixture.fixture.policy, readOnly: true };
    const holders = new Holders(token());
    await fixture.run('vault-read', holders, { words: ['secret/apps/file-sync'] });
    expect(holders.asked.some(({ id }) => id === 'field')).toBe(false);
    await expect(
      fixture.run('vault-read', new Holders(token()), { words: ['secret/apps/file-sync'], options: { field: 'api_key' } }),
    ).rejects.toMatchObject({ code: 'refused.readOnly' });
  });
});

describe('policies and programs', () => {
  const token = () => ({ token: fixture.token });

  test('a policy is made from answers, looked at, in force, and grants no more than it says', async () => {
    const holders = new Holders({ ...token(), allows: 'read', below: 'secret/data/apps' });
    const { message } = await fixture.run('vault-policy', holders, { words: ['reader'] });
    expect(message).toBe('Wrote the policy reader. It is now in effect.');
    expect(JSON.stringify(holders.reviews[0])).toContain('secret/data/apps/*');
    const reader = await tokenWith('reader');
    expect(await fixture.ask('GET', 'secret/data/apps/file-sync', undefined, reader)).toMatchObject({ status: 200 });
    expect(await fixture.ask('PUT', 'secret/data/apps/file-sync', { data: {} }, reader)).toMatchObject({ status: 403 });
    const shown = new Holders(token());
    await fixture.run('vault-policies', shown, { words: ['reader'] });
    expect(shown.texts().join('\n')).toContain('capabilities = ["read", "list"]');
    expect((await fixture.run('vault-policy', new Holders(token()), { words: ['reader'], options: { remove: true } })).message).toContain(
      'Removed',
    );
    await expect(fixture.run('vault-policies', new Holders(token()), { words: ['reader'] })).rejects.toMatchObject({
      code: 'usage.policy',
    });
  });

  test('in a dry run, with or without a text, none is removed, and that is what it says', async () => {
    fixture.fixture.policy = { ...fixture.fixture.policy, dryRun: true };
    for (const more of [{}, { stdin: Buffer.from('') }]) {
      const holders = new Holders(token());
      const { message } = await fixture.run('vault-policy', holders, { words: ['apps'], options: { remove: true }, ...more });
      expect(holders.texts()).toEqual(['Would prompt for a token and send DELETE /v1/sys/policies/acl/apps']);
      expect(message).toBe('Dry run: the policy apps was not changed.');
    }
  });

  test('an empty text makes no policy, and is not said to', async () => {
    const { message } = await fixture.run('vault-policy', new Holders(token()), { words: ['fresh'], stdin: Buffer.from('\n') });
    expect(message).toBe('The policy fresh was not created: it is empty.');
  });

  test('a role without a lifetime of its own has that of the server', async () => {
    await fixture.ask('POST', 'auth/approle/role/plain', { token_policies: ['apps'], token_ttl: '0s' });
    const { message } = await fixture.run('vault-approle', new Holders(token()), { words: ['plain'] });
    expect(message).toContain('Validity of its tokens: the default TTL of the server; policies: apps.');
  });

  test('one that the server cannot read is not taken, in its words', async () => {
    const stdin = Buffer.from('path "x" { capabilities = ["fly"] }');
    await expect(fixture.run('vault-policy', new Holders(token()), { words: ['bad'], stdin })).rejects.toMatchObject({
      code: 'failed.policy',
      message: expect.stringContaining('invalid capability'),
    });
    await expect(fixture.run('vault-policy', new Holders(token()), { words: ['root'] })).rejects.toMatchObject({ code: 'refused.policy' });
  });

  test('a program gets a role and a secret id that was tried; a second run makes another', async () => {
    const holders = new Holders({ ...token(), policies: ['apps'], ttl: '1h' });
    const { message, data } = await fixture.run('vault-approle', holders, { words: ['rss-reader'] });
    expect(message).toMatch(/rss-reader can log in.*was tested.*1h.*apps/);
    const { roleId } = data as { roleId: string };
    const [first] = secrets(holders);
    expect(await fixture.ask('POST', 'auth/approle/login', { role_id: roleId, secret_id: first })).toMatchObject({ status: 200 });
    await expectNoTrace(holders, first ?? '');
    const again = new Holders(token());
    await fixture.run('vault-approle', again, { words: ['rss-reader'] });
    expect(secrets(again)[0]).not.toBe(first);
    expect(again.asked.map(({ id }) => id)).toEqual(['token']);
    await expect(fixture.run('vault-approle', new Holders(token()), { words: ['x'], options: { policy: ['nope'] } })).rejects.toMatchObject(
      {
        code: 'usage.policy',
      },
    );
  });
});

describe('a snapshot', () => {
  const token = () => ({ token: fixture.token });

  test('is looked through, and saved where nobody else may read it', async () => {
    const file = join(fixture.fixture.folder, 'vault.snap');
    const { message, data } = await fixture.run('vault-snapshot', new Holders(token()), { words: [file] });
    expect(message).toMatch(/complete, as of index 86.*3 of the 5 current key shares\.$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file)).subarray(0, 2).toString('hex')).toBe('1f8b');
    expect(data).toMatchObject({ threshold: 3, shares: 5, index: 86 });
    expect(await fixture.ask('GET', 'sys/seal-status')).toMatchObject({ sealed: false });
  });

  test('a file that is there is replaced after a confirmation alone, and stays when the server refuses', async () => {
    const file = join(fixture.fixture.folder, 'vault.snap');
    await writeFile(file, 'precious');
    const apps = await tokenWith('apps');
    await expect(fixture.run('vault-snapshot', new Holders({ token: apps }), { words: [file] })).rejects.toMatchObject({
      code: 'failed.vault',
    });
    const declined = new Holders(token());
    declined.confirms = false;
    await expect(fixture.run('vault-snapshot', declined, { words: [file] })).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(await readFile(file, 'utf8')).toBe('precious');
  });
});
