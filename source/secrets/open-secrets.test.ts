import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { KeychainDouble } from '../../test/doubles/keychain-double.ts';
import { mintGrant } from '../grants/mint.ts';
import type { SecretStorageOptions } from './open-secrets.ts';
import { keyFile } from './secret-store.ts';
import type { SecretName } from './secrets.ts';

const signal = new AbortController().signal;
const grant = mintGrant('test', 'operate', signal);
const token: SecretName = 'nas/password-vault/ADMIN_TOKEN';
const phrase = 'correct horse battery';

let folder: string;
let keychain: KeychainDouble;
let openSecretStorage: (options: SecretStorageOptions) => ReturnType<typeof import('./open-secrets.ts').openSecretStorage>;
let asked: { id: string; help?: string | undefined }[];

beforeEach(async () => {
  vi.resetModules();
  keychain = new KeychainDouble();
  keychain.install();
  // The cost of the key only changes numbers, not the code; hundreds of keys at full cost would take minutes.
  vi.doMock('./key-derivation.ts', async (original) => ({
    ...(await original<typeof import('./key-derivation.ts')>()),
    usualCost: { memoryKiB: 1024, passes: 1, parallelism: 1 },
  }));
  ({ openSecretStorage } = await import('./open-secrets.ts'));
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-vault-'));
  asked = [];
});
afterEach(async () => {
  vi.doUnmock('keytar');
  vi.doUnmock('./key-derivation.ts');
  await rm(folder, { recursive: true, force: true });
});

const open = (env: Record<string, string> = {}, phrases?: readonly string[]) => {
  const left = [...(phrases ?? [])];
  return openSecretStorage({
    env: { DISPLAY: ':0', ...env },
    paths: { data: folder },
    signal,
    askPassphrase: async ({ id, help }) => {
      asked.push({ id, help });
      return phrases ? (left.shift() ?? '') : phrase;
    },
  });
};
const inFile = { QUARTERDECK_SECRETS: 'file' };
const sealedFile = () => join(folder, 'secrets.sealed');

