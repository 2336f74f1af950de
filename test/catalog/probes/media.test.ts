import { describe, expect, it } from 'vitest';
import { answered, type Case, exited, findingsOf, garbage, silent, table, versions } from './answers.ts';

const info = (done: boolean, version = '10.11.2') =>
  answered(
    200,
    JSON.stringify({
      LocalAddress: 'http://172.18.0.2:8096',
      ServerName: 'nas',
      Version: version,
      ProductName: 'Jellyfin Server',
      Id: 'x',
      StartupWizardCompleted: done,
    }),
  );

table('media-server', [
  ['healthy', { answer: answered(200, 'Healthy'), calls: { public: info(true) } }, 'healthy', 'ok'],
  ['wizard not done', { answer: answered(200, 'Healthy'), calls: { public: info(false) } }, 'setup required', 'warning'],
  ['starting, as 10.11 says it', { answer: answered(200, 'Degraded'), age: 60 }, 'starting', 'busy', /migrates its database/],
  ['starting for long', { answer: answered(200, 'Degraded'), age: 3600 }, 'degraded', 'warning', /still starting/],
  ['a start that failed', { answer: answered(503, 'Unhealthy'), age: 60 }, 'unhealthy', 'error', /the start failed/],
  ['unhealthy', { answer: answered(503, 'Unhealthy'), calls: { public: info(true) } }, 'unhealthy', 'error'],
  [
    'migrating after an upgrade',
    { answer: answered(503, 'Jellyfin Server is loading. Please try again shortly.'), age: 60 },
    'starting',
    'busy',
  ],
  ['base URL', { answer: answered(404, '') }, 'different path', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

/** Programs of one family, which answer alike. */
const automation = ['movie-automation', 'tv-automation', 'music-automation', 'indexer-manager'] as const;
const automationAnswers: Case[] = [
  ['running', { answer: answered(200, '{"status": "OK"}') }, 'healthy', 'ok'],
  ['its database cannot be read', { answer: answered(500, '{"status": "Error"}') }, 'database error', 'error', /free disk space/],
  ['a login in front of it', { answer: answered(401) }, 'login required', 'ok'],
  ['a URL base', { answer: answered(404) }, 'different path', 'warning'],
  ['a URL base, to which it sends', { answer: answered(307, '', { location: '/films/ping' }) }, 'different path', 'warning'],
  ['starting up', { answer: answered(503, 'Radarr is starting up, please try again later'), age: 8 }, 'starting', 'busy'],
  ['another program', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 8 }, 'starting', 'busy', /^Started 8 seconds ago/],
  ['silent', { answer: silent }, 'unreachable', 'error', /No response after/],
];
table('movie-automation', automationAnswers);
table('tv-automation', automationAnswers);
table('music-automation', automationAnswers);
table('indexer-manager', automationAnswers);

versions([['media-server', { answer: answered(200, 'Healthy'), calls: { public: info(true) } }, '10.11.2']]);

describe('checks', () => {
  it('download automation: beyond this machine is an error, without a login another one, two filesystems are a warning (R9, R27, R42)', () => {
    const settings = (way: string) => ({
      settings: answered(200, `<Config>\n  <AuthenticationMethod>${way}</AuthenticationMethod>\n</Config>`),
    });
    const wide = { ports: [{ name: 'web', exposure: 'lan' as const, published: true }] };
    for (const id of automation) {
      expect(findingsOf(id, settings('None'), wide), id).toEqual(['no-login', 'wider-than-loopback']);
      expect(findingsOf(id, settings('Forms'), wide), id).toEqual(['wider-than-loopback']);
      expect(findingsOf(id, settings('None')), id).toEqual([]);
    }
    expect(findingsOf('movie-automation', { devices: exited(0, '2049\n2049\n') })).toEqual([]);
    expect(findingsOf('movie-automation', { devices: exited(0, '2049\n64770\n') })).toEqual(['two-filesystems']);
    // One of them is not there.
    expect(findingsOf('movie-automation', { devices: exited(1, '2049\n') })).toEqual([]);
  });

  it('download automation: folders that PUID cannot write into are a warning, as those that the engine made (R22)', () => {
    const env = { PUID: '1000', PGID: '1001' };
    for (const id of ['movie-automation', 'tv-automation', 'music-automation', 'book-automation', 'subtitle-automation']) {
      const found = (second: string, user: Record<string, string> = env) =>
        findingsOf(id, { owners: exited(0, `1000:1000 755\n${second}\n`) }, { env: user });
      for (const locked of ['0:0 755', '10000:1000 755', '0:1001 755', '1001:1000 775'])
        expect(found(locked), `${id} ${locked}`).toEqual(['folders-of-another-user']);
      for (const open of ['1000:0 700', '0:1001 775', '0:1001 2770', '0:0 777', '0:0 1777'])
        expect(found(open), `${id} ${open}`).toEqual([]);
      expect(found('1000:1000 755', { PUID: '0', PGID: '0' }), id).toEqual([]);
      expect(findingsOf(id, { owners: exited(1, '0:0 755\n') }, { env }), id).toEqual([]);
    }
  });

  it('no graphics device is a warning for the media server (R28)', () => {
    const devices = (...list: string[]) => ({ container: answered(0, JSON.stringify({ devices: list })) });
    expect(findingsOf('media-server', devices())).toEqual(['no-graphics-device']);
    expect(findingsOf('media-server', devices('/dev/null'))).toEqual(['no-graphics-device']);
    for (const device of ['/dev/dri', 'nvidia', 'gpu']) expect(findingsOf('media-server', devices(device))).toEqual([]);
  });
});
