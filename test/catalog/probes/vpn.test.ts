import { describe, expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, running, silent, table, versions } from './answers.ts';

const pass = answered(200, '{"status":"pass"}', { 'content-type': 'application/health+json' });

table('mesh-control-server', [
  ['pass', { answer: pass, calls: { page: answered(200, '{"status":"OK"}') }, services: { ui: running } }, 'healthy', 'ok'],
  ['fail', { answer: answered(500, '{"status":"fail"}') }, 'unhealthy', 'error', /database/],
  [
    'web page cannot reach it',
    { answer: pass, calls: { page: answered(500, '{"status":"ERROR"}') }, services: { ui: running } },
    'web UI degraded',
    'warning',
  ],
  [
    'web page in a loop',
    { answer: pass, calls: { page: silent }, services: { ui: { state: 'restarting', health: 'none', uptime: 0 } } },
    'web UI down',
    'warning',
  ],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  ['silent and young', { answer: silent, age: 2 }, 'starting', 'busy'],
]);

const asks = (requiresPassword: boolean) => answered(200, JSON.stringify({ requiresPassword, authenticated: !requiresPassword }));

table('tunnel-server-ui', [
  ['healthy', { answer: asks(true) }, 'healthy', 'ok'],
  ['no password', { answer: asks(false) }, 'no password', 'error', /read the keys of all clients/],
  ['release 15', { answer: answered(401, '{"statusCode":401,"statusMessage":"Not authenticated"}') }, 'login required', 'ok'],
  ['busy', { answer: answered(503, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  ['silent and young', { answer: silent, age: 5 }, 'starting', 'busy'],
]);

const wantsKey = answered(401, 'Unauthorized\n');

table('vpn-client-gateway', [
  ['tunnel up', { answer: wantsKey, calls: { tunnel: exited(0, '') } }, 'tunnel up', 'ok'],
  [
    'tunnel down',
    { answer: wantsKey, calls: { tunnel: exited(1, 'dialing: i/o timeout') } },
    'tunnel down',
    'error',
    /components that are routed through it have no network/,
  ],
  ['connecting', { answer: wantsKey, calls: { tunnel: exited(1, 'dialing') }, age: 20 }, 'connecting', 'busy'],
  [
    'read-only, the container knows',
    { answer: wantsKey, calls: { tunnel: silent }, services: { gluetun: { ...running, health: 'unhealthy' } } },
    'tunnel down',
    'error',
  ],
  ['read-only, with a key (R34)', { answer: wantsKey, calls: { tunnel: silent }, services: { gluetun: running } }, 'key required', 'ok'],
  ['open control server', { answer: answered(200, '{"status":"running"}'), calls: { tunnel: silent } }, 'running', 'ok'],
  ['control server away, container well', { answer: silent, calls: { tunnel: silent }, services: { gluetun: running } }, 'tunnel up', 'ok'],
  ['silent', { answer: silent, calls: { tunnel: silent } }, 'unreachable', 'error'],
  ['young', { answer: silent, calls: { tunnel: silent }, age: 10 }, 'starting', 'busy'],
  ['garbage', { answer: garbage, calls: { tunnel: silent } }, 'unexpected response', 'warning'],
]);

table('overlay-mesh', [
  ['in order', { answer: exited(0, '') }, 'running', 'ok'],
  ['expired', { answer: exited(1, 'nebula certificate for this host is expired') }, 'certificate expired', 'error'],
  [
    'without certificates',
    { answer: exited(1, 'Failed to load PKI: open /etc/nebula/host.crt: no such file or directory') },
    'invalid config',
    'error',
  ],
  ['read-only', { answer: silent }, undefined],
  ['young', { answer: silent, age: 3 }, 'starting', 'busy'],
]);

table('outbound-tunnel', [
  ['connected', { answer: exited(0, '') }, 'connected', 'ok'],
  ['not connected', { answer: exited(1, 'http://127.0.0.1:20241/ready endpoint returned status code 503') }, 'not connected', 'error'],
  ['young', { answer: exited(1, ''), age: 5 }, 'connecting', 'busy'],
  [
    'rules wrong (R24)',
    { answer: exited(1, ''), calls: { rules: exited(1, 'Validation failed: The last ingress rule must match all URLs') } },
    'invalid config',
    'error',
  ],
  ['a release that cannot be asked', { answer: exited(3, "No help topic for 'ready'") }, 'running', 'ok'],
  ['read-only', { answer: silent }, undefined],
]);

versions([
  ['mesh-control-server', { answer: pass, calls: { version: answered(200, '{"version":"v0.29.2","commit":"x"}') } }, 'v0.29.2'],
  ['mesh-control-server', { answer: pass, calls: { version: answered(404, '404 page not found') } }, ''],
  ['tunnel-server-ui', { answer: asks(true), calls: { release: answered(200, '13') } }, '13'],
  ['overlay-mesh', { answer: exited(0, ''), calls: { version: exited(0, 'Version: 1.9.5\n') } }, '1.9.5'],
  [
    'outbound-tunnel',
    { answer: exited(0, ''), calls: { program: exited(0, 'cloudflared version 2026.9.0 (built 2026-09-08-1200 UTC)') } },
    '2026.9.0',
  ],
]);

describe('checks', () => {
  it('a mesh without a policy is worth a word, and so is an address that its base domain hides (R62)', () => {
    const policy = exited(1, 'Error: loading ACL policy: rpc error: code = Unknown desc = loading ACL from database: acl policy not found');
    expect(findingsOf('mesh-control-server', { policy })).toEqual(['no-policy']);
    expect(findingsOf('mesh-control-server', { policy: exited(0, '{"acls":[]}') })).toEqual([]);
    const env = { HEADSCALE_SERVER_URL: 'https://head.example.org', HEADSCALE_DNS_BASE_DOMAIN: 'example.org' };
    expect(findingsOf('mesh-control-server', {}, { env })).toEqual(['base-domain-in-server-url']);
    expect(findingsOf('mesh-control-server', {}, { env: { ...env, HEADSCALE_DNS_BASE_DOMAIN: 'mesh.internal' } })).toEqual([]);
    expect(findingsOf('mesh-control-server', {}, { env: { ...env, HEADSCALE_DNS_BASE_DOMAIN: 'head.example' } })).toEqual([]);
  });

  it('a tunnel without an MTU, or with too large a one, is named (R77)', () => {
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_MTU: '1500' } })).toContain('tunnel-mtu');
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_HOST: 'vpn.example.net' } })).toContain('no-mtu');
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_MTU: '1420' } })).toEqual([]);
  });

  it('a control server that wants no key is named', () => {
    expect(findingsOf('vpn-client-gateway', { status: answered(200, '{"status":"running"}') })).toEqual(['control-open']);
    expect(findingsOf('vpn-client-gateway', { status: wantsKey })).toEqual([]);
  });

  it('a web page beyond this machine is named (R8)', () => {
    const ports = [{ name: 'web', exposure: 'lan' as const, published: true }];
    expect(findingsOf('tunnel-server-ui', { session: asks(true) }, { env: { WG_MTU: '1420' }, ports })).toEqual(['wider-than-loopback']);
  });
});
