import { describe, expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, opened, running, silent, table, versions } from './answers.ts';

const open53 = (name: string) => ({ ports: [{ name, exposure: 'public' as const, published: true }] });
const away = { state: 'exited', health: 'none', uptime: 0 };

const wantsLogin = answered(
  401,
  '{"session":{"valid":false,"totp":false,"sid":null,"validity":-1,"message":"no SID provided"},"took":0.0001}',
);
const noPassword = answered(
  200,
  '{"session":{"valid":true,"totp":false,"sid":null,"validity":-1,"message":"no password set"},"took":0.0001}',
);
const blocks = exited(0, '  [✓] FTL is listening on port 53\n     [✓] UDP (IPv4)\n\n  [✓] Pi-hole blocking is enabled\n');
const blocksNothing = exited(0, '  [✓] FTL is listening on port 53\n\n  [✗] Pi-hole blocking is disabled\n');
const dnsRuns = answered(200, '{"https_port":0,"dns":true,"took":0.00002}');
const dnsStopped = answered(200, '{"https_port":0,"dns":false,"took":0.00002}');

table('dns-filter', [
  ['wants a login', { answer: wantsLogin, calls: { dns: opened, info: dnsRuns } }, 'filtering', 'ok', /Log in to see/],
  ['blocks', { answer: wantsLogin, calls: { dns: opened, info: dnsRuns, status: blocks } }, 'filtering', 'ok', /Blocking is on/],
  ['blocks nothing', { answer: wantsLogin, calls: { dns: opened, status: blocksNothing } }, 'protection off', 'warning'],
  ['no password', { answer: noPassword, calls: { dns: opened, info: dnsRuns } }, 'no login', 'warning'],
  ['its DNS stopped', { answer: wantsLogin, calls: { dns: opened, info: dnsStopped } }, 'DNS stopped', 'error'],
  ['port 53 closed', { answer: wantsLogin, calls: { dns: silent } }, 'DNS port closed', 'error'],
  ['fetches lists at first', { answer: wantsLogin, calls: { dns: silent }, age: 40 }, 'starting', 'busy', /block lists/],
  ['page away', { answer: silent, calls: { dns: opened } }, 'web UI down', 'warning'],
  ['silent', { answer: silent, calls: { dns: silent } }, 'unreachable', 'error', /cannot resolve/],
  ['silent at first', { answer: silent, calls: { dns: silent }, age: 10 }, 'starting', 'busy'],
  ['version 5', { answer: answered(404, 'Not found'), calls: { dns: opened } }, 'older version', 'warning'],
  ['no free session', { answer: answered(429, '{"error":{"key":"api_seats_exceeded"}}'), calls: { dns: opened } }, 'busy', 'warning'],
  ['failing', { answer: answered(500, ''), calls: { dns: opened } }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, calls: { dns: opened } }, 'unexpected response', 'warning'],
]);

const healthy = answered(0, '{"state":"running","health":"healthy"}');
const unhealthy = answered(0, '{"state":"running","health":"unhealthy"}');
const begins = answered(0, '{"state":"running","health":"starting"}');
const unboundWrong = exited(1, '/opt/unbound/etc/unbound/unbound.conf:48: error: expected yes or no.\n');

table('recursive-resolver', [
  ['resolves', { answer: opened, calls: { engine: healthy, check: exited(0, 'unbound-checkconf: no errors in x') } }, 'resolving', 'ok'],
  ['not checked yet', { answer: opened, calls: { engine: begins } }, 'running', 'ok', /unknown/],
  ['the engine says nothing', { answer: opened }, 'running', 'ok', /unknown/],
  ['finds nothing', { answer: opened, calls: { engine: unhealthy } }, 'cannot resolve', 'error', /clock/],
  ['wrong file', { answer: opened, calls: { engine: healthy, check: unboundWrong } }, 'invalid config', 'warning'],
  ['does not start', { answer: silent, calls: { check: unboundWrong } }, 'invalid config', 'error'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, age: 3 }, 'starting', 'busy'],
]);

