import { appendFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { offerControlServer } from './control-server.ts';
import { type DeployStage, setStage } from './deploy-stage.ts';
import { statusUntil } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { findServer } from './real-server.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';
import { findFreePort } from './stack.ts';

const id = 'mesh-control-server';
const { missing } = findServer('headscale');

/** What has to work wherever the control server is: the way in over its command, its API, the key. */
async function story(stage: DeployStage, host: readonly string[]): Promise<void> {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await stage.operator.run([...host, ...args]);
    expect(code, stdout + stderr).toBe(0);
    return stdout;
  };
  const data = async <T>(...args: string[]) => (await stage.operator.json<{ data: T }>([...host, ...args])).data;
  const ports = await Promise.all(['HTTP_PORT', 'GRPC_PORT', 'WEB_PORT'].map(async (name) => `${name}=${await findFreePort()}`));
  await run('deploy', id, ...ports.flatMap((port) => ['--set', port]), '--yes');
  if (host.length === 0) await statusUntil(stage.operator, id, ({ word }) => word === 'healthy');
  // Of a try before this one.
  await stage.operator.run([...host, 'secrets', 'remove', `${id}.login`, 'API_KEY', '--yes']);
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
  expect(await stage.operator.ownFiles()).not.toMatch(/hskey-(?:auth|api)-[\w-]{12}-[\w-]{64}/);
}

describe.skipIf(missing)(`the mesh control server elsewhere${missing ? ` (${missing})` : ''}`, () => {
  describeReal('podman', 'in a pod', (engine) => {
    let stage: DeployStage;
    beforeAll(async () => {
      stage = await setStage(engine);
      await offerControlServer(engine, stage);
    });
    afterAll(() => stage?.leave());

    it('lets the console in, and is operated', { timeout: 240_000 }, async () => {
      await story(stage, []);
    });
  });

  describeReal('docker', 'on a far machine', (engine) => {
    describeSshd('over ssh', () => {
      let folder: string;
      let sshd: Sshd;
      let stage: DeployStage;
      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), 'qd-mesh-'));
        stage = await setStage(engine, 'compose-2', { QUARTERDECK_SSH: join(folder, 'ssh') });
        sshd = await startSshd({ env: { DOCKER_HOST: engine.url, PATH: stage.operator.env['PATH'] ?? '' } });
        await symlink((await sshd.client({ nas: {} })).program, join(folder, 'ssh'));
        await appendFile(join(stage.operator.home, 'config', 'config.yaml'), `hosts:\n  nas: {ssh: nas, stackFolder: ${stage.stack}}\n`);
        await offerControlServer(engine, stage);
      });
      afterAll(async () => {
        await stage?.leave();
        await sshd?.leave();
        await rm(folder, { recursive: true, force: true });
      });

      it('lets the console in, and is operated', { timeout: 240_000 }, async () => {
        await story(stage, ['--host', 'nas']);
      });
    });
  });
});
