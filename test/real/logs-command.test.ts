import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { ask } from './ask.ts';
import { makeOperator, type Operator } from './operator.ts';
import { describeBeside, describeOnce, describePrivate, type RealEngine, startPrivateEngine } from './real-engines.ts';
import { runOrThrow, runProgram } from './scripts.ts';

const launcher = fileURLToPath(new URL('../../bin/quarterdeck', import.meta.url));

async function startProgram(engine: RealEngine, name: string, script: string, restart = 'no'): Promise<void> {
  const { status, body } = await ask(engine, `/containers/create?name=${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Image: 'busybox:latest', Cmd: ['sh', '-c', script], HostConfig: { RestartPolicy: { Name: restart } } }),
  });
  expect(status, body).toBe(201);
  expect((await ask(engine, `/containers/${name}/start`, { method: 'POST' })).status).toBe(204);
}

/** The engine's own client is the one that counts right. */
async function ownLog(engine: RealEngine, name: string): Promise<string> {
  return await runOrThrow(['docker', '-H', engine.url, 'logs', name]);
}

const lineCount = 200_000;
/** Quick enough for a shell: one file of 2,000 lines, a hundred times. */
const manyLines = `i=0; while [ $i -lt 2000 ]; do echo "level=info msg=\\"request $i was handled\\" path=/api/v1/users/$i"; i=$((i+1)); done > /tmp/lines
  i=0; while [ $i -lt ${lineCount / 2000} ]; do sed "s/^/$i /" /tmp/lines; i=$((i+1)); done`;

for (const kind of ['docker', 'podman'] as const) {
  const group = describeOnce(kind === 'podman', describeBeside);
  group(kind, 'quarterdeck logs', (engine) => {
    let operator: Operator;
    const shell = async (script: string) =>
      await runProgram(['bash', '-c', script], {
        bare: true,
        env: { DOCKER_HOST: engine.url, QUARTERDECK_HOME: operator.home, Q: launcher },
        limitMs: 120_000,
      });

    beforeAll(async () => {
      operator = await makeOperator(engine);
      await startProgram(engine, 'many-lines', manyLines);
      await ask(engine, '/containers/many-lines/wait', { method: 'POST' });
    });
    afterAll(async () => {
      await ask(engine, '/containers/many-lines?force=true', { method: 'DELETE' });
      await operator.leave();
    });

    it('writes as many lines as the engine’s own client, and the same', async () => {
      const { stdout, stderr } = await shell('"$Q" logs many-lines | tee >(wc -l >&2) | sha256sum; docker logs many-lines | sha256sum');
      const [ours, theirs] = stdout.trim().split('\n');
      expect(ours).toBe(theirs);
      expect(Number(stderr)).toBe(lineCount);
    });

    it('ends when the reader does, with 0 and without a word', async () => {
      const outcome = await shell('"$Q" logs many-lines | head -1; echo "${PIPESTATUS[0]}"');
      expect(outcome).toEqual({ code: 0, stdout: '0 level=info msg="request 0 was handled" path=/api/v1/users/0\n0\n', stderr: '' });
    });

    it('--json is one object a line', async () => {
      const { code, stdout } = await operator.run(['logs', 'many-lines', '--json', '--tail', '5000']);
      expect(code).toBe(0);
      const objects = stdout
        .trimEnd()
        .split('\n')
        .map((text) => JSON.parse(text) as Record<string, unknown>);
      expect(objects).toHaveLength(5_000);
      expect(objects.at(-1)).toEqual({
        host: 'local',
        time: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        component: 'many-lines',
        service: 'many-lines',
        stream: 'stdout',
        line: '99 level=info msg="request 1999 was handled" path=/api/v1/users/1999',
      });
    });

    it('--grep finds what grep finds', async () => {
      const { stdout } = await shell(
        '"$Q" logs many-lines -g "/users.(7|77)$/" | wc -l; docker logs many-lines | grep -cE "users.(7|77)$"',
      );
      expect(stdout.trim().split('\n')).toEqual(['200', '200']);
    });

    it('a reader that stands still makes the engine stand still, and loses nothing', async () => {
      const child = spawn(launcher, ['logs', 'many-lines'], {
        env: { HOME: process.env.HOME, PATH: process.env.PATH, DOCKER_HOST: engine.url, QUARTERDECK_HOME: operator.home },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const bytesRead = async () => Number(/^rchar: (\d+)$/m.exec(await readFile(`/proc/${child.pid}/io`, 'utf8'))?.[1]);
      await once(child.stdout, 'readable');
      // What it takes from the engine comes to a standstill, far from the end of 14 MB.
      let last = 0;
      await vi.waitFor(
        async () => {
          const now = await bytesRead();
          const stands = now === last;
          last = now;
          expect(stands).toBe(true);
        },
        { timeout: 30_000, interval: 700 },
      );
      expect(last).toBeLessThan(10_000_000);
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const [code] = (await once(child, 'close')) as [number];
      expect(code).toBe(0);
      expect(text).toBe(await ownLog(engine, 'many-lines'));
    });

    it.each([{ options: [] }, { options: ['--follow'] }])(
      'a log that the engine does not keep is refused in words ($options)',
      async ({ options }) => {
        const { status, body } = await ask(engine, '/containers/create?name=forgetful', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ Image: 'busybox:latest', Cmd: ['sleep', '100'], HostConfig: { LogConfig: { Type: 'none' } } }),
        });
        expect(status, body).toBe(201);
        onTestFinished(async () => void (await ask(engine, '/containers/forgetful?force=true', { method: 'DELETE' })));
        await ask(engine, '/containers/forgetful/start', { method: 'POST' });
        const { code, stdout, stderr } = await operator.run(['logs', 'forgetful', ...options]);
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toContain('log driver');
        // Others are read all the same.
        const both = await operator.run(['logs', 'forgetful', 'many-lines', '--tail', '1']);
        expect(both.stdout).toMatch(/^many-lines \| .*1999\n$/);
        expect(both.stderr).toMatch(/^forgetful: .+\n$/);
      },
    );

    it('follows what comes until it is interrupted, which is 130', async () => {
      await startProgram(engine, 'talker', 'trap exit TERM; i=0; while :; do echo "number $i"; i=$((i+1)); sleep 0.1; done');
      onTestFinished(async () => void (await ask(engine, '/containers/talker?force=true', { method: 'DELETE' })));
      const terminal = operator.open(['logs', 'talker', '-f', '--tail', '1']);
      onTestFinished(async () => await terminal.close());
      await terminal.sees(/number \d+\s+number \d+\s+number \d+/, 30_000);
      terminal.press('ctrl+c');
      expect(await terminal.exit()).toEqual({ code: 130, signal: 0 });
      expect(terminal.text()).not.toMatch(/quarterdeck:|Interrupted/);
    });
  });

  describePrivate(kind, 'quarterdeck logs --follow over the death of the engine', () => {
    it('has every line that the engine has, once, and says what happened', async () => {
      const engine = await startPrivateEngine(kind, { busybox: true });
      onTestFinished(async () => await engine.down());
      // It goes on counting where its last life ended, by a file's length, which no kill undoes; several lines within each second, and the same ones in each life.
      await startProgram(
        engine,
        'counter',
        'trap exit TERM; echo begins; : >> /n; i=$(wc -c < /n); while :; do i=$((i+1)); echo >> /n; echo "number $i"; sleep 0.02; done',
        'always',
      );
      const operator = await makeOperator(engine);
      onTestFinished(async () => await operator.leave());
      const child = spawn(launcher, ['logs', 'counter', '--follow'], {
        env: { HOME: process.env.HOME, PATH: process.env.PATH, DOCKER_HOST: engine.url, QUARTERDECK_HOME: operator.home },
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
        await vi.waitFor(() => expect(lines()).toBeGreaterThan(count), { timeout: 60_000, interval: 50 });
      await sees(100);
      await engine.kill();
      await vi.waitFor(() => expect(notices).not.toBe(''), { timeout: 30_000 });
      await engine.start();
      await sees(lines() + 100);
      await ask(engine, '/containers/counter/stop?t=2', { method: 'POST' });
      const expected = await ownLog(engine, 'counter');
      await vi.waitFor(() => expect(lines()).toBeGreaterThanOrEqual(expected.split('\n').length - 1), { timeout: 30_000 });
      expect(text.split('\n')).toEqual(expected.split('\n'));
      expect(notices).toMatch(/is reachable again/);
      child.kill('SIGINT');
      const [code] = (await once(child, 'close')) as [number];
      expect(code).toBe(130);
    });
  });
}
