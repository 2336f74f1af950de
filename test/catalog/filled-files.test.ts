import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { checkConfig } from '../../source/config-files/config-check.ts';
import { readComponentSource } from '../../source/stack/component-source.ts';
import { answersOf } from '../../source/stack/plan/answers.ts';
import { renderComponent } from '../../source/stack/plan/render.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

// Configuration files that are filled in from settings: what the settings become, and what is said of a file that somebody changed.

const entries = new Map<string, CatalogEntry>();
beforeAll(async () => {
  for (const entry of (await wholeCatalog()).entries) entries.set(entry.id, entry);
});

async function filled(id: string, path: string, settings: Record<string, string> = {}): Promise<string> {
  const entry = entries.get(id);
  if (!entry) throw new Error(`${id} did not compile`);
  const source = await readComponentSource(entry, join(process.cwd(), 'catalog'));
  const context = { source, others: [], secretsKnown: {}, hasData: false, runtime: 'docker' } as const;
  const { files } = renderComponent(entry, source, answersOf(entry, context, settings), {
    runtime: 'docker',
    tool: { kind: 'docker-compose' },
    networks: [],
  });
  return files[path] ?? '';
}

/** Lines without the space around them, comments left out. */
const linesOf = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** What is wrong with a file that somebody wrote by hand, with its line. */
function reported(id: string, text: string): string[] {
  const file = entries.get(id)?.configFile;
  return checkConfig(text, file ?? {}).map(({ line, message }) => `${line}: ${message}`);
}

const line = (text: string, part: string) => text.split('\n').findIndex((one) => one.includes(part)) + 1;

describe('load-balancer', () => {
  const path = 'files/haproxy.cfg';
  const servers = 'web1 10.0.0.11:8080; web2 web2:8080;spare 10.0.0.13:8080 backup ;';

  it('names its servers, and asks each for its health (R65)', async () => {
    const lines = linesOf(await filled('load-balancer', path, { SERVERS: servers, BALANCE: 'leastconn' }));
    expect(lines).toEqual(
      expect.arrayContaining([
        'maxconn 50000',
        'balance leastconn',
        'http-check send meth GET uri /health ver HTTP/1.1 hdr Host localhost',
        'http-check expect status 200',
        'default-server check inter 10s fall 3 rise 2 resolvers engine init-addr last,libc,none',
        'server web1 10.0.0.11:8080',
        'server web2 web2:8080',
        'server spare 10.0.0.13:8080 backup',
        'stats auth "${STATS_USER}:${STATS_PASSWORD}"',
      ]),
    );
    expect(lines.join('\n')).toContain(
      '"servers":{"web1":%[srv_is_up(servers/web1),iif(true,false)],"web2":%[srv_is_up(servers/web2),iif(true,false)],"spare":%[srv_is_up(servers/spare),iif(true,false)]}}\' if',
    );
  });

  it('listens on 443 where it passes everything on, or has a certificate', async () => {
    const tls = (lines: string[]) => lines.filter((one) => one.startsWith('bind :443'));
    expect(tls(linesOf(await filled('load-balancer', path)))).toEqual([]);
    expect(tls(linesOf(await filled('load-balancer', path, { MODE: 'tcp' })))).toEqual(['bind :443']);
    expect(tls(linesOf(await filled('load-balancer', path, { CERTIFICATE: 'example.org.pem' })))).toEqual([
      'bind :443 ssl crt /usr/local/etc/haproxy/certs/example.org.pem alpn h2,http/1.1',
    ]);
  });
});

describe('caching-proxy', () => {
  it('has a line for each name and each rule, in their order', async () => {
    const lines = linesOf(
      await filled('caching-proxy', 'files/squid.conf', {
        ACL: 'home src 192.168.1.0/24;',
        HTTP_ACCESS: 'allow home; deny all',
        CACHE_DIR: '2000MB',
      }),
    );
    expect(lines.slice(0, 5)).toEqual([
      'acl home src 192.168.1.0/24',
      'http_access allow home',
      'http_access deny all',
      'http_port 3128',
      'cache_dir ufs /var/spool/squid 2000 16 256',
    ]);
    expect(
      linesOf(await filled('caching-proxy', 'files/squid.conf'))
        .filter((one) => one.startsWith('http_access'))
        .at(-1),
    ).toBe('http_access deny all');
  });
});

