import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { keychainStore, keyFile } from './secret-store.ts';

test('without a D-Bus session the keychain says so, and is not waited for', async () => {
  const fault = await keychainStore({})
    .get('x')
    .catch((error: unknown) => error);
  if (process.platform === 'linux') {
    expect(fault).toMatchObject({ code: 'failed.keychain', message: 'The system keychain is not available: this session has no D-Bus.' });
  }
});

test('it can be switched off', async () => {
  await expect(keychainStore({ QUARTERDECK_KEYCHAIN: 'off', DISPLAY: ':0' }).set('x', 'y')).rejects.toMatchObject({
    code: 'failed.keychain',
    remedy: 'Unset QUARTERDECK_KEYCHAIN.',
  });
});

test('a bus that nobody answers on is a fault within the limit, not a hang', async () => {
  const fault = await keychainStore({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' })
    .get('x')
    .catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: 'failed.keychain' });
}, 10_000);

test('the key file keeps what it is given, and a damaged one is told', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-secrets-'));
  try {
    const path = join(folder, 'key.json');
    const store = keyFile(path, 'audit');
    expect(await store.get('audit-key')).toBeUndefined();
    await store.set('audit-key', 'k');
    await store.set('audit-head', 'h');
    expect([await keyFile(path, 'audit').get('audit-key'), await store.get('audit-head')]).toEqual(['k', 'h']);
    await writeFile(path, '{');
    await expect(store.get('audit-key')).rejects.toMatchObject({ code: 'failed.auditKey' });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a keychain that waits for its owner is not asked again while it waits: each question holds one of the threads that read files', async () => {
  vi.resetModules();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const questions: ((answer: string) => void)[] = [];
  vi.doMock('keytar', () => ({ default: { getPassword: () => new Promise((resolve) => questions.push(resolve)) } }));
  try {
    const fresh = await import('./secret-store.ts');
    const ask = () =>
      fresh
        .keychainStore({ DISPLAY: ':0' })
        .get('x')
        .catch((fault: unknown) => fault);
    const first = ask();
    await vi.waitFor(() => expect(questions).toHaveLength(1));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await first).toMatchObject({ code: 'failed.keychain' });
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await ask()).toMatchObject({ code: 'failed.keychain' });
    expect(questions).toHaveLength(1);
    questions[0]?.('unlocked at last');
    await vi.advanceTimersByTimeAsync(0);
    const later = ask();
    await vi.waitFor(() => expect(questions).toHaveLength(2));
    questions[1]?.('key');
    expect(await later).toBe('key');
  } finally {
    vi.doUnmock('keytar');
    vi.useRealTimers();
  }
});

test('a locked keyring, which answers as if it were empty, is a fault and not an empty one', async () => {
  vi.resetModules();
  let locked = true;
  vi.doMock('keytar', () => ({
    default: {
      getPassword: async () => null,
      setPassword: async () => {
        if (locked) throw new Error('Cannot create an item in a locked collection');
      },
      deletePassword: async () => true,
    },
  }));
  try {
    const { keychainStore: fresh } = await import('./secret-store.ts');
    if (process.platform === 'linux') {
      await expect(fresh({ DISPLAY: ':0' }).get('audit-key')).rejects.toMatchObject({
        message: 'The system keychain is not available: it is locked.',
      });
    }
    locked = false;
    expect(await fresh({ DISPLAY: ':0' }).get('audit-key')).toBeUndefined();
  } finally {
    vi.doUnmock('keytar');
  }
});

test.each([
  'No such interface “org.freedesktop.Secret.Item” on object at path /org/freedesktop/secrets/collection/login/1',
  'Object does not exist at path “/org/freedesktop/secrets/collection/login/1”',
])('what another console removed while it was looked for does not count: %s', async (said) => {
  vi.resetModules();
  let removals = 2;
  vi.doMock('keytar', () => ({
    default: {
      getPassword: async () => {
        if (removals-- > 0) throw new Error(said);
        return 'kept';
      },
    },
  }));
  try {
    const { keychainStore: fresh } = await import('./secret-store.ts');
    expect(await fresh({ DISPLAY: ':0' }).get('audit-key')).toBe('kept');
    removals = Number.POSITIVE_INFINITY;
    await expect(fresh({ DISPLAY: ':0' }).get('audit-key')).rejects.toMatchObject({ code: 'failed.keychain' });
  } finally {
    vi.doUnmock('keytar');
  }
});
