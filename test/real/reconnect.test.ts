import { expect, it, onTestFinished } from 'vitest';
import { ask } from './ask.ts';
import { makeOperator } from './operator.ts';
import { describePrivate, type RealEngineKind, startPrivateEngine } from './real-engines.ts';

/** A container that does nothing for long, and that the engine brings back by itself. */
async function startSleeper(engine: { socket: string }, name: string): Promise<void> {
  const created = await ask(engine, `/containers/create?name=${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      Image: 'busybox:latest',
      Cmd: ['sh', '-c', 'trap exit TERM; while :; do sleep 0.2; done'],
      HostConfig: { RestartPolicy: { Name: 'always' } },
    }),
  });
  expect(created.status, created.body).toBe(201);
  const { Id } = JSON.parse(created.body) as { Id: string };
  expect((await ask(engine, `/containers/${Id}/start`, { method: 'POST' })).status).toBe(204);
}

for (const kind of ['docker', 'podman', 'podman-rootless', 'docker-rootless'] satisfies RealEngineKind[]) {
  describePrivate(kind, 'an engine that dies under a running console', () => {
    it('is said to be away, waited for, and connected to again', async () => {
      const engine = await startPrivateEngine(kind, { busybox: true });
      onTestFinished(async () => await engine.down());
      await startSleeper(engine, 'sleeper');
      const operator = await makeOperator(engine);
      onTestFinished(async () => await operator.leave());
      const terminal = operator.open();
      onTestFinished(async () => await terminal.close());
      await terminal.sees(/● sleeper +running/, 30_000);

      await engine.kill();
      // In words, and no row goes on claiming that something runs.
      await terminal.sees(/unreachable|away|not reachable|broke|lost|gone/i, 30_000);
      await terminal.seesNot(/● sleeper +running/);
      // It still answers to its operator.
      terminal.press('?');
      await terminal.sees(/Help|Keys/);
      terminal.press('esc');

      await engine.start();
      await terminal.sees(/● sleeper +running/, 60_000);

      // Live again, not only listed again: events arrive.
      await startSleeper(engine, 'latecomer');
      await terminal.sees(/● latecomer +running/, 30_000);
      terminal.press('q');
      expect(await terminal.exit()).toEqual({ code: 0, signal: 0 });
      expect(terminal.onAlternateScreen).toBe(false);
    });
  });
}
