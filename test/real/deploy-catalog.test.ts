import { Resolver } from 'node:dns/promises';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ask } from './ask.ts';
import { type DeployStage, setStage, until } from './deploy-stage.ts';
import { statusUntil } from './operator.ts';
import { describeReal } from './real-engines.ts';
import { findServer, type ServerName } from './real-server.ts';
import { runOrThrow, runProgram } from './scripts.ts';
import { findFreePort } from './stack.ts';
import { asInTheCatalog, makeStandIn, type StandIn } from './stand-ins.ts';

/** What one component's proof works with, once it is deployed. */
interface Deployed {
  stage: DeployStage;
  /** Of a port's variable: `port('WEB_PORT')`. */
  port(variable: string): number;
  /** A verb that has to succeed; what it says. */
  run(...args: string[]): Promise<string>;
  /** A program in one of its containers; what that says. */
  inside(service: string, ...argv: string[]): Promise<string>;
  /** Waits for a word of its probe. */
  word(expected: string): Promise<void>;
}

interface Row {
  group: string;
  id: string;
  /** Variables of ports, each of which gets a free one; several with = between them get the same. */
  ports: readonly string[];
  answers?: () => Record<string, string>;
  /** What its probe says after the deployment. */
  word: string;
  /** What has to be there before. */
  before?: () => Promise<void>;
  proof: (it: Deployed) => Promise<void>;
  /** Where Debian has no such program. */
  server?: { name: ServerName; image: (program: Buffer) => StandIn | Promise<StandIn> };
}

