import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeUnless, requiredInCi } from '../required.ts';
import { type DeployFixture, pageAt, setFixture, webFiles } from './deploy-fixture.ts';
import { KeychainSession, keychainMissing } from './keychain.ts';
import { makeOperator, type Operator } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { findFreePort } from './stack.ts';

const id = 'keyring-web';

describeUnless(requiredInCi(keychainMissing()), 'secrets in a real keychain', () => {
  describeReal('docker', 'through the life of a component', (engine) => {
    let session: KeychainSession;
    let fixture: DeployFixture;
    let operator: Operator;
    let port: number;

    beforeAll(async () => {
      session = new KeychainSession();
      await session.startBus();
      await session.startKeyring('keyring password');
      fixture = await setFixture(engine);
      const { DBUS_SESSION_BUS_ADDRESS = '', XDG_RUNTIME_DIR = '' } = session.env;
      const env = Object.fromEntries(
        Object.entries(fixture.operator.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      );
      // The same person on the same stack, with another vault.
      operator = await makeOperator(engine, { ...env, DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR, QUARTERDECK_SECRETS: 'keychain' });
      port = await findFreePort();
      await fixture.catalog(webFiles(id, { port }));
    });
    afterAll(async () => {
      await fixture?.leave();
      await operator?.leave();
      session?.close();
    });

    const yes = async (...args: string[]) => {
      const outcome = await operator.run([...args, '--yes']);
      expect(outcome.code, outcome.stdout + outcome.stderr).toBe(0);
      return outcome.stdout;
    };
    const container = async () => (await fixture.container(id, 'web')) ?? expect.fail('it is not there');
    const token = async () => (await container()).Config.Env.find((line) => line.startsWith('TOKEN='))?.slice('TOKEN='.length) ?? '';

    it('are made up, kept through a change and a rollback, and lie in no file in clear', async () => {
      await yes('deploy', id);
      const first = await token();
      expect(first).toMatch(/^[A-Za-z0-9]{32}$/);
      await yes('deploy', id, '--set', 'GREETING=good evening');
      await yes('rollback', id);
      expect(await pageAt(port)).toBe('good morning');
      expect(await token()).toBe(first);
      expect((await operator.run(['secrets', 'list'])).stdout).toContain(`local/${id}/TOKEN`);
      for (const folder of [session.folder, fixture.stack, fixture.operator.home]) {
        for (const file of await readdir(folder, { recursive: true, withFileTypes: true }))
          if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), 'latin1'), file.name).not.toContain(first);
      }
    });

    it('are rotated, and a keyring that is locked while compose runs stops nothing', async () => {
      const old = await token();
      const hold = await fixture.holdCompose();
      const rotating = yes('secrets', 'rotate', id, 'TOKEN');
      await hold.reached();
      await session.lock();
      await hold.release();
      expect(await rotating).toContain('Rotated ');
      expect(await token()).not.toBe(old);
    });

    it('locked: a sentence before anything is changed; unlocked, all goes on', async () => {
      const before = { id: (await container()).Id, files: await fixture.files() };
      for (const args of [
        ['deploy', id, '--set', 'GREETING=hello'],
        ['secrets', 'rotate', id, 'TOKEN'],
        ['rollback', id],
      ]) {
        const { code, stderr } = await operator.run([...args, '--yes']);
        expect(stderr.replaceAll(/\s+/g, ' '), args.join(' ')).toContain('The system keychain is not available: it is locked.');
        expect(code).not.toBe(0);
      }
      expect({ id: (await container()).Id, files: await fixture.files() }).toEqual(before);
      expect((await operator.run(['recover'])).stdout).toContain('No interrupted changes');

      await session.startKeyring('keyring password');
      await yes('deploy', id, '--set', 'GREETING=hello');
      expect(await pageAt(port)).toBe('hello');
    });
  });
});
