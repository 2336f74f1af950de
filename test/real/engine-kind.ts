import { expect, test } from 'vitest';
import { openEngine } from '../../source/engine/dockerode-engine.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { engineContract } from '../contract/engine.contract.ts';
import { ask } from './ask.ts';
import { describeContract } from './describe-contract.ts';
import { describePrivate, describeReal, type RealEngineKind, startPrivateEngine } from './real-engines.ts';

const host = openLocalHost();
const signal = (limitMs = 60_000) => AbortSignal.timeout(limitMs);

/** What every kind of engine is asked; a file for Docker and one for Podman, which run at once. */
export function testEngine(kind: RealEngineKind): void {
  describeReal(kind, 'the engine', (real) => {
    // The practice engine is a Docker, so that only this one proves it.
    if (kind === 'docker') {
      const version = async () => (JSON.parse((await ask(real, '/version')).body) as { Version: string }).Version;
      describeContract('engine', { name: 'Docker', version }, () => engineContract(kind, real));
    } else engineContract(kind, real);

    test('runs a program as another user, and its output is heard as it comes', async () => {
      const post = (path: string, body?: object) =>
        ask(real, path, {
          method: 'POST',
          ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
        });
      const created = await post('/containers/create', { Image: 'busybox:latest', Cmd: ['sleep', '600'] });
      const { Id: id } = JSON.parse(created.body) as { Id: string };
      const engine = openEngine({ url: real.url, origin: 'test' }, host);
      try {
        await post(`/containers/${id}/start`);
        const heard: string[] = [];
        const told = (bytes: Uint8Array) => void heard.push(Buffer.from(bytes).toString());
        const script = ['sh', '-c', 'id -u; sleep 0.2; echo later'];
        const { stdout } = await engine.execReading(id, script, { signal: signal(), user: '65534', heard: told });
        expect(Buffer.from(stdout).toString()).toBe('65534\nlater\n');
        expect(heard).toEqual(['65534\n', 'later\n']);
      } finally {
        engine.close();
        await ask(real, `/containers/${id}?force=1`, { method: 'DELETE' });
      }
    });
  });

  describePrivate(kind, 'an engine that dies', () => {
    test('is said at once, and is there again when it is back', async () => {
      const own = await startPrivateEngine(kind);
      try {
        const engine = openEngine({ url: own.url, origin: 'test' }, host);
        await engine.connect(signal());
        const following = (async () => {
          for await (const event of engine.events({ signal: signal() })) expect(event.kind).not.toBe('container');
        })();
        following.catch(() => undefined);
        expect(await engine.list(signal())).toEqual([]);
        await own.kill();
        await expect(following).rejects.toMatchObject({ code: 'unreachable.engine' });
        await expect(engine.connect(signal())).rejects.toMatchObject({
          code: 'unreachable.engine',
          message: expect.stringContaining(own.socket),
        });
        await own.start();
        expect(await engine.connect(signal())).toMatchObject({ kind: kind.startsWith('podman') ? 'podman' : 'docker' });
        engine.close();
      } finally {
        await own.down();
      }
    });
  });
}