const noToken = answered(200, '{"status":"error","errorMessage":"Parameter \'token\' missing."}');

table('dns-server-combined', [
  ['up', { answer: noToken, calls: { dns: opened } }, 'healthy', 'ok'],
  ['up, other words', { answer: answered(200, '{"status":"invalid-token"}'), calls: { dns: opened } }, 'healthy', 'ok'],
  ['on https', { answer: answered(302, '', { location: 'https://x/' }), calls: { dns: opened } }, 'healthy', 'ok'],
  ['DNS closed', { answer: noToken, calls: { dns: silent } }, 'DNS port closed', 'error'],
  ['DNS closed at first', { answer: noToken, calls: { dns: silent }, age: 20 }, 'starting', 'busy', /port 53/],
  ['page away', { answer: silent, calls: { dns: opened } }, 'web UI down', 'warning', /port may have been changed/],
  ['silent', { answer: silent, calls: { dns: silent } }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, calls: { dns: silent }, age: 5 }, 'starting', 'busy'],
  ['too many logins', { answer: answered(429, ''), calls: { dns: opened } }, 'busy', 'warning'],
  ['failing', { answer: answered(500, ''), calls: { dns: opened } }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, calls: { dns: opened } }, 'unexpected response', 'warning'],
]);

const blocking = answered(200, '{"enabled":true,"disabledGroups":[],"autoEnableInSec":0}');
const paused = answered(200, '{"enabled":false,"disabledGroups":["ads"],"autoEnableInSec":240}');
const off = answered(200, '{"enabled":false,"disabledGroups":["ads"],"autoEnableInSec":0}');
const blockyWrong = exited(1, 'Configuration file error: wrong file structure');

table('dns-blocker', [
  ['blocks', { answer: blocking, calls: { dns: opened, validate: exited(0, 'Configuration is valid') } }, 'blocking', 'ok'],
  ['paused', { answer: paused, calls: { dns: opened } }, 'protection off', 'warning', /240 more seconds/],
  ['off', { answer: off, calls: { dns: opened } }, 'protection off', 'warning', /until you enable it\. Disabled groups: ads\.$/],
  ['wrong file', { answer: blocking, calls: { dns: opened, validate: blockyWrong } }, 'invalid config', 'warning'],
  ['does not start', { answer: silent, calls: { dns: silent, validate: blockyWrong } }, 'invalid config', 'error'],
  ['DNS closed', { answer: blocking, calls: { dns: silent } }, 'DNS port closed', 'error'],
  ['DNS closed at first', { answer: blocking, calls: { dns: silent }, age: 20 }, 'starting', 'busy', /port 53/],
  ['API away', { answer: silent, calls: { dns: opened } }, 'API down', 'warning'],
  ['silent', { answer: silent, calls: { dns: silent } }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, calls: { dns: silent }, age: 5 }, 'starting', 'busy'],
  ['a login in front', { answer: answered(401, ''), calls: { dns: opened } }, 'login required', 'ok'],
  ['failing', { answer: answered(500, ''), calls: { dns: opened } }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, calls: { dns: opened } }, 'unexpected response', 'warning'],
]);

const wantsKey = answered(401, 'Unauthorized');
const page = answered(200, '<title>Log In - PowerDNS-Admin</title>');

