import { appendFile, chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { requiredProgram } from '../required.ts';
import { type DeployFixture, pageAt, setFixture, webFiles } from './deploy-fixture.ts';
import { describeReal } from './real-engines.ts';
import { type BusyboxSide, busyboxProgram, makeBusyboxSide } from './remote-busybox.ts';
import { runOrThrow } from './scripts.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';
import { findFreePort } from './stack.ts';

const missing = requiredProgram(busyboxProgram, 'busybox-static');
const without = missing ? ` (skipped: ${missing})` : '';

describeReal('docker', 'a far side that is not like others', (engine) => {
  describeSshd('over ssh', () => {
    const id = 'far-sides-web';
    let folder: string;
    let fixture: DeployFixture;
    let port: number;
    const sshds: Sshd[] = [];
    const sides: BusyboxSide[] = [];
    const disks: string[] = [];
    const on = (host: string, ...words: string[]) => fixture.operator.run([...words.slice(0, 1), '--host', host, ...words.slice(1)]);
    const said = async (host: string, ...words: string[]) => {
      const { code, stdout, stderr } = await on(host, ...words);
      return { code, text: `${stdout}${stderr}`.replace(/\s+/g, ' ') };
    };

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'qd-sides-engine-'));
      await chmod(folder, 0o755);
      fixture = await setFixture(engine, 'compose-2', { QUARTERDECK_SSH: join(folder, 'ssh') });
      const home = join(folder, 'home');
      await mkdir(home);
      const [bin = ''] = (fixture.operator.env['PATH'] ?? '').split(':');
      const begin = async (options: Parameters<typeof startSshd>[0]) => {
        const sshd = await startSshd(options);
        sshds.push(sshd);
        return sshd;
      };
      const nas = await begin({ env: { DOCKER_HOST: engine.url, PATH: fixture.operator.env['PATH'] ?? '' } });
      const configs = [await nas.client({ nas: {}, full: {}, frozen: {}, guest: { user: (await nas.user()).name } })];
      if (!missing) {
        const program = join(inject('composeFolder'), 'docker-compose');
        const socketFolder = dirname(new URL(engine.url).pathname);
        const shared = [folder, socketFolder, dirname(bin), inject('composeFolder')];
        for (const [name, there] of [['box', shared] as const, ['bare', []] as const]) {
          const side = await makeBusyboxSide({ shared: there, path: `${bin}:/bin`, home, program });
          sides.push(side);
          const env: Record<string, string> = name === 'box' ? { DOCKER_HOST: engine.url } : {};
          configs.push(await (await begin({ env, config: side.config })).client({ [name]: {} }));
        }
      }
      const config = join(folder, 'config');
      await writeFile(config, (await Promise.all(configs.map((one) => readFile(one.config)))).join('\n'));
      await writeFile(join(folder, 'ssh'), `#!/bin/sh\nexec ssh -F '${config}' "$@"\n`, { mode: 0o755 });
      for (const [name, options] of [
        ['full', 'size=48k'],
        ['frozen', 'ro'],
      ] as const) {
        const disk = join(folder, name);
        await mkdir(disk);
        await runOrThrow(['mount', '-t', 'tmpfs', '-o', options, 'qd-sides', disk]);
        disks.push(disk);
      }
      await appendFile(
        join(fixture.operator.home, 'config', 'config.yaml'),
        `hosts:\n${['nas', 'full', 'frozen', 'guest', 'box', 'bare'].map((name) => `  ${name}: {ssh: ${name}, stackFolder: ${join(folder, name)}}\n`).join('')}`,
      );
      port = await findFreePort();
      const saved = 'backup: [{id: data, volume: data, method: copy, why: small files}]\n';
      const files = webFiles(id, { port, more: saved });
      const compose = `${id}/compose.yaml`;
      // A disk of its own, and a small one.
      const small = 'volumes:\n  data: {driver: local, driver_opts: {type: tmpfs, device: tmpfs, o: size=256k}}\n';
      await fixture.catalog({ ...files, [compose]: (files[compose] ?? '').replace('volumes:\n  data: {}\n', small) });
    });
    afterAll(async () => {
      await fixture?.leave();
      for (const sshd of sshds) await sshd.leave();
      for (const side of sides) await side.leave();
      for (const disk of disks) await runOrThrow(['umount', '-l', disk]);
      await rm(folder, { recursive: true, force: true });
    });

    /** Nothing was begun there. */
    const isUntouched = async () => {
      expect(await fixture.container(id, 'web')).toBeUndefined();
      expect((await readdir(join(folder, 'full'), { recursive: true })).join()).toBe('');
    };

    it('whose disk is full, or read-only, says which folder on which host, and nothing is written', { timeout: 180_000 }, async () => {
      const full = await said('full', 'deploy', id, '--yes');
      expect(full).toMatchObject({ code: 4, text: expect.stringMatching(`Only \\S+ \\S+ is free on ${join(folder, 'full')} \\(full\\)`) });
      const frozen = await said('frozen', 'deploy', id, '--yes');
      expect(frozen.code).toBe(1);
      expect(frozen.text).toMatch(
        new RegExp(`The change could not be prepared in ${join(folder, 'frozen')} on frozen: .*Read-only file system`),
      );
      expect((await said('frozen', 'hosts', 'check', 'frozen')).text).toContain('its filesystem is mounted read-only');
      await isUntouched();
    });

    it('whose engine is for others, or that has none, says so', { timeout: 120_000 }, async () => {
      const guest = await said('guest', 'status');
      expect(guest).toMatchObject({
        code: 3,
        text: expect.stringMatching(/Permission denied for the engine at \S+ on guest .*usermod -aG docker .*sudo: true/),
      });
      if (!missing) {
        const bare = await said('bare', 'logs', id);
        expect(bare).toMatchObject({ code: 3, text: expect.stringContaining('No container engine was found on bare.') });
      }
      await isUntouched();
    });

    it.skipIf(missing)(`that has busybox alone does all that others do${without}`, { timeout: 240_000 }, async () => {
      const works = async (...words: string[]) => {
        const { code, text } = await said('box', ...words);
        expect(code, `${words.join(' ')}: ${text}`).toBe(0);
        return text;
      };
      expect(await works('hosts', 'check', 'box')).toContain('No problems on box.');
      await works('deploy', id, '--yes');
      expect(await pageAt(port)).toBe('good morning');
      expect(await works('status')).toContain(id);
      expect(await works('exec', id, '--', 'cat', '/data/first')).toMatch(/^[0-9a-f]{12} $/);
      await works('df');
      await works('cp', `${id}:/data/first`, join(folder, 'first'), '--force');
      expect(await readFile(join(folder, 'first'), 'utf8')).toMatch(/^[0-9a-f]{12}\n$/);

      // Into a disk that has no room for it.
      await writeFile(join(folder, 'big'), new Uint8Array(2_000_000));
      expect(await said('box', 'cp', join(folder, 'big'), `${id}:/data/big`)).toMatchObject({
        code: 1,
        text: expect.stringContaining(`No space left in ${id}-web-1:/data on box. The partial copy was removed.`),
      });
      expect(await works('exec', id, '--', 'ls', '/data')).toBe('first ');

      const backups = ['--to', join(folder, 'backups')];
      await works('backup', id, ...backups, '--yes');
      await works('backup', 'verify', id, ...backups);
      await works('exec', id, '--', 'rm', '/data/first');
      await works('restore', id, ...backups, '--yes', '--confirm', id);
      expect(await works('exec', id, '--', 'cat', '/data/first')).toBe(
        await readFile(join(folder, 'first'), 'utf8').then((text) => text.replace('\n', ' ')),
      );
      await works('remove', id, '--data', id, '--yes');
      expect(await fixture.container(id, 'web')).toBeUndefined();
    });
  });
});
