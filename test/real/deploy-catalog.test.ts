import { writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect } from 'vitest';
import { ask } from './ask.ts';
import { type DeployFixture, until } from './deploy-fixture.ts';
import { form, layGround, ownAddress, page, type Row, resolved } from './deployed-rows.ts';
import { describeReal } from './real-engines.ts';
import { runOrThrow, runProgram } from './scripts.ts';
import { findFreePort } from './stack.ts';
import { makeStandIn, type StandIn } from './stand-ins.ts';

/**
 * What of the catalog is deployed with its real programs, probed, used and removed on a machine that has nothing but package registries: the rows here, those of
 * `deploy-catalog-images.test.ts` and `deploy-catalog-cms.test.ts`, the `quick` ones of `deploy-built.test.ts`, and the reverse proxy in `https.test.ts`. Of all
 * these only the admin page of the name server is a stand-in.
 */
describeReal('docker', 'the catalog with real programs', (engine) => {
  const ground = layGround(engine);
  const { started } = ground;
  let fixture: DeployFixture;
  let folder: string;
  let here: string;
  let server: Server;
  let serverPort: number;
  /** A pair of network interfaces, and what the second is in. */
  const cable = `qdc${process.pid % 100_000}`;
  const asked: string[] = [];
  let healthy = true;

  const sh = (script: string) => runOrThrow(['sh', '-ec', script]);

  const rows: Row[] = [
    {
      group: 'networking',
      id: 'load-balancer',
      takes: 'port 80',
      ports: ['STATS_PORT'],
      answers: () => ({
        HTTP_BIND: ownAddress,
        HTTPS_BIND: ownAddress,
        SERVERS: `web1 ${here}:${serverPort}`,
        INTER: '1s',
        FALL: '1',
        RISE: '1',
      }),
      word: 'balancing',
      proof: async ({ word, run }) => {
        expect(await run('op', 'load-balancer', 'servers')).toContain('web1');
        expect((await ask(`http://${ownAddress}`, '/through')).body).toBe('served /through');
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
      word: 'healthy',
      proof: async ({ inside, port, run }) => {
        const op = (...words: string[]) => run('op', 'authoritative-dns', ...words);
        await op('create-zone', '--set', 'zone=example.lan', '--set', 'server=ns1.example.lan', '--yes');
        // With the API key of the deployment, which nobody has to type.
        const { data } = JSON.parse(await op('list-zones', '--json')) as { data: { response: { name: string }[] } };
        expect(data.response.map(({ name }) => name)).toEqual(['example.lan.']);
        await inside('pdns', 'pdnsutil', 'add-record', 'example.lan', 'www', 'A', '192.0.2.7');
        expect(await resolved('www.example.lan', port('DNS_PORT'))).toEqual(['192.0.2.7']);
      },
    },

    {
      group: 'networking',
      id: 'recursive-resolver',
      ports: ['DNS_PORT=DNS_UDP_PORT'],
      word: 'resolving',
      proof: async ({ fixture, port, run }) => {
        await writeFile(
          join(fixture.stack, 'recursive-resolver/files/unbound/local.conf'),
          'server:\n    local-zone: "home.lan." transparent\n    local-data: "nas.home.lan. IN A 192.168.1.10"\n',
        );
        await run('op', 'recursive-resolver', 'check');
        await run('op', 'recursive-resolver', 'reload', '--yes');
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
      word: 'running',
      proof: async ({ inside }) => {
        const device = await runProgram(['sh', '-c', `ip netns exec ${cable} busybox udhcpc -i ${cable}b -n -q -f -t 8 -T 1 -s /bin/true`]);
        expect(device.stdout + device.stderr).toContain('lease of 10.231.77.100 obtained');
        expect(await inside('kea', 'cat', '/var/lib/kea/kea-leases4.csv')).toContain('10.231.77.100');
      },
    },
    {
      group: 'media',
      id: 'torrent-client',
      ports: ['WEB_PORT', 'PEER_PORT=PEER_UDP_PORT'],
      answers: () => ({ MEDIA_FOLDER: folder }),
      word: 'healthy',
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
      word: 'healthy',
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
      // Without its certificates nothing is started.
      before: async () => {
        const { run } = ground.deployed('overlay-mesh');
        const refused = await fixture.operator.run(['deploy', 'overlay-mesh', '--yes']);
        expect(refused.code, refused.stdout).not.toBe(0);
        expect(refused.stderr.replaceAll(/\s+/g, ' ')).toMatch(
          /certificates of this node are missing, so it cannot start\..* quarterdeck overlay sign NAME --install/,
        );
        await run('overlay', 'ca', 'home', '--for', '365d', '--yes');
        await run('overlay', 'sign', 'lighthouse', '--ip', '10.231.0.1/24', '--install', '--yes');
      },
      word: 'running',
      // Its own address in the tunnel, from inside it.
      proof: async ({ inside }) =>
        expect(await inside('nebula', 'ping', '-c', '1', '-w', '5', '10.231.0.1')).toContain('1 packets received'),
    },
  ];

  beforeAll(async () => {
    ({ fixture, folder, here } = ground);
    serverPort = await findFreePort();
    server = createServer(({ url = '' }, answer) => {
      asked.push(url);
      answer.writeHead(url === '/health' && !healthy ? 503 : 200, { 'Cache-Control': 'max-age=600' });
      answer.end(`served ${url}`);
    });
    await new Promise<void>((resolve) => server.listen(serverPort, '0.0.0.0', resolve));
  });
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await runProgram(['ip', 'link', 'del', `${cable}a`]);
    await runProgram(['ip', 'netns', 'del', cable]);
  });

  ground.prove(rows);
});

/** The admin page of the name server, as far as it tells that it is there; nobody can make an account. */
const adminPage: StandIn = {
  name: 'docker.io/powerdnsadmin/pda-legacy',
  tag: 'v0.5.1',
  from: 'busybox:latest',
  files: { 'www/ping': 'ok\n' },
  // httpd as the first process would not hear that it is to end.
  changes: ['CMD ["sh","-c","trap \'exit 0\' TERM; httpd -f -p 80 -h /www & wait"]'],
};
