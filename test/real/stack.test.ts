import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, askUntil } from './ask.ts';
import { describeReal, type RealEngineKind } from './real-engines.ts';
import { bringUp, type Composer, type RunningComponent } from './stack.ts';

/** The components of which real programs can be had, brought up from the catalog's own compose files. */
const ways: readonly { kind: RealEngineKind; composer: Composer }[] = [
  { kind: 'docker', composer: 'compose-2' },
  { kind: 'podman', composer: 'compose-2' },
];

for (const { kind, composer } of ways) {
  describeReal(kind, `catalog components, brought up by ${composer}`, (engine) => {
    let up: Record<string, RunningComponent> = {};
    const port = (id: string, name: string): string => `http://127.0.0.1:${up[id]?.ports[name]}`;

    beforeAll(async () => {
      for (const id of ['intrusion-prevention', 'file-sync', 'reverse-proxy', 'rss-reader'])
        up[id] = await bringUp(engine, id, { composer });
    });
    afterAll(async () => {
      for (const component of Object.values(up)) await component.down();
      up = {};
    });

    it('intrusion-prevention answers on its local API, and bans', async () => {
      const health = await askUntil(port('intrusion-prevention', 'API_PORT'), '/health', ({ status }) => status === 200);
      expect(JSON.parse(health.body)).toEqual({ status: 'up' });
      // A bouncer's door: closed without a key.
      expect((await ask(port('intrusion-prevention', 'API_PORT'), '/v1/decisions')).status).toBe(403);
    });

    it('file-sync answers, and wants a key', async () => {
      const health = await askUntil(port('file-sync', 'WEB_PORT'), '/rest/noauth/health', ({ status }) => status === 200);
      expect(JSON.parse(health.body)).toEqual({ status: 'OK' });
      expect((await ask(port('file-sync', 'WEB_PORT'), '/rest/system/version')).status).toBe(403);
    });

    it('reverse-proxy serves the catalog’s Caddyfile on the host’s port 80', async () => {
      const page = await askUntil('http://127.0.0.1:80', '/', ({ status }) => status === 404);
      expect(page.body).toBe('There is no site of this name here.');
    });

    it('rss-reader has a database and an administrator', async () => {
      const base = port('rss-reader', 'WEB_PORT');
      await askUntil(base, '/healthcheck', ({ status }) => status === 200);
      const basic = Buffer.from(`admin:${up['rss-reader']?.variables.ADMIN_PASSWORD}`).toString('base64');
      const me = await ask(base, '/v1/me', { headers: { authorization: `Basic ${basic}` } });
      expect(JSON.parse(me.body)).toMatchObject({ username: 'admin', is_admin: true });
    });
  });
}
