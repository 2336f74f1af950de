import { describe, expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, opened, running, silent, table, versions } from './answers.ts';

const json = (value: unknown) => answered(200, JSON.stringify(value));
const down = { state: 'restarting', health: '', uptime: 0 };
const process = (state: string) => json({ state, health: '', exitCode: 0, restarts: 0 });

const node = (state: string, self: object = { Online: true, TailscaleIPs: ['100.64.0.7'] }, more: object = {}) =>
  exited(0, JSON.stringify({ Version: '1.88.3-t0b9a4d6c1', BackendState: state, Health: [], Self: self, ...more }));

table('mesh-client', [
  ['in the mesh', { answer: node('Running') }, 'connected', 'ok', /100\.64\.0\.7/],
  ['in the mesh, no address told', { answer: node('Running', { Online: true, TailscaleIPs: null }) }, 'connected', 'ok', /in the mesh\.$/],
  ['control server away', { answer: node('Running', { Online: false }) }, 'no control server', 'warning'],
  ['just up', { answer: node('Running', { Online: false }), age: 20 }, 'connecting', 'busy'],
  ['key expired', { answer: node('Running', { Online: true, Expired: true }) }, 'key expired', 'error'],
  ['connecting', { answer: node('Starting') }, 'connecting', 'busy'],
  ['refused', { answer: node('NeedsLogin') }, 'not logged in', 'error', /pre-auth key/],
  ['to be approved', { answer: node('NeedsMachineAuth') }, 'approval required', 'warning'],
  ['switched off', { answer: node('Stopped') }, 'disconnected', 'warning'],
  ['program away', { answer: exited(1, 'failed to connect to local tailscaled') }, 'not running', 'error'],
  ['program starting', { answer: exited(1, 'failed to connect to local tailscaled'), age: 5 }, 'starting', 'busy'],
  ['garbage', { answer: exited(0, 'hello') }, undefined],
  ['may not be asked', { answer: silent }, undefined],
]);

table('tunnel-agent', [
  ['connected', { answer: exited(0, '') }, 'connected', 'ok'],
  ['refused', { answer: exited(1, '') }, 'not connected', 'error', /51820/],
  ['just up', { answer: exited(1, ''), age: 10 }, 'connecting', 'busy'],
  ['no such program', { answer: exited(127, 'not found') }, 'running', 'ok'],
  ['may not be asked', { answer: silent }, undefined],
]);

const healthy = json({ message: 'Healthy' });

