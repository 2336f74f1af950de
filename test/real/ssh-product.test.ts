import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { ask } from './ask.ts';
import { launcher, makeOperator, type Operator } from './operator.ts';
import { describeAgain, describeReal, type RealEngine } from './real-engines.ts';
import { openRelay } from './relay.ts';
import { environmentOf, processes } from './remote-users.ts';
import { runOrThrow } from './scripts.ts';
import { type ClientHost, describeSshd, type Sshd, startSshd } from './sshd.ts';

/** An operator whose only hosts are these, each by the name that ssh knows it by. */
async function remoteOperator(sshd: Sshd, engine: RealEngine, hosts: Readonly<Record<string, ClientHost>>): Promise<Operator> {
  const { program } = await sshd.client(hosts);
  const operator = await makeOperator(engine, { QUARTERDECK_SSH: program });
  await mkdir(join(operator.home, 'config'), { recursive: true, mode: 0o700 });
  const lines = Object.keys(hosts).map((name) => `  ${name}: {ssh: ${name}}\n`);
  await writeFile(join(operator.home, 'config', 'config.yaml'), `hosts:\n${lines.join('')}`, { mode: 0o600 });
  return operator;
}

/** ssh processes that this operator's console started, and what keeps them. */
async function sshOf(operator: Operator): Promise<string[]> {
  const all = await processes();
  const found = await Promise.all(
    all.map(async ({ pid, command }) => ((await environmentOf(pid)).includes(`QUARTERDECK_HOME=${operator.home}\0`) ? command : '')),
  );
  return found.filter((command) => /ssh|quarterdeck|askpass/.test(command));
}

