import { appendFile, chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { requiredProgram } from '../required.ts';
import { type DeployFixture, pageAt, setFixture, webFiles } from './deploy-fixture.ts';
import { describeReal } from './real-engines.ts';
import type { RemoteUser } from './remote-users.ts';
import { runOrThrow } from './scripts.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';
import { findFreePort } from './stack.ts';

const hasSudo = requiredProgram('sudo') === undefined;

describeReal('docker', 'a stack on a machine whose engine only sudo may use', (engine) => {
  describeSshd('over ssh, as a user', () => {
    const id = 'far-sudo-web';
    let folder: string;
    let fixture: DeployFixture;
    let sshd: Sshd;
    let user: RemoteUser;
    let rules: string;
    let port: number;
    const onNas = async (verb: string, ...words: string[]) => {
      const { code, stdout, stderr } = await fixture.operator.run([verb, ...words, '--host', 'nas', '--yes']);
      return { code, said: stdout + stderr };
    };
    const docker = (...words: string[]) => runOrThrow(['docker', '-H', engine.url, ...words]);

    beforeAll(async () => {
      if (!hasSudo) return;
      folder = await mkdtemp(join(tmpdir(), 'qd-sudo-deploy-'));
      fixture = await setFixture(engine, 'compose-1', { QUARTERDECK_SSH: join(folder, 'ssh') });
      // Its compose command is for everybody, and so is the one of the system behind it.
      await chmod(dirname(dirname(fixture.stack)), 0o755);
      sshd = await startSshd({ env: { DOCKER_HOST: engine.url, PATH: fixture.operator.env['PATH'] ?? '' } });
      user = await sshd.user();
      rules = `/etc/sudoers.d/${user.name}`;
      await symlink((await sshd.client({ nas: { user: user.name } })).program, join(folder, 'ssh'));
      await appendFile(join(fixture.operator.home, 'config', 'config.yaml'), 'hosts:\n  nas: {ssh: nas, sudo: true}\n');
      port = await findFreePort();
      await fixture.catalog(webFiles(id, { port, more: 'backup: [{id: data, volume: data, method: copy}]\n' }));
    }, 60_000);
    afterAll(async () => {
      if (rules) await rm(rules, { force: true });
      await fixture?.leave();
      await sshd?.leave();
      if (folder) await rm(folder, { recursive: true, force: true });
    });

    it.runIf(hasSudo)(
      'is deployed, backed up, restored and removed through a sudo that asks for nothing',
      { timeout: 240_000 },
      async () => {
        await writeFile(rules, `Defaults:${user.name} !secure_path\n${user.name} ALL=(ALL) NOPASSWD: ALL\n`, { mode: 0o440 });
        const deployed = await onNas('deploy', id);
        expect(deployed.code, deployed.said).toBe(0);
        expect(await pageAt(port)).toBe('good morning');
        // Nothing that the user could not change again.
        expect(await runOrThrow(['find', user.home, '!', '-user', user.name])).toBe('');

        const container = `${id}_web_1`;
        await docker('exec', container, 'sh', '-c', ': >/data/empty; echo one >/data/kept; : >/data/another');
        const to = join(user.home, 'backups');
        const saved = await onNas('backup', id, '--to', to);
        expect(saved.code, saved.said).toBe(0);
        await docker('exec', container, 'sh', '-c', 'echo two >/data/kept; rm /data/empty');
        const restored = await onNas('restore', id, '--to', to);
        expect(restored.code, restored.said).toBe(0);
        expect(await docker('exec', container, 'sh', '-c', 'cat /data/kept; ls /data')).toBe('one\nanother\nempty\nfirst\nkept\n');
        const refused = await onNas('backup', id, '--to', '/usr/quarterdeck-backups');
        expect(refused.code).not.toBe(0);
        expect(refused.said).toMatch(/\/usr\/quarterdeck-backups\s+cannot\s+be\s+created\s+on\s+nas/);

        const removed = await onNas('remove', id);
        expect(removed.code, removed.said).toBe(0);
        await docker('volume', 'rm', `${id}_data`);
      },
    );
  });
});