table('tunnel-server-self-hosted', [
  ['healthy', { answer: healthy, calls: { inside: exited(0, '{"message":"Healthy"}') }, services: { pangolin: running } }, 'healthy', 'ok'],
  ['server away', { answer: answered(502, 'Bad Gateway'), services: { pangolin: down } }, 'server down', 'error', /config\.yml/],
  ['entry away', { answer: silent, services: { traefik: down } }, 'proxy down', 'error'],
  ['tunnels away', { answer: healthy, services: { gerbil: down } }, 'tunnels down', 'error'],
  ['server not reached', { answer: answered(502, 'Bad Gateway') }, 'server down', 'error'],
  ['an entry of its own', { answer: answered(404, 'not found'), calls: { inside: exited(0, '') } }, 'HTTPS port in use', 'warning'],
  ['another path', { answer: answered(404, 'not found') }, 'different path', 'warning'],
  ['refused', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const wantsToken = answered(401, '{"message":"no valid authentication provided","code":401}');
const page = answered(200, '<html><title>NetBird</title></html>');

table('mesh-vpn-platform', [
  ['ready', { answer: wantsToken, calls: { signalling: opened, page } }, 'healthy', 'ok'],
  ['signalling closed', { answer: wantsToken, calls: { signalling: silent, page } }, 'signaling down', 'error', /10000/],
  ['signalling down', { answer: wantsToken, calls: { signalling: opened }, services: { signal: down } }, 'signaling down', 'error'],
  ['relay down', { answer: wantsToken, calls: { signalling: opened }, services: { turn: down } }, 'relay down', 'warning'],
  ['dashboard down', { answer: wantsToken, calls: { signalling: opened, page: answered(502, '') } }, 'dashboard down', 'warning'],
  ['management down', { answer: answered(502, ''), services: { management: down } }, 'management down', 'error', /OIDC/],
  ['management not reached', { answer: answered(502, '') }, 'management down', 'error', /OIDC/],
  ['entry down', { answer: silent, services: { entry: down } }, 'proxy down', 'error'],
  ['first certificate', { answer: silent, age: 150 }, 'starting', 'busy', /certificate/],
  ['garbage', { answer: garbage, calls: { signalling: opened } }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('enterprise-vpn', [
  ['ready', { answer: answered(200, ''), services: { mongo: running } }, 'healthy', 'ok'],
  ['out of touch', { answer: answered(504, '') }, 'database down', 'error'],
  ['database down', { answer: silent, services: { mongo: down } }, 'database down', 'error', /restarting/],
  ['database unhealthy', { answer: answered(200, ''), services: { mongo: { ...running, health: 'unhealthy' } } }, 'database down', 'error'],
  ['set-up page', { answer: answered(302, '', { location: '/setup' }) }, 'redirecting', 'warning'],
  ['refused', { answer: answered(401, '') }, 'login required', 'ok'],
  ['failing', { answer: answered(500, '') }, 'unhealthy', 'error'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const portal = answered(200, '<html><title>Firezone</title></html>');

table('zero-trust-gateway', [
  ['ready', { answer: portal, calls: { inside: exited(0, '5: wg-firezone:') }, services: { db: running } }, 'healthy', 'ok'],
  ['may not look inside', { answer: portal, calls: { inside: silent } }, 'healthy', 'ok'],
  ['no interface', { answer: portal, calls: { inside: exited(1, 'Device "wg-firezone" does not exist.') } }, 'no tunnel', 'error'],
  ['migrating', { answer: answered(502, ''), age: 40 }, 'starting', 'busy'],
  ['portal away', { answer: answered(502, '') }, 'portal down', 'error'],
  ['entry away', { answer: silent, services: { entry: down } }, 'proxy down', 'warning'],
  ['database away', { answer: answered(502, ''), services: { db: down } }, 'database down', 'error'],
  ['refused', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const front = answered(200, '<html><title>ztncui</title></html>');
const zerotier = (online: boolean) => exited(0, JSON.stringify({ address: '8056c2e21c', online, version: '1.14.2' }));

table('network-controller', [
  ['online', { answer: front, calls: { info: zerotier(true) } }, 'online', 'ok', /8056c2e21c/],
  ['offline', { answer: front, calls: { info: zerotier(false) } }, 'offline', 'error'],
  ['may not look inside', { answer: front, calls: { info: silent } }, 'web UI up', 'ok'],
  ['controller away', { answer: front, calls: { info: exited(1, 'connection failed') } }, 'controller down', 'error'],
  ['pages wait', { answer: answered(502, ''), age: 20 }, 'starting', 'busy'],
  ['pages away', { answer: answered(502, '') }, 'web UI down', 'warning'],
  ['proxy away', { answer: silent, services: { web: down } }, 'web UI down', 'warning'],
  ['refused', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('openvpn-server', [
  ['ready', { answer: process('running'), calls: { interface: exited(0, '3: tun0:') } }, 'healthy', 'ok'],
  ['setting up', { answer: process('created'), services: { setup: running } }, 'initializing', 'busy'],
  ['just up', { answer: process('running'), calls: { interface: exited(1, '') }, age: 5 }, 'starting', 'busy'],
  ['no interface', { answer: process('running'), calls: { interface: exited(1, 'does not exist') } }, 'no tunnel', 'error'],
  ['may not look inside', { answer: process('running'), calls: { interface: silent } }, 'running', 'ok'],
  ['keeps ending', { answer: process('restarting') }, 'restarting', 'error', /tun/],
  ['stopped', { answer: process('exited') }, 'stopped', 'off'],
  ['garbage', { answer: answered(200, '[]') }, undefined],
  ['silent', { answer: silent }, undefined],
]);

const sockets = (port: number) => exited(0, `udp        0      0 :::${port}                 :::*\n`);

table('quic-proxy', [
  ['listening', { answer: process('running'), calls: { listening: sockets(443) } }, 'listening', 'ok'],
  ['elsewhere', { answer: process('running'), calls: { listening: sockets(8443) } }, 'not listening', 'error'],
  ['just up', { answer: process('running'), calls: { listening: exited(0, '') }, age: 5 }, 'starting', 'busy'],
  ['may not look inside', { answer: process('running'), calls: { listening: silent } }, 'running', 'ok'],
  ['keeps ending', { answer: process('restarting') }, 'restarting', 'error', /certificate/],
  ['stopped', { answer: process('exited') }, 'stopped', 'off'],
  ['garbage', { answer: answered(200, '[]') }, undefined],
  ['silent', { answer: silent }, undefined],
]);

const config = (...engines: object[]) => json({ version: '2026.11.3+abc', engines });

table('search-meta-engine', [
  ['ready', { answer: answered(200, 'OK'), calls: { config: config({ name: 'wikipedia', enabled: true }) } }, 'healthy', 'ok'],
  ['no engines', { answer: answered(200, 'OK'), calls: { config: config({ name: 'bing', enabled: false }) } }, 'no engines', 'warning'],
  ['settings not told', { answer: answered(200, 'OK'), calls: { config: silent } }, 'healthy', 'ok'],
  ['held back', { answer: answered(429, 'Too Many Requests') }, 'rate limited', 'warning'],
  ['refused', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

/** The page of version 2.10: what stands in `internal/server/ui/index.html` and `internal/records/html.go`. */
const records = (...states: ('success' | 'error' | 'uptodate' | 'updating' | 'unset')[]) => {
  const words = { success: 'Success', error: 'Failure', uptodate: 'Up to date', updating: 'Updating', unset: 'Unset' };
  const rows = states.map(
    (state) => `<td data-label="Update Status"><span class="${state}">${words[state]}</span> (no IP change for 2h), 5s ago</td>`,
  );
  return answered(200, `<html><title>DDNS Updater</title><table><th>Update Status</th>${rows.join('')}</table></html>`);
};

table('dynamic-dns', [
  ['up to date', { answer: records('uptodate', 'success'), calls: { health: exited(0, '') } }, 'up to date', 'ok'],
  ['failed', { answer: records('success', 'error') }, 'update failed', 'error', /update failed: no IP change for 2h$/],
  ['no records', { answer: records() }, 'no records', 'warning'],
  ['updating', { answer: records('updating') }, 'updating', 'busy'],
  [
    'names lead elsewhere',
    { answer: records('success'), calls: { health: exited(1, 'lookup IP addresses ...') } },
    'not up to date',
    'error',
  ],
  ['not looked into', { answer: records('success'), calls: { health: silent } }, 'running', 'ok'],
  ['settings wrong', { answer: silent, services: { updater: down } }, 'invalid config', 'error'],
  ['refused', { answer: answered(401, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  ['mesh-client', { answer: node('Running') }, '1.88.3'],
  ['mesh-client', { answer: exited(1, 'x') }, ''],
  ['tunnel-agent', { answer: exited(0, ''), calls: { program: exited(0, 'Newt version 1.13.0\n') } }, '1.13.0'],
  ['tunnel-agent', { answer: exited(0, ''), calls: { program: silent } }, ''],
  ['enterprise-vpn', { answer: answered(200, ''), calls: { program: exited(0, 'pritunl v1.32.4400.99\n') } }, '1.32.4400.99'],
  ['enterprise-vpn', { answer: answered(200, ''), calls: { program: exited(1, 'v') } }, ''],
  ['network-controller', { answer: front, calls: { info: zerotier(true) } }, '1.14.2'],
  [
    'openvpn-server',
    { answer: process('running'), calls: { program: exited(1, 'OpenVPN 2.4.9 x86_64-alpine-linux-musl [SSL (OpenSSL)]') } },
    '2.4.9',
  ],
  ['openvpn-server', { answer: process('running'), calls: { program: exited(127, 'not found') } }, ''],
  ['quic-proxy', { answer: process('running'), calls: { program: exited(0, 'logo\n\nVersion:\tv2.6.2\nBuildDate:\t2025\n') } }, 'v2.6.2'],
  ['search-meta-engine', { answer: answered(200, 'OK'), calls: { config: config() } }, '2026.11.3+abc'],
]);

describe('checks', () => {
  const at = (name: string, exposure: 'loopback' | 'lan' | 'public') => ({ ports: [{ name, exposure, published: true }] });

  it('nothing is found where nothing answers', () => {
    for (const id of ['mesh-client', 'tunnel-agent', 'tunnel-server-self-hosted', 'mesh-vpn-platform', 'enterprise-vpn', 'dynamic-dns'])
      expect(findingsOf(id, {}), id).toEqual([]);
    for (const id of ['zero-trust-gateway', 'network-controller', 'openvpn-server', 'quic-proxy', 'search-meta-engine'])
      expect(findingsOf(id, {}), id).toEqual([]);
  });

  it('a node of the mesh that is refused, complains, or is told a plain address', () => {
    const env = (server: string) => ({ env: { TS_EXTRA_ARGS: `--login-server=${server}` } });
    expect(findingsOf('mesh-client', { status: node('NeedsLogin') })).toEqual(['not-logged-in']);
    expect(findingsOf('mesh-client', { status: node('Running', {}, { Health: ['no DERP'] }) })).toEqual(['complains']);
    expect(findingsOf('mesh-client', { status: node('Running', {}, { Health: null }) }, env('https://mesh.example.org'))).toEqual([]);
    expect(findingsOf('mesh-client', {}, env('http://mesh.example.org'))).toEqual(['login-server-plain']);
  });

  it('a tunnel agent whose secret goes over the network readable (R9)', () => {
    expect(findingsOf('tunnel-agent', {}, { env: { PANGOLIN_ENDPOINT: 'http://tunnel.example.org' } })).toEqual(['plain-server-address']);
    expect(findingsOf('tunnel-agent', {}, { env: { PANGOLIN_ENDPOINT: 'https://tunnel.example.org' } })).toEqual([]);
  });

  it('what stands in the configuration of the tunnel server', () => {
    const found = (text: string) => findingsOf('tunnel-server-self-hosted', { configuration: answered(0, text) });
    const sound = 'server:\n  external_port: 3000\n  internal_port: 3001\nflags:\n  disable_signup_without_invite: true\n';
    expect(found(sound)).toEqual([]);
    expect(found(sound.replace('true', 'false'))).toEqual(['signup-open']);
    expect(found(sound.replace('server:\n', 'server:\n  secret: "abc"\n'))).toEqual(['secret-in-file']);
    expect(found(sound.replace('3000', '443'))).toEqual(['ports-moved']);
  });

  it('an issuer that does not belong to the discovery address, or is asked without https', () => {
    const env = (issuer: string, endpoint = 'https://id.example.org/.well-known/openid-configuration') => ({
      env: { NETBIRD_AUTH_AUTHORITY: issuer, NETBIRD_AUTH_OIDC_CONFIGURATION_ENDPOINT: endpoint },
    });
    expect(findingsOf('mesh-vpn-platform', {}, env('https://id.example.org'))).toEqual([]);
    expect(findingsOf('mesh-vpn-platform', {}, env('https://other.example.org'))).toEqual(['issuer-differs']);
    expect(findingsOf('mesh-vpn-platform', {}, env('http://id.lan', 'http://id.lan/.well-known/openid-configuration'))).toEqual([
      'provider-plain',
    ]);
  });

  it('pages that the internet reaches', () => {
    expect(findingsOf('enterprise-vpn', {}, at('https', 'public'))).toEqual(['page-public']);
    expect(findingsOf('enterprise-vpn', {}, at('https', 'lan'))).toEqual([]);
    expect(findingsOf('zero-trust-gateway', {}, at('https', 'public'))).toEqual(['end-of-life']);
    expect(findingsOf('zero-trust-gateway', {}, at('https', 'loopback'))).toEqual([]);
    const settings = (text: string) => ({ settings: answered(0, `search:\n  formats:\n    - json\nserver:\n${text}`) });
    expect(findingsOf('search-meta-engine', settings('  limiter: false\n'), at('web', 'public'))).toEqual(['public-without-limiter']);
    expect(findingsOf('search-meta-engine', settings('  limiter: true\n'), at('web', 'public'))).toEqual([]);
    expect(findingsOf('search-meta-engine', settings('  limiter: false\n'), at('web', 'loopback'))).toEqual([]);
  });

  it('tunnels that nobody can reach', () => {
    const closed = ['wireguard', 'openvpn'].map((name) => ({ name, exposure: 'loopback' as const, published: false }));
    expect(findingsOf('enterprise-vpn', {}, { ports: closed })).toEqual(['tunnels-unpublished']);
    expect(
      findingsOf('enterprise-vpn', {}, { ports: [...closed.slice(1), { name: 'wireguard', exposure: 'lan', published: true }] }),
    ).toEqual([]);
    expect(findingsOf('zero-trust-gateway', { inside: exited(1, 'does not exist') })).toEqual(['no-interface']);
    expect(findingsOf('zero-trust-gateway', { inside: exited(0, 'wg-firezone') })).toEqual([]);
    expect(findingsOf('openvpn-server', { interface: exited(1, 'does not exist') })).toEqual(['no-interface']);
    expect(findingsOf('openvpn-server', { interface: exited(1, 'does not exist') }, { age: 10 })).toEqual([]);
    expect(findingsOf('network-controller', { info: zerotier(false) })).toEqual(['offline']);
    expect(findingsOf('network-controller', { info: zerotier(true) })).toEqual([]);
  });

  it('an address of the portal that cookies are not for', () => {
    expect(findingsOf('zero-trust-gateway', {}, { env: { EXTERNAL_URL: 'http://vpn.lan:4443' } })).toEqual(['address-plain']);
    expect(findingsOf('zero-trust-gateway', {}, { env: { EXTERNAL_URL: 'https://vpn.lan:4443' } })).toEqual([]);
  });

  it('a QUIC proxy that does not start, or has a password in its file (R2)', () => {
    expect(findingsOf('quic-proxy', { process: process('restarting') })).toEqual(['keeps-ending']);
    expect(findingsOf('quic-proxy', { process: process('running'), configuration: answered(0, 'listen: ":443"\n') })).toEqual([]);
    expect(findingsOf('quic-proxy', { configuration: answered(0, 'listen: ":443"\nauth:\n  password: x\n') })).toEqual([
      'password-in-file',
    ]);
  });

  it('a search engine that programs cannot ask, or with the key of the examples', () => {
    const found = (text: string) => findingsOf('search-meta-engine', { settings: answered(0, text) });
    expect(found('search:\n  formats:\n    - html\n')).toEqual(['no-json']);
    expect(found('search:\n  formats: [html, json]\n')).toEqual([]);
    expect(found('search:\n  formats:\n    - json\nserver:\n  secret_key: ultrasecretkey\n')).toEqual(['example-key']);
  });

  it('dynamic DNS that fails, or asks too often', () => {
    expect(findingsOf('dynamic-dns', { page: records('error') })).toEqual(['update-failed']);
    expect(findingsOf('dynamic-dns', { page: records('success') }, { env: { PERIOD: '5m' } })).toEqual([]);
    expect(findingsOf('dynamic-dns', {}, { env: { PERIOD: '30s' } })).toEqual(['asks-too-often']);
  });
});
