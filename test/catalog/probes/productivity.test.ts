import { expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, opened, running, silent, table, versions } from './answers.ts';

table('file-sync', [
  ['healthy', { answer: answered(200, '{"status":"OK"}'), calls: { sync: opened } }, 'healthy', 'ok'],
  ['1.19 without a health page', { answer: answered(403, 'CSRF Error\n'), calls: { sync: opened } }, 'key required', 'ok'],
  ['1.19 behind a login', { answer: answered(404, '404 page not found\n'), calls: { sync: opened } }, 'key required', 'ok'],
  ['host check', { answer: answered(403, 'Host check error\n'), calls: { sync: opened } }, 'host name refused', 'warning'],
  ['sync port closed', { answer: answered(200, '{"status":"OK"}'), calls: { sync: silent } }, 'sync port closed', 'warning'],
  ['page away', { answer: silent, calls: { sync: opened } }, 'web UI down', 'warning'],
  ['garbage', { answer: garbage, calls: { sync: opened } }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, calls: { sync: silent } }, 'unreachable', 'error'],
]);

table('rss-reader', [
  ['ready', { answer: answered(200, 'OK'), services: { db: running } }, 'healthy', 'ok'],
  [
    'database away',
    { answer: answered(503, 'Database Connection Error: "dial tcp: lookup db: no such host"\n') },
    'database down',
    'error',
  ],
  [
    'database container down',
    { answer: silent, age: 5, services: { db: { state: 'exited', health: 'none', uptime: 0 } } },
    'database down',
    'error',
    /exited/,
  ],
  ['an older release', { answer: answered(404, 'Not Found'), calls: { healthcheck: answered(200, 'OK') } }, 'healthy', 'ok'],
  [
    'an older release without its database',
    {
      answer: answered(404, 'Not Found'),
      calls: { healthcheck: answered(500, 'Database Connection Error: "dial tcp: lookup db: no such host"\n') },
    },
    'database down',
    'error',
  ],
  ['behind another path', { answer: answered(404, '404 page not found\n') }, 'healthy', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['migrating', { answer: silent, age: 8 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const mealie = answered(200, '{"production":true,"version":"v3.5.0","demoStatus":false,"allowSignup":false}');
const firstLogin = (isFirstLogin: boolean) => ({ startup: answered(200, JSON.stringify({ isFirstLogin, isDemo: false })) });

table('recipe-manager', [
  ['ready', { answer: mealie, calls: firstLogin(false), services: { db: running } }, 'healthy', 'ok'],
  ['default account', { answer: mealie, calls: firstLogin(true) }, 'default account', 'warning'],
  ['first account unknown', { answer: mealie, calls: { startup: silent } }, 'healthy', 'ok'],
  [
    'database down',
    { answer: silent, services: { db: { state: 'exited', health: 'none', uptime: 0 } } },
    'database down',
    'error',
    /exited/,
  ],
  ['fails', { answer: answered(500, 'Internal Server Error') }, 'unhealthy', 'error'],
  ['refuses', { answer: answered(429, '') }, 'busy', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['migrating', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  [
    'file-sync',
    {
      answer: answered(200, '{"status":"OK"}'),
      calls: { program: exited(0, 'syncthing v1.19.2 "Fermium Flea" (go1.19.8 linux-amd64)\n') },
    },
    'v1.19.2',
  ],
  ['rss-reader', { answer: answered(200, 'OK'), calls: { program: exited(0, '2.3.3\n') } }, '2.3.3'],
  ['recipe-manager', { answer: mealie }, 'v3.5.0'],
]);

it('file-sync without a password is named, by whichever answer shows it', () => {
  expect(findingsOf('file-sync', { version: answered(200, '{"version":"v1.19.2"}') })).toEqual(['no-password']);
  expect(findingsOf('file-sync', { version: answered(403, 'CSRF Error\n') })).toEqual(['no-password']);
  expect(findingsOf('file-sync', { version: answered(403, 'Forbidden\n') })).toEqual([]);
  expect(findingsOf('file-sync', { version: answered(401, 'Not Authorized\n') })).toEqual([]);
});
