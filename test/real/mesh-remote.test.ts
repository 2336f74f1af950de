import { appendFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeUnless } from '../required.ts';
import { offerControlServer } from './control-server.ts';
import { type DeployFixture, setFixture } from './deploy-fixture.ts';
import { statusUntil } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { findServer } from './real-server.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';
import { findFreePort } from './stack.ts';

const id = 'mesh-control-server';

/** What has to work wherever the control server is: the way in over its command, its API, the key. */
async function story(fixture: DeployFixture, host: readonly string[]): Promise<void> {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await fixture.operator.run([...host, ...args]);
    expect(code, stdout + stderr).toBe(0);
    return stdout;
  };
  const data = async <T>(...args: string[]) => (await fixture.operator.json<{ data: T }>([...host, ...args])).data;
  const ports = await Promise.all(['HTTP_PORT', 'GRPC_PORT', 'WEB_PORT'].map(async (name) => `${name}=${await findFreePort()}`));
  await run('deploy', id, ...ports.flatMap((port) => ['--set', port]), '--yes');
  if (host.length === 0) await statusUntil(fixture.operator, id, ({ state }) => state.label === 'healthy');
  // Of a try before this one.
  await fixture.operator.run([...host, 'secrets', 'remove', `${id}.login`, 'API_KEY', '--yes']);
  expect(await data('mesh', 'access', id)).toMatchObject({ version: expect.stringMatching(/^0\.29\./) });
  await run('mesh', 'user', id, 'create', 'ann');
  const key = (await run('key', id, '--user', 'ann', '--plain')).trim();
  expect(key).toMatch(/^hskey-auth-[\w-]{12}-[\w-]{64}$/);
  expect((await run('secrets', 'reveal', `${id}.join`, 'KEY', '--plain')).trim()).toBe(key);
  const authId = `hskey-authreq-${'B'.repeat(24)}`;
  const made = ['debug', 'create-node', '--name', 'laptop', '--user', 'ann', '--key', authId];
  await run('exec', id, '--service', 'control', '--', 'headscale', ...made);
  await run('mesh', 'register', id, authId, '--user', 'ann');
  expect(await data('mesh', 'nodes', id)).toMatchObject({ nodes: [{ name: 'laptop', user: 'ann' }] });
  await run('mesh', 'node', id, 'laptop', 'rename', 'bridge');
  expect(await data('mesh', 'nodes', id)).toMatchObject({ nodes: [{ name: 'bridge', hostname: 'laptop' }] });
  await run('mesh', 'node', id, 'bridge', 'delete', '--yes');
  expect(await fixture.operator.ownFiles()).not.toMatch(/hskey-(?:auth|api)-[\w-]{12}-[\w-]{64}/);
}

describeUnless(findServer('headscale').missing, 'the mesh control server elsewhere', () => {
  describeReal('podman', 'in a pod', (engine) => {
    let fixture: DeployFixture;
    beforeAll(async () => {
      fixture = await setFixture(engine);
      await offerControlServer(engine, fixture);
    });
    afterAll(() => fixture?.leave());

    it('lets the console in, and is operated', { timeout: 240_000 }, async () => {
      await story(fixture, []);
    });
  });

  describeReal('docker', 'on a far machine', (engine) => {
    describeSshd('over ssh', () => {
      let folder: string;
      let sshd: Sshd;
      let fixture: DeployFixture;
      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), 'qd-mesh-'));
        fixture = await setFixture(engine, 'compose-2', { QUARTERDECK_SSH: join(folder, 'ssh') });
        sshd = await startSshd({ env: { DOCKER_HOST: engine.url, PATH: fixture.operator.env['PATH'] ?? '' } });
        await symlink((await sshd.client({ nas: {} })).program, join(folder, 'ssh'));
        await appendFile(
          join(fixture.operator.home, 'config', 'config.yaml'),
          `hosts:\n  nas: {ssh: nas, stackFolder: ${fixture.stack}}\n`,
        );
        await offerControlServer(engine, fixture);
      });
      afterAll(async () => {
        await fixture?.leave();
        await sshd?.leave();
        await rm(folder, { recursive: true, force: true });
      });

      it('lets the console in, and is operated', { timeout: 240_000 }, async () => {
        await story(fixture, ['--host', 'nas']);
      });
    });
  });
});
