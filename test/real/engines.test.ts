import { request } from 'node:http';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { engineKinds } from './engine-offer.ts';
import { describeReal, startPrivateEngine } from './real-engines.ts';

/** Asks an engine over its socket. */
async function ask(socket: string, path: string): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  return await new Promise((resolve, reject) => {
    const sent = request({ socketPath: socket, path }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

for (const kind of engineKinds) {
  describeReal(kind, 'the engine that the other tests use', (engine) => {
    it('is what it claims to be', async () => {
      const { headers } = await ask(engine.socket, '/_ping');
      expect(String(headers.server)).toMatch(kind.startsWith('podman') ? /^Libpod\// : /^Docker\//);
      const info = JSON.parse((await ask(engine.socket, '/info')).body) as { SecurityOptions: string[]; Rootless?: boolean };
      // Docker lists it among the security options, Podman has a field of its own.
      expect(info.Rootless ?? info.SecurityOptions.includes('name=rootless')).toBe(kind.endsWith('-rootless'));
    });

    it('has the images under the names that the catalog uses', async () => {
      const images = JSON.parse((await ask(engine.socket, '/images/json')).body) as { RepoTags: string[] | null }[];
      // Podman tells the full name.
      const tags = images.flatMap(({ RepoTags }) => RepoTags ?? []).map((tag) => tag.replace(/^docker\.io\/(library\/)?/, ''));
      expect(tags).toEqual(
        expect.arrayContaining([
          'busybox:latest',
          'caddy:latest',
          'crowdsecurity/crowdsec:latest',
          'miniflux/miniflux:latest',
          'postgres:16-alpine',
          'syncthing/syncthing:latest',
        ]),
      );
    });
  });

  describeReal(kind, 'a private engine', () => {
    it('dies, comes back on the same socket, and leaves nothing behind', async () => {
      const own = await startPrivateEngine(kind);
      try {
        expect((await ask(own.socket, '/_ping')).status).toBe(200);
        await own.kill();
        await expect(ask(own.socket, '/_ping')).rejects.toThrow(/ECONNREFUSED|ENOENT/);
        await own.start();
        expect((await ask(own.socket, '/_ping')).status).toBe(200);
      } finally {
        await own.down();
      }
      expect(existsSync(own.socket)).toBe(false);
    });
  });
}