table('authoritative-dns', [
  ['up', { answer: wantsKey, calls: { dns: opened, adminui: page }, services: { db: running } }, 'healthy', 'ok'],
  ['database away', { answer: wantsKey, calls: { dns: opened }, services: { db: away } }, 'database down', 'error', /exited/],
  [
    'database unhealthy',
    { answer: wantsKey, services: { db: { ...running, health: 'unhealthy' } } },
    'database down',
    'error',
    /unhealthy/,
  ],
  ['DNS closed', { answer: wantsKey, calls: { dns: silent, adminui: page } }, 'DNS port closed', 'error'],
  ['DNS closed at first', { answer: wantsKey, calls: { dns: silent, adminui: page }, age: 20 }, 'starting', 'busy', /DNS does not/],
  ['admin UI away', { answer: wantsKey, calls: { dns: opened, adminui: silent } }, 'admin UI down', 'warning'],
  ['API away, or refused by closing', { answer: silent, calls: { dns: opened } }, 'API down', 'warning', /webserver-allow-from/],
  ['API off', { answer: answered(404, 'Not Found'), calls: { dns: opened, adminui: page } }, 'API off', 'warning'],
  ['not from here', { answer: answered(403, 'Forbidden'), calls: { dns: opened, adminui: page } }, 'API access denied', 'warning'],
  ['silent', { answer: silent, calls: { dns: silent } }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, calls: { dns: silent }, age: 5 }, 'starting', 'busy'],
  ['failing', { answer: answered(500, ''), calls: { dns: opened, adminui: page } }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, calls: { dns: opened, adminui: page } }, 'unexpected response', 'warning'],
]);

const up = answered(0, '{"state":"running","health":"none"}');
const keaWrong = exited(1, 'Syntax check failed with: /etc/kea/kea-dhcp4.conf:24.9-14: got unexpected keyword "pols" in subnet4 map.\n');

table('dhcp-server', [
  ['on duty', { answer: up, calls: { test: exited(0, '') } }, 'running', 'ok', /valid configuration/],
  ['nothing may be run inside', { answer: up }, 'running', 'ok', /^Kea is running\. /],
  ['just started', { answer: up, age: 3 }, 'starting', 'busy'],
  ['wrong file', { answer: up, calls: { test: keaWrong } }, 'invalid config', 'warning'],
  ['ends again and again', { answer: answered(0, '{"state":"restarting"}') }, 'invalid config', 'error'],
  ['stopped', { answer: answered(0, '{"state":"exited"}') }, undefined],
  ['silent', { answer: silent }, undefined],
  ['garbage', { answer: answered(0, 'not as engines answer') }, undefined],
]);

versions([
  ['dns-filter', { answer: wantsLogin, calls: { program: exited(0, 'v6.3.3\n') } }, 'v6.3.3'],
  ['dns-filter', { answer: wantsLogin, calls: { program: exited(126, 'not found') } }, ''],
  ['recursive-resolver', { answer: opened, calls: { status: exited(0, 'version: 1.17.1\nverbosity: 1\nthreads: 1\n') } }, '1.17.1'],
  ['recursive-resolver', { answer: opened, calls: { status: exited(1, 'error: connect: Connection refused') } }, ''],
  ['dns-blocker', { answer: blocking, calls: { version: exited(0, 'blocky\nVersion: v0.27.0\nBuild time: 20250929\n') } }, 'v0.27.0'],
  ['authoritative-dns', { answer: wantsKey, calls: { version: exited(0, '4.9.8\n') } }, '4.9.8'],
  ['dhcp-server', { answer: up, calls: { version: exited(0, '3.0.2\n') } }, '3.0.2'],
]);

