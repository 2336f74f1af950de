import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { request } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { catalogOf } from '../../source/catalog/open-catalog.ts';
import type { Deployment } from '../../source/stack/model.ts';
import { publishedBy } from '../../source/stack/plan/ports.ts';
import { type ProxyChanges, proxyChanges } from '../../source/stack/plan/proxy-changes.ts';
import { siteText } from '../../source/stack/plan/proxy-site.ts';
import { makeShortFolder } from '../short-folder.ts';
import { describeBeside } from './real-engines.ts';
import { runOrThrow, runProgram, type ScriptOutcome } from './scripts.ts';
import { findFreePort } from './stack.ts';

const catalogFolder = fileURLToPath(new URL('../../catalog', import.meta.url));

describeBeside('docker', 'sites of the reverse proxy, served by Caddy', (engine) => {
  const project = `proxy-${randomBytes(3).toString('hex')}`;
  const servers: Server[] = [];
  let home = '';
  let httpsPort = 0;
  let authority = '';
  let catalog = catalogOf([], []);

  const compose = (...args: string[]): Promise<ScriptOutcome> =>
    runProgram([join(inject('composeFolder'), 'docker-compose'), '-p', project, ...args], {
      cwd: home,
      env: { DOCKER_HOST: engine.url },
      bare: true,
    });

  /** A component's program, on a loopback port of the host. */
  async function upstream(answer: RequestListener): Promise<{ server: Server; port: number }> {
    const server = createServer(answer);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    return { server, port: (server.address() as AddressInfo).port };
  }

  async function stackNow(more: readonly Deployment[] = []): Promise<Deployment[]> {
    const files = { 'files/Caddyfile': await readFile(join(home, 'files/Caddyfile'), 'utf8') };
    return [{ component: 'reverse-proxy', folder: home, compose: '', envText: '', env: {}, files, record: undefined }, ...more];
  }

  /** Places the files of a plan and runs what it says to run afterwards. */
  async function apply({ files, after, findings }: ProxyChanges): Promise<ScriptOutcome[]> {
    expect(findings).toEqual([]);
    for (const { path, after: content } of files) await writeFile(join(home, path.replace('reverse-proxy/', '')), content ?? '');
    const outcomes: ScriptOutcome[] = [];
    for (const { service, argv } of after) {
      outcomes.push(await compose('exec', '-T', service, ...argv));
      if (outcomes.at(-1)?.code !== 0) break;
    }
    return outcomes;
  }

  async function serve(
    id: string,
    site: string,
    env: Record<string, string>,
    more: { protect?: boolean; portal?: Deployment } = {},
  ): Promise<void> {
    const entry = catalog.get(id) ?? expect.fail(`no ${id}`);
    const deployments = await stackNow(more.portal ? [more.portal] : []);
    const changes = proxyChanges({ entry, site, protect: more.protect, ports: publishedBy(entry, env), values: env, deployments, catalog });
    for (const { code, stderr } of await apply(changes)) expect(stderr, stderr).toSatisfy(() => code === 0);
    // Its certificate is made in the background when a site is put in force.
    await vi.waitFor(() => greet(site), { timeout: 20_000, interval: 100 });
  }

  function greet(site: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connectSecurely({ host: '127.0.0.1', port: httpsPort, servername: site, ca: authority }, () => {
        socket.destroy();
        resolve();
      });
      socket.once('error', reject);
    });
  }

  function ask(
    site: string,
    path: string,
    headers: Record<string, string> = {},
    read: (answer: IncomingMessage) => void = (answer) => answer.setEncoding('utf8'),
  ): Promise<{ status: number; headers: IncomingMessage['headers']; body: string; bytes: number }> {
    return new Promise((resolve, reject) => {
      const asked = request(
        { host: '127.0.0.1', port: httpsPort, servername: site, path, headers: { host: site, ...headers }, ca: authority, agent: false },
        (answer) => {
          let body = '';
          let bytes = 0;
          read(answer);
          answer.on('data', (piece: string | Buffer) => {
            bytes += piece.length;
            if (typeof piece === 'string') body += piece;
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body, bytes }));
          answer.on('error', reject);
        },
      );
      asked.on('error', reject);
      asked.end();
    });
  }

  beforeAll(async () => {
    catalog = catalogOf((await loadFolder(catalogFolder, { own: false })).entries, []);
    home = await makeShortFolder('qd-proxy-');
    await cp(join(catalogFolder, 'networking/reverse-proxy'), home, { recursive: true });
    const [http, admin] = [await findFreePort(), await findFreePort()];
    httpsPort = await findFreePort();
    // The catalog's own rules, on ports that are free here: whoever runs the tests may have a web server.
    const own = await readFile(join(home, 'files/Caddyfile'), 'utf8');
    const moved = own
      .replace('admin localhost:2019', `admin localhost:${admin}\n\thttp_port ${http}\n\thttps_port ${httpsPort}`)
      .replace(':80 {', `:${http} {`);
    expect(moved).not.toBe(own);
    await writeFile(join(home, 'files/Caddyfile'), moved);
    // Two sites from the start, so that the internal authority exists.
    await writeFile(join(home, 'files/sites/first.lan.caddy'), siteText({ host: 'first.lan', upstream: { host: 'localhost', port: 1 } }));
    await runOrThrow([join(inject('composeFolder'), 'docker-compose'), '-p', project, 'up', '-d'], {
      cwd: home,
      env: { DOCKER_HOST: engine.url },
      bare: true,
    });
    await vi.waitFor(
      async () => {
        authority = (await compose('exec', '-T', 'caddy', 'cat', '/data/caddy/pki/authorities/local/root.crt')).stdout;
        expect(authority).toContain('BEGIN CERTIFICATE');
      },
      { timeout: 60_000, interval: 250 },
    );
  });
  afterAll(async () => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    if (home !== '') await compose('down', '-v', '-t', '1');
    await rm(home, { recursive: true, force: true });
  });

  it('answer with https under certificates of the internal authority, each its own component (R9, R10, R11)', async () => {
    const one = await upstream((_, answer) => answer.end('news'));
    const other = await upstream((_, answer) => answer.end('files'));
    await serve('rss-reader', 'news.lan', { WEB_PORT: String(one.port) });
    await serve('file-sync', 'files.lan', { WEB_PORT: String(other.port) });
    expect(await ask('news.lan', '/')).toMatchObject({ status: 200, body: 'news' });
    expect(await ask('files.lan', '/')).toMatchObject({ status: 200, body: 'files' });
    const trusted = authority;
    authority = '';
    await expect(ask('news.lan', '/')).rejects.toThrow(/certificate/);
    authority = trusted;
  });

  it('follow a remapped port (R89)', async () => {
    const { port } = await upstream((_, answer) => answer.end('moved'));
    await serve('rss-reader', 'moved.lan', { WEB_PORT: String(port) });
    expect((await ask('moved.lan', '/')).body).toBe('moved');
  });

  it('a public name gets no internal certificate, a private one does (R10, R11)', async () => {
    const rules = ['shop.example.org', 'shop.lan'].map((host) => siteText({ host, upstream: { host: 'localhost', port: 8080 } })).join('');
    await writeFile(join(home, 'files/sites/adapted.txt'), rules);
    const { stdout, stderr } = await compose(
      'exec',
      '-T',
      'caddy',
      'caddy',
      'adapt',
      '--config',
      '/etc/caddy/sites/adapted.txt',
      '--adapter',
      'caddyfile',
    );
    const policies = (
      JSON.parse(stdout || stderr) as {
        apps: { tls: { automation: { policies: { subjects?: string[]; issuers?: { module: string }[] }[] } } };
      }
    ).apps.tls.automation.policies;
    const internal = policies
      .filter(({ issuers }) => issuers?.some(({ module }) => module === 'internal'))
      .flatMap(({ subjects }) => subjects ?? []);
    expect(internal).toEqual(['shop.lan']);
  });

  it('are put in force without breaking off a download (reload)', async () => {
    const pieces = 60;
    const piece = Buffer.alloc(256 * 1024, 7);
    const gates: (() => void)[] = [];
    const { port } = await upstream(async (_, answer) => {
      answer.writeHead(200, { 'content-length': piece.length * pieces });
      for (let sent = 0; sent < pieces; sent++) {
        if (!answer.write(piece)) await once(answer, 'drain');
        // A third of it goes out between reloads.
        if (sent % 20 === 19 && sent < 59) await new Promise<void>((go) => gates.push(go));
      }
      answer.end();
    });
    await serve('rss-reader', 'big.lan', { WEB_PORT: String(port) });
    const download = ask('big.lan', '/', {}, () => undefined);
    for (const site of ['again.lan', 'and-again.lan']) {
      await expect.poll(() => gates.length).toBe(1);
      await serve('file-sync', site, { WEB_PORT: String(port) });
      gates.shift()?.();
    }
    expect(await download).toMatchObject({ status: 200, bytes: piece.length * pieces });
  });

  it('stay as they are when a rule is wrong: it is read before it is put in force', async () => {
    const { port } = await upstream((_, answer) => answer.end('still here'));
    await serve('rss-reader', 'still.lan', { WEB_PORT: String(port) });
    const entry = catalog.get('rss-reader') ?? expect.fail('no rss-reader');
    const wrong = proxyChanges({
      entry,
      site: 'wrong.lan',
      ports: publishedBy(entry, {}),
      values: {},
      deployments: await stackNow(),
      catalog,
    });
    const [first] = wrong.files;
    const outcomes = await apply({ ...wrong, files: first ? [{ ...first, after: 'wrong.lan {\n\treverse_proxi x\n}\n' }] : [] });
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]?.code).not.toBe(0);
    expect((await ask('still.lan', '/')).body).toBe('still here');
    await rm(join(home, 'files/sites/wrong.lan.caddy'));
  });

  it('let a websocket pass, on the path of the hub alone, and send it to the main port where no hub is (R51, R54)', async () => {
    const echo = (name: string) => async () => {
      const { server, port } = await upstream((asked, answer) => answer.end(`${name} ${asked.url}`));
      server.on('upgrade', (_, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
        socket.on('error', () => undefined);
        socket.on('data', (piece: Buffer) => socket.write(`${name}: ${piece}`));
      });
      return { server, port };
    };
    const hub = await echo('hub')();
    const web = await echo('web')();
    await serve('password-vault', 'vault.lan', { WEB_PORT: String(web.port), HUB_PORT: String(hub.port) });
    const socketSays = (path: string) =>
      new Promise<string>((resolve, reject) => {
        const headers = {
          host: 'vault.lan',
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        };
        const asked = request({ host: '127.0.0.1', port: httpsPort, servername: 'vault.lan', path, headers, ca: authority, agent: false });
        asked.on('upgrade', (_, socket) => {
          socket.once('data', (piece: Buffer) => {
            socket.destroy();
            resolve(piece.toString());
          });
          socket.on('error', () => undefined);
          socket.write('hello');
        });
        asked.on('response', ({ statusCode }) => reject(new Error(`no upgrade: ${statusCode}`)));
        asked.on('error', reject);
        asked.end();
      });
    expect(await socketSays('/notifications/hub')).toBe('hub: hello');
    expect(await socketSays('/other')).toBe('web: hello');
    expect((await ask('vault.lan', '/notifications/hub')).body).toBe('hub /notifications/hub');
    expect((await ask('vault.lan', '/notifications/hubs')).body).toBe('web /notifications/hubs');
    hub.server.closeAllConnections();
    hub.server.close();
    await expect
      .poll(
        () =>
          new Promise((resolve) =>
            connect(hub.port, '127.0.0.1')
              .on('connect', () => resolve(true))
              .on('error', () => resolve(false)),
          ),
      )
      .toBe(false);
    expect(await socketSays('/notifications/hub')).toBe('web: hello');
    expect((await ask('vault.lan', '/notifications/hub')).body).toBe('web /notifications/hub');
  });

  it('behind the portal let in who it lets in, under the name that it gives and no other (R36)', async () => {
    const questions: { url: string | undefined; headers: IncomingMessage['headers'] }[] = [];
    const portal = await upstream((asked, answer) => {
      questions.push({ url: asked.url, headers: asked.headers });
      if (asked.headers.cookie === 'session=ann')
        answer.writeHead(200, { 'remote-user': 'ann', 'remote-groups': 'admins,dev', 'remote-name': 'Ann', 'x-other': 'no' }).end();
      else
        answer
          .writeHead(302, {
            location: `https://auth.lan/?rd=https://${asked.headers['x-forwarded-host']}${asked.headers['x-forwarded-uri']}`,
          })
          .end();
    });
    const app = await upstream((asked, answer) => answer.end(JSON.stringify(asked.headers)));
    const env = { WEB_PORT: String(portal.port), PORTAL_URL: 'https://auth.lan' };
    const deployment: Deployment = { component: 'sso-portal', folder: '', compose: '', envText: '', env, files: {}, record: undefined };
    await serve('rss-reader', 'private.lan', { WEB_PORT: String(app.port) }, { protect: true, portal: deployment });

    const denied = await ask('private.lan', '/page?x=1');
    expect(denied).toMatchObject({ status: 302, headers: { location: 'https://auth.lan/?rd=https://private.lan/page?x=1' } });
    expect(questions[0]).toMatchObject({
      url: '/api/verify?rd=https://auth.lan',
      headers: { 'x-forwarded-method': 'GET', 'x-forwarded-proto': 'https' },
    });

    const forged = { 'remote-user': 'root', 'remote-email': 'root@example.org', 'remote-groups': 'wheel' };
    expect((await ask('private.lan', '/', forged)).status).toBe(302);
    const seen = JSON.parse((await ask('private.lan', '/', { ...forged, cookie: 'session=ann' })).body) as Record<string, string>;
    expect(seen).toMatchObject({ 'remote-user': 'ann', 'remote-groups': 'admins,dev', 'remote-name': 'Ann' });
    // The portal gave no address: what the client claimed is gone. (Caddy 2.6 leaves its own unfilled placeholder there.)
    expect(seen['remote-email'] ?? '').not.toContain('root');
    expect(seen).not.toHaveProperty('x-other');
  });
});
