import { chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { until } from './deploy-fixture.ts';
import { json, layGround, ownAddress, page, type Row, resolved } from './deployed-rows.ts';
import { describeReal } from './real-engines.ts';
import { runOrThrow, runProgram } from './scripts.ts';

// Components whose program Debian does not have: those that `test/real/servers` built are deployed. Traefik and Calibre-Web it has in seconds, in CI too.

describeReal('docker', 'the catalog with programs built for it', (engine) => {
  const ground = layGround(engine);
  const rows: Row[] = [
    {
      group: 'networking',
      id: 'dns-filter-second',
      ports: ['WEB_PORT'],
      answers: () => ({ DNS_BIND: ownAddress, DNS_UDP_BIND: ownAddress, DOT_BIND: ownAddress }),
      server: {
        name: 'adguardhome',
        image: async (program) => ({
          name: 'docker.io/adguard/adguardhome',
          tag: 'latest',
          from: 'busybox:latest',
          files: { 'opt/adguardhome/AdGuardHome': await readFile(program) },
          changes: [
            'WORKDIR /opt/adguardhome/work',
            'ENTRYPOINT ["/opt/adguardhome/AdGuardHome"]',
            'CMD ["--no-check-update","-c","/opt/adguardhome/conf/AdGuardHome.yaml","-w","/opt/adguardhome/work"]',
          ],
        }),
      },
      word: 'setup required',
      proof: async ({ port, word }) => {
        const listen = (number: number) => ({ ip: '0.0.0.0', port: number });
        const account = { username: 'ada', password: 'correct horse' };
        const made = await page(port('WEB_PORT'), '/control/install/configure', json({ web: listen(3000), dns: listen(53), ...account }));
        expect(made.status, made.body).toBe(200);
        await word('healthy');
        const login = { Authorization: `Basic ${Buffer.from('ada:correct horse').toString('base64')}` };
        const rewrite = json({ domain: 'nas.home.lan', answer: '192.0.2.9' }, login);
        expect((await page(port('WEB_PORT'), '/control/rewrite/add', rewrite)).status).toBe(200);
        expect(await resolved('nas.home.lan', 53, ownAddress)).toEqual(['192.0.2.9']);
      },
    },

    {
      group: 'productivity',
      id: 'object-storage',
      ports: ['API_PORT', 'WEB_PORT'],
      server: {
        name: 'minio',
        image: async (program) => ({
          name: 'quay.io/minio/minio',
          tag: 'RELEASE.2025-09-07T16-13-09Z',
          from: 'busybox:latest',
          files: {
            'usr/bin/minio': await readFile(program),
            // Of its client only what the health check asks.
            'usr/bin/mc': '#!/bin/sh\nexec wget -q -O /dev/null http://127.0.0.1:9000/minio/health/ready\n',
          },
          changes: ['ENTRYPOINT ["minio"]', 'CMD ["minio"]'],
        }),
      },
      word: 'healthy',
      proof: async ({ port, run, inside }) => {
        expect((await page(port('API_PORT'), '/bucket')).body).toContain('<Code>AccessDenied</Code>');
        expect(await inside('minio', 'ls', '-A', '/data')).toContain('.minio.sys');

        // With the keys that it was deployed with, which nobody types.
        await inside('minio', 'mkdir', '/data/papers');
        const [file, back] = [join(ground.folder, 'minutes.txt'), join(ground.folder, 'minutes-again.txt')];
        await writeFile(file, 'The hull is done.\n');
        await run('objects', 'put', 'object-storage', file, 'papers/', '--yes');
        expect(await run('objects', 'list', 'object-storage', 'papers')).toContain('minutes.txt');
        await run('objects', 'get', 'object-storage', 'papers/minutes.txt', back);
        expect(await readFile(back, 'utf8')).toBe('The hull is done.\n');
        const link = (await run('objects', 'link', 'object-storage', 'papers/minutes.txt', '--for', '5m', '--plain')).trim();
        expect(await runOrThrow(['curl', '-sS', link])).toBe('The hull is done.\n');
        await run('objects', 'remove', 'object-storage', 'papers/minutes.txt', '--yes');
        expect(await runOrThrow(['curl', '-sS', link])).toContain('<Code>NoSuchKey</Code>');
      },
    },

    {
      group: 'security',
      id: 'sso-portal',
      ports: ['WEB_PORT'],
      answers: () => ({ SESSION_DOMAIN: 'example.com', PORTAL_URL: 'https://auth.example.com' }),
      server: {
        name: 'authelia',
        image: async (program) => ({
          name: 'docker.io/authelia/authelia',
          tag: 'latest',
          from: 'busybox:latest',
          files: { 'usr/bin/authelia': await readFile(program) },
          changes: [
            'WORKDIR /app',
            'ENTRYPOINT ["authelia"]',
            'CMD ["--config","/config/configuration.yml"]',
            // Upstream's asks the same, less often.
            'HEALTHCHECK --interval=1s CMD wget -q -O /dev/null http://127.0.0.1:9091/api/health',
          ],
        }),
      },
      word: 'healthy',
      proof: async ({ port }) => {
        const headers = { 'X-Original-Method': 'GET', 'X-Original-URL': 'https://app.example.com/', 'X-Forwarded-For': '192.0.2.1' };
        expect((await page(port('WEB_PORT'), '/api/authz/auth-request', { headers })).status).toBe(401);
      },
    },

    {
      group: 'security',
      id: 'internal-ca',
      ports: ['API_PORT'],
      answers: () => ({ DOCKER_STEPCA_INIT_NAME: 'Home', DOCKER_STEPCA_INIT_DNS_NAMES: 'localhost,ca.home.lan' }),
      server: {
        name: 'step-ca',
        image: async (program) => ({
          name: 'docker.io/smallstep/step-ca',
          tag: 'latest',
          from: 'busybox:latest',
          files: {
            'usr/local/bin/step-ca': await readFile(program),
            'usr/local/bin/step': await readFile(join(dirname(program), 'step')),
            'entrypoint.sh': stepStart,
          },
          changes: [
            'ENV STEPPATH=/home/step',
            'WORKDIR /home/step',
            'ENTRYPOINT ["/entrypoint.sh"]',
            'HEALTHCHECK --interval=1s CMD step ca health',
          ],
        }),
      },
      word: 'healthy',
      proof: async ({ port, inside, run }) => {
        const roots = await runOrThrow(['curl', '-sfk', `https://127.0.0.1:${port('API_PORT')}/roots.pem`]);
        expect(roots.trim()).toBe(await inside('ca', 'cat', '/home/step/certs/root_ca.crt'));
        // A certificate of its own: who trusts that root is let in by it.
        const file = join(ground.folder, 'root.crt');
        await writeFile(file, roots);
        const asked = ['curl', '-sf', '--cacert', file, '--resolve', `ca.home.lan:${port('API_PORT')}:127.0.0.1`];
        expect(await runOrThrow([...asked, `https://ca.home.lan:${port('API_PORT')}/health`])).toContain('"ok"');
        expect(await runOrThrow([...asked, `https://ca.home.lan:${port('API_PORT')}/acme/acme/directory`])).toContain('newOrder');
        // Its provisioner opens with the password that it was deployed with.
        const issued = join(ground.folder, 'issued');
        await run('ca', 'issue', 'internal-ca', 'nas.home.lan', '--folder', issued, '--yes');
        const certificate = join(issued, 'nas.home.lan.crt');
        await runOrThrow(['openssl', 'verify', '-CAfile', file, '-untrusted', certificate, certificate]);
      },
    },

    {
      group: 'networking',
      id: 'dynamic-proxy',
      takes: 'port 80',
      ports: ['DASHBOARD_PORT'],
      answers: () => ({ HTTP_BIND: ownAddress, HTTPS_BIND: ownAddress, ENGINE_SOCKET: engine.socket }),
      server: {
        name: 'traefik',
        image: async (program) => ({
          name: 'docker.io/library/traefik',
          tag: 'v3',
          from: 'busybox:latest',
          files: { 'usr/local/bin/traefik': await readFile(program), 'entrypoint.sh': traefikStart },
          changes: ['ENTRYPOINT ["/entrypoint.sh"]', 'CMD ["traefik"]'],
        }),
      },
      word: 'proxying',
      proof: async ({ word, fixture }) => {
        const [network = ''] = Object.keys((await fixture.container('dynamic-proxy', 'traefik'))?.NetworkSettings.Networks ?? {});
        const served = (labels: Record<string, string>) =>
          ground.started({
            Image: 'busybox:latest',
            Cmd: ['sh', '-c', 'mkdir /www; echo from the app >/www/index.html; exec httpd -f -p 80 -h /www'],
            Labels: { 'traefik.enable': 'true', 'traefik.http.services.app.loadbalancer.server.port': '80', ...labels },
            HostConfig: { NetworkMode: network },
          });
        const router = 'traefik.http.routers.app';
        const app = await served({
          [`${router}.rule`]: 'Host(`app.lan`)',
          [`${router}.entrypoints`]: 'websecure',
          [`${router}.tls`]: 'true',
        });
        const asked = async (url: string) =>
          (
            await runProgram([
              'curl',
              '-sk',
              '--max-time',
              '5',
              '--resolve',
              `app.lan:443:${ownAddress}`,
              '--resolve',
              `app.lan:80:${ownAddress}`,
              '-D',
              '-',
              url,
            ])
          ).stdout;
        try {
          await until(async () => (await asked('https://app.lan/')).includes('from the app'), 'the app was never served');
          expect(await asked('http://app.lan/')).toMatch(/^HTTP\/1\.1 30[18][\s\S]*\nLocation: https:\/\/app\.lan\//);
          await word('proxying');
        } finally {
          await app.end();
        }
        const wrong = await served({ [`${router}.rule`]: 'Host(app.lan' });
        try {
          await word('1 router failing');
        } finally {
          await wrong.end();
        }
      },
    },
    {
      group: 'security',
      id: 'secrets-manager-path',
      ports: ['API_PORT'],
      server: {
        name: 'openbao',
        image: async (program) => ({
          name: 'quay.io/openbao/openbao',
          tag: 'latest',
          from: 'busybox:latest',
          files: {
            'usr/bin/bao': await readFile(program),
            'docker-entrypoint.sh': '#!/bin/sh\nexec "$@"\n',
            'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nopenbao:x:100:1000::/home/openbao:/sbin/nologin\n',
            'etc/group': 'root:x:0:\nopenbao:x:1000:\n',
          },
          changes: ['USER openbao', 'ENTRYPOINT ["/docker-entrypoint.sh"]', 'CMD ["server","-dev"]'],
        }),
      },
      word: 'not initialised',
      proof: async ({ fixture, run, inside }) => {
        const kept = () => inside('openbao', 'ls', '-lR', '--full-time', '/openbao/data');
        const before = await kept();
        expect(await run('config', 'check', 'secrets-manager-path')).toContain('accepted by the product');
        const file = join(fixture.stack, 'secrets-manager-path/files/config/server.hcl');
        const text = await readFile(file, 'utf8');
        const asked = async (from: string, to: string) => {
          await writeFile(file, text.replace(from, to));
          const broken = await fixture.operator.run(['config', 'check', 'secrets-manager-path', '--json']);
          expect(broken.code, broken.stdout + broken.stderr).toBe(1);
          return (JSON.parse(broken.stdout) as { data: unknown }).data;
        };
        // What has the wrong form is not worth a container.
        expect(await asked('ui = true', 'iu = true')).toMatchObject({
          verified: false,
          problems: [{ line: text.slice(0, text.indexOf('ui = true')).split('\n').length, message: expect.stringContaining('iu') }],
        });
        expect(await asked('storage "raft"', 'storage "raaft"')).toMatchObject({
          verified: true,
          problems: [{ message: 'unknown storage type raaft' }],
        });
        await writeFile(file, text);
        // The check has nothing to do with its data.
        expect(await kept()).toBe(before);
      },
    },
    {
      group: 'productivity',
      id: 'workflow-automation',
      ports: ['WEB_PORT'],
      server: {
        name: 'n8n',
        image: (program) => ({
          name: 'docker.n8n.io/n8nio/n8n',
          tag: 'latest',
          from: 'quarterdeck/node-libraries:latest',
          folder: program,
          owned: { 'home/node': 1000, 'home/node/.n8n': 1000 },
          files: { 'docker-entrypoint.sh': '#!/bin/sh\nexec n8n "$@"\n' },
          changes: [
            'ENV NODE_ENV=production',
            'ENV HOME=/home/node',
            'USER node',
            'WORKDIR /home/node',
            'ENTRYPOINT ["/docker-entrypoint.sh"]',
          ],
        }),
      },
      word: 'setup required',
      limitMs: 600_000,
      proof: async ({ port, run, word }) => {
        const at = port('WEB_PORT');
        const owner = { email: 'ada@example.org', firstName: 'Ada', lastName: 'Byron', password: 'Correct-horse-7' };
        const made = await page(at, '/rest/owner/setup', json(owner));
        expect(made.status, made.body).toBe(200);
        await word('healthy');

        const Cookie = String(made.headers['set-cookie']).split(';')[0] ?? '';
        const scopes = ['workflow:create', 'workflow:list', 'workflow:activate', 'execution:list'];
        const keyed = await page(at, '/rest/api-keys', json({ label: 'console', scopes, expiresAt: null }, { Cookie }));
        expect(keyed.status, keyed.body).toBe(200);
        const headers = { 'X-N8N-API-KEY': (JSON.parse(keyed.body) as { data: { rawApiKey: string } }).data.rawApiKey };

        const workflow = {
          name: 'Greets',
          nodes: [
            {
              ...{ id: 'a', name: 'Webhook', type: 'n8n-nodes-base.webhook', typeVersion: 2, position: [0, 0], webhookId: 'greet' },
              parameters: { path: 'greet', responseMode: 'lastNode' },
            },
            {
              ...{ id: 'b', name: 'Set', type: 'n8n-nodes-base.set', typeVersion: 3.4, position: [200, 0] },
              parameters: { mode: 'raw', jsonOutput: '={{ { "said": "good morning, " + $json.query.name } }}' },
            },
          ],
          connections: { Webhook: { main: [[{ node: 'Set', type: 'main', index: 0 }]] } },
          settings: {},
        };
        const kept = await page(at, '/api/v1/workflows', json(workflow, headers));
        expect(kept.status, kept.body).toBe(200);
        const { id } = JSON.parse(kept.body) as { id: string };
        expect((await page(at, '/webhook/greet?name=Grace')).status).toBe(404);
        const activated = await page(at, `/api/v1/workflows/${id}/activate`, json({}, headers));
        expect(activated.status, activated.body).toBe(200);
        const greeted = () => page(at, '/webhook/greet?name=Grace');
        const greets = () => until(async () => (await greeted()).body === '{"said":"good morning, Grace"}', 'its webhook never answered');
        await greets();
        const runs = async () =>
          (JSON.parse((await page(at, '/api/v1/executions', { headers })).body) as { data: { workflowId: string; status?: string }[] })
            .data;
        expect(await runs()).toContainEqual(expect.objectContaining({ workflowId: id, status: 'success' }));

        const backups = join(ground.folder, 'backups');
        await run('backup', 'workflow-automation', '--to', backups, '--yes');
        await word('healthy');
        await greets();
      },
    },

    {
      group: 'media',
      id: 'book-library',
      ports: ['WEB_PORT'],
      before: async () => {
        await mkdir(join(ground.folder, 'books'));
        await chown(join(ground.folder, 'books'), 1000, 1000);
      },
      answers: () => ({ BOOKS_FOLDER: join(ground.folder, 'books') }),
      server: {
        name: 'calibre-web',
        image: async (wheel) => ({
          name: 'lscr.io/linuxserver/calibre-web',
          tag: 'latest',
          from: 'lscr.io/linuxserver/calibre-web:latest',
          files: { 'app/calibreweb.whl': await readFile(wheel) },
          changes: [],
        }),
      },
      word: 'setup required',
      proof: async ({ port, inside, word }) => {
        // An empty library, as the program itself sees one: Calibre is not here.
        await inside('calibre-web', 'python3', '-c', emptyLibrary);
        const browser = (path: string, ...more: string[]) => {
          const cookies = join(ground.folder, 'cookies');
          return runOrThrow(['curl', '-sS', '-L', '-b', cookies, '-c', cookies, ...more, `http://127.0.0.1:${port('WEB_PORT')}${path}`]);
        };
        const sent = async (path: string, fields: readonly string[], from = path) => {
          const token = /name="csrf_token" value="([^"]+)"/.exec(await browser(from))?.[1];
          return await browser(path, '-F', `csrf_token=${token}`, ...fields.flatMap((field) => ['-F', field]));
        };
        await sent('/login', ['username=admin', 'password=admin123', 'next=/']);
        await sent('/admin/dbconfig', ['config_calibre_dir=/books']);
        await word('healthy');
        await sent('/admin/ajaxconfig', ['config_uploading=on'], '/admin/dbconfig');
        const book = join(ground.folder, 'Rust and salt.txt');
        await writeFile(book, 'A hull.\n');
        await sent('/upload', [`btn-upload=@${book}`], '/admin/dbconfig');
        expect(await browser('/opds/new', '--user', 'admin:admin123')).toContain('<title>Rust and salt</title>');
        await inside('calibre-web', 'mv', '/books/metadata.db', '/books/elsewhere.db');
        await word('library missing');
      },
    },
  ];

  ground.prove(rows);
});