describeReal('docker', 'the catalog with real programs', (engine) => {
  let stage: DeployStage;
  let folder: string;
  /** The address that containers find this machine by. */
  let here: string;
  let server: Server;
  let serverPort: number;
  /** A pair of network interfaces, and what the second is in. */
  const cable = `qdc${process.pid % 100_000}`;
  /** An address of this machine that nobody else has: some ports may not be others. */
  const own = `127.77.${Math.floor(process.pid / 250) % 250}.${(process.pid % 250) + 1}`;
  const asked: string[] = [];
  let healthy = true;

  const sh = (script: string) => runOrThrow(['sh', '-ec', script]);
  const resolved = async (name: string, port = 53, address = '127.0.0.1') => {
    const resolver = new Resolver({ timeout: 1_000, tries: 3 });
    resolver.setServers([`${address}:${port}`]);
    return await resolver.resolve4(name);
  };
  const page = (port: number, path = '/', options: Parameters<typeof ask>[2] = {}) => ask(`http://127.0.0.1:${port}`, path, options);
  const form = (fields: Record<string, string>): { method: string; headers: Record<string, string>; body: string } => {
    const body = new URLSearchParams(fields).toString();
    return {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(body.length) },
      body,
    };
  };
  const json = (value: unknown, headers: Record<string, string> = {}) => {
    const body = JSON.stringify(value);
    return { method: 'POST', headers: { 'Content-Type': 'application/json', 'Content-Length': String(body.length), ...headers }, body };
  };

  const ports = new Map<string, number>();
  const rows: Row[] = [
    {
      group: 'networking',
      id: 'load-balancer',
      ports: ['STATS_PORT'],
      answers: () => ({ HTTP_BIND: own, HTTPS_BIND: own, SERVERS: `web1 ${here}:${serverPort}`, INTER: '1s', FALL: '1', RISE: '1' }),
      word: 'balancing',
      proof: async ({ word }) => {
        expect((await ask(`http://${own}`, '/through')).body).toBe('served /through');
        healthy = false;
        await word('all servers down');
        healthy = true;
        await word('balancing');
      },
    },
    {
      group: 'networking',
      id: 'caching-proxy',
      ports: ['PROXY_PORT'],
      answers: () => ({ CACHE_DIR: '100 MB', CACHE_MEM: '16 MB' }),
      word: 'proxying',
      proof: async ({ port }) => {
        const fetched = () =>
          new Promise<string>((resolve, reject) => {
            const path = `http://${here}:${serverPort}/kept`;
            request({ host: '127.0.0.1', port: port('PROXY_PORT'), path }, (answer) => text(answer).then(resolve, reject))
              .once('error', reject)
              .end();
          });
        expect([await fetched(), await fetched()]).toEqual(['served /kept', 'served /kept']);
        expect(asked.filter((path) => path === '/kept')).toHaveLength(1);
      },
    },
    {
      group: 'networking',
      id: 'authoritative-dns',
      ports: ['DNS_PORT=DNS_UDP_PORT', 'API_PORT', 'ADMIN_PORT'],
      before: () => makeStandIn(engine, adminPage),
      word: 'answering',
      proof: async ({ inside, port }) => {
        await inside('pdns', 'pdnsutil', 'create-zone', 'example.lan', 'ns1.example.lan');
        await inside('pdns', 'pdns_control', 'rediscover');
        await inside('pdns', 'pdnsutil', 'add-record', 'example.lan', 'www', 'A', '192.0.2.7');
        expect(await resolved('www.example.lan', port('DNS_PORT'))).toEqual(['192.0.2.7']);
      },
    },

    {
      group: 'networking',
      id: 'recursive-resolver',
      ports: ['DNS_PORT=DNS_UDP_PORT'],
      word: 'answering',
      proof: async ({ stage, port, inside }) => {
        const folder = '/opt/unbound/etc/unbound';
        await writeFile(
          join(stage.stack, 'recursive-resolver/files/unbound/local.conf'),
          'server:\n    local-zone: "home.lan." transparent\n    local-data: "nas.home.lan. IN A 192.168.1.10"\n',
        );
        await inside('unbound', 'unbound-checkconf', `${folder}/unbound.conf`);
        await inside('unbound', 'unbound-control', '-c', `${folder}/unbound.conf`, 'reload');
        expect(await resolved('nas.home.lan', port('DNS_PORT'))).toEqual(['192.168.1.10']);
      },
    },
    {
      group: 'networking',
      id: 'dhcp-server',
      ports: [],
      // A cable with a device at its other end.
      before: async () =>
        void (await sh(`ip link del ${cable}a 2>/dev/null || true; ip netns del ${cable} 2>/dev/null || true
          ip netns add ${cable}; ip link add ${cable}a type veth peer name ${cable}b; ip link set ${cable}b netns ${cable}
          ip addr add 10.231.77.1/24 dev ${cable}a; ip link set ${cable}a up; ip -n ${cable} link set ${cable}b up`)),
      answers: () => ({ DHCP_INTERFACE: `${cable}a`, DHCP_SUBNET: '10.231.77.0/24', DHCP_POOLS: '10.231.77.100 - 10.231.77.199' }),
      word: 'on duty',
      proof: async ({ inside }) => {
        const device = await runProgram(['sh', '-c', `ip netns exec ${cable} busybox udhcpc -i ${cable}b -n -q -f -t 8 -T 1 -s /bin/true`]);
        expect(device.stdout + device.stderr).toContain('lease of 10.231.77.100 obtained');
        expect(await inside('kea', 'cat', '/var/lib/kea/kea-leases4.csv')).toContain('10.231.77.100');
      },
    },
    {
      group: 'networking',
      id: 'dns-filter-second',
      ports: ['WEB_PORT'],
      answers: () => ({ DNS_BIND: own, DNS_UDP_BIND: own, DOT_BIND: own }),
      server: {
        name: 'adguardhome',
        image: (program) => ({
          name: 'docker.io/adguard/adguardhome',
          tag: 'latest',
          from: 'busybox:latest',
          files: { 'opt/adguardhome/AdGuardHome': program },
          changes: [
            'WORKDIR /opt/adguardhome/work',
            'ENTRYPOINT ["/opt/adguardhome/AdGuardHome"]',
            'CMD ["--no-check-update","-c","/opt/adguardhome/conf/AdGuardHome.yaml","-w","/opt/adguardhome/work"]',
          ],
        }),
      },
      word: 'needs set-up',
      proof: async ({ port, word }) => {
        const listen = (number: number) => ({ ip: '0.0.0.0', port: number });
        const account = { username: 'ada', password: 'correct horse' };
        const made = await page(port('WEB_PORT'), '/control/install/configure', json({ web: listen(3000), dns: listen(53), ...account }));
        expect(made.status, made.body).toBe(200);
        await word('healthy');
        const login = { Authorization: `Basic ${Buffer.from('ada:correct horse').toString('base64')}` };
        const rewrite = json({ domain: 'nas.home.lan', answer: '192.0.2.9' }, login);
        expect((await page(port('WEB_PORT'), '/control/rewrite/add', rewrite)).status).toBe(200);
        expect(await resolved('nas.home.lan', 53, own)).toEqual(['192.0.2.9']);
      },
    },
    {
      group: 'media',
      id: 'torrent-client',
      ports: ['WEB_PORT', 'PEER_PORT=PEER_UDP_PORT'],
      answers: () => ({ MEDIA_FOLDER: folder }),
      word: 'running',
      proof: async ({ port, run }) => {
        const password = async () =>
          / provided for this session: (\S+)/.exec(await run('logs', 'torrent-client', '--tail', '50'))?.[1] ?? '';
        await until(async () => (await password()) !== '', 'its log names no password');
        const entered = form({ username: 'admin', password: await password() });
        // It compares the port that it is asked by with its own.
        const known = { Host: '127.0.0.1:8080' };
        const login = await page(port('WEB_PORT'), '/api/v2/auth/login', { ...entered, headers: { ...entered.headers, ...known } });
        expect([login.status, login.body]).toEqual([200, 'Ok.']);
        const [cookie = ''] = login.headers['set-cookie'] ?? [];
        const headers = { ...known, Cookie: cookie.split(';')[0] ?? '' };
        expect((await page(port('WEB_PORT'), '/api/v2/app/version', { headers })).body).toMatch(/^v5\./);
        const magnet = form({ urls: `magnet:?xt=urn:btih:${'c12fe1c06bba254a9dc9f519b335aa7c1367a88a'}&dn=nothing` });
        await page(port('WEB_PORT'), '/api/v2/torrents/add', { ...magnet, headers: { ...magnet.headers, ...headers } });
        const listed = () => page(port('WEB_PORT'), '/api/v2/torrents/info', { headers });
        await until(async () => (await listed()).body.includes('c12fe1c06bba254a9dc9f519b335aa7c1367a88a'), 'the torrent never showed');
      },
    },
    {
      group: 'vpn',
      id: 'openvpn-server',
      ports: ['TUNNEL_PORT'],
      answers: () => ({ OPENVPN_HOST: here }),
      word: 'ready',
      proof: async ({ inside }) => {
        await inside('openvpn', 'easyrsa', '--batch', 'build-client-full', 'laptop', 'nopass');
        const config = await inside('openvpn', 'ovpn_getclient', 'laptop');
        const client = await started({
          Image: 'kylemanna/openvpn:latest',
          Cmd: ['sh', '-c', 'printf "%s\\n" "$CONFIG" >/c; exec openvpn --config /c'],
          Env: [`CONFIG=${config}`],
          HostConfig: {
            CapAdd: ['NET_ADMIN'],
            Devices: [{ PathOnHost: '/dev/net/tun', PathInContainer: '/dev/net/tun', CgroupPermissions: 'rwm' }],
          },
        });
        try {
          await until(async () => (await client.log()).includes('Initialization Sequence Completed'), 'no client ever connected');
        } finally {
          await client.end();
        }
      },
    },
    {
      group: 'vpn',
      id: 'overlay-mesh',
      ports: ['TUNNEL_PORT'],
      // Without its certificates it does not start. They lie beside its configuration, which is not there yet.
      before: async () => {
        const { run } = stages('overlay-mesh');
        await mkdir(join(stage.stack, 'overlay-mesh', 'files'), { recursive: true });
        await run('overlay', 'ca', 'home', '--for', '365d', '--yes');
        await run('overlay', 'sign', 'lighthouse', '--ip', '10.231.0.1/24', '--install', '--yes');
      },
      word: 'in the mesh',
      // Its own address in the tunnel, from inside it.
      proof: async ({ inside }) =>
        expect(await inside('nebula', 'ping', '-c', '1', '-w', '5', '10.231.0.1')).toContain('1 packets received'),
    },
    {
      group: 'productivity',
      id: 'object-storage',
      ports: ['API_PORT', 'WEB_PORT'],
      server: {
        name: 'minio',
        image: (program) => ({
          name: 'docker.io/minio/minio',
          tag: 'latest',
          from: 'busybox:latest',
          files: {
            'usr/bin/minio': program,
            // Of its client only what the health check asks.
            'usr/bin/mc': '#!/bin/sh\nexec wget -q -O /dev/null http://127.0.0.1:9000/minio/health/ready\n',
          },
          changes: ['ENTRYPOINT ["minio"]', 'CMD ["minio"]'],
        }),
      },
      word: 'healthy',
      proof: async ({ port, inside }) => {
        expect((await page(port('API_PORT'), '/bucket')).body).toContain('<Code>AccessDenied</Code>');
        expect(await inside('minio', 'ls', '-A', '/data')).toContain('.minio.sys');
      },
    },
    {
      group: 'security',
      id: 'sso-portal',
      ports: ['WEB_PORT'],
      answers: () => ({ SESSION_DOMAIN: 'example.com', PORTAL_URL: 'https://auth.example.com' }),
      server: {
        name: 'authelia',
        image: (program) => ({
          name: 'docker.io/authelia/authelia',
          tag: 'latest',
          from: 'busybox:latest',
          files: { 'usr/bin/authelia': program },
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
            'usr/local/bin/step-ca': program,
            'usr/local/bin/step': await readFile(join(dirname(findServer('step-ca').program ?? ''), 'step')),
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
      proof: async ({ port, inside }) => {
        const roots = await runOrThrow(['curl', '-sfk', `https://127.0.0.1:${port('API_PORT')}/roots.pem`]);
        expect(roots.trim()).toBe(await inside('ca', 'cat', '/home/step/certs/root_ca.crt'));
        // A certificate of its own: who trusts that root is let in by it.
        const file = join(folder, 'root.crt');
        await writeFile(file, roots);
        const asked = ['curl', '-sf', '--cacert', file, '--resolve', `ca.home.lan:${port('API_PORT')}:127.0.0.1`];
        expect(await runOrThrow([...asked, `https://ca.home.lan:${port('API_PORT')}/health`])).toContain('"ok"');
      },
    },
    {
      group: 'productivity',
      id: 'cms',
      ports: ['WEB_PORT'],
      word: 'needs set-up',
      proof: async ({ port, run, inside, word }) => {
        const asPublic = { Host: 'localhost:8100' };
        const filled = form({
          ...{
            weblog_title: 'Rust and salt',
            user_name: 'ada',
            admin_password: 'correct horse battery',
            admin_password2: 'correct horse battery',
          },
          ...{ pw_weak: 'on', admin_email: 'ada@example.org', blog_public: '0', language: '', Submit: 'Install' },
        });
        const done = await page(port('WEB_PORT'), '/wp-admin/install.php?step=2', {
          ...filled,
          headers: { ...filled.headers, ...asPublic },
          limitMs: 60_000,
        });
        expect(done.body).toContain('Success!');
        await word('ready');
        const title = async () =>
          (JSON.parse((await page(port('WEB_PORT'), '/?rest_route=/', { headers: asPublic })).body) as { name: string }).name;
        expect(await title()).toBe('Rust and salt');

        const sql = (statement: string) =>
          inside(
            'db',
            'sh',
            '-c',
            'MYSQL_PWD="$MARIADB_ROOT_PASSWORD" mariadb --user=root --batch --skip-column-names wordpress --execute="$1"',
            'sh',
            statement,
          );
        await sql(
          'create table kept (id int primary key, t text, b varbinary(9)); create trigger kept_too before insert on kept for each row set new.t = upper(new.t)',
        );
        await sql("create procedure count_kept() select count(*) from kept; insert into kept values (1, 'grün 🦀 it''s', x'00ff0a27')");
        const backups = join(folder, 'backups');
        await run('backup', 'cms', '--to', backups, '--yes');
        await sql(
          "update wp_options set option_value = 'Lost' where option_name = 'blogname'; drop table kept; drop procedure count_kept; create table later (id int)",
        );
        expect(await title()).toBe('Lost');
        await run('restore', 'cms', '--to', backups, '--yes');
        await word('ready');
        expect(await title()).toBe('Rust and salt');
        expect(
          await sql("select t, hex(b) from kept; insert into kept values (2, 'x', ''); select t from kept where id = 2; call count_kept()"),
        ).toBe("GRÜN 🦀 IT'S\t00FF0A27\nX\n2");
        expect(await sql("show tables like 'later'")).toBe('');

        for (const secret of ['WORDPRESS_DB_PASSWORD', 'MARIADB_ROOT_PASSWORD'])
          expect(await run('secrets', 'rotate', 'cms', secret, '--yes')).toContain('Proved: the new one works, and the old one does not.');
        await word('ready');
        expect(await title()).toBe('Rust and salt');
        await run('backup', 'cms', '--to', backups, '--yes');
      },
    },
  ];

  const started = async (config: object) => {
    const headers = { 'Content-Type': 'application/json' };
    const made = await ask(engine, '/containers/create', { method: 'POST', headers, body: JSON.stringify(config) });
    const { Id } = JSON.parse(made.body) as { Id: string };
    await ask(engine, `/containers/${Id}/start`, { method: 'POST' });
    return {
      log: async () => (await ask(engine, `/containers/${Id}/logs?stdout=1&stderr=1`)).body,
      end: async () => void (await ask(engine, `/containers/${Id}?force=true&v=true`, { method: 'DELETE' })),
    };
  };

  const stages = (id: string): Deployed => ({
    stage,
    port: (variable) => ports.get(`${id}/${variable}`) ?? expect.fail(`no ${variable}`),
    run: async (...args) => {
      const { code, stdout, stderr } = await stage.operator.run(args);
      expect(code, `${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
      return stdout;
    },
    inside: async (service, ...argv) => {
      const { code, stdout, stderr } = await stage.operator.run(['exec', id, '--service', service, '--', ...argv]);
      expect(code, `${argv.join(' ')}: ${stdout}${stderr}`).toBe(0);
      return stdout.trim();
    },
    word: async (expected) => void (await statusUntil(stage.operator, id, ({ word }) => word === expected)),
  });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'qd-catalog-'));
    await runOrThrow([
      ...['curl', '-sf', '--max-time', '200', '--unix-socket', engine.socket, '-X', 'POST', '-H', 'Content-Type: application/x-tar'],
      ...['-T', join(inject('composeFolder'), 'catalog.tar'), 'http://engine/images/load'],
    ]);
    const bridge = JSON.parse((await ask(engine, '/networks/bridge')).body) as { IPAM: { Config: { Gateway?: string; Subnet: string }[] } };
    here = bridge.IPAM.Config[0]?.Gateway ?? bridge.IPAM.Config[0]?.Subnet.replace(/\.\d+\/\d+$/, '.1') ?? '';
    serverPort = await findFreePort();
    server = createServer(({ url = '' }, answer) => {
      asked.push(url);
      answer.writeHead(url === '/health' && !healthy ? 503 : 200, { 'Cache-Control': 'max-age=600' });
      answer.end(`served ${url}`);
    });
    await new Promise<void>((resolve) => server.listen(serverPort, '0.0.0.0', resolve));
    stage = await setStage(engine);
  });
  afterAll(async () => {
    await stage?.leave();
    server?.closeAllConnections();
    server?.close();
    await runProgram(['ip', 'link', 'del', `${cable}a`]);
    await runProgram(['ip', 'netns', 'del', cable]);
    await rm(folder, { recursive: true, force: true });
  });

  const remove = (id: string) => stages(id).run('remove', id, '--data', id, '--yes');

  for (const { group, id, ports: names, answers, word, before, proof, server: built } of rows) {
    const missing = built && findServer(built.name).missing;
    it.skipIf(missing)(
      `${id} is deployed, found ${word}, proved and removed${missing ? ` (${missing})` : ''}`,
      { timeout: 300_000 },
      async () => {
        if (built) await makeStandIn(engine, await built.image(await readFile(findServer(built.name).program ?? '')));
        await before?.();
        await stage.catalog(await oftenAsked(group, id));
        const values: Record<string, string> = { ...answers?.() };
        for (const same of names) {
          const port = await findFreePort();
          for (const name of same.split('=')) {
            ports.set(`${id}/${name}`, port);
            values[name] = String(port);
          }
        }
        const it = stages(id);
        const deploy = ['deploy', id, ...Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value}`]), '--yes'];
        await it.run(...deploy);
        await it.word(word);
        await proof(it);
        await remove(id);
      },
    );
  }
});

