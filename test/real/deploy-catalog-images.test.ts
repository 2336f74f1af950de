import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect } from 'vitest';
import { ask, askUntil } from './ask.ts';
import { until } from './deploy-fixture.ts';
import { json, layGround, ownAddress, page, type Row } from './deployed-rows.ts';
import { describeReal } from './real-engines.ts';
import { runProgram } from './scripts.ts';
import { findFreePort } from './stack.ts';

const feed = (title: string) => `<?xml version="1.0"?>
<rss version="2.0"><channel><title>Rust and salt</title><link>http://example.org/</link><description>Ships</description>
<item><title>${title}</title><link>http://example.org/1</link><guid>1</guid><description>A hull.</description></item></channel></rss>`;

// Rows whose images every engine of the tests has anyway; `deploy-catalog.test.ts` has the others.
describeReal('docker', 'more of the catalog with real programs', (engine) => {
  const ground = layGround(engine, { archive: false });
  const pages = new Map<string, string>();
  let server: Server;
  let serverPort: number;
  beforeAll(async () => {
    serverPort = await findFreePort();
    server = createServer(({ url = '' }, answer) => void answer.end(pages.get(url)));
    await new Promise<void>((resolve) => server.listen(serverPort, '0.0.0.0', resolve));
  });
  afterAll(() => {
    server?.closeAllConnections();
    server?.close();
  });

  const rows: Row[] = [
    {
      group: 'productivity',
      id: 'rss-reader',
      ports: ['WEB_PORT'],
      word: 'healthy',
      proof: async ({ port, run, word, fixture }) => {
        const env = (await fixture.container('rss-reader', 'reader'))?.Config.Env ?? [];
        const password = env.find((line) => line.startsWith('ADMIN_PASSWORD='))?.split('=')[1];
        const headers = { Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` };
        const asked = async (path: string) => JSON.parse((await page(port('WEB_PORT'), path, { headers })).body);
        pages.set('/feed.xml', feed('The hull is done'));
        const subscribed = await page(
          port('WEB_PORT'),
          '/v1/feeds',
          json({ feed_url: `http://${ground.here}:${serverPort}/feed.xml`, category_id: 1 }, headers),
        );
        expect(subscribed.status, subscribed.body).toBe(201);
        const titles = async () => ((await asked('/v1/entries')) as { entries: { title: string }[] }).entries.map(({ title }) => title);
        expect(await titles()).toEqual(['The hull is done']);

        const backups = `${ground.folder}/reader`;
        await run('backup', 'rss-reader', '--to', backups, '--yes');
        const [{ id } = { id: 0 }] = (await asked('/v1/feeds')) as { id: number }[];
        expect((await page(port('WEB_PORT'), `/v1/feeds/${id}`, { method: 'DELETE', headers })).status).toBe(204);
        expect(await titles()).toEqual([]);
        await run('restore', 'rss-reader', '--to', backups, '--yes');
        await word('healthy');
        expect(await titles()).toEqual(['The hull is done']);
        expect(await run('op', 'rss-reader', 'refresh-by-command', '--yes')).not.toContain('error');

        await run('stop', 'rss-reader', '--service', 'db', '--yes');
        await word('database down');
        await run('start', 'rss-reader', '--service', 'db', '--yes');
        await word('healthy');
      },
    },
    {
      group: 'productivity',
      id: 'file-sync',
      ports: ['WEB_PORT', 'SYNC_PORT=SYNC_QUIC_PORT'],
      answers: () => ({ DISCOVERY_BIND: ownAddress }),
      word: 'healthy',
      proof: async ({ port, inside, word }) => {
        const keyIn = (text: string) => /<apikey>([^<]+)</.exec(text)?.[1] ?? '';
        const key = keyIn(await inside('syncthing', 'cat', '/var/syncthing/config/config.xml'));
        // Under another name: by its own it would be one more component of this kind.
        await ask(engine, '/images/syncthing%2Fsyncthing:latest/tag?repo=laptop&tag=latest', { method: 'POST' });
        const laptop = await ground.started({ Image: 'laptop:latest', Env: ['STNODEFAULTFOLDER=1'] });
        try {
          const execute = async (...argv: string[]) => (await runProgram(['docker', '-H', engine.url, 'exec', laptop.id, ...argv])).stdout;
          await askUntil(`http://${laptop.address}:8384`, '/rest/noauth/health', ({ status }) => status === 200);
          const laptopKey = keyIn(await execute('cat', '/var/syncthing/config/config.xml'));
          const devices = {
            server: { url: `http://127.0.0.1:${port('WEB_PORT')}`, key, address: `tcp://${ground.here}:${port('SYNC_PORT')}`, id: '' },
            laptop: { url: `http://${laptop.address}:8384`, key: laptopKey, address: `tcp://${laptop.address}:22000`, id: '' },
          };
          const { server, laptop: other } = devices;
          const said = async (device: typeof server, path: string, options: Parameters<typeof ask>[2] = {}) => {
            const answer = await ask(device.url, path, { ...options, headers: { ...options.headers, 'X-API-Key': device.key } });
            expect(answer.status, `${path}: ${answer.body}`).toBe(200);
            return answer.body;
          };
          for (const device of [server, other])
            device.id = (JSON.parse(await said(device, '/rest/system/status')) as { myID: string }).myID;
          for (const [device, its] of [
            [server, other],
            [other, server],
          ] as const) {
            await said(device, '/rest/config/devices', json({ deviceID: its.id, name: 'the other', addresses: [its.address] }));
            const shared = { id: 'papers', path: '/var/syncthing/papers', devices: [{ deviceID: device.id }, { deviceID: its.id }] };
            await said(device, '/rest/config/folders', json(shared));
          }
          await inside('syncthing', 'sh', '-c', 'echo minutes >/var/syncthing/papers/minutes.txt');
          await said(server, '/rest/db/scan?folder=papers', { method: 'POST' });
          await until(
            async () => (await execute('cat', '/var/syncthing/papers/minutes.txt')).includes('minutes'),
            'the file never came to the other device',
          );
          // Nobody can connect any more, and the page goes on.
          await said(server, '/rest/config/options', { ...json({ listenAddresses: ['tcp://127.0.0.1:22000'] }), method: 'PATCH' });
          await word('sync port closed');
        } finally {
          await laptop.end();
        }
      },
    },
    {
      group: 'security',
      id: 'intrusion-prevention',
      ports: ['API_PORT'],
      answers: () => ({ DISABLE_ONLINE_API: 'true' }),
      word: 'healthy',
      proof: async ({ port, run }) => {
        expect(await run('status', 'intrusion-prevention')).toContain('No bouncer is registered');
        const key = (await run('bouncers', 'add', 'door', '--plain')).trim();
        const asked = async () => (await page(port('API_PORT'), '/v1/decisions?ip=203.0.113.7', { headers: { 'X-Api-Key': key } })).body;
        expect(await asked()).toBe('null');
        await run('ban', '203.0.113.7', '--for', '4h', '--reason', 'scans', '--yes');
        expect(JSON.parse(await asked())).toMatchObject([{ type: 'ban', value: '203.0.113.7', scenario: 'scans' }]);
        await run('unban', '203.0.113.7', '--yes');
        expect(await asked()).toBe('null');
        expect(await run('status', 'intrusion-prevention')).not.toContain('No bouncer is registered');
      },
    },
  ];
  ground.prove(rows);
});