for (const kind of ['docker', 'podman'] as const) {
  (kind === 'podman' ? describeAgain : describeReal)(kind, 'logs of a far machine', (engine) => {
    describeSshd('over links that break', () => {
      it('has every line once, whether nothing came through, the session was ended, or sshd was gone', { timeout: 240_000 }, async () => {
        const sshd = await startSshd({ env: { DOCKER_HOST: engine.url } });
        const relay = await openRelay(sshd);
        const operator = await remoteOperator(sshd, engine, { nas: { port: relay.port } });
        const name = `far-counter-${kind}`;
        onTestFinished(async () => {
          await ask(engine, `/containers/${name}?force=true`, { method: 'DELETE' });
          await operator.leave();
          await relay.close();
          await sshd.leave();
        });
        const created = await ask(engine, `/containers/create?name=${name}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            Image: 'busybox:latest',
            Cmd: ['sh', '-c', 'trap "exit 0" TERM; i=0; while :; do i=$((i+1)); echo "number $i"; sleep 0.02; done'],
          }),
        });
        expect(created.status, created.body).toBe(201);
        expect((await ask(engine, `/containers/${name}/start`, { method: 'POST' })).status).toBe(204);

        const child = spawn(launcher, ['logs', name, '--follow', '--host', 'nas'], {
          env: { ...operator.env },
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        onTestFinished(() => void child.kill('SIGKILL'));
        let text = '';
        let notices = '';
        child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
          notices += chunk;
        });
        const lines = () => text.split('\n').length - 1;
        const sees = async (count: number) =>
          await vi.waitFor(() => expect(lines(), notices).toBeGreaterThan(count), { timeout: 60_000, interval: 50 });
        const reported = async (shape: RegExp, from: number) =>
          await vi.waitFor(() => expect(notices.slice(from)).toMatch(shape), { timeout: 30_000, interval: 20 });
        await sees(50);

        const heldMs = performance.now();
        relay.hold();
        await reported(/nas/, 0);
        expect(performance.now() - heldMs).toBeLessThan(6_500);
        relay.release();
        await sees(lines() + 100);

        await sshd.killSessions();
        await sees(lines() + 100);

        let before = notices.length;
        await sshd.kill();
        await reported(/nas/, before);
        before = notices.length;
        await sshd.start();
        await sees(lines() + 100);

        await ask(engine, `/containers/${name}/stop?t=2`, { method: 'POST' });
        const expected = await runOrThrow(['docker', '-H', engine.url, 'logs', name]);
        await vi.waitFor(() => expect(lines()).toBeGreaterThanOrEqual(expected.split('\n').length - 1), { timeout: 30_000 });
        expect(text.split('\n')).toEqual(expected.split('\n'));
        // Each break is told with the machine's name, and as one of the machine.
        expect(notices).not.toMatch(/engine at|host was lost/);
        child.kill('SIGINT');
        await once(child, 'close');
        await expect.poll(() => sshOf(operator), { timeout: 5_000 }).toEqual([]);
      });
    });
  });
}

describeReal('docker', 'a console that is killed', (engine) => {
  describeSshd('with connections of all kinds', () => {
    let sshd: Sshd;
    beforeAll(async () => {
      sshd = await startSshd({ env: { DOCKER_HOST: engine.url }, config: ['PasswordAuthentication yes'] });
    });
    afterAll(async () => await sshd.leave());

    it.each(['connected', 'connecting', 'through a jump host', 'asking'] as const)(
      'while one is %s leaves no ssh behind, and the next start sweeps its sockets',
      async (state) => {
        // Takes connections, and never says a word.
        const silent = createServer();
        silent.listen(0, '127.0.0.1');
        await once(silent, 'listening');
        const { port } = silent.address() as { port: number };
        const hosts: Record<string, Record<string, ClientHost>> = {
          connected: { nas: {} },
          connecting: { nas: { port, unknown: true } },
          'through a jump host': { nas: { config: ['ProxyJump jump'] }, jump: { port, unknown: true } },
          asking: { nas: { config: ['PubkeyAuthentication no', 'PreferredAuthentications password'] } },
        };
        const operator = await remoteOperator(sshd, engine, hosts[state] ?? {});
        onTestFinished(async () => {
          silent.close();
          await operator.leave();
        });
        const terminal = operator.open();
        onTestFinished(async () => await terminal.close());
        const run = join(operator.home, 'run');
        const sockets = async () => (await readdir(run, { recursive: true }).catch(() => [])).filter((name) => name.includes('/'));
        await expect
          .poll(async () => (await sshOf(operator)).some((command) => command.includes('ssh -F')), { timeout: 30_000 })
          .toBe(true);
        if (state === 'connected') await expect.poll(async () => (await sockets()).length, { timeout: 30_000 }).toBeGreaterThan(2);
        if (state === 'asking') await expect.poll(async () => (await sshOf(operator)).join('\n'), { timeout: 30_000 }).toContain('askpass');
        if (state === 'through a jump host')
          await expect.poll(async () => (await sshOf(operator)).filter((one) => one.includes(' -W ')).length, { timeout: 30_000 }).toBe(1);

        // Nothing of ours can be reached from outside.
        const listening = await runOrThrow(['ss', '-Hltnp']);
        const mark = `QUARTERDECK_HOME=${operator.home}\0`;
        const ours: number[] = [];
        for (const { pid } of await processes()) if ((await environmentOf(pid)).includes(mark)) ours.push(pid);
        expect(ours.length).toBeGreaterThan(1);
        expect(listening.split('\n').filter((line) => ours.some((pid) => line.includes(`pid=${pid},`)))).toEqual([]);

        for (const { pid, command } of await processes()) {
          const isConsole = /dist\/main\.js/.test(command) && ours.includes(pid);
          if (isConsole && !command.startsWith('/bin/sh')) process.kill(pid, 'SIGKILL');
        }
        await terminal.exit();
        await expect.poll(() => sshOf(operator), { timeout: 5_000, interval: 100 }).toEqual([]);

        if (state !== 'connected') return;
        const left = await readdir(run);
        expect(left).toHaveLength(1);
        expect((await operator.run(['status', '--host', 'nas'])).code).toBe(0);
        expect(await readdir(run)).not.toContain(left[0]);
      },
    );
  });
});
