import { describe, expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, lan, opened, running, silent, table, versions } from './answers.ts';

const npm = answered(200, '{"status":"OK","setup":true,"version":{"major":2,"minor":13,"revision":5}}');
const npmNew = answered(200, '{"status":"OK","setup":false,"version":{"major":2,"minor":13,"revision":5}}');
const wrongRules = exited(1, 'nginx: [emerg] host not found in upstream "x" in /data/nginx/proxy_host/1.conf:12');
const site = answered(200, '<title>Default Site</title>');

table('proxy-manager', [
  [
    'up',
    { answer: npm, calls: { front: site, https: opened, test: exited(0, '') } },
    'proxying',
    'ok',
    /^The admin UI and port 80 respond\.$/,
  ],
  ['no certificate yet', { answer: npm, calls: { front: site, https: silent } }, 'proxying', 'ok', /443/],
  ['older release', { answer: answered(200, '{"status":"OK","version":{"major":2,"minor":11,"revision":3}}') }, 'proxying', 'ok'],
  ['nobody has an account', { answer: npmNew, calls: { front: site } }, 'setup required', 'warning', /first/],
  ['wrong rules', { answer: npm, calls: { front: site, test: wrongRules } }, 'invalid config', 'warning'],
  ['port 80 closed', { answer: npm, calls: { front: silent } }, 'port 80 closed', 'error'],
  ['makes keys at first', { answer: answered(502, '<h1>502 Bad Gateway</h1>'), age: 30 }, 'starting', 'busy'],
  ['its program is gone', { answer: answered(502, '<h1>502 Bad Gateway</h1>') }, 'unhealthy', 'error'],
  [
    'database away',
    { answer: npm, env: { DB_MYSQL_HOST: 'db' }, services: { db: { ...running, state: 'exited' } } },
    'database down',
    'error',
    /exited/,
  ],
  ['SQLite', { answer: npm, env: { DB_MYSQL_HOST: '' }, services: { db: { ...running, state: 'exited' } } }, 'proxying', 'ok'],
  ['admin page away', { answer: silent, calls: { front: site } }, 'admin UI down', 'warning'],
  ['silent', { answer: silent, calls: { front: silent } }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, age: 5 }, 'starting', 'busy'],
  ['a login in front', { answer: answered(401, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
]);

const ok = answered(200, 'OK');
const overview = (routers: number, services: number) =>
  answered(
    200,
    JSON.stringify({
      http: { routers: { total: 7, warnings: 0, errors: routers }, services: { total: 5, warnings: 0, errors: services }, middlewares: {} },
      providers: ['Docker', 'File'],
    }),
  );

table('dynamic-proxy', [
  ['up', { answer: ok, calls: { overview: overview(0, 0), https: opened } }, 'proxying', 'ok', /7 routers and 5 services/],
  ['one router wrong', { answer: ok, calls: { overview: overview(1, 0), https: opened } }, '1 router failing', 'warning'],
  ['two routers wrong', { answer: ok, calls: { overview: overview(2, 0) } }, '2 routers failing', 'warning'],
  ['a service wrong', { answer: ok, calls: { overview: overview(0, 1) } }, 'failing service', 'warning'],
  ['API off', { answer: ok, calls: { overview: answered(404, '404 page not found') } }, 'running', 'ok', /API is disabled/],
  ['API silent', { answer: ok, calls: { overview: silent, https: opened } }, 'running', 'ok', /API does not respond/],
  ['ping off', { answer: answered(404, '404 page not found'), calls: { overview: overview(0, 0) } }, 'running', 'ok', /ping/],
  ['ends', { answer: answered(503, 'Service Unavailable') }, 'stopping', 'busy'],
  ['HTTPS closed', { answer: ok, calls: { overview: overview(0, 0), https: silent } }, 'port 443 closed', 'error'],
  ['dashboard away', { answer: silent, calls: { https: opened } }, 'dashboard down', 'warning'],
  ['silent', { answer: silent, calls: { https: silent } }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, age: 3 }, 'starting', 'busy'],
  ['a login in front', { answer: answered(401, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
]);

const servers = (states: Record<string, boolean>) =>
  answered(200, JSON.stringify({ up: Object.values(states).filter(Boolean).length, servers: states }));
const haproxyWrong = exited(1, '[ALERT]    (8) : config : parsing [/usr/local/etc/haproxy/haproxy.cfg:34] : unknown keyword');

table('load-balancer', [
  ['all healthy', { answer: servers({ web1: true, web2: true }), calls: { front: opened } }, 'balancing', 'ok', /All 2 servers/],
  ['one is not (R65)', { answer: servers({ web1: true, web2: false }), calls: { front: opened } }, '1 of 2 up', 'warning', /web2/],
  ['none is', { answer: servers({ web1: false, web2: false }), calls: { front: opened } }, 'all servers down', 'error', /None of the 2/],
  ['none is named', { answer: servers({}), calls: { front: opened } }, 'no servers', 'warning'],
  ['own configuration', { answer: answered(401, '<h1>401 Unauthorized</h1>'), calls: { front: opened } }, 'login required', 'ok'],
  ['port 80 closed', { answer: servers({ web1: true }), calls: { front: silent } }, 'port 80 closed', 'error'],
  ['stats page away', { answer: silent, calls: { front: opened } }, 'stats page down', 'warning'],
  ['does not start', { answer: silent, calls: { front: silent, check: haproxyWrong } }, 'invalid config', 'error'],
  ['silent', { answer: silent, calls: { front: silent } }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, age: 2 }, 'starting', 'busy'],
  ['failing', { answer: answered(500, ''), calls: { front: opened } }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, calls: { front: opened } }, 'unexpected response', 'warning'],
]);

const squid = answered(400, '<h2>The requested URL could not be retrieved</h2>', {
  server: 'squid/6.13',
  'x-squid-error': 'ERR_INVALID_URL 0',
});
const squidWrong = exited(1, '2026/11/22 16:12:25| FATAL: Bungled /etc/squid/squid.conf line 22: cache_mem 512 XB');

table('caching-proxy', [
  ['up', { answer: squid, calls: { parse: exited(0, '') } }, 'proxying', 'ok'],
  ['not from here', { answer: answered(403, 'Access Denied', { server: 'squid' }) }, 'access denied', 'ok'],
  ['wrong file', { answer: squid, calls: { parse: squidWrong } }, 'invalid config', 'warning'],
  ['does not start', { answer: silent, calls: { parse: squidWrong } }, 'invalid config', 'error'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
  ['silent at first', { answer: silent, age: 5 }, 'starting', 'busy'],
  ['failing', { answer: answered(503, '') }, 'busy', 'warning'],
  ['another server', { answer: answered(400, 'Bad Request', { server: 'nginx' }) }, 'unexpected response', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
]);

versions([
  ['proxy-manager', { answer: npm }, '2.13.5'],
  ['proxy-manager', { answer: answered(200, '{"status":"OK","version":"2.14.0"}') }, '2.14.0'],
  ['proxy-manager', { answer: garbage }, ''],
  ['dynamic-proxy', { answer: ok, calls: { version: answered(200, '{"Version":"3.6.2","Codename":"ramequin"}') } }, '3.6.2'],
  [
    'load-balancer',
    { answer: silent, calls: { version: exited(0, 'HAProxy version 3.2.4-98813a1 2025/08/13 - https://haproxy.org/\n') } },
    '3.2.4',
  ],
  ['caching-proxy', { answer: squid }, '6.13'],
  ['caching-proxy', { answer: answered(400, '', { server: 'squid' }) }, ''],
]);

describe('checks', () => {
  it.each([
    ['proxy-manager', 'admin', 'admin-wider-than-loopback'],
    ['dynamic-proxy', 'dashboard', 'dashboard-wider-than-loopback'],
    ['load-balancer', 'stats', 'stats-wider-than-loopback'],
  ])('%s: %s stays on loopback (R8)', (id, port, check) => {
    expect(findingsOf(id, {}, lan(port))).toContain(check);
    expect(findingsOf(id, {}, { ports: [{ name: port, exposure: 'loopback', published: true }] })).toEqual([]);
  });

  it('proxy-manager without an account, with the password everybody knows, or with wrong rules (R47)', () => {
    expect(findingsOf('proxy-manager', { about: npmNew })).toEqual(['set-up-open']);
    expect(findingsOf('proxy-manager', { about: npm, test: wrongRules })).toEqual(['rules-broken']);
    expect(findingsOf('proxy-manager', {}, { env: { INITIAL_ADMIN_PASSWORD: 'changeme' } })).toEqual(['known-password']);
    expect(findingsOf('proxy-manager', { about: npm, test: exited(0, '') }, { env: { INITIAL_ADMIN_PASSWORD: 'x' } })).toEqual([]);
  });

  it('dynamic-proxy with routers that are not served, or without labels', () => {
    expect(findingsOf('dynamic-proxy', { overview: overview(2, 0) })).toEqual(['routers-wrong']);
    expect(findingsOf('dynamic-proxy', { overview: overview(0, 0) })).toEqual([]);
    expect(findingsOf('dynamic-proxy', { overview: answered(200, '{"providers":["File"]}') })).toEqual(['no-engine']);
  });

  it('load-balancer with unhealthy servers, with none, or with a file it would not start with (R65)', () => {
    expect(findingsOf('load-balancer', { status: servers({ a: true, b: false }) })).toEqual(['servers-down']);
    expect(findingsOf('load-balancer', { status: servers({}) })).toEqual(['no-servers']);
    expect(findingsOf('load-balancer', { status: servers({ a: true }), check: haproxyWrong })).toEqual(['configuration-wrong']);
    expect(findingsOf('load-balancer', { status: servers({ a: true }), check: exited(0, '') })).toEqual([]);
  });

  it('caching-proxy on the internet, with a full disk, or with a file it would not start with', () => {
    const disk = (full: string) =>
      exited(0, `Filesystem 1048576-blocks Used Available Capacity Mounted on\n/dev/vda1 40000 1 1 ${full} /var/spool/squid\n`);
    expect(findingsOf('caching-proxy', {}, { ports: [{ name: 'proxy', exposure: 'public', published: true }] })).toEqual(['public-proxy']);
    expect(findingsOf('caching-proxy', {}, lan('proxy'))).toEqual([]);
    expect(findingsOf('caching-proxy', { room: disk('96%') })).toEqual(['disk-full']);
    expect(findingsOf('caching-proxy', { room: disk('40%'), parse: squidWrong })).toEqual(['configuration-wrong']);
  });
});
