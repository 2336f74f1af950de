import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requiredProgram } from '../required.ts';
import { makeShortFolder } from '../short-folder.ts';
import { launcher, makeOperator, type Operator } from './operator.ts';
import { describeSshd, type Sshd, startSshd } from './sshd.ts';

const library = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';
const missing = requiredProgram(library, 'faketime');

// Engines of Go take the time from the kernel, and cannot be told another one. The practice engine can: it is a program with its socket and its clock.
describeSshd('a machine with another clock', () => {
  describe.skipIf(missing).each([
    ['ahead', '+1h'],
    ['behind', '-1h'],
  ])(`an hour %s${missing ? ` (skipped: ${missing})` : ''}`, (word, shift) => {
    it('is told by our clock, and that it is off', { timeout: 120_000 }, async () => {
      const folder = await makeShortFolder('qd-clock-');
      let sshd: Sshd | undefined;
      let operator: Operator | undefined;
      let end = async () => {};
      // Each try has its own.
      onTestFinished(async () => {
        await operator?.leave();
        await sshd?.leave();
        await end();
        await rm(folder, { recursive: true, force: true });
      });
      const faked = { LD_PRELOAD: library, FAKETIME: shift };
      const serving = spawn(launcher, ['practice', 'serve', '--json'], {
        env: { HOME: process.env.HOME, PATH: process.env.PATH, QUARTERDECK_HOME: join(folder, 'far'), ...faked },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = once(serving, 'exit');
      end = async () => {
        serving.kill();
        await ended;
      };
      let said = '';
      for await (const chunk of serving.stdout.iterator({ destroyOnReturn: false })) {
        said += String(chunk);
        if (said.includes('\n')) break;
      }
      const { engine } = JSON.parse(said) as { engine: string };
      sshd = await startSshd({ env: { ...faked, DOCKER_HOST: engine } });
      operator = await makeOperator(
        { kind: 'docker', url: engine, socket: new URL(engine).pathname },
        { QUARTERDECK_SSH: (await sshd.client({ nas: {} })).program },
      );
      await mkdir(join(operator.home, 'config'), { recursive: true, mode: 0o700 });
      await writeFile(join(operator.home, 'config', 'config.yaml'), 'hosts:\n  nas: {ssh: nas}\n', { mode: 0o600 });

      const status = await operator.run(['status', '--host', 'nas']);
      expect(status.stdout, status.stderr).toContain(`clock 1h ${word}`);
      // Started a few minutes ago, and a share of half an hour: neither is an hour off.
      expect(status.stdout).toMatch(/secrets-manager-path .* \d{1,2}m /);
      expect(status.stdout).toMatch(/vulnerability-scanner +loading 1\d\/30 min +1\dm /);
      const began = Date.now();
      const { stdout, stderr } = await operator.run(['logs', '--all', '--host', 'nas', '--since', '10m', '--timestamps']);
      const stamps = [...stdout.matchAll(/^\S+ +\| (\S+Z) /gm)].map(([, stamp = '']) => Date.parse(stamp));
      expect(stamps.length, stderr).toBeGreaterThan(5);
      for (const stamp of stamps) {
        expect(stamp).toBeGreaterThan(began - 11 * 60_000);
        expect(stamp).toBeLessThan(Date.now() + 60_000);
      }
    });
  });
});