describe('checks', () => {
  it.each(['dns-filter', 'dns-blocker', 'recursive-resolver'])('%s open to the internet helps attackers', (id) => {
    expect(findingsOf(id, {}, open53('dns'))).toEqual(['public-resolver']);
    expect(findingsOf(id, {}, { ports: [{ name: 'dns', exposure: 'lan', published: true }] })).toEqual([]);
  });

  it('dns-filter without a password, or with one under its old name', () => {
    expect(findingsOf('dns-filter', { front: noPassword })).toEqual(['no-login']);
    expect(findingsOf('dns-filter', { front: wantsLogin })).toEqual([]);
    expect(findingsOf('dns-filter', {}, { env: { WEBPASSWORD: 'x' } })).toEqual(['old-variables']);
    expect(findingsOf('dns-filter', {}, { env: { WEBPASSWORD: 'x', FTLCONF_webserver_api_password: 'x' } })).toEqual([]);
  });

  it('recursive-resolver that finds nothing, or would not start again', () => {
    expect(findingsOf('recursive-resolver', { engine: unhealthy, check: unboundWrong })).toEqual(['configuration-wrong', 'cannot-resolve']);
    expect(findingsOf('recursive-resolver', { engine: healthy, check: exited(0, '') })).toEqual([]);
  });

  it('dns-server-combined that finds names for everybody, whose page is wide, whose DNS over TLS is off', () => {
    expect(findingsOf('dns-server-combined', {}, { ...open53('dns'), env: { DNS_SERVER_RECURSION: 'Allow' } })).toEqual(['open-resolver']);
    expect(findingsOf('dns-server-combined', {}, { ...open53('dns'), env: { DNS_SERVER_RECURSION: 'Deny' } })).toEqual([]);
    expect(findingsOf('dns-server-combined', {}, { ports: [{ name: 'web', exposure: 'lan', published: true }] })).toContain(
      'web-wider-than-loopback',
    );
    expect(findingsOf('dns-server-combined', { dns: opened, dot: silent })).toEqual(['dot-closed']);
    expect(findingsOf('dns-server-combined', { dns: opened, dot: opened })).toEqual([]);
  });

  it('dns-blocker that blocks nothing for good, whose file is wrong, whose API is wide', () => {
    expect(findingsOf('dns-blocker', { status: off, validate: blockyWrong })).toEqual(['protection-off', 'configuration-wrong']);
    expect(findingsOf('dns-blocker', { status: paused, validate: exited(0, '') })).toEqual([]);
    expect(findingsOf('dns-blocker', {}, { ports: [{ name: 'api', exposure: 'lan', published: true }] })).toEqual([
      'api-wider-than-loopback',
    ]);
  });

  it('authoritative-dns whose admin UI is told another version, lets everybody in, or needs no key (R82)', () => {
    const reported = (version: string) => answered(0, JSON.stringify({ state: 'running', env: { PDNS_VERSION: version } }));
    const version = exited(0, '4.9.8\n');
    expect(findingsOf('authoritative-dns', { version, adminengine: reported('4.8') })).toEqual(['version-differs']);
    expect(findingsOf('authoritative-dns', { version, adminengine: reported('4.9') })).toEqual([]);
    expect(findingsOf('authoritative-dns', { version, adminengine: answered(0, '{"state":"running","env":{}}') })).toEqual([]);
    expect(findingsOf('authoritative-dns', { register: page })).toEqual(['signups-open']);
    expect(findingsOf('authoritative-dns', { register: answered(404, '') })).toEqual([]);
    expect(findingsOf('authoritative-dns', { front: answered(200, '[{"daemon_type":"authoritative"}]') })).toEqual(['api-open']);
    expect(findingsOf('authoritative-dns', { front: wantsKey })).toEqual([]);
  });

  it('dhcp-server that hears no device, gives away what is of another network, or would not start again (R16)', () => {
    const env = { DHCP_INTERFACE: 'eno1', DHCP_SUBNET: '192.168.1.0/24', DHCP_POOLS: '192.168.1.100 - 192.168.1.199' };
    expect(findingsOf('dhcp-server', { interfaces: exited(0, 'eth0\nlo\n') }, { env })).toEqual(['not-on-the-host-network']);
    expect(findingsOf('dhcp-server', { interfaces: exited(0, 'docker0\neno1\nlo\n') }, { env })).toEqual([]);
    expect(findingsOf('dhcp-server', {}, { ports: [{ name: 'dhcp', exposure: 'lan', published: true }] })).toEqual([
      'not-on-the-host-network',
    ]);
    expect(findingsOf('dhcp-server', {}, { env: { ...env, DHCP_POOLS: '192.168.2.100 - 192.168.2.199' } })).toEqual(['wrong-network']);
    expect(findingsOf('dhcp-server', {}, { env: { ...env, DHCP_POOLS: ' 192.168.1.100 - 192.168.1.199' } })).toEqual([]);
    expect(findingsOf('dhcp-server', { test: keaWrong }, { env })).toEqual(['configuration-wrong']);
  });
});
