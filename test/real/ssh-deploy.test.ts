import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DeployFixture, pageAt, setFixture, until, webFiles } from './deploy-fixture.ts';
import { describeReal } from './real-engines.ts';
import { runOrThrow } from './scripts.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';
import { findFreePort } from './stack.ts';

describeReal('docker', 'a stack on another machine', (engine) => {
  describeSshd('over ssh', () => {
    const id = 'far-web';
    let folder: string;
    let fixture: DeployFixture;
    let sshd: Sshd;
    let port: number;
    const onNas = (verb: string, ...words: string[]) => fixture.operator.run([verb, ...words, '--host', 'nas', '--yes']);

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'qd-far-deploy-'));
      fixture = await setFixture(engine, 'compose-2', { QUARTERDECK_SSH: join(folder, 'ssh') });
      sshd = await startSshd({ env: { DOCKER_HOST: engine.url, PATH: fixture.operator.env['PATH'] ?? '' } });
      await symlink((await sshd.client({ nas: {} })).program, join(folder, 'ssh'));
      await appendFile(join(fixture.operator.home, 'config', 'config.yaml'), `hosts:\n  nas: {ssh: nas, stackFolder: ${fixture.stack}}\n`);
      port = await findFreePort();
      await fixture.catalog(webFiles(id, { port }));
    });
    afterAll(async () => {
      await fixture.leave();
      await sshd.leave();
      await rm(folder, { recursive: true, force: true });
    });

    it('is deployed, and its secret is in no argument of a program on either side, in no file, and in no log', {
      timeout: 180_000,
    }, async () => {
      const trace = join(folder, 'trace');
      const [pid = ''] = (await runOrThrow(['pgrep', '-f', `sshd.*${sshd.folder}/sshd_config`])).split('\n');
      const strace = spawn('strace', ['-f', '-e', 'trace=execve,execveat', '-s', '65536', '-o', trace, '-p', pid], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      await once(strace.stderr, 'data');
      const { outcome, execs } = await fixture.operator.traceExec(['deploy', id, '--host', 'nas', '--yes']);
      expect(outcome.code, outcome.stdout + outcome.stderr).toBe(0);
      expect(await pageAt(port)).toBe('good morning');
      strace.kill('SIGINT');
      await once(strace, 'exit');

      const { Env = [] } = (await fixture.container(id, 'web'))?.Config ?? {};
      const token = Env.find((line) => line.startsWith('TOKEN='))?.slice('TOKEN='.length) ?? '';
      expect(token).toMatch(/^[A-Za-z0-9]{32}$/);
      const there = await readFile(trace, 'utf8');
      expect(there).toContain('docker-compose');
      expect(execs.join('\n')).toContain('ssh');
      const seen: Record<string, string> = {
        'arguments here': execs.join('\n'),
        'arguments there': there,
        'the log of sshd': sshd.log,
        'the terminal': outcome.stdout + outcome.stderr,
        'files of the stack': await textsBelow(fixture.stack),
        'own files': await textsBelow(fixture.operator.home),
      };
      for (const [where, text] of Object.entries(seen)) {
        for (const secret of [token, Buffer.from(token).toString('base64')])
          expect(text.includes(secret), `the secret is in ${where}`).toBe(false);
      }
    });

    it('goes on by itself when console and connection are gone in the middle, and the next start knows', { timeout: 180_000 }, async () => {
      const hold = await fixture.holdCompose();
      const console = fixture.begin(['deploy', id, '--host', 'nas', '--set', 'GREETING=good evening', '--yes']);
      await hold.reached();
      console.kill();
      await console.ended;
      await sshd.kill();
      await sshd.start();
      const working = await onNas('recover');
      expect(working.stdout + working.stderr).toMatch(/\S+@\S+ has been changing this stack/);
      await hold.release();
      await until(async () => (await pageAt(port)) === 'good evening', 'the script did not go on by itself');
    });

    it('is finished by the next console where the far machine itself broke off', { timeout: 180_000 }, async () => {
      const hold = await fixture.holdCompose();
      const console = fixture.begin(['deploy', id, '--host', 'nas', '--set', 'GREETING=good night', '--yes']);
      await hold.reached();
      await fixture.killScript();
      console.kill();
      await console.ended;
      await hold.release();
      const named = await fixture.operator.run(['status', '--host', 'nas']);
      expect(named.stdout + named.stderr).toContain(id);
      const finished = await onNas('recover', '--finish');
      expect(finished.code, finished.stdout + finished.stderr).toBe(0);
      expect(await pageAt(port)).toBe('good night');
    });

    it('goes back, is stopped, and is removed with its data', { timeout: 180_000 }, async () => {
      const stopped = await onNas('stop', id);
      expect(stopped.code, stopped.stdout + stopped.stderr).toBe(0);
      expect((await fixture.container(id, 'web'))?.State.Running).toBe(false);
      const started = await onNas('start', id);
      expect(started.code, started.stdout + started.stderr).toBe(0);
      const removed = await onNas('remove', id, '--data', id);
      expect(removed.code, removed.stdout + removed.stderr).toBe(0);
      expect(await fixture.container(id, 'web')).toBeUndefined();
    });
  });
});

/** Every file below a folder, hidden ones and all, as one text. */
async function textsBelow(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1'));
  return (await Promise.allSettled(texts)).map((one) => (one.status === 'fulfilled' ? one.value : '')).join('\n');
}
