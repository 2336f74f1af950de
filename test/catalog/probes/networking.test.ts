import { describe, expect, it } from 'vitest';
import { holds } from '../../../source/calls/conditions.ts';
import { answered, entryOf, exited, factsOf, findingsOf, garbage, opened, silent, table, versions } from './answers.ts';

table('dns-filter-second', [
  [
    'never set up',
    { answer: answered(302, '<a href="/install.html">Found</a>.', { location: '/install.html' }), calls: { dns: silent } },
    'setup required',
    'warning',
  ],
  [
    'never set up, relative redirect of newer releases',
    { answer: answered(302, '', { location: 'install.html' }), calls: { dns: silent } },
    'setup required',
    'warning',
  ],
  ['set up, wants a login', { answer: answered(401, ''), calls: { dns: opened } }, 'healthy', 'ok'],
  ['older refusal', { answer: answered(403, 'Forbidden'), calls: { dns: opened } }, 'healthy', 'ok'],
  ['login blocked', { answer: answered(429, 'auth: blocked for 15m'), calls: { dns: opened } }, 'logins blocked', 'warning', /DNS accepts/],
  ['login blocked, DNS closed', { answer: answered(429, ''), calls: { dns: silent } }, 'logins blocked', 'warning', /53 does not respond/],
  [
    'no login, filtering',
    { answer: answered(200, '{"version":"v0.107.79","running":true,"protection_enabled":true}'), calls: { dns: opened } },
    'no login',
    'warning',
  ],
  [
    'no login, protection off',
    { answer: answered(200, '{"version":"v0.107.79","running":true,"protection_enabled":false}'), calls: { dns: opened } },
    'protection off',
    'warning',
  ],
  ['DNS closed', { answer: answered(401, ''), calls: { dns: silent } }, 'DNS port closed', 'error'],
  ['page moved away', { answer: silent, calls: { dns: opened } }, 'web UI down', 'warning'],
  ['silent', { answer: silent, calls: { dns: silent } }, 'unreachable', 'error'],
  ['garbage', { answer: garbage, calls: { dns: opened } }, 'unexpected response', 'warning'],
]);

const rules = (text: string) => exited(0, text);

table('reverse-proxy', [
  [
    'proxying',
    {
      answer: answered(404, 'No site is configured for this host name.', { server: 'Caddy' }),
      calls: { https: opened, sites: rules('{"apps":{"http":{"servers":{"srv0":{"listen":[":443"]},"srv1":{"listen":[":80"]}}}}}') },
    },
    'proxying',
    'ok',
  ],
  [
    'no site yet',
    {
      answer: answered(404, 'No site is configured for this host name.'),
      calls: { https: silent, sites: rules('{"apps":{"http":{"servers":{"srv0":{"listen":[":80"]}}}}}') },
    },
    'no sites',
    'off',
  ],
  [
    'rules on disk broken',
    {
      answer: answered(404, ''),
      calls: {
        https: opened,
        sites: exited(1, 'Error: adapting config using caddyfile: /etc/caddy/sites/a.caddy:3: unrecognized directive: revers_proxy'),
      },
    },
    'invalid config',
    'warning',
  ],
  [
    '443 closed',
    { answer: answered(308, '', { location: 'https://127.0.0.1/' }), calls: { https: silent, sites: rules('{"listen":[":443"]}') } },
    'port 443 closed',
    'warning',
  ],
  ['80 closed', { answer: silent, calls: { https: opened } }, 'port 80 closed', 'warning'],
  ['silent', { answer: silent, calls: { https: silent } }, 'unreachable', 'error'],
  ['a component behind it is away', { answer: answered(502, ''), calls: { https: opened } }, 'proxying', 'ok'],
  ['fails', { answer: answered(500, ''), calls: { https: opened } }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, calls: { https: opened, sites: silent } }, 'proxying', 'ok'],
]);

versions([
  ['reverse-proxy', { answer: answered(404, ''), calls: { version: exited(0, 'v2.11.2 h1:abc\n') } }, 'v2.11.2'],
  ['reverse-proxy', { answer: answered(404, ''), calls: { version: exited(0, '2.6.2\n') } }, '2.6.2'],
  ['dns-filter-second', { answer: answered(200, '{"version":"v0.107.79","protection_enabled":true}') }, 'v0.107.79'],
]);

describe('checks', () => {
  it('a rule that removes Upgrade breaks websockets (R54)', () => {
    const removed = '{"handler":"reverse_proxy","headers":{"request":{"delete":["Upgrade"]}}}';
    expect(findingsOf('reverse-proxy', { sites: rules(removed), https: opened })).toEqual(['websocket-header-removed']);
  });
});

it('dns-filter-second is set up unless it redirects to its setup', () => {
  const entry = entryOf('dns-filter-second');
  const done = entry.firstRun.find(({ id }) => id === 'set-up')?.done ?? '';
  const isDone = (answer: ReturnType<typeof answered>) => holds(done, factsOf(entry, { answer })).holds;
  expect(isDone(answered(302, '', { location: '/install.html' }))).toBe(false);
  expect(isDone(answered(302, '', { location: 'https://dns.example.org/' }))).toBe(true);
  expect(isDone(answered(401, ''))).toBe(true);
  expect(isDone(silent)).toBe(false);
});
