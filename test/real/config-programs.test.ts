import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { reportedProblems } from '../../source/config-files/reported-problems.ts';
import { type CatalogFiles, catalogFiles } from '../doubles/rendered-files.ts';
import { describeUnless, requiredInCi } from '../required.ts';
import { findServer, freePort } from './real-server.ts';

// Configuration files of the catalog before the programs that read them: made of answers they are taken, and a broken one's line is understood.

type Settings = Readonly<Record<string, string>>;

const folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', ...(process.env['PATH'] ?? '').split(':')];

/** Where a program of Debian is, or why it is not here. */
function find(name: string, fromPackage: string): { program: string; missing?: string } {
  const program = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (program !== undefined) return { program };
  const missing = requiredInCi(`no ${name}: apt-get install ${fromPackage}`);
  return { program: name, ...(missing && { missing }) };
}

let catalog: CatalogFiles;
let folder: string;
beforeAll(async () => {
  catalog = await catalogFiles();
  folder = await mkdtemp(join(tmpdir(), 'qd-config-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let count = 0;
/** The files of a component in a folder of their own; paths inside of its container lead there. */
async function deliver(
  id: string,
  settings: Settings,
  {
    engines = {},
    made = {},
    change = (text: string) => text,
  }: { engines?: Settings; made?: Settings; change?: (text: string) => string } = {},
) {
  const engineName = join(folder, `${id}-${++count}`);
  const main = catalog.entries.get(id)?.configFile?.path ?? '';
  const here = (text: string) =>
    Object.entries(engines).reduce(
      (changed, [inside, path]) => changed.replaceAll(inside, path.startsWith('/') ? path : join(engineName, path)),
      text,
    );
  for (const path of Object.values(engines)) await mkdir(resolve(engineName, path), { recursive: true });
  for (const [path, text] of Object.entries(catalog.files(id, settings))) {
    await mkdir(dirname(join(engineName, path)), { recursive: true });
    await writeFile(join(engineName, path), here(path === main ? change(text) : text));
  }
  for (const [path, text] of Object.entries(made)) await writeFile(join(engineName, path), text);
  return { engineName, file: join(engineName, main), here };
}

interface Asked {
  status: number | null;
  output: string;
}

function ask(program: string, words: readonly string[], env: Settings = {}): Asked {
  const { status, stdout, stderr } = spawnSync(program, words, {
    encoding: 'utf8',
    timeout: 60_000,
    env: { PATH: folders.join(':'), HOME: folder, ...env },
  });
  return { status, output: `${stdout}\n${stderr}` };
}

const reported = (id: string, { output }: Asked) => reportedProblems(output, catalog.entries.get(id)?.configFile?.verify?.problem);
const lineOf = (text: string, part: string) => text.slice(0, text.indexOf(part)).split('\n').length;

interface Program {
  /** Out of which package of Debian. */
  program: string;
  package: string;
  id: string;
  /** Folders of the container, and where they are here. */
  engines?: Settings;
  env?: Settings;
  /** What the product makes at its start. */
  made?: Settings;
  /** What this machine does not have. */
  adapt?: (text: string) => string;
  settings: readonly Settings[];
  /** What is replaced by what; what it says of it, and whether it tells the line. */
  broken: readonly { from: string; to: string; says: RegExp; line?: boolean }[];
}

const programs: readonly Program[] = [
  {
    program: 'haproxy',
    package: 'haproxy',
    id: 'load-balancer',
    engines: { '/usr/local/etc/haproxy': 'files' },
    env: { STATS_USER: 'admin', STATS_PASSWORD: 'x' },
    settings: [
      {},
      { SERVERS: 'web1 127.0.0.1:8080; web2 127.0.0.1:8081 weight 5 backup', BALANCE: 'uri', MAXCONN: '100', TIMEOUT_CLIENT: '2m' },
      { MODE: 'tcp', SERVERS: 'a 127.0.0.1:1;' },
      // A sign that begins a format in this program, and a name that begins as another one does.
      { HEALTH_HOST: 'fe80::1%eth0', SERVERS: 'web 127.0.0.1:1; web1 [::1]:2; web-1 127.0.0.1:3' },
    ],
    broken: [
      { from: 'balance roundrobin', to: 'balance sometimes', says: /sometimes|balance/, line: true },
      { from: 'option dontlognull', to: 'optoin dontlognull', says: /unknown keyword 'optoin'/, line: true },
    ],
  },
  {
    program: 'caddy',
    package: 'caddy',
    id: 'reverse-proxy',
    engines: { '/etc/caddy': 'files' },
    settings: [{}],
    broken: [{ from: '\trespond "No site', to: '\trepsond "No site', says: /unrecognized directive: repsond/, line: true }],
  },
  {
    program: 'kea-dhcp4',
    package: 'kea-dhcp4-server',
    id: 'dhcp-server',
    engines: { '/etc/kea': 'files' },
    settings: [
      { DHCP_INTERFACE: 'lo', DHCP_SUBNET: '192.168.1.0/24', DHCP_POOLS: '192.168.1.100 - 192.168.1.199' },
      {
        DHCP_INTERFACE: 'lo',
        DHCP_SUBNET: '10.0.0.0/8',
        DHCP_POOLS: '10.1.0.0 - 10.1.0.99, 10.2.0.0/16',
        ROUTER: '10.0.0.1',
        DNS_SERVERS: '10.0.0.2, 10.0.0.3',
        DOMAIN: 'home.lan',
        RESERVATIONS: '52:54:00:12:34:56=10.0.0.10=nas, 52:54:00:12:34:57=10.0.0.11',
        AUTHORITATIVE: 'true',
        LOG_SEVERITY: 'DEBUG',
        VALID_LIFETIME: '901',
      },
    ],
    broken: [
      { from: '"valid-lifetime": 43200', to: '"valid-lifetime": "soon"', says: /syntax error/, line: true },
      { from: '"192.168.1.100 - 192.168.1.199"', to: '"192.168.2.100 - 192.168.2.199"', says: /does not match the prefix/ },
    ],
  },
  {
    program: 'squid',
    package: 'squid',
    id: 'caching-proxy',
    engines: { '/etc/squid': 'files' },
    settings: [
      {},
      {
        ACL: 'home src 192.168.1.0/24; ads dstdom_regex \\.ads\\.',
        HTTP_ACCESS: 'deny ads; allow home !ads; deny all',
        CACHE_DIR: '200MB',
        CACHE_MEM: '64 MB',
      },
    ],
    broken: [
      { from: 'http_access allow localnet', to: 'http_access allow guests', says: /http_access allow guests/, line: true },
      { from: 'shutdown_lifetime', to: 'shutdown_livetime', says: /unrecognized/, line: true },
    ],
  },
  {
    program: 'unbound-checkconf',
    package: 'unbound',
    id: 'recursive-resolver',
    engines: { '/opt/unbound/etc/unbound': 'files/unbound' },
    made: { 'files/unbound/var/root.key': '. IN DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D\n' },
    adapt: (text) => text.replace('username: "_unbound"', 'username: ""'),
    settings: [
      {},
      {
        FORWARD_ADDR: '9.9.9.9@853#dns.quad9.net, 2620:fe::fe, ::ffff:192.0.2.1@53',
        FORWARD_TLS: 'yes',
        PRIVATE_DOMAIN: 'home.lan, example.lan',
        ACCESS_CONTROL: '192.168.1.0/24, fd00::/8',
        MSG_CACHE_SIZE: '1 GB',
        NUM_THREADS: '4',
      },
    ],
    broken: [
      { from: 'harden-glue: yes', to: 'harden-gleu: yes', says: /unknown keyword/, line: true },
      { from: 'access-control: 127.0.0.0/8 allow', to: 'access-control: 127.0.0.0/8 admit', says: /access control action/, line: true },
      { from: 'private-address: 10.0.0.0/8', to: 'private-address: 10.0.0.0/80', says: /private-address|netblock|10\.0\.0\.0/ },
    ],
  },
  {
    program: 'pdns_server',
    package: 'pdns-server pdns-backend-mysql',
    id: 'authoritative-dns',
    engines: { '/etc/powerdns/pdns.d': 'pdns.d', '/etc/powerdns': 'files' },
    settings: [{}, { ALLOW_AXFR: '192.168.1.0/24, fd00::/8', PRIMARY: 'true', SECONDARY: 'true', GMYSQL_DNSSEC: 'false', API: 'false' }],
    broken: [
      { from: 'version-string=', to: 'verison-string=', says: /Trying to set unknown setting 'verison-string'/ },
      { from: 'include-dir=', to: 'include-dir=/nowhere', says: /nowhere/ },
    ],
  },
];

for (const {
  id,
  program: name,
  package: fromPackage,
  engines = {},
  env = {},
  made = {},
  adapt = (text: string) => text,
  settings,
  broken,
} of programs) {
  const { program, missing } = find(name, fromPackage);
  describeUnless(missing, `${id} before ${name}`, () => {
    const words = (here: (text: string) => string) => (catalog.entries.get(id)?.configFile?.verify?.argv ?? []).slice(1).map(here);

    test('takes what is made of answers', async () => {
      for (const answers of settings) {
        const { here } = await deliver(id, answers, { engines, made, change: adapt });
        const asked = ask(program, words(here), env);
        expect([answers, asked]).toEqual([answers, { status: 0, output: expect.any(String) }]);
      }
    });

    test.each(broken)('names the line of $to', async ({ from, to, says, line }) => {
      let changed = '';
      const { here } = await deliver(id, settings[0] ?? {}, {
        engines,
        made,
        change: (text) => {
          changed = adapt(text).replace(from, to);
          expect(changed).not.toBe(adapt(text));
          return changed;
        },
      });
      const asked = ask(program, words(here), env);
      expect(asked.status).not.toBe(0);
      const found = reported(id, asked);
      expect(found).toContainEqual(
        expect.objectContaining({ level: 'error', message: expect.stringMatching(says), ...(line && { line: lineOf(changed, to) }) }),
      );
    });
  });
}

describe('ai-app-platform before nginx', () => {
  const { program, missing } = find('nginx', 'nginx-light');
  /** As the image does: its resolvers filled in, and inside of its own configuration. */
  async function asked(change: (text: string) => string) {
    const { engineName, file, here } = await deliver(
      'ai-app-platform',
      {},
      { change: (text) => change(text).replace('${NGINX_LOCAL_RESOLVERS}', '127.0.0.1') },
    );
    await writeFile(
      join(engineName, 'nginx.conf'),
      here(
        `pid ${engineName}/pid;\nerror_log stderr;\nevents {}\nhttp {\n  access_log off;\n  client_body_temp_path ${engineName}/b;\n  proxy_temp_path ${engineName}/p;\n  include ${file};\n}\n`,
      ),
    );
    return ask(program, ['-t', '-p', engineName, '-c', join(engineName, 'nginx.conf')]);
  }

  test.skipIf(missing)(`takes what is delivered, and names the line of a mistake${missing ? ` (skipped: ${missing})` : ''}`, async () => {
    expect(await asked((text) => text)).toEqual({ status: 0, output: expect.stringContaining('successful') });
    let text = '';
    const found = reported('ai-app-platform', await asked((whole) => (text = whole.replace('proxy_buffering off', 'proxy_bufering off'))));
    expect(found).toContainEqual(
      expect.objectContaining({ line: lineOf(text, 'proxy_bufering'), message: expect.stringMatching(/unknown directive/) }),
    );
  });
});

describe('the entries of VPN platforms before caddy', () => {
  const { program, missing } = find('caddy', 'caddy');
  test.skipIf(missing).each([
    ['mesh-vpn-platform', { NETBIRD_DOMAIN: 'mesh.example.org' }],
    ['zero-trust-gateway', { SITE_NAME: 'vpn.example.org' }],
  ])(`%s is taken${missing ? ` (skipped: ${missing})` : ''}`, async (id, env) => {
    const engineName = join(folder, `${id}-entry`);
    await mkdir(engineName);
    const text = Object.entries(catalog.files(id, {})).find(([path]) => path === 'files/Caddyfile')?.[1] ?? '';
    await writeFile(join(engineName, 'Caddyfile'), text);
    expect(ask(program, ['validate', '--adapter', 'caddyfile', '--config', join(engineName, 'Caddyfile')], env)).toMatchObject({
      status: 0,
    });
  });
});

describe('overlay-mesh before nebula', () => {
  const { program, missing } = find('nebula', 'nebula');
  const { program: certificates } = find('nebula-cert', 'nebula');

  test.skipIf(missing)(
    `takes what is made of answers, and names the line of a mistake${missing ? ` (skipped: ${missing})` : ''}`,
    async () => {
      const keys = join(folder, 'keys');
      await mkdir(keys);
      for (const words of [
        ['ca', '-name', 'home', '-out-crt', 'ca.crt', '-out-key', 'ca.key'],
        ['sign', '-name', 'host', '-ip', '10.1.0.1/24', '-out-crt', 'host.crt', '-out-key', 'host.key'],
      ])
        expect(spawnSync(certificates, words, { cwd: keys }).status).toBe(0);
      const asked = async (settings: Settings, change = (text: string) => text) => {
        const { engineName, file } = await deliver('overlay-mesh', settings, { engines: { '/etc/nebula': 'files' }, change });
        await cp(keys, join(engineName, 'files'), { recursive: true });
        return ask(program, ['-test', '-config', file]);
      };
      const member = {
        STATIC_HOST_MAP: '{"10.1.0.2": ["127.0.0.1:4242"]}',
        AM_LIGHTHOUSE: 'false',
        LIGHTHOUSE_HOSTS: '10.1.0.2',
        FIREWALL_INBOUND: 'any/icmp/any, 22/tcp/laptop, 8000-8010/udp/any',
      };
      expect((await asked({})).status).toBe(0);
      expect((await asked(member)).status).toBe(0);
      // Signs that mean something in YAML, in this program or in a shell.
      const odds: readonly Settings[] = [
        { LISTEN_HOST: '::' },
        { LISTEN_HOST: '[::]' },
        { STATIC_HOST_MAP: '{"10.1.0.2": ["[::1]:4242", "127.0.0.1:1"], "10.1.0.3": []}' },
        { FIREWALL_INBOUND: 'fragment/udp/any, 1-65535/tcp/1.0, 22/tcp/true, any/any/null' },
      ];
      for (const odd of odds) expect([odd, (await asked({ ...member, ...odd })).status]).toEqual([odd, 0]);
      for (const path of ["/a'b #1", '/a"b', '/a\\b{$HOME}'])
        expect((await asked({ PKI_CERT: path })).output).toContain(`unable to read pki.cert file ${JSON.stringify(path).slice(1, -1)}`);
      let text = '';
      const broken = await asked({}, (whole) => (text = whole.replace('level: info', 'level: {info')));
      expect(broken.status).not.toBe(0);
      const [first] = reported('overlay-mesh', broken);
      expect(first?.line).toBeGreaterThanOrEqual(lineOf(text, '{info'));
      expect(first?.line).toBeLessThanOrEqual(lineOf(text, '{info') + 1);
      const unread = await asked({ PKI_CA: '/etc/nebula/other "ca".crt' });
      expect(unread.status).not.toBe(0);
      expect(reported('overlay-mesh', unread)).toContainEqual(
        expect.objectContaining({ message: expect.stringMatching(/other .*ca.*\.crt/) }),
      );
    },
  );
});

describe('sso-portal before Authelia', () => {
  const { program = '', missing } = findServer('authelia');
  const needed = {
    X_AUTHELIA_CONFIG_FILTERS: 'template',
    AUTHELIA_IDENTITY_VALIDATION_RESET_PASSWORD_JWT_SECRET: 'x'.repeat(44),
    AUTHELIA_SESSION_SECRET: 'x'.repeat(44),
    AUTHELIA_STORAGE_ENCRYPTION_KEY: 'x'.repeat(64),
    SESSION_DOMAIN: 'home.lan',
    PORTAL_URL: 'https://auth.home.lan',
  };
  const answers = { SESSION_DOMAIN: 'home.lan', site: 'auth.home.lan' };
  const deliverPortal = (change?: (text: string) => string) =>
    deliver('sso-portal', answers, { engines: { '/config': 'files' }, ...(change && { change }) });
  const directory = {
    LDAP_URL: 'ldap://directory:3890',
    LDAP_BASE_DN: `o=O'Brien: "one" #2 {ü},dc=home`,
    LDAP_USER: 'uid=admin',
    LDAP_PASSWORD: `it's "a": #b`,
    ACCESS_DOMAIN: '*.home.lan',
    ACCESS_POLICY: 'one_factor',
    STORAGE_POSTGRES_HOST: 'db',
    STORAGE_POSTGRES_PASSWORD: `'#: "`,
  };

  test.skipIf(missing)(`takes it with a file of people, and with a directory${missing ? ` (skipped: ${missing})` : ''}`, async () => {
    const { file } = await deliverPortal();
    for (const env of [needed, { ...needed, ...directory }])
      expect(ask(program, ['config', 'validate', '--config', file], env)).toMatchObject({ status: 0 });
  });

  test.skipIf(missing)('a value stays a value, whatever it holds', async () => {
    const { file } = await deliverPortal();
    const { output } = ask(program, ['config', 'template', '--config', file], { ...needed, ...directory });
    expect(parse(output.slice(output.indexOf('\nserver:')))).toMatchObject({
      authentication_backend: { ldap: { address: directory.LDAP_URL, base_dn: directory.LDAP_BASE_DN, password: directory.LDAP_PASSWORD } },
      access_control: { default_policy: 'deny', rules: [{ domain: '*.home.lan', policy: 'one_factor' }] },
      storage: { postgres: { address: 'tcp://db:5432', password: directory.STORAGE_POSTGRES_PASSWORD } },
    });
  });

  test.skipIf(missing)('says what it does not know, and where it cannot be read', async () => {
    const unknown = await deliverPortal((text) => text.replace('  level: info', '  levle: info'));
    const asked = ask(program, ['config', 'validate', '--config', unknown.file], needed);
    expect(asked.status).not.toBe(0);
    expect(reported('sso-portal', asked)).toEqual([
      expect.objectContaining({ line: 1, message: 'configuration key not expected: log.levle' }),
    ]);
    let text = '';
    const unread = await deliverPortal((whole) => (text = whole.replace('theme: auto', 'theme: auto: x')));
    expect(reported('sso-portal', ask(program, ['config', 'validate', '--config', unread.file], needed))).toContainEqual(
      expect.objectContaining({ line: lineOf(text, 'theme:'), message: expect.stringMatching(/mapping values are not allowed/) }),
    );
  });
});

describe('mesh-control-server before Headscale', () => {
  const { program = '', missing } = findServer('headscale');
  const engines = { '/var/lib/headscale': 'data', '/var/run/headscale': 'run' };
  async function asked(settings: Settings, change = (text: string) => text) {
    const { engineName, file } = await deliver('mesh-control-server', settings, { engines, change });
    await mkdir(join(engineName, 'data'), { recursive: true });
    await symlink(engineName, join(engineName, 'run')).catch(() => undefined);
    return ask(program, ['configtest', '--config', file]);
  }

  test.skipIf(missing)(
    `takes what is made of answers, and names the line of a mistake${missing ? ` (skipped: ${missing})` : ''}`,
    async () => {
      expect(await asked({})).toMatchObject({ status: 0 });
      expect(await asked({ DNS_NAMESERVERS: '1.1.1.1, 2620:fe::fe' })).toMatchObject({ status: 0 });
      let text = '';
      const unread = await asked({}, (whole) => (text = whole.replace('  magic_dns: true', '  magic_dns: true: x')));
      expect(unread.status).not.toBe(0);
      expect(reported('mesh-control-server', unread)).toContainEqual(
        expect.objectContaining({ line: lineOf(text, 'magic_dns'), message: expect.stringMatching(/mapping values are not allowed/) }),
      );
      const refused = await asked({}, (whole) => whole.replace('server_url: http://', 'server_url: '));
      expect(refused.status).not.toBe(0);
      expect(reported('mesh-control-server', refused)).toContainEqual(
        expect.objectContaining({ message: expect.stringMatching(/server_url must start with/) }),
      );
    },
  );
});

describe('secrets-manager-path before OpenBao', () => {
  const { program = '', missing } = findServer('openbao');
  async function asked(settings: Settings = {}, change = (text: string) => text) {
    // Its data are not looked at: that folder does not exist here.
    const engines = { '/openbao/config': 'files/config', '/tmp/diagnosed': 'diagnosed' };
    const answers = { LISTENER_ADDRESS: `127.0.0.1:${await freePort()}`, ...settings };
    const { engineName, here } = await deliver('secrets-manager-path', answers, { engines, change });
    await symlink(program, join(engineName, 'bao'));
    const [shell = '', ...words] = (catalog.entries.get('secrets-manager-path')?.configFile?.verify?.argv ?? []).map(here);
    return ask(shell, words, { PATH: `${engineName}:${folders.join(':')}` });
  }

  test.skipIf(missing)(`takes what is made of answers${missing ? ` (skipped: ${missing})` : ''}`, async () => {
    expect(await asked()).toEqual({ status: 0, output: '\n' });
    expect(await asked({ NODE_ID: 'node "one"', UI: 'false' })).toMatchObject({ status: 0 });
  });

  test.skipIf(missing).each([
    { from: 'ui = true', to: 'iu = true', says: /^Unknown or unsupported field iu$/, line: true },
    { from: 'path    =', to: 'path    = =', says: /^Unknown token/, line: true },
    { from: 'tls_disable = true', to: 'tls_disable = "perhaps"', says: /^error parsing 'listener': .*tls_disable/, line: false },
    { from: 'storage "raft"', to: 'storage "raaft"', says: /^unknown storage type raaft$/, line: false },
    { from: 'tls_disable = true', to: 'tls_disable = false', says: /Failed to read certificate file/, line: false },
    { from: 'cluster_addr = "https://openbao:8201"', to: 'cluster_addr = "openbao"', says: /Error parsing cluster address/, line: false },
  ])('names what is wrong with $to', async ({ from, to, says, line }) => {
    let text = '';
    const answer = await asked({}, (whole) => (text = whole.replace(from, to)));
    expect(text).toContain(to);
    expect(answer.status).not.toBe(0);
    expect(reported('secrets-manager-path', answer)).toEqual([
      expect.objectContaining({ message: expect.stringMatching(says), ...(line && { line: lineOf(text, to) }) }),
    ]);
  });
});

describe('outbound-tunnel before cloudflared', () => {
  const { program = '', missing } = findServer('cloudflared');
  async function asked(settings: Settings, change = (text: string) => text) {
    const { here } = await deliver('outbound-tunnel', settings, { engines: { '/etc/cloudflared': 'files' }, change });
    const words = (catalog.entries.get('outbound-tunnel')?.configFile?.verify?.argv ?? []).slice(1).map(here);
    return ask(program, words);
  }
  const answers = { INGRESS_HOSTNAME: 'app.example.com', INGRESS_SERVICE: 'http://app:8080' };

  test.skipIf(missing)(`takes what is made of answers${missing ? ` (skipped: ${missing})` : ''}`, async () => {
    expect(await asked({})).toMatchObject({ status: 0 });
    expect(await asked(answers)).toMatchObject({ status: 0 });
    expect(await asked({ ...answers, TUNNEL_ID: '6ff42ae2-765d-4adf-8112-31c55c1551ef' })).toMatchObject({ status: 0 });
  });

  test.skipIf(missing).each([
    { from: 'hostname: "app', to: 'hostname: app: "app', says: /^mapping values are not allowed/, line: true },
    { from: 'service: "http://app:8080"', to: 'service: [app]', says: /^cannot unmarshal !!seq/, line: true },
    { from: '  - service: http_status:404', to: '', says: /^The last ingress rule must match all URLs/, line: false },
    { from: 'service: "http://app:8080"', to: 'service: app', says: /^app is an invalid address/, line: false },
  ])('names what is wrong with $to', async ({ from, to, says, line }) => {
    let text = '';
    const answer = await asked(answers, (whole) => (text = whole.replace(from, to)));
    expect(text).not.toContain(from);
    expect(answer.status).not.toBe(0);
    expect(reported('outbound-tunnel', answer)).toEqual([
      expect.objectContaining({ message: expect.stringMatching(says), ...(line && { line: lineOf(text, to) }) }),
    ]);
  });
});
