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
    'good',
    /^The admin page and port 80 answer\.$/,
  ],
  ['no certificate yet', { answer: npm, calls: { front: site, https: silent } }, 'proxying', 'good', /443/],
  ['older release', { answer: answered(200, '{"status":"OK","version":{"major":2,"minor":11,"revision":3}}') }, 'proxying', 'good'],
  ['nobody has an account', { answer: npmNew, calls: { front: site } }, 'needs set-up', 'warn', /first/],
  ['wrong rules', { answer: npm, calls: { front: site, test: wrongRules } }, 'rules broken', 'warn'],
  ['port 80 closed', { answer: npm, calls: { front: silent } }, 'port 80 closed', 'bad'],
  ['makes keys at first', { answer: answered(502, '<h1>502 Bad Gateway</h1>'), age: 30 }, 'starting', 'busy'],
  ['its program is gone', { answer: answered(502, '<h1>502 Bad Gateway</h1>') }, 'failing', 'bad'],
  [
    'database away',
    { answer: npm, env: { DB_MYSQL_HOST: 'db' }, services: { db: { ...running, state: 'exited' } } },
    'database away',
    'bad',
    /exited/,
  ],
  ['SQLite', { answer: npm, env: { DB_MYSQL_HOST: '' }, services: { db: { ...running, state: 'exited' } } }, 'proxying', 'good'],
  ['admin page away', { answer: silent, calls: { front: site } }, 'admin page away', 'warn'],
  ['silent', { answer: silent, calls: { front: silent } }, 'not answering', 'bad'],
  ['silent at first', { answer: silent, age: 5 }, 'starting', 'busy'],
  ['a login in front', { answer: answered(401, '') }, 'up, login needed', 'good'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
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
  ['up', { answer: ok, calls: { overview: overview(0, 0), https: opened } }, 'proxying', 'good', /7 routers and 5 services/],
  ['one router wrong', { answer: ok, calls: { overview: overview(1, 0), https: opened } }, '1 router wrong', 'warn'],
  ['two routers wrong', { answer: ok, calls: { overview: overview(2, 0) } }, '2 routers wrong', 'warn'],
  ['a service wrong', { answer: ok, calls: { overview: overview(0, 1) } }, 'service wrong', 'warn'],
  ['API off', { answer: ok, calls: { overview: answered(404, '404 page not found') } }, 'up', 'good', /API is off/],
  ['ping off', { answer: answered(404, '404 page not found'), calls: { overview: overview(0, 0) } }, 'up', 'good', /ping/],
  ['ends', { answer: answered(503, 'Service Unavailable') }, 'stopping', 'busy'],
  ['HTTPS closed', { answer: ok, calls: { overview: overview(0, 0), https: silent } }, 'HTTPS closed', 'bad'],
  ['dashboard away', { answer: silent, calls: { https: opened } }, 'dashboard away', 'warn'],
  ['silent', { answer: silent, calls: { https: silent } }, 'not answering', 'bad'],
  ['silent at first', { answer: silent, age: 3 }, 'starting', 'busy'],
  ['a login in front', { answer: answered(401, '') }, 'up, login needed', 'good'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
]);

const servers = (states: Record<string, boolean>) =>
  answered(200, JSON.stringify({ up: Object.values(states).filter(Boolean).length, servers: states }));
const haproxyWrong = exited(1, '[ALERT]    (8) : config : parsing [/usr/local/etc/haproxy/haproxy.cfg:34] : unknown keyword');

table('load-balancer', [
  ['all healthy', { answer: servers({ web1: true, web2: true }), calls: { front: opened } }, 'balancing', 'good', /All 2 servers/],
  ['one is not (R65)', { answer: servers({ web1: true, web2: false }), calls: { front: opened } }, '1 of 2 up', 'warn', /web2/],
  ['none is', { answer: servers({ web1: false, web2: false }), calls: { front: opened } }, 'all servers down', 'bad', /503/],
  ['none is named', { answer: servers({}), calls: { front: opened } }, 'no servers', 'warn'],
  ['own configuration', { answer: answered(401, '<h1>401 Unauthorized</h1>'), calls: { front: opened } }, 'up, login needed', 'good'],
  ['port 80 closed', { answer: servers({ web1: true }), calls: { front: silent } }, 'port 80 closed', 'bad'],
  ['stats page away', { answer: silent, calls: { front: opened } }, 'stats page away', 'warn'],
  ['does not start', { answer: silent, calls: { front: silent, check: haproxyWrong } }, 'configuration wrong', 'bad'],
  ['silent', { answer: silent, calls: { front: silent } }, 'not answering', 'bad'],
  ['silent at first', { answer: silent, age: 2 }, 'starting', 'busy'],
  ['failing', { answer: answered(500, ''), calls: { front: opened } }, 'failing', 'bad'],
  ['garbage', { answer: garbage, calls: { front: opened } }, 'strange answer', 'warn'],
]);

const squid = answered(400, '<h2>The requested URL could not be retrieved</h2>', {
  server: 'squid/6.13',
  'x-squid-error': 'ERR_INVALID_URL 0',
});
const squidWrong = exited(1, '2026/11/22 16:12:25| FATAL: Bungled /etc/squid/squid.conf line 22: cache_mem 512 XB');

table('caching-proxy', [
  ['up', { answer: squid, calls: { parse: exited(0, '') } }, 'proxying', 'good'],
  ['not from here', { answer: answered(403, 'Access Denied', { server: 'squid' }) }, 'up, refuses', 'good'],
  ['wrong file', { answer: squid, calls: { parse: squidWrong } }, 'configuration wrong', 'warn'],
  ['does not start', { answer: silent, calls: { parse: squidWrong } }, 'configuration wrong', 'bad'],
  ['silent', { answer: silent }, 'not answering', 'bad'],
  ['silent at first', { answer: silent, age: 5 }, 'starting', 'busy'],
  ['failing', { answer: answered(503, '') }, 'busy', 'warn'],
  ['another server', { answer: answered(400, 'Bad Request', { server: 'nginx' }) }, 'strange answer', 'warn'],
  ['garbage', { answer: garbage }, 'strange answer', 'warn'],
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
