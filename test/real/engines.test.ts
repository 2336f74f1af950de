import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ask } from './ask.ts';
import { engineKinds } from './engine-offer.ts';
import { describeBeside, describeOnce, describePrivate, startPrivateEngine } from './real-engines.ts';

for (const kind of engineKinds) {
  describeBeside(kind, 'the engine that the other tests use', (engine) => {
    it('is what it claims to be', async () => {
      const { headers } = await ask(engine, '/_ping');
      expect(String(headers.server)).toMatch(kind.startsWith('podman') ? /^Libpod\// : /^Docker\//);
      const info = JSON.parse((await ask(engine, '/info')).body) as { SecurityOptions: string[]; Rootless?: boolean };
      // Docker lists it among the security options, Podman has a field of its own.
      expect(info.Rootless ?? info.SecurityOptions.includes('name=rootless')).toBe(kind.endsWith('-rootless'));
    });

    it('has the images under the names that the catalog uses', async () => {
      const images = JSON.parse((await ask(engine, '/images/json')).body) as { RepoTags: string[] | null }[];
      // Podman tells the full name.
      const tags = images.flatMap(({ RepoTags }) => RepoTags ?? []).map((tag) => tag.replace(/^docker\.io\/(library\/)?/, ''));
      expect(tags).toEqual(
        expect.arrayContaining([
          'busybox:latest',
          'caddy:latest',
          'crowdsecurity/crowdsec:latest',
          'miniflux/miniflux:latest',
          'postgres:16-alpine',
          'redis:7-alpine',
          'syncthing/syncthing:latest',
          'vaultwarden/server:latest',
        ]),
      );
    });
  });

  // That others die and come back as well is in the tests of each kind of engine.
  const group = describeOnce(kind !== 'docker', describePrivate);
  group(kind, 'a private engine', () => {
    it('dies, comes back on the same socket, and leaves nothing behind', async () => {
      const own = await startPrivateEngine(kind);
      try {
        expect((await ask(own, '/_ping')).status).toBe(200);
        await own.kill();
        // Refused, gone, or taken by a socket whose process is just being cleared away.
        await expect(ask(own, '/_ping')).rejects.toThrow(/ECONNREFUSED|ENOENT|EPIPE|ECONNRESET/);
        await own.start();
        expect((await ask(own, '/_ping')).status).toBe(200);
      } finally {
        await own.down();
      }
      expect(existsSync(own.socket)).toBe(false);
    });
  });
}
