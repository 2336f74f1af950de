import { describe, expect, it } from 'vitest';
import { answered, exited, findingsOf, garbage, running, silent, table, versions } from './answers.ts';

const gone = { state: 'exited', health: 'none', uptime: 0 };
const page = answered(200, '<title>LibreNMS</title><form action="/login">');
const install = answered(302, '', { location: 'http://localhost:8100/install' });
const inside = (text: string) => ({ inside: exited(0, `${text}\n`) });

table('network-monitoring', [
  [
    'watching',
    { answer: page, calls: inside('1 12 0 1 8'), services: { db: running, dispatcher: running } },
    'monitoring',
    'ok',
    /12 devices, none down/,
  ],
  ['some down', { answer: page, calls: inside('1 12 2 1 8') }, 'monitoring', 'ok', /12 devices, 2 of them down/],
  ['one device', { answer: page, calls: inside('1 1 0 1 8') }, 'monitoring', 'ok', /: 1 device, none down/],
  ['one device, down', { answer: page, calls: inside('1 1 1 1 8') }, 'monitoring', 'ok', /^1 device, 1 of them down/],
  ['nobody looks inside', { answer: page, calls: { inside: silent } }, 'monitoring', 'ok', /^The web server responds\.$/],
  [
    'under a title of its own',
    { answer: answered(200, '<title>Net</title><script src="/js/librenms.js">'), calls: inside('1 12 0 1 8') },
    'monitoring',
    'ok',
  ],
  ['no device yet', { answer: page, calls: inside('1 0 0 1 8') }, 'monitoring', 'ok'],
  ['not set up', { answer: install }, 'setup required', 'warning', /first/],
  ['never set up', { answer: page, calls: inside('0 0 0 1 8') }, 'no account', 'warning'],
  ['nobody polls', { answer: page, calls: inside('1 12 0 1 1200') }, 'not polling', 'error', /15 minutes/],
  ['no poller at all', { answer: page, calls: inside('1 12 0 0 -1') }, 'not polling', 'error'],
  ['no poller yet', { answer: page, age: 200, calls: inside('1 12 0 0 -1') }, 'monitoring', 'ok'],
  ['dispatcher down', { answer: page, services: { dispatcher: gone } }, 'not polling', 'error', /exited/],
  ['database down', { answer: answered(500, ''), services: { db: gone } }, 'database down', 'error'],
  ['fails', { answer: answered(500, '') }, 'unhealthy', 'error'],
  ['refuses', { answer: answered(403, '') }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['migrating', { answer: silent, age: 200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const server = { server: 'ntopng 6.4.250801 (x86_64)' };
const wantsLogin = answered(302, '', { ...server, location: 'http://localhost:3000/lua/login.lua?referer=localhost:3000/' });
const open = answered(302, '', { ...server, location: '/lua/index.lua' });
const changed = (text: string) => ({ passwordchanged: exited(0, `${text}\n`) });

const started = (...argv: string[]) => ({ container: answered(0, JSON.stringify({ argv: ['/run.sh', ...argv] })) });

table('traffic-analysis', [
  ['watching', { answer: wantsLogin, calls: { ...changed('1'), ...started('--interface=eth0') } }, 'monitoring', 'ok', /monitors eth0/],
  ['at another port', { answer: silent, calls: started('--http-port=127.0.0.1:11000') }, 'not checked', 'ok'],
  ['another program at its port', { answer: garbage, calls: started('--http-port=127.0.0.1:11000') }, 'not checked', 'ok'],
  ['silent at its port', { answer: silent, calls: started('--http-port=127.0.0.1:3000') }, 'unreachable', 'error'],
  ['nobody looks inside', { answer: wantsLogin, calls: { passwordchanged: silent } }, 'monitoring', 'ok'],
  ['first password', { answer: wantsLogin, calls: changed('') }, 'default account', 'warning'],
  ['no login', { answer: open, calls: changed('') }, 'no login', 'warning'],
  ['refuses', { answer: answered(403, '', server) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['starting', { answer: silent, age: 20 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  ['network-monitoring', { answer: page, calls: { release: answered(0, "    public const VERSION = '25.10.0';\n") } }, '25.10.0'],
  ['network-monitoring', { answer: page, calls: { release: garbage } }, ''],
  ['traffic-analysis', { answer: wantsLogin }, '6.4.250801'],
  ['traffic-analysis', { answer: garbage }, ''],
]);

describe('checks', () => {
  it('a network monitor without an account or without a poller is named', () => {
    expect(findingsOf('network-monitoring', { front: install })).toEqual(['set-up-open']);
    expect(findingsOf('network-monitoring', { front: page, ...inside('0 0 0 1 8') })).toEqual(['no-account']);
    expect(findingsOf('network-monitoring', { front: page, ...inside('1 12 0 1 1200') })).toEqual(['nobody-polls']);
    expect(findingsOf('network-monitoring', { front: page, ...inside('1 12 0 0 -1') })).toEqual(['nobody-polls']);
    expect(findingsOf('network-monitoring', { front: page, ...inside('1 12 0 0 -1') }, { age: 300 })).toEqual([]);
    expect(findingsOf('network-monitoring', { front: page, ...inside('1 12 2 1 8') })).toEqual([]);
    expect(findingsOf('network-monitoring', { front: page, inside: exited(1, "ERROR 1146: Table 'users' doesn't exist") })).toEqual([]);
  });

  it('its own community is not the one of the documentation', () => {
    expect(findingsOf('network-monitoring', {}, { env: { LIBRENMS_SNMP_COMMUNITY: 'librenmsdocker' } })).toEqual(['known-community']);
    expect(findingsOf('network-monitoring', {}, { env: { LIBRENMS_SNMP_COMMUNITY: 'Ab12' } })).toEqual([]);
  });

  it('traffic that everybody may look at is named (R47)', () => {
    expect(findingsOf('traffic-analysis', { front: wantsLogin, ...changed('') })).toEqual(['default-account']);
    expect(findingsOf('traffic-analysis', { front: wantsLogin, ...changed('1') })).toEqual([]);
    expect(findingsOf('traffic-analysis', { front: open, ...changed('1') })).toEqual(['no-login']);
    for (const wide of ['3000', '0.0.0.0:3000', '192.168.1.2:3000'])
      expect(findingsOf('traffic-analysis', started(`--http-port=${wide}`)), wide).toEqual(['wider-than-loopback']);
    for (const near of ['127.0.0.1:3000', ':3000', '[::1]:3000'])
      expect(findingsOf('traffic-analysis', started(`--http-port=${near}`)), near).toEqual([]);
  });
});
