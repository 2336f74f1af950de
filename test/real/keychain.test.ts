import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeUnless, requiredInCi } from '../required.ts';
import { KeychainSession, keychainMissing } from './keychain.ts';
import { runProgram } from './scripts.ts';

const launcher = fileURLToPath(new URL('../../bin/quarterdeck', import.meta.url));
const marked = 'marked-secret-5c1d-ü';
const name = 'nas/password-vault/ADMIN_TOKEN';

describeUnless(requiredInCi(keychainMissing()), 'a real keychain', () => {
  let session: KeychainSession;
  beforeEach(() => {
    session = new KeychainSession();
  });
  afterEach(() => session.close());

  const open = async () => {
    await session.startBus();
    await session.startKeyring('keyring password');
  };

  test('keeps a secret and its versions over processes; it is in no argv and in no file in clear', async () => {
    await open();
    const trace = join(session.folder, 'trace');
    const written = await session.use(['write', name], {
      input: marked,
      before: ['strace', '-f', '-qq', '-e', 'trace=execve,execveat', '-s', '65536', '-o', trace],
    });
    expect(written).toEqual({ answer: expect.stringMatching(/^[a-z0-9]{6}$/) });
    await session.use(['write', name], { input: `${marked} 2` });
    expect(await session.use(['read', name])).toEqual({ answer: { value: `${marked} 2`, kind: 'keychain' } });
    expect(await session.use(['list'])).toEqual({ answer: [[name, 2]] });
    expect(await readFile(trace, 'utf8')).not.toContain('marked-secret');
    for (const file of await readdir(session.folder, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), 'latin1'), file.name).not.toContain('marked-secret');
    }
    await session.use(['remove', name]);
    expect(await session.use(['list'])).toEqual({ answer: [] });
  });

  test('two processes at once lose no version, and neither does the sealed file', async () => {
    await open();
    for (const kind of ['keychain', 'file']) {
      const key = join(session.folder, 'key');
      await runProgram(['sh', '-c', 'umask 077; head -c 32 /dev/urandom | base64 > "$0"', key]);
      const env = { QUARTERDECK_SECRETS: kind, QUARTERDECK_SECRETS_KEY_FILE: key };
      const both = await Promise.all(['one', 'two'].map((who) => session.use(['write-many', who, '6'], { env })));
      expect(both.map(({ fault }) => fault)).toEqual([undefined, undefined]);
      const { answer } = await session.use(['list'], { env });
      const counts = Object.fromEntries(answer as [string, number][]);
      expect(Object.keys(counts)).toHaveLength(13);
      expect(counts['nas/shared/SECRET']).toBe(10);
      for (const who of ['one', 'two']) {
        expect(await session.use(['read', `nas/${who}-5/SECRET`], { env })).toMatchObject({ answer: { value: `value of ${who} 5`, kind } });
      }
    }
  });

  test('one that never answers does not keep a command from ending', async () => {
    const silent = createServer().listen(join(session.folder, 'bus'));
    try {
      await once(silent, 'listening');
      const home = join(session.folder, 'home');
      const { code, stdout } = await runProgram([launcher, 'secrets', 'list'], {
        env: {
          ...session.env,
          QUARTERDECK_HOME: home,
          QUARTERDECK_KEYCHAIN: undefined,
          QUARTERDECK_SECRETS: undefined,
          DOCKER_HOST: 'unix:///nowhere',
        },
        limitMs: 30_000,
      });
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringMatching(/no response within 3 seconds\. Secrets in it are not\s+listed\.[\s\S]*No secret is stored in/),
      });
    } finally {
      silent.close();
    }
  });

  test('locked, it is a sentence within the limit, and works again once unlocked', async () => {
    await open();
    await session.use(['write', name], { input: marked });
    await session.lock();
    const begin = performance.now();
    const { fault } = await session.use(['write', name], { input: 'x' });
    expect(fault).toMatchObject({ code: 'failed.keychain', message: 'The system keychain is not available: it is locked.' });
    expect(performance.now() - begin).toBeLessThan(15_000);
    await session.startKeyring('keyring password');
    expect(await session.use(['read', name])).toMatchObject({ answer: { value: marked } });
  });

  test('without a bus, a provider or a collection it says which', async () => {
    const reason = async (env?: Record<string, string | undefined>) => (await session.use(['list'], env ? { env } : {})).fault?.message;
    expect(await reason({ DBUS_SESSION_BUS_ADDRESS: undefined, XDG_RUNTIME_DIR: undefined })).toBe(
      'The system keychain is not available: this session has no D-Bus.',
    );
    expect(await reason()).toBe('The system keychain is not available: this session has no D-Bus.');
    await session.startBus();
    expect(await reason()).toBe('The system keychain is not available: no secret service is installed.');
    await session.startKeyring();
    const { fault } = await session.use(['write', name], { input: 'x' });
    expect(fault?.message).toBe('The system keychain is not available: it has no keyring yet.');
  });

  test('secrets move to a sealed file and back, each read back before it is removed', async () => {
    await open();
    const key = join(session.folder, 'key');
    await runProgram(['sh', '-c', 'umask 077; head -c 32 /dev/urandom | base64 > "$0"', key]);
    const env = { QUARTERDECK_SECRETS: 'auto', QUARTERDECK_SECRETS_KEY_FILE: key };
    await session.use(['write', name], { input: marked, env });
    expect(await session.use(['migrate', 'file'], { env })).toEqual({ answer: { moved: 1 } });
    // The keychain is not needed any more.
    expect(await session.use(['read', name], { env: { ...env, DBUS_SESSION_BUS_ADDRESS: undefined, XDG_RUNTIME_DIR: undefined } })).toEqual(
      {
        answer: { value: marked, kind: 'file' },
      },
    );
    expect(await session.use(['migrate', 'keychain'], { env })).toEqual({ answer: { moved: 1 } });
    expect(await session.use(['read', name], { env })).toEqual({ answer: { value: marked, kind: 'keychain' } });
    expect(await readdir(session.data)).not.toContain('secrets.sealed');
  });
});