describe('recursive-resolver', () => {
  const path = 'files/unbound/unbound.conf';

  it('asks the servers in charge unless it is told to ask others', async () => {
    expect(await filled('recursive-resolver', path)).not.toMatch(/forward-zone|tls-cert-bundle/);
    const lines = linesOf(
      await filled('recursive-resolver', path, {
        FORWARD_ADDR: '9.9.9.9@853#dns.quad9.net, 149.112.112.112@853#dns.quad9.net',
        FORWARD_TLS: 'yes',
        PRIVATE_DOMAIN: 'home.lan',
        MSG_CACHE_SIZE: '1 GB',
      }),
    );
    expect(lines).toEqual(
      expect.arrayContaining([
        'tls-cert-bundle: "/etc/ssl/certs/ca-certificates.crt"',
        'forward-tls-upstream: yes',
        'forward-addr: 9.9.9.9@853#dns.quad9.net',
        'forward-addr: 149.112.112.112@853#dns.quad9.net',
        'private-domain: "home.lan"',
        'msg-cache-size: 1g',
        'access-control: 192.168.0.0/16 allow',
      ]),
    );
  });
});

describe('dns-blocker', () => {
  const path = 'files/config.yml';

  it('is YAML with its maps in it', async () => {
    expect(parse(await filled('dns-blocker', path, { CUSTOM_DNS: '{"nas.home.lan": "192.168.1.10"}' }))).toMatchObject({
      upstreams: { groups: { default: ['9.9.9.9', '149.112.112.112'] } },
      bootstrapDns: ['tcp+udp:9.9.9.9', 'tcp+udp:149.112.112.112'],
      blocking: { clientGroupsBlock: { default: ['ads'] } },
      customDNS: { mapping: { 'nas.home.lan': '192.168.1.10' } },
      caching: { minTime: '5m', maxTime: '30m', prefetching: false },
      queryLog: { type: 'none', logRetentionDays: 7 },
      ports: { dns: 53, http: 4000 },
    });
    expect(parse(await filled('dns-blocker', path))).not.toHaveProperty('customDNS');
  });

  it('says what is wrong with one that somebody changed', async () => {
    const text = await filled('dns-blocker', path);
    expect(reported('dns-blocker', text)).toEqual([]);
    expect(reported('dns-blocker', text.replace('{"default": ["ads"]}', '{"default": ["adverts"]}'))).toEqual([
      `${line(text, 'clientGroupsBlock')}: This group has no list, so it blocks nothing.`,
    ]);
    expect(reported('dns-blocker', text.replace('{"default": ["9', '{"kids": ["9'))).toEqual([
      `${line(text, 'groups:')}: The default resolver group is missing.`,
    ]);
    expect(reported('dns-blocker', text.replace('dns: 53', 'dns: 5353'))).toEqual([
      `${line(text, 'ports:')}: compose.yaml publishes the container ports 53 and 4000.`,
    ]);
  });
});

