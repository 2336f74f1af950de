import { describe, expect, it } from 'vitest';
import { answered, findingsOf, garbage, running, silent, table, versions } from './answers.ts';

const down = { state: 'exited', health: 'none', uptime: 0 };

const netbox = answered(
  200,
  '<!DOCTYPE html><html><head><title>Log In | NetBox</title><link rel="stylesheet" href="/static/netbox-external.css?v=4.6.2-Docker-5.0.2"/></head></html>',
);
const parts = { db: running, redis: running, worker: running };

table('network-documentation', [
  ['ready', { answer: netbox, services: parts }, 'healthy', 'ok'],
  ['its database is down', { answer: netbox, services: { ...parts, db: down } }, 'database down', 'error', /exited/],
  ['its cache is down', { answer: netbox, services: { ...parts, redis: down } }, 'cache down', 'error', /exited/],
  ['its worker is down', { answer: netbox, services: { ...parts, worker: down } }, 'no worker', 'warning', /exited/],
  ['its worker waits for it', { answer: netbox, age: 60, services: { ...parts, worker: down } }, 'healthy', 'ok'],
  ['migrating', { answer: silent, age: 400, services: parts }, 'starting', 'busy'],
  ['refuses', { answer: answered(403, 'Forbidden') }, 'login required', 'ok'],
  ['fails', { answer: answered(500, '<title>Server Error</title>') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, services: parts }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const login = (installer: boolean) =>
  answered(
    200,
    `<form name="login" id="login"></form>${installer ? 'Please disable installation scripts: docker: env IPAM_DISABLE_INSTALLER=1' : ''}<a href="http://phpipam.net">phpIPAM IP address management [v1.8.2]</a>`,
  );
const sentTo = (page: string) => answered(302, '', { location: `/index.php?page=${page}` });
const scanned = { db: running, cron: running };

table('ipam', [
  ['ready', { answer: login(false), services: scanned }, 'healthy', 'ok'],
  ['nobody has set it up', { answer: sentTo('install'), services: scanned }, 'setup required', 'warning'],
  ['newer than its database', { answer: sentTo('upgrade'), services: scanned }, 'upgrade required', 'warning'],
  ['its scanner is down', { answer: login(false), services: { ...scanned, cron: down } }, 'no scans', 'warning', /exited/],
  ['its database is down', { answer: sentTo('install'), services: { ...scanned, db: down } }, 'database down', 'error', /exited/],
  ['refuses', { answer: answered(401, '') }, 'login required', 'ok'],
  ['fails', { answer: answered(500, '') }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, services: scanned }, 'unexpected response', 'warning'],
  ['starts', { answer: silent, age: 10, services: scanned }, 'starting', 'busy'],
  ['silent', { answer: silent, services: scanned }, 'unreachable', 'error'],
]);

versions([
  ['network-documentation', { answer: netbox }, '4.6.2'],
  ['network-documentation', { answer: garbage }, ''],
  ['ipam', { answer: login(true) }, '1.8.2'],
  ['ipam', { answer: sentTo('install') }, ''],
]);

describe('checks', () => {
  it('the network documentation has secrets of its own (R47)', () => {
    const env = { SUPERUSER_PASSWORD: 'long', SUPERUSER_API_TOKEN: 'a'.repeat(40), SECRET_KEY: 'k'.repeat(60) };
    expect(findingsOf('network-documentation', {}, { env })).toEqual([]);
    expect(findingsOf('network-documentation', {}, { env: { ...env, SUPERUSER_PASSWORD: 'admin' } })).toEqual(['default-administrator']);
    const known = '0123456789abcdef0123456789abcdef01234567';
    expect(findingsOf('network-documentation', {}, { env: { ...env, SUPERUSER_API_TOKEN: known } })).toEqual(['default-token']);
    expect(findingsOf('network-documentation', {}, { env: { ...env, SECRET_KEY: 'short' } })).toEqual(['short-secret-key']);
  });

  it('the address management is set up, and its installer is off (R47)', () => {
    expect(findingsOf('ipam', { page: sentTo('install') })).toEqual(['open-set-up']);
    expect(findingsOf('ipam', { page: login(true) })).toEqual(['installer-on']);
    expect(findingsOf('ipam', { page: login(false) })).toEqual([]);
  });
});