/** The component as the catalog has it, but that the engine looks every second whether it is well: that is what a deployment waits for. */
async function oftenAsked(group: string, id: string): Promise<Record<string, string>> {
  const files = await asInTheCatalog(group, id);
  const compose = `${id}/compose.yaml`;
  return { ...files, [compose]: (files[compose] ?? '').replaceAll(/interval: \d+s/g, 'interval: 1s') };
}

/** The admin page of the name server, as far as it tells that it is there; nobody can make an account. */
const adminPage: StandIn = {
  name: 'docker.io/powerdnsadmin/pda-legacy',
  tag: 'v0.5.1',
  from: 'busybox:latest',
  files: { 'www/ping': 'ok\n' },
  changes: ['CMD ["httpd","-f","-p","80","-h","/www"]'],
};

/** What the upstream image does at its first start, for the answers that it is given here. */
const stepStart = `#!/bin/sh
set -eu
if [ ! -s "$STEPPATH/config/ca.json" ]; then
  mkdir -p "$STEPPATH/secrets"
  head -c 30 /dev/urandom | base64 >"$STEPPATH/secrets/password"
  step ca init --deployment-type standalone --name "$DOCKER_STEPCA_INIT_NAME" --dns "$DOCKER_STEPCA_INIT_DNS_NAMES" --provisioner admin \\
    --password-file "$STEPPATH/secrets/password" --provisioner-password-file "$STEPPATH/secrets/password" --address "\${DOCKER_STEPCA_INIT_ADDRESS:-:9000}"
fi
exec step-ca --password-file "$STEPPATH/secrets/password" "$STEPPATH/config/ca.json"
`;
