import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBackupKeys } from './backup-keys.ts';
import { keychainFault } from './keychain.ts';
import { keyFile, type SecretStore } from './secret-store.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-keys-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const file = () => keyFile(join(folder, 'backup-key.json'), 'backup');
const failing = (why: string): SecretStore => {
  const fail = async (): Promise<never> => {
    throw keychainFault(why);
  };
  return { kind: 'keychain', get: fail, set: fail };
};
const keychain = (): SecretStore => {
  const kept = new Map<string, string>();
  return { kind: 'keychain', get: async (name) => kept.get(name), set: async (name, value) => void kept.set(name, value) };
};
const open = (...stores: SecretStore[]) => openBackupKeys(stores, join(folder, 'backup-key'));

test('where this session has no keychain at all, the key file vouches for backups', async () => {
  const { id } = await open(failing('Could not connect'), file()).signing();
  expect(await open(failing('Could not connect'), file()).find(id)).toMatchObject({ key: { id } });
  expect(await open(failing('Could not connect'), file()).find(id)).not.toHaveProperty('doubt');
});

test('a key file proves nothing beside a keychain, whether it was planted there or used while that was locked', async () => {
  const store = keychain();
  const own = await open(store, file()).signing();
  const planted = await open(file()).signing();
  expect(await open(store, file()).find(own.id)).toEqual({ key: own });
  expect(await open(store, file()).find(planted.id)).toMatchObject({ key: planted, doubt: expect.stringMatching(/key file/) });
  expect(await open(keychain(), file()).find(planted.id)).toMatchObject({ doubt: expect.stringMatching(/key file/) });
  expect(await open(failing('it is locked'), file()).find(planted.id)).toMatchObject({ doubt: expect.stringMatching(/key file/) });
  expect(await open(failing('it is locked'), file()).find(own.id)).toMatch(/^it was signed with an unknown key; .*locked$/);
});

test('two processes that sign for the first time use one key', async () => {
  const keys = await Promise.all([1, 2, 3].map(() => open(failing('Could not connect'), file()).signing()));
  expect(new Set(keys.map(({ id }) => id)).size).toBe(1);
});

test('a key of the wrong length signs and verifies nothing', async () => {
  await writeFile(join(folder, 'backup-key.json'), JSON.stringify({ 'backup-key': '' }));
  await expect(open(failing('Could not connect'), file()).signing()).rejects.toMatchObject({ code: 'failed.backupKey' });
});

test('the keychain is read once for all manifests that its key signed', async () => {
  const store = keychain();
  const { id } = await open(store, file()).signing();
  let reads = 0;
  const counted: SecretStore = {
    ...store,
    get: (name) => {
      reads += 1;
      return store.get(name);
    },
  };
  const keys = open(counted, file());
  for (let manifest = 0; manifest < 5; manifest++) expect(await keys.find(id)).toMatchObject({ key: { id } });
  expect(reads).toBe(1);
});