describe('dhcp-server', () => {
  const path = 'files/kea-dhcp4.conf';
  const network = { DHCP_INTERFACE: 'eth0', DHCP_SUBNET: '192.168.1.0/24', DHCP_POOLS: '192.168.1.100 - 192.168.1.149, 192.168.1.160/28' };
  const read = (text: string) => JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, '')) as unknown;

  it('is JSON with one network, its options and its reservations', async () => {
    const text = await filled('dhcp-server', path, {
      ...network,
      ROUTER: '192.168.1.1',
      DNS_SERVERS: '192.168.1.2, 192.168.1.3',
      DOMAIN: 'home.lan',
      RESERVATIONS: '52:54:00:12:34:56=192.168.1.10=nas, 52:54:00:12:34:57=192.168.1.11',
    });
    expect(read(text)).toMatchObject({
      Dhcp4: {
        'interfaces-config': { interfaces: ['eth0'] },
        'valid-lifetime': 43200,
        'renew-timer': 21600,
        subnet4: [
          {
            id: 1,
            subnet: '192.168.1.0/24',
            pools: [{ pool: '192.168.1.100 - 192.168.1.149' }, { pool: '192.168.1.160/28' }],
            'option-data': [
              { name: 'routers', data: '192.168.1.1' },
              { name: 'domain-name-servers', data: '192.168.1.2, 192.168.1.3' },
              { name: 'domain-name', data: 'home.lan' },
            ],
            reservations: [
              { 'hw-address': '52:54:00:12:34:56', 'ip-address': '192.168.1.10', hostname: 'nas' },
              { 'hw-address': '52:54:00:12:34:57', 'ip-address': '192.168.1.11' },
            ],
          },
        ],
      },
    });
  });

  it.each<Record<string, string>>([
    {},
    { DOMAIN: 'home.lan' },
    { ROUTER: '192.168.1.1' },
    { DNS_SERVERS: '192.168.1.2' },
    { ROUTER: '192.168.1.1', DOMAIN: 'home.lan' },
  ])('stays JSON with %j alone', async (settings) => {
    expect(read(await filled('dhcp-server', path, { ...network, ...settings }))).toBeDefined();
  });

  it('says what is wrong with one that somebody changed', async () => {
    const text = await filled('dhcp-server', path, network);
    expect(reported('dhcp-server', text)).toEqual([]);
    expect(reported('dhcp-server', text.replace('"id": 1,', ''))).toEqual([`${line(text, '"subnet4"') + 1}: The subnet has no ID.`]);
    expect(reported('dhcp-server', text.replace('/var/lib/kea/', '/tmp/'))).toEqual([
      `${line(text, 'lease-database')}: The lease file must be in /var/lib/kea; with another path, Kea does not start.`,
    ]);
  });
});

describe('authoritative-dns', () => {
  it('holds no secret, and says so of one that somebody wrote into it (R2)', async () => {
    const text = await filled('authoritative-dns', 'files/pdns.conf', { ALLOW_AXFR: '192.168.1.0/24' });
    expect(linesOf(text)).toEqual(expect.arrayContaining(['launch=gmysql', 'api=yes', 'disable-axfr=no', 'allow-axfr-ips=192.168.1.0/24']));
    expect(linesOf(await filled('authoritative-dns', 'files/pdns.conf'))).toContain('disable-axfr=yes');
    expect(reported('authoritative-dns', text)).toEqual([]);
    expect(reported('authoritative-dns', `${text}api-key=x\n`)).toEqual(['1: The file contains a secret.']);
    expect(reported('authoritative-dns', text.replace(/^include-dir.*$/m, ''))).toHaveLength(1);
  });
});

describe('dynamic-proxy', () => {
  const path = 'files/config/dynamic.yml';

  it('has the middlewares and services that were asked for', async () => {
    expect(parse(await filled('dynamic-proxy', path))).toEqual({
      http: { middlewares: { 'rate-limit': { rateLimit: { average: 100, burst: 50 } } } },
    });
    const settings = { ALLOWED_NETWORKS: '10.0.0.0/8, 192.168.0.0/16', WEIGHTED_SERVICES: 'old@docker=3, new@docker=1' };
    expect(parse(await filled('dynamic-proxy', path, settings))).toMatchObject({
      http: {
        middlewares: { 'allowed-networks': { ipAllowList: { sourceRange: ['10.0.0.0/8', '192.168.0.0/16'] } } },
        services: {
          weighted: {
            weighted: {
              services: [
                { name: 'old@docker', weight: 3 },
                { name: 'new@docker', weight: 1 },
              ],
            },
          },
        },
      },
    });
  });

  it('says what is wrong with one that somebody changed', async () => {
    const text = await filled('dynamic-proxy', path);
    const routers = (routes: string) => `${text}  routers:\n${routes}`;
    expect(reported('dynamic-proxy', routers('    a: {rule: Host(`a`), service: b@docker, middlewares: [rate-limit]}\n'))).toEqual([]);
    expect(reported('dynamic-proxy', routers('    a: {rule: Host(`a`), service: b}\n'))).toEqual([
      expect.stringContaining('The file does not define this service.'),
    ]);
    expect(reported('dynamic-proxy', routers('    a: {rule: Host(`a`), service: b@docker, middlewares: [c]}\n'))).toEqual([
      expect.stringContaining('The file does not define this middleware.'),
    ]);
  });
});