describe.each([
  ['the keychain', { QUARTERDECK_SECRETS: 'keychain' }],
  ['the sealed file', inFile],
])('a vault in %s', (_, env) => {
  test('keeps versions, the newest first in force, and gives each back to another process', async () => {
    const vault = await open(env);
    const first = await vault.write(grant, token, 'one', 'generated');
    const second = await vault.write(grant, token, 'zwei ü €', 'rotated');
    const other = await open(env);
    expect([await other.read(token, signal), await other.read(token, signal, first), await other.read(token, signal, second)]).toEqual([
      'zwei ü €',
      'one',
      'zwei ü €',
    ]);
    expect(await other.list(signal)).toEqual([
      {
        name: token,
        versions: [
          { id: first, createdMs: expect.any(Number), origin: 'generated' },
          { id: second, createdMs: expect.any(Number), origin: 'rotated' },
        ],
      },
    ]);
    expect(JSON.stringify(await other.list(signal))).not.toMatch(/one|zwei/);
  });

  test('keeps the last ten versions', async () => {
    const vault = await open(env);
    const ids: string[] = [];
    for (let count = 0; count < 12; count++) ids.push(await vault.write(grant, token, `value ${count}`, 'rotated'));
    const [entry] = await vault.list(signal);
    expect(entry?.versions.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(await vault.read(token, signal, ids[0])).toBeUndefined();
    expect([...keychain.all().values()].join()).not.toContain('value 1,');
  });

  test('and older ones for as long as something names them', async () => {
    const ids: string[] = [];
    let named: ReadonlySet<string> | undefined = new Set();
    let asked = 0;
    const inForce = async () => {
      asked += 1;
      return named;
    };
    const vault = await openSecretStorage({
      env: { DISPLAY: ':0', ...env },
      paths: { data: folder },
      signal,
      askPassphrase: async () => phrase,
      inForce,
    });
    const write = async () => ids.push(await vault.write(grant, token, `value ${ids.length}`, 'rotated'));
    const kept = async () => (await vault.list(signal))[0]?.versions.map(({ id }) => id);
    for (let count = 0; count < 10; count++) await write();
    // Below ten versions none can be dropped, and no host is queried.
    expect(asked).toBe(0);
    named = new Set([ids[0] ?? '']);
    await write();
    await write();
    expect(await kept()).toEqual([ids[0], ...ids.slice(2)]);
    expect(await vault.read(token, signal, ids[0])).toBe('value 0');
    // An unreachable host cannot answer: no version is dropped.
    named = undefined;
    await write();
    expect(await kept()).toEqual([ids[0], ...ids.slice(2)]);
    named = new Set();
    await write();
    expect(await kept()).toEqual(ids.slice(4));
  });

  test('what was written last is the newest, also after the clock was put back', async () => {
    const vault = await open(env);
    await vault.write(grant, token, 'before', 'given');
    const clock = vi.spyOn(Date, 'now').mockReturnValue(1_000);
    try {
      await vault.write(grant, token, 'after', 'given');
    } finally {
      clock.mockRestore();
    }
    expect(await vault.read(token, signal)).toBe('after');
  });

  test('forgets what is removed, with all versions', async () => {
    const vault = await open(env);
    await vault.write(grant, token, 'secret one', 'given');
    await vault.write(grant, 'nas/rss-reader/DB_PASSWORD', 'secret two', 'given');
    await vault.remove(grant, token);
    expect(await vault.read(token, signal)).toBeUndefined();
    expect((await vault.list(signal)).map(({ name }) => name)).toEqual(['nas/rss-reader/DB_PASSWORD']);
    expect([...keychain.all().values()].join()).not.toContain('secret one');
  });

  test('names and values that mean something to JavaScript or to JSON are only names and values', async () => {
    const vault = await open(env);
    for (const [name, value] of [
      ['nas/__proto__/constructor', '{"a":1}'],
      ['nas/odd/web password: "x" / y', 'line one\nline two\t"'],
      ['local/podman/rss-reader/DB', ' leading and trailing '],
    ] as const) {
      await vault.write(grant, name as SecretName, value, 'given');
      expect(await (await open(env)).read(name as SecretName, signal)).toBe(value);
    }
  });

  test.each([
    ['nothing', ''],
    ['a NUL', 'a\0b'],
    ['half a character', 'a\ud800'],
  ])('refuses what could not be given back: %s', async (_what, value) => {
    const vault = await open(env);
    await expect(vault.write(grant, token, value, 'given')).rejects.toMatchObject({ code: 'usage.secret' });
    expect(await vault.list(signal)).toEqual([]);
  });

  test('twenty writes at once are twenty versions and names', async () => {
    const [a, b] = await Promise.all([open(env), open(env)]);
    await a.write(grant, token, 'first', 'given');
    await Promise.all(
      Array.from({ length: 20 }, (__, index) => (index % 2 ? a : b).write(grant, `nas/c${index}/SECRET`, `value ${index}`, 'generated')),
    );
    expect(await a.list(signal)).toHaveLength(21);
    for (let index = 0; index < 20; index++) expect(await b.read(`nas/c${index}/SECRET`, signal)).toBe(`value ${index}`);
  }, 60_000);
});

describe('the keychain', () => {
  const env = { QUARTERDECK_SECRETS: 'keychain' };
  const accounts = () => [...keychain.accounts.values()][0] as Map<string, string>;

  test.each([
    ['is lost', () => accounts().delete('index')],
    ['is damaged', () => accounts().set('index', '{"format":1,"secrets":[["x"')],
    ['is something else', () => accounts().set('index', '{"format":1,"secrets":[["x",[[1,2,3]]]]}')],
  ])('an index that %s is made again from what is there', async (_, damage) => {
    const vault = await open(env);
    await vault.write(grant, token, 'one', 'generated');
    await vault.write(grant, token, 'two', 'rotated');
    const before = await vault.list(signal);
    damage();
    expect(await (await open(env)).list(signal)).toEqual(before);
    expect(await vault.read(token, signal)).toBe('two');
    await vault.write(grant, 'nas/other/KEY', 'three', 'given');
    expect(JSON.parse(accounts().get('index') ?? '').secrets).toHaveLength(2);
  });

  test('a process that dies at any moment of a change loses nothing that was there, and the next change mends the index', async () => {
    for (let moment = 0; moment < 3; moment++) {
      keychain.accounts.clear();
      const vault = await open(env);
      await vault.write(grant, token, 'kept', 'generated');
      let count = 0;
      keychain.before = () => {
        if (count++ === moment) throw new Error('killed');
      };
      await expect(vault.write(grant, token, 'new', 'rotated')).rejects.toThrow();
      keychain.before = () => {};
      const next = await open(env);
      await next.write(grant, 'nas/other/KEY', 'three', 'given');
      const entry = (await next.list(signal)).find(({ name }) => name === token);
      const values = await Promise.all((entry?.versions ?? []).map(({ id }) => next.read(token, signal, id)));
      expect(values[0]).toBe('kept');
      // No value is stored that is not listed.
      expect(accounts().size).toBe(1 + (entry?.versions.length ?? 0) + 1);
    }
  });

  test('an account that was removed by hand does not hide the versions that are left', async () => {
    const vault = await open(env);
    await vault.write(grant, token, 'one', 'generated');
    const second = await vault.write(grant, token, 'two', 'rotated');
    for (const account of accounts().keys()) if (account.includes(second)) accounts().delete(account);
    expect(await vault.read(token, signal)).toBe('one');
  });

  test.each([
    ['Cannot autolaunch D-Bus without X11 $DISPLAY', 'this session has no D-Bus'],
    ['The name org.freedesktop.secrets was not provided by any .service files', 'no secret service is installed'],
    ['Object does not exist at path “/org/freedesktop/secrets/collection/login”', 'it has no keyring yet'],
    ['Cannot create an item in a locked collection', 'it is locked'],
    ['Failed to load keytar native addon, checked []', 'the libsecret library is missing'],
  ])('says "%s" in words', async (thrown, reason) => {
    const vault = await open(env);
    keychain.fault = thrown;
    await expect(vault.read(token, signal)).rejects.toMatchObject({
      code: 'failed.keychain',
      message: `The system keychain is not available: ${reason}.`,
    });
    // Not permanently: the keychain may have been unlocked.
    keychain.fault = undefined;
    expect(await vault.read(token, signal)).toBeUndefined();
  });
});

describe('which place', () => {
  test('is the keychain where it answers, and stays so when it does not for once', async () => {
    const vault = await open();
    expect(vault.kind).toBe('keychain');
    await vault.write(grant, token, 'x', 'given');
    keychain.fault = 'Cannot create an item in a locked collection';
    const later = await open();
    await expect(later.read(token, signal)).rejects.toMatchObject({ code: 'failed.keychain' });
    expect(await readdir(folder)).not.toContain('secrets.sealed');
  });

  test('is the sealed file where there is no keychain, which the question says, and stays so when there is one later', async () => {
    keychain.fault = 'The name org.freedesktop.secrets was not provided by any .service files';
    const vault = await open();
    expect([vault.kind, vault.where, vault.passedOver]).toEqual(['file', sealedFile(), undefined]);
    expect(await vault.list(signal)).toEqual([]);
    expect(asked).toEqual([]);
    await vault.write(grant, token, 'x', 'given');
    expect(asked.map(({ id }) => id)).toEqual(['secrets-new-passphrase', 'secrets-new-passphrase-again']);
    expect(asked[0]?.help).toContain('no secret service is installed');
    keychain.fault = undefined;
    expect(await (await open()).read(token, signal)).toBe('x');
  });

  test('is the sealed file where the keychain does not answer, which may hold secrets all the same', async () => {
    keychain.fault = 'no response within 3 seconds';
    const vault = await open();
    expect([vault.kind, vault.passedOver]).toEqual(['file', 'The system keychain is not available: no response within 3 seconds.']);
  });

  test('a keychain is absent by its state, not because an error of the library has the same words', async () => {
    keychain.fault = 'the helper reports that no secret service is installed';
    const { kind, passedOver } = await open();
    expect([kind, passedOver]).toEqual(['file', `The system keychain is not available: ${keychain.fault}.`]);
  });

  test('is not begun in a file because the keychain is locked today', async () => {
    keychain.fault = 'Cannot create an item in a locked collection';
    await expect(open()).rejects.toMatchObject({ code: 'failed.keychain', remedy: 'Unlock the keychain and try again.' });
  });

  test('a damaged record of it changes nothing, and is moved to choose again', async () => {
    const record = join(folder, 'secrets-place.json');
    await (await open(inFile)).write(grant, token, 'x', 'given');
    await writeFile(record, '{');
    const refused = {
      code: 'failed.secrets',
      remedy: expect.stringMatching(/^Nothing was changed\. Move the file, and set QUARTERDECK_SECRETS/),
    };
    await expect((await open(inFile)).write(grant, token, 'y', 'given')).rejects.toMatchObject(refused);
    await rm(record);
    expect(await (await open(inFile)).read(token, signal)).toBe('x');
  });

  test('is nothing that is made up', async () => {
    await expect(open({ QUARTERDECK_SECRETS: 'cloud' })).rejects.toMatchObject({ code: 'usage.secrets' });
  });
});

describe('the sealed file', () => {
  test('is readable only by its owner, and says nothing in clear', async () => {
    const vault = await open(inFile);
    await vault.write(grant, token, 'a marked value', 'given');
    const text = await readFile(sealedFile(), 'utf8');
    expect((await stat(sealedFile())).mode & 0o777).toBe(0o600);
    for (const word of ['a marked value', 'password-vault', 'ADMIN_TOKEN', phrase]) expect(text).not.toContain(word);
    expect(await readdir(folder)).toEqual(expect.arrayContaining(['secrets.sealed']));
  });

  test('asks once a process, tells a wrong passphrase, and gives up after three', async () => {
    await (await open(inFile)).write(grant, token, 'x', 'given');
    asked = [];
    const vault = await open(inFile, ['wrong', phrase]);
    expect(await vault.read(token, signal)).toBe('x');
    await vault.list(signal);
    expect(asked).toHaveLength(2);
    expect(asked[1]?.help).toBe('Wrong passphrase. Try again.');
    await expect((await open(inFile, ['a', 'b', 'c'])).list(signal)).rejects.toMatchObject({ code: 'refused.sealed' });
    expect(await (await open(inFile)).read(token, signal)).toBe('x');
  });

  test('wants a new passphrase of eight characters, twice the same', async () => {
    const vault = await open(inFile, ['short', phrase, 'another one', phrase, phrase]);
    await vault.write(grant, token, 'x', 'given');
    expect(asked.map(({ help }) => help?.split('.')[0])).toEqual([
      'If you lose the passphrase, the secrets are lost',
      'Use at least 8 characters',
      undefined,
      'The passphrases do not match',
      undefined,
    ]);
  });

  test('with nobody to ask it says what to do', async () => {
    await (await open(inFile)).write(grant, token, 'x', 'given');
    const alone = await openSecretStorage({ env: inFile, paths: { data: folder }, signal });
    await expect(alone.read(token, signal)).rejects.toMatchObject({
      code: 'refused.sealed',
      // The variable alone opens no file that a passphrase seals.
      remedy: expect.stringContaining('QUARTERDECK_SECRETS_KEY_FILE=FILE quarterdeck secrets reseal --key-file'),
    });
    await rm(sealedFile());
    await expect(alone.write(grant, token, 'x', 'given')).rejects.toMatchObject({
      remedy: 'Run the command in a terminal, or set QUARTERDECK_SECRETS_KEY_FILE to a key file.',
    });
  });

  test('takes a new passphrase, and another process with the old one is asked again', async () => {
    const [vault, other] = [await open(inFile), await open(inFile, [phrase, 'another passphrase'])];
    await vault.write(grant, token, 'x', 'given');
    expect(await other.read(token, signal)).toBe('x');
    const changing = await open(inFile, [phrase, 'another passphrase', 'another passphrase']);
    await changing.care.reseal(grant, 'passphrase');
    expect(await other.read(token, signal)).toBe('x');
    await expect((await open(inFile, [phrase, phrase, phrase])).read(token, signal)).rejects.toMatchObject({ code: 'refused.sealed' });
  });

  test('opens with a key file, which others may not read and which has to be there', async () => {
    const keyFile = join(folder, 'key');
    const env = { ...inFile, QUARTERDECK_SECRETS_KEY_FILE: keyFile };
    await expect((await open(env)).write(grant, token, 'x', 'given')).rejects.toMatchObject({
      message: `The key file ${keyFile} is missing.`,
    });
    await writeFile(keyFile, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
    await (await open(env)).write(grant, token, 'x', 'given');
    expect(await (await open(env)).read(token, signal)).toBe('x');
    expect(asked).toEqual([]);
    await expect((await open(inFile)).read(token, signal)).rejects.toMatchObject({
      message: `${sealedFile()} is sealed with a key file, but none is set.`,
    });
    await writeFile(keyFile, 'another key of enough characters');
    await expect((await open(env)).read(token, signal)).rejects.toMatchObject({ code: 'refused.sealed' });
    const { chmod } = await import('node:fs/promises');
    await chmod(keyFile, 0o644);
    await expect((await open(env)).read(token, signal)).rejects.toMatchObject({
      message: `The key file ${keyFile} can be read by other users.`,
    });
  });

  test('damaged or cut off it is told, left as it is, and nothing is asked', async () => {
    await (await open(inFile)).write(grant, token, 'x', 'given');
    const whole = await readFile(sealedFile(), 'utf8');
    asked = [];
    for (const bad of [whole.slice(0, -10), `${whole}x`, '', whole.replace('argon2id', 'argon2i')]) {
      await writeFile(sealedFile(), bad);
      await expect((await open(inFile)).read(token, signal)).rejects.toMatchObject({ code: 'failed.secrets' });
      await expect((await open(inFile)).write(grant, token, 'y', 'given')).rejects.toMatchObject({ code: 'failed.secrets' });
      expect(await readFile(sealedFile(), 'utf8')).toBe(bad);
    }
    expect(asked).toEqual([]);
  });

  test('gone, it is missed: nothing is begun in its place', async () => {
    const env = { QUARTERDECK_KEYCHAIN: 'off' };
    await (await open(env)).write(grant, token, 'x', 'given');
    await rm(sealedFile());
    await expect((await open(env)).read(token, signal)).rejects.toMatchObject({ code: 'refused.secretsMissing' });
  });
});

describe('a migration', () => {
  const fill = async () => {
    const vault = await open();
    for (const name of ['nas/a/ONE', 'nas/b/TWO', 'nas/c/THREE'] as const) {
      await vault.write(grant, name, `${name} first`, 'generated');
      await vault.write(grant, name, `${name} second`, 'rotated');
    }
    return vault;
  };
  const contents = async () => {
    const vault = await open();
    const found: Record<string, (string | undefined)[]> = {};
    for (const { name, versions } of await vault.list(signal)) {
      found[name] = await Promise.all(versions.map(({ id }) => vault.read(name, signal, id)));
    }
    return found;
  };

  test('moves everything there and back, with its versions, and leaves nothing behind', async () => {
    const vault = await fill();
    const [before, listed] = [await contents(), await vault.list(signal)];
    expect(await vault.care.migrate(grant, 'file')).toEqual({ moved: 3 });
    expect([vault.kind, await contents(), await vault.list(signal)]).toEqual(['file', before, listed]);
    expect([...keychain.all().keys()].filter((account) => account.startsWith('value'))).toEqual([]);
    expect(await vault.care.migrate(grant, 'keychain')).toEqual({ moved: 3 });
    expect([vault.kind, await contents(), await vault.list(signal)]).toEqual(['keychain', before, listed]);
    expect(await readdir(folder)).not.toContain('secrets.sealed');
  });

  test('another process follows it', async () => {
    const vault = await fill();
    const other = await open();
    await vault.care.migrate(grant, 'file');
    expect(await other.read('nas/a/ONE', signal)).toBe('nas/a/ONE second');
    await other.write(grant, 'nas/d/FOUR', 'four', 'given');
    expect([other.kind, await vault.read('nas/d/FOUR', signal)]).toEqual(['file', 'four']);
  });

  test('interrupted at any moment it loses nothing, and is gone on with', async () => {
    for (let moment = 0; ; moment++) {
      keychain.accounts.clear();
      await rm(folder, { recursive: true });
      const vault = await fill();
      const before = await contents();
      await vault.care.migrate(grant, 'file');
      let count = 0;
      keychain.before = () => {
        if (count++ === moment) throw new Error('killed');
      };
      const failed = await vault.care.migrate(grant, 'keychain').then(
        () => undefined,
        (fault: unknown) => fault,
      );
      keychain.before = () => {};
      if (!failed) break;
      expect(await contents()).toEqual(before);
      const next = await open();
      await next.care.migrate(grant, 'keychain');
      expect([next.kind, await contents(), await next.care.leftIn()]).toEqual(['keychain', before, undefined]);
      expect(await readdir(folder)).not.toContain('secrets.sealed');
      if (moment > 20) break;
    }
  }, 120_000);

  test('interrupted while the old copies are removed it says where they still are', async () => {
    const vault = await fill();
    let removing = false;
    keychain.before = (account) => {
      if (removing && account.startsWith('value')) throw new Error('killed');
    };
    removing = true;
    await expect(vault.care.migrate(grant, 'file')).rejects.toThrow();
    keychain.before = () => {};
    const next = await open();
    expect([next.kind, Object.keys(await contents())]).toEqual(['file', ['nas/a/ONE', 'nas/b/TWO', 'nas/c/THREE']]);
    expect(await next.care.leftIn()).toContain('keychain');
    await next.care.migrate(grant, 'file');
    expect([await next.care.leftIn(), [...keychain.all().keys()].filter((account) => account.startsWith('value'))]).toEqual([
      undefined,
      [],
    ]);
  });

  test('is refused where the environment says the place', async () => {
    const vault = await open(inFile);
    await expect(vault.care.migrate(grant, 'keychain')).rejects.toMatchObject({ code: 'usage.secrets' });
  });
});

describe('the sealed file is the one that was written last', () => {
  const anchorFile = () => join(folder, 'state', 'secrets-anchor.json');
  const anchored = () =>
    openSecretStorage({
      env: { DISPLAY: ':0', ...inFile },
      paths: { data: folder },
      anchors: [keyFile(anchorFile(), 'secrets')],
      signal,
      askPassphrase: async () => phrase,
    });
  const older = { code: 'refused.secretsOlder' };
  const missing = { code: 'refused.secretsMissing' };

  test('an older one that is put in its place is refused, to reading and to writing, until it is accepted', async () => {
    const vault = await anchored();
    await vault.write(grant, token, 'one', 'given');
    const before = await readFile(sealedFile(), 'utf8');
    await vault.write(grant, token, 'two', 'given');
    const after = await readFile(sealedFile(), 'utf8');
    await writeFile(sealedFile(), before);
    // Neither a process that had it open before nor a later one accepts it.
    for (const each of [vault, await anchored()]) {
      await expect(each.read(token, signal)).rejects.toMatchObject(older);
      await expect(each.write(grant, token, 'three', 'given')).rejects.toMatchObject(older);
    }
    expect(await readFile(sealedFile(), 'utf8')).toBe(before);
    await writeFile(sealedFile(), after);
    expect(await vault.read(token, signal)).toBe('two');
    await writeFile(sealedFile(), before);
    const late = await anchored();
    expect(await late.care.accept(grant)).toBe('file');
    expect(await late.read(token, signal)).toBe('one');
    await late.write(grant, token, 'four', 'given');
    expect(await (await anchored()).read(token, signal)).toBe('four');
    // A file that was once the newest is now an older one.
    await writeFile(sealedFile(), before);
    await expect(late.read(token, signal)).rejects.toMatchObject(older);
  });

  test.each([
    ['the file', ['secrets.sealed']],
    ['the file and the record of where secrets are', ['secrets.sealed', 'secrets-place.json']],
  ])('%s deleted: no new one is begun until that is accepted', async (_, files) => {
    const vault = await anchored();
    await vault.write(grant, token, 'one', 'given');
    for (const file of files) await rm(join(folder, file));
    for (const each of [vault, await anchored()]) {
      await expect(each.read(token, signal)).rejects.toMatchObject(missing);
      await expect(each.list(signal)).rejects.toMatchObject(missing);
      await expect(each.write(grant, token, 'two', 'given')).rejects.toMatchObject(missing);
    }
    const late = await anchored();
    expect(await late.care.accept(grant)).toBe('none');
    expect(await late.list(signal)).toEqual([]);
    await late.write(grant, token, 'two', 'given');
    expect(await (await anchored()).read(token, signal)).toBe('two');
  });

  test('what was discarded by accepting an older file, or none, is refused when it comes back', async () => {
    const vault = await anchored();
    await vault.write(grant, token, 'one', 'given');
    const one = await readFile(sealedFile(), 'utf8');
    await vault.write(grant, token, 'two', 'given');
    const two = await readFile(sealedFile(), 'utf8');
    await writeFile(sealedFile(), one);
    const second = await anchored();
    await second.care.accept(grant);
    await second.write(grant, token, 'three', 'given');
    await writeFile(sealedFile(), two);
    await expect((await anchored()).read(token, signal)).rejects.toMatchObject(older);
    await rm(sealedFile());
    const third = await anchored();
    await third.care.accept(grant);
    await writeFile(sealedFile(), two);
    await expect((await anchored()).read(token, signal)).rejects.toMatchObject(older);
    await rm(sealedFile());
    await third.write(grant, token, 'four', 'given');
    await writeFile(sealedFile(), two);
    await expect((await anchored()).read(token, signal)).rejects.toMatchObject(older);
  });

  test('a file of another installation with the same passphrase is refused, however often it was written', async () => {
    const here = await anchored();
    await here.write(grant, token, 'one', 'given');
    const elsewhere = await mkdtemp(join(tmpdir(), 'quarterdeck-vault-'));
    const other = await openSecretStorage({
      ...{ env: { DISPLAY: ':0', ...inFile }, paths: { data: elsewhere }, signal, askPassphrase: async () => phrase },
      anchors: [keyFile(join(elsewhere, 'secrets-anchor.json'), 'secrets')],
    });
    for (const value of ['two', 'three', 'four']) await other.write(grant, token, value, 'given');
    await writeFile(sealedFile(), await readFile(join(elsewhere, 'secrets.sealed')));
    await rm(elsewhere, { recursive: true });
    await expect((await anchored()).read(token, signal)).rejects.toMatchObject(older);
    await expect(here.write(grant, token, 'five', 'given')).rejects.toMatchObject(older);
  });

  test('the file that a migration removed is refused when it comes back, also without the record of where secrets are', async () => {
    const anchors = [keyFile(anchorFile(), 'secrets')];
    const auto = () =>
      openSecretStorage({ env: { DISPLAY: ':0' }, paths: { data: folder }, anchors, signal, askPassphrase: async () => phrase });
    await (await anchored()).write(grant, token, 'one', 'given');
    const before = await readFile(sealedFile(), 'utf8');
    await (await auto()).care.migrate(grant, 'keychain');
    await writeFile(sealedFile(), before);
    expect(await (await auto()).read(token, signal)).toBe('one');
    await rm(join(folder, 'secrets-place.json'));
    await expect((await auto()).read(token, signal)).rejects.toMatchObject(older);
  });

  test('a process that was killed between the file and its anchor: the next reader remembers the file', async () => {
    const vault = await anchored();
    await vault.write(grant, token, 'one', 'given');
    const one = await readFile(sealedFile(), 'utf8');
    const remembered = await readFile(anchorFile(), 'utf8');
    await vault.write(grant, token, 'two', 'given');
    await writeFile(anchorFile(), remembered);
    expect(await (await anchored()).read(token, signal)).toBe('two');
    await writeFile(sealedFile(), one);
    await expect((await anchored()).read(token, signal)).rejects.toMatchObject(older);
  });

  test('two places remember it: deleting or restoring one of them with the file is noticed', async () => {
    const kept = new Map<string, string>();
    const store = {
      kind: 'keychain' as const,
      get: async (name: string) => kept.get(name),
      set: async (name: string, value: string) => void kept.set(name, value),
    };
    const both = () =>
      openSecretStorage({
        ...{ env: { DISPLAY: ':0', ...inFile }, paths: { data: folder }, signal, askPassphrase: async () => phrase },
        anchors: [store, keyFile(anchorFile(), 'secrets')],
      });
    const vault = await both();
    await vault.write(grant, token, 'one', 'given');
    const [one, anchor] = [await readFile(sealedFile(), 'utf8'), await readFile(anchorFile(), 'utf8')];
    await vault.write(grant, token, 'two', 'given');
    await writeFile(sealedFile(), one);
    await writeFile(anchorFile(), anchor);
    await expect((await both()).read(token, signal)).rejects.toMatchObject(older);
    await rm(sealedFile());
    await rm(anchorFile());
    await expect((await both()).read(token, signal)).rejects.toMatchObject(missing);
  });

  test('a file that was begun while the keychain did not respond is no discarded one when it answers again', async () => {
    const kept = new Map<string, string>();
    let isLocked = false;
    const answer = async <T>(value: () => T): Promise<T> => {
      if (isLocked) throw new Error('it is locked');
      return value();
    };
    const store = {
      kind: 'keychain' as const,
      get: (name: string) => answer(() => kept.get(name)),
      set: (name: string, value: string) => answer(() => void kept.set(name, value)),
    };
    const both = () =>
      openSecretStorage({
        ...{ env: { DISPLAY: ':0', ...inFile }, paths: { data: folder }, signal, askPassphrase: async () => phrase },
        anchors: [store, keyFile(anchorFile(), 'secrets')],
      });
    await (await both()).write(grant, token, 'one', 'given');
    const one = await readFile(sealedFile(), 'utf8');
    await rm(sealedFile());
    expect(await (await both()).care.accept(grant)).toBe('none');
    isLocked = true;
    await (await both()).write(grant, token, 'two', 'given');
    isLocked = false;
    expect(await (await both()).read(token, signal)).toBe('two');
    // From then on both stores know it.
    await rm(anchorFile());
    await writeFile(sealedFile(), one);
    await expect((await both()).read(token, signal)).rejects.toMatchObject(older);
  });

  test('where nothing is lost there is nothing to accept', async () => {
    const vault = await anchored();
    expect(await vault.care.lost(signal)).toBeUndefined();
    await vault.write(grant, token, 'one', 'given');
    expect(await vault.care.lost(signal)).toBeUndefined();
    await rm(sealedFile());
    expect(await (await anchored()).care.lost(signal)).toMatchObject(missing);
  });

  test('another passphrase, and a file from before there was an anchor, are no older ones', async () => {
    const vault = await open(inFile);
    await vault.write(grant, token, 'one', 'given');
    const later = await anchored();
    expect(await later.read(token, signal)).toBe('one');
    await later.write(grant, token, 'two', 'given');
    const before = await readFile(sealedFile(), 'utf8');
    await later.care.reseal(grant, 'passphrase');
    expect(await (await anchored()).read(token, signal)).toBe('two');
    // A file that the previous passphrase opens is such a file.
    await writeFile(sealedFile(), before);
    await expect((await anchored()).read(token, signal)).rejects.toMatchObject(older);
  });
});