/** What the upstream image does at its first start, for the answers that it is given here. Its provisioner has a password of its own unless one is given. */
const stepStart = `#!/bin/sh
set -eu
if [ ! -s "$STEPPATH/config/ca.json" ]; then
  password=$(head -c 30 /dev/urandom | base64) provisioner_password=$(head -c 30 /dev/urandom | base64)
  if [ -n "\${DOCKER_STEPCA_INIT_PASSWORD:-}" ]; then password=$DOCKER_STEPCA_INIT_PASSWORD provisioner_password=$DOCKER_STEPCA_INIT_PASSWORD; fi
  mkdir -p "$STEPPATH/secrets"
  echo "$password" >"$STEPPATH/secrets/password"
  echo "$provisioner_password" >"$STEPPATH/provisioner_password"
  set --
  if [ "\${DOCKER_STEPCA_INIT_ACME:-}" = true ]; then set -- --acme; fi
  step ca init --deployment-type standalone --name "$DOCKER_STEPCA_INIT_NAME" --dns "$DOCKER_STEPCA_INIT_DNS_NAMES" --provisioner admin \\
    --password-file "$STEPPATH/secrets/password" --provisioner-password-file "$STEPPATH/provisioner_password" \\
    --address "\${DOCKER_STEPCA_INIT_ADDRESS:-:9000}" "$@"
  rm "$STEPPATH/provisioner_password"
fi
exec step-ca --password-file "$STEPPATH/secrets/password" "$STEPPATH/config/ca.json"
`;

/** As the upstream image has it. */
const traefikStart = `#!/bin/sh
set -e
if [ "\${1#-}" != "$1" ]; then set -- traefik "$@"; fi
exec "$@"
`;

/** Makes the tables of a library that has no books yet. */
const emptyLibrary = `
import os, sys
sys.path.insert(0, '/app/calibre-web')
from sqlalchemy import create_engine, text
from cps.db import Base, Library_Id
options = {'isolation_level': 'AUTOCOMMIT', 'schema_translate_map': {None: 'calibre'}}
with create_engine('sqlite://').connect().execution_options(**options) as connection:
    connection.execute(text("attach database '/books/metadata.db' as calibre"))
    Base.metadata.create_all(connection)
    connection.execute(Library_Id.__table__.insert(), {'uuid': '6c5a1d3e-0b1f-4f6e-9a55-2f0c1b7f3e21'})
os.chown('/books/metadata.db', 1000, 1000)
`;
