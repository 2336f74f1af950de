import { describe, expect, it } from 'vitest';
import { answered, entryOf, exited, findingsOf, garbage, lan, running, silent, table, versions } from './answers.ts';

const identity = (claimed: boolean) =>
  answered(200, JSON.stringify({ MediaContainer: { size: 0, claimed, machineIdentifier: '96f2', version: '1.42.1.10060-4e8b05daf' } }));

table('media-server-second', [
  ['of an account', { answer: identity(true) }, 'healthy', 'ok'],
  ['of nobody', { answer: identity(false) }, 'setup required', 'warning', /can claim it/],
  ['working on its database', { answer: answered(503, '<Response code="503" title="Maintenance"/>'), age: 900 }, 'maintenance', 'busy'],
  ['refused', { answer: answered(401) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 5 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

/** As Go's templates write JSON into a script. */
const page = (firstTime: boolean) =>
  answered(
    200,
    `<script>window.__APP_CONFIG__ = "{\\u0022firstTime\\u0022:${firstTime},\\u0022version\\u0022:\\u00220.58.5 (e2b5c1f9)\\u0022}"</script>`,
  );
const dot = answered(200, '.');

table('music-server', [
  ['running', { answer: dot, calls: { page: page(false) } }, 'healthy', 'ok'],
  ['without its page', { answer: dot, calls: { page: silent } }, 'healthy', 'ok'],
  ['no user yet', { answer: dot, calls: { page: page(true) } }, 'setup required', 'warning', /administrator/],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: { page: garbage } }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const pong = answered(200, '{"res":"pong"}');
const photos = (more: object) => ({ config: answered(200, JSON.stringify({ isInitialized: true, isOnboarded: true, ...more })) });
const three = { server: running, 'machine-learning': running, redis: running, database: running };

table('photo-library', [
  ['running', { answer: pong, calls: photos({}), services: three }, 'healthy', 'ok'],
  ['no user yet', { answer: pong, calls: photos({ isInitialized: false }), services: three }, 'setup required', 'warning'],
  [
    'maintenance, where nothing else answers',
    { answer: answered(404), calls: photos({ maintenanceMode: true }) },
    'maintenance',
    'warning',
  ],
  [
    'without its database',
    { answer: silent, age: 20, services: { ...three, database: { state: 'exited', health: '', uptime: 0 } } },
    'database down',
    'error',
    /is exited/,
  ],
  [
    'without machine learning',
    { answer: pong, calls: photos({}), services: { ...three, 'machine-learning': { state: 'restarting', health: '', uptime: 0 } } },
    'no machine learning',
    'warning',
    /is restarting/,
  ],
  ['indexing anew after an update', { answer: silent, age: 400, services: three }, 'starting', 'busy'],
  ['refused', { answer: answered(401), calls: photos({}) }, 'login required', 'ok'],
  ['failing', { answer: answered(502), calls: { config: answered(502) } }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage, calls: { config: garbage } }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const operational = answered(200, '{"status":"operational"}');
const prism = (open: boolean) => ({
  config: answered(200, JSON.stringify({ version: '251130-b3068414c-Linux-AMD64', public: open, authMode: 'password' })),
});

table('photo-library-second', [
  ['running', { answer: operational, calls: prism(false) }, 'healthy', 'ok'],
  ['in public mode', { answer: operational, calls: prism(true) }, 'no login', 'warning'],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: { config: garbage } }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const settings = (initialized: boolean) =>
  answered(200, JSON.stringify({ initialized, applicationTitle: 'Requests', localLogin: true, mediaServerType: 2 }));
const status = (restartRequired: boolean) => ({
  status: answered(200, JSON.stringify({ version: '2.7.3', commitTag: 'x', updateAvailable: false, commitsBehind: 0, restartRequired })),
});

table('request-manager', [
  ['running', { answer: settings(true), calls: status(false) }, 'healthy', 'ok'],
  ['not set up', { answer: settings(false), calls: status(false) }, 'setup required', 'warning'],
  ['changed settings wait', { answer: settings(true), calls: status(true) }, 'restart required', 'warning'],
  ['refused', { answer: answered(403) }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: { status: garbage } }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);
table('request-manager-second', [
  ['running', { answer: settings(true), calls: { status: silent } }, 'healthy', 'ok'],
  ['not set up', { answer: settings(false), calls: status(false) }, 'setup required', 'warning'],
  ['refused', { answer: answered(401) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('book-automation', [
  ['running', { answer: answered(200, '{"status": "OK"}') }, 'healthy', 'ok'],
  ['its database cannot be read', { answer: answered(500, '{"status": "Error"}') }, 'database error', 'error', /free disk space/],
  ['a login in front of it', { answer: answered(401) }, 'login required', 'ok'],
  ['a URL base', { answer: answered(404) }, 'different path', 'warning'],
  ['a URL base, to which it sends', { answer: answered(307, '', { location: '/books/ping' }) }, 'different path', 'warning'],
  ['starting up', { answer: answered(503, 'Readarr is starting up, please try again later'), age: 8 }, 'starting', 'busy'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);
table('subtitle-automation', [
  ['running', { answer: answered(200, '{"status": "OK"}') }, 'healthy', 'ok'],
  ['a login in front of it', { answer: answered(401) }, 'login required', 'ok'],
  ['a URL base', { answer: answered(404) }, 'different path', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

table('torrent-client', [
  ['asks for a login', { answer: answered(403, 'Forbidden') }, 'healthy', 'ok'],
  ['asks for none', { answer: answered(200, 'v5.1.2') }, 'no login', 'warning', /run programs/],
  ['another port in the Host header', { answer: answered(401, 'Unauthorized') }, 'port mismatch', 'warning', /reverse proxy/],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const stack = { archiver: running, redis: running, 'search-index': running };

table('video-archiver', [
  ['running', { answer: answered(200, '"OK"'), services: stack }, 'healthy', 'ok'],
  [
    'asked by another name',
    { answer: answered(400, '<h1>Bad Request (400)</h1>'), services: stack },
    'host name refused',
    'warning',
    /TA_HOST/,
  ],
  ['waiting for its index', { answer: answered(502), age: 90, services: stack }, 'starting', 'busy'],
  ['failing', { answer: answered(502), services: stack }, 'unhealthy', 'error'],
  [
    'without its index',
    { answer: answered(200, '"OK"'), services: { ...stack, 'search-index': { ...running, health: 'unhealthy' } } },
    'index down',
    'error',
    /is unhealthy/,
  ],
  ['without its cache', { answer: silent, services: { ...stack, redis: { ...running, state: 'exited' } } }, 'cache down', 'error'],
  ['refused', { answer: answered(403), services: stack }, 'login required', 'ok'],
  ['garbage', { answer: garbage, services: stack }, 'unexpected response', 'warning'],
  ['silent', { answer: silent, services: stack }, 'unreachable', 'error'],
]);

table('video-archiver-subscriptions', [
  ['running', { answer: answered(200, '{"status":"ok"}') }, 'healthy', 'ok'],
  ['refused', { answer: answered(401) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const metube = answered(200, '{"yt-dlp": "2026.08.12", "version": "2026.08.21"}');

table('video-downloader', [
  ['running', { answer: metube }, 'healthy', 'ok', /2026\.08\.12/],
  ['a login in front of it', { answer: answered(401) }, 'login required', 'ok'],
  ['below a path', { answer: answered(404) }, 'different path', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const exists = (text: string) => ({ administrator: answered(200, text) });

table('comic-server', [
  ['running', { answer: answered(200, 'Ok'), calls: exists('true') }, 'healthy', 'ok'],
  ['as JSON', { answer: answered(200, '"Ok"'), calls: exists('true') }, 'healthy', 'ok'],
  ['no administrator yet', { answer: answered(200, 'Ok'), calls: exists('false') }, 'setup required', 'warning'],
  ['refused', { answer: answered(401) }, 'login required', 'ok'],
  ['garbage', { answer: garbage, calls: { administrator: garbage } }, 'unexpected response', 'warning'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

versions([
  ['media-server-second', { answer: identity(true) }, '1.42.1.10060-4e8b05daf'],
  ['media-server-second', { answer: garbage }, ''],
  ['music-server', { answer: dot, calls: { page: page(false) } }, '0.58.5'],
  ['music-server', { answer: dot, calls: { page: garbage } }, ''],
  ['photo-library', { answer: pong, calls: { version: answered(200, '{"major":3,"minor":1,"patch":0}') } }, '3.1.0'],
  ['photo-library-second', { answer: operational, calls: prism(false) }, '251130-b3068414c-Linux-AMD64'],
  ['request-manager', { answer: settings(true), calls: status(false) }, '2.7.3'],
  ['torrent-client', { answer: answered(200, 'v5.1.2') }, '5.1.2'],
  ['torrent-client', { answer: answered(403, 'Forbidden') }, ''],
  ['video-downloader', { answer: metube }, '2026.08.21'],
]);

describe('checks', () => {
  it('whoever comes first becomes the administrator (R47)', () => {
    for (const [id, name, open, done, check] of [
      ['media-server-second', 'identity', identity(false), identity(true), 'not-claimed'],
      ['music-server', 'page', page(true), page(false), 'set-up-open'],
      ['photo-library', 'config', photos({ isInitialized: false }).config, photos({}).config, 'set-up-open'],
      ['request-manager', 'settings', settings(false), settings(true), 'set-up-open'],
      ['request-manager-second', 'settings', settings(false), settings(true), 'set-up-open'],
      ['comic-server', 'administrator', answered(200, 'false'), answered(200, 'true'), 'set-up-open'],
    ] as const) {
      expect(findingsOf(id, { [name]: open }), id).toEqual([check]);
      expect(findingsOf(id, { [name]: done }), id).toEqual([]);
      expect(findingsOf(id, { [name]: garbage }), id).toEqual([]);
    }
  });

  it('a media server without the graphics device converts on the CPU (R28)', () => {
    const devices = (list: string[]) => ({ container: answered(200, JSON.stringify({ state: 'running', devices: list })) });
    expect(findingsOf('media-server-second', devices([]))).toEqual(['no-graphics-device']);
    for (const device of ['/dev/dri', 'nvidia', 'gpu']) expect(findingsOf('media-server-second', devices([device]))).toEqual([]);
    expect(findingsOf('media-server-second', {}, { env: { ALLOWED_NETWORKS: '192.168.1.0/24, 0.0.0.0/0' } })).toEqual([
      'networks-without-login',
    ]);
    expect(findingsOf('media-server-second', {}, { env: { ALLOWED_NETWORKS: '192.168.1.0/24' } })).toEqual([]);
  });

  it('the claim token is good for four minutes (R76)', () => {
    expect(entryOf('media-server-second').fields.find(({ env }) => env === 'PLEX_CLAIM')?.validFor).toBe('4m');
  });

  it('a library that nobody scans is told', () => {
    expect(findingsOf('music-server', {}, { env: { ND_SCANNER_SCHEDULE: '0' } })).toEqual(['scans-off']);
    expect(findingsOf('music-server', {}, { env: { ND_SCANNER_SCHEDULE: '@every 1h' } })).toEqual([]);
  });

  it('the photo library wants a database with the vector-search extension (R30)', () => {
    expect(findingsOf('photo-library', { extensions: exited(0, 'none\n') })).toEqual(['no-vector-extension']);
    expect(findingsOf('photo-library', { extensions: exited(0, 'vectors\n') })).toEqual(['old-vector-extension']);
    expect(findingsOf('photo-library', { extensions: exited(0, 'vchord vector vectors\n') })).toEqual([]);
    expect(findingsOf('photo-library', { extensions: exited(2, 'none\n') })).toEqual([]);
    expect(findingsOf('photo-library', {}, lan('web'))).toEqual(['wider-than-loopback']);
    expect(entryOf('photo-library').services.find(({ name }) => name === 'database')?.irreplaceable).toMatch(/vector-search/);
  });

  it('passwords out of examples, and no password at all', () => {
    expect(findingsOf('photo-library-second', prism(true))).toEqual(['public-mode']);
    expect(findingsOf('photo-library-second', prism(false))).toEqual([]);
    expect(findingsOf('photo-library-second', {}, { env: { PHOTOPRISM_ADMIN_PASSWORD: 'insecure' } })).toEqual(['well-known-password']);
    expect(findingsOf('photo-library-second', {}, { env: { PHOTOPRISM_ADMIN_PASSWORD: 'x8Kq' } })).toEqual([]);
    expect(findingsOf('video-archiver', {}, { env: { TA_PASSWORD: 'verysecret' } })).toEqual(['well-known-password']);
    expect(findingsOf('video-archiver', {}, { env: { TA_PASSWORD: 'x8Kq', ELASTIC_PASSWORD: 'y9Lr' } })).toEqual([]);
  });

  it('settings of a request manager that would be lost', () => {
    const appdata = (own: boolean, mounts: number) => ({
      appdata: answered(200, JSON.stringify({ appData: own, appDataPath: '/app/config' })),
      mounted: exited(mounts > 0 ? 0 : 1, `${mounts}\n`),
    });
    for (const id of ['request-manager', 'request-manager-second']) {
      expect(findingsOf(id, appdata(false, 0)), id).toEqual(['no-volume']);
      // A volume that the engine made has the file of the image in it.
      expect(findingsOf(id, appdata(false, 1)), id).toEqual([]);
      expect(findingsOf(id, appdata(true, 1)), id).toEqual([]);
    }
  });

  it('download automation: beyond this machine is an error, without a login another one, two filesystems are a warning (R9, R27, R42)', () => {
    const books = (way: string) => ({
      settings: answered(200, `<Config>\n  <AuthenticationMethod>${way}</AuthenticationMethod>\n</Config>`),
    });
    const subtitles = (way: string) => ({
      settings: answered(
        200,
        `---\nanidb:\n  type: null\nauth:\n  apikey: 0123\n  password: ''\n  type: ${way}\n  username: ''\nbackup:\n  day: 6\n`,
      ),
    });
    for (const [id, none, form] of [
      ['book-automation', books('None'), books('Forms')],
      ['subtitle-automation', subtitles('null'), subtitles('form')],
    ] as const) {
      expect(findingsOf(id, none, lan('web')), id).toEqual(['no-login', 'wider-than-loopback']);
      expect(findingsOf(id, form, lan('web')), id).toEqual(['wider-than-loopback']);
      expect(findingsOf(id, none), id).toEqual([]);
    }
    expect(findingsOf('book-automation', { devices: exited(0, '66\n67\n') })).toEqual(['two-filesystems']);
    expect(findingsOf('book-automation', { devices: exited(0, '66\n66\n') })).toEqual([]);
    expect(findingsOf('subtitle-automation', { devices: exited(0, '66\n66\n67\n') })).toEqual(['two-filesystems']);
    expect(findingsOf('subtitle-automation', { devices: exited(0, '66\n66\n66\n') })).toEqual([]);
    expect(findingsOf('subtitle-automation', { devices: exited(1, "stat: can't stat '/tv'\n") })).toEqual([]);
  });

  it('torrent client: its login, its port and its disk (R27, R42, R47)', () => {
    const id = 'torrent-client';
    expect(findingsOf(id, { version: answered(401, 'Unauthorized') })).toEqual(['port-differs']);
    expect(findingsOf(id, { version: answered(200, 'v5.1.2') }, lan('web'))).toEqual(['no-login', 'wider-than-loopback']);
    expect(findingsOf(id, { version: answered(403, 'Forbidden') }, lan('web'))).toEqual(['wider-than-loopback']);
    expect(findingsOf(id, { version: answered(200, 'v5.1.2') }, lan('peer'))).toEqual([]);
    const conf = (line: string) => ({ settings: answered(200, `[Preferences]\nWebUI\\Address=*\n${line}\n`) });
    expect(findingsOf(id, conf(''))).toEqual(['password-of-the-day']);
    expect(findingsOf(id, conf('WebUI\\Password_PBKDF2="@ByteArray(x:y)"'))).toEqual([]);
    expect(findingsOf(id, { devices: exited(0, '66\n67\n') })).toEqual(['two-filesystems']);
    expect(findingsOf(id, { devices: exited(0, '66\n66\n') })).toEqual([]);
  });

  it('video archivers: memory maps, an old variable, and pages without a login (R42)', () => {
    expect(findingsOf('video-archiver', { mapcount: exited(0, '65530\n') })).toEqual(['few-memory-maps']);
    expect(findingsOf('video-archiver', { mapcount: exited(0, '262144\n') })).toEqual([]);
    expect(findingsOf('video-archiver', { mapcount: exited(1, 'cat: not found') })).toEqual([]);
    expect(findingsOf('video-archiver', {}, { env: { REDIS_HOST: 'redis' } })).toEqual(['old-cache-variable']);
    expect(findingsOf('video-archiver', {}, { env: { REDIS_CON: 'redis://redis:6379' } })).toEqual([]);
    const key = { env: { RUN_CONTEXT: 'selfhosted', SECRET_KEY_BASE: 'k'.repeat(64) } };
    expect(findingsOf('video-archiver-subscriptions', { open: answered(200, '<html>') }, { ...key, ...lan('web') })).toEqual([
      'no-login',
      'wider-than-loopback',
    ]);
    expect(findingsOf('video-archiver-subscriptions', { open: answered(401) }, { ...key, ...lan('web') })).toEqual(['wider-than-loopback']);
    expect(findingsOf('video-archiver-subscriptions', { open: answered(401) }, key)).toEqual([]);
    expect(findingsOf('video-archiver-subscriptions', {}, { env: { RUN_CONTEXT: 'selfhosted' } })).toEqual(['key-of-everybody']);
    expect(findingsOf('video-archiver-subscriptions', {})).toEqual([]);
    expect(findingsOf('video-downloader', { version: metube }, lan('web'))).toEqual(['open-to-the-network']);
    expect(findingsOf('video-downloader', { version: metube })).toEqual([]);
    expect(findingsOf('video-downloader', {}, { env: { ALLOW_PRIVATE_ADDRESSES: 'true' } })).toEqual(['inner-addresses']);
    expect(findingsOf('video-downloader', {}, { env: { ALLOW_PRIVATE_ADDRESSES: 'false' } })).toEqual([]);
  });
});
