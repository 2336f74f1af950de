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
