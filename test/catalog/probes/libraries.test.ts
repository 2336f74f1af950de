import { describe, expect, it } from 'vitest';
import { type Answer, answered, exited, findingsOf, garbage, lan, silent, table, versions } from './answers.ts';

const json = (value: unknown, status = 200): Answer => answered(status, JSON.stringify(value));
const sentTo = (location: string): Answer => answered(302, '', { location });

const up = json({ status: 'UP' });
const claimed = (isClaimed: boolean): Answer => json({ isClaimed });

table('comic-server-second', [
  ['healthy', { answer: up, calls: { claim: claimed(true) } }, 'healthy', 'ok'],
  ['no account yet', { answer: up, calls: { claim: claimed(false) } }, 'setup required', 'warning'],
  ['down', { answer: json({ status: 'DOWN' }, 503) }, 'unhealthy', 'error'],
  ['busy', { answer: answered(503) }, 'busy', 'warning'],
  ['a refusal', { answer: answered(401) }, 'login required', 'ok'],
  ['another base path', { answer: answered(404) }, 'different path', 'warning'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['brings its database up to date', { answer: silent, age: 200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const books = (isInit: boolean): Answer => json({ app: 'audiobookshelf', serverVersion: '2.36.0', isInit, authMethods: ['local'] });

table('audiobook-server', [
  ['ready', { answer: books(true) }, 'healthy', 'ok'],
  ['no root user yet', { answer: books(false) }, 'setup required', 'warning'],
  ['a refusal', { answer: answered(403) }, 'login required', 'ok'],
  ['an error', { answer: answered(500) }, 'unhealthy', 'error'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const metadata = exited(0, '-rw-r--r-- 1 1000 1000 417792 Nov  1 10:00 /books/metadata.db\n');
const noMetadata = exited(2, '');

table('book-library', [
  ['ready', { answer: sentTo('/login?next=%2F'), calls: { library: metadata } }, 'healthy', 'ok'],
  ['guests may look', { answer: answered(200, '<title>Calibre-Web | Books</title>') }, 'guest access', 'ok'],
  ['guests may look, under a title of its own', { answer: answered(200, '<link href="/static/css/upload.css">') }, 'guest access', 'ok'],
  ['no library named', { answer: sentTo('/admin/dbconfig'), calls: { library: noMetadata } }, 'setup required', 'warning'],
  ['its library is gone', { answer: sentTo('/login?next=%2F'), calls: { library: noMetadata } }, 'library missing', 'error'],
  ['may not be asked inside', { answer: sentTo('/login'), calls: { library: silent } }, 'healthy', 'ok'],
  ['sent elsewhere', { answer: sentTo('https://example.org/') }, 'unexpected response', 'warning'],
  ['a refusal', { answer: answered(401) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 30 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const good = json({ status: 'good', isProduction: true, os: 'linux', version: '2.45.01', uptime: 3226 });
const nodes = (...paused: boolean[]): Answer =>
  json(Object.fromEntries(paused.map((nodePaused, index) => [`n${index}`, { nodeName: `node ${index}`, nodePaused, workers: {} }])));
const page = answered(200);

table('transcoding-pipeline', [
  ['one node', { answer: good, calls: { page, nodes: nodes(false) } }, '1 node', 'ok'],
  ['two nodes, one paused', { answer: good, calls: { page, nodes: nodes(true, false) } }, '2 nodes', 'ok'],
  ['all nodes paused', { answer: good, calls: { page, nodes: nodes(true, true) } }, 'paused', 'off'],
  ['no node', { answer: good, calls: { page, nodes: nodes() } }, 'no node', 'warning'],
  ['its nodes want a key', { answer: good, calls: { page, nodes: answered(401) } }, 'healthy', 'ok'],
  ['the page is elsewhere', { answer: good, calls: { page: silent, nodes: nodes(false) } }, 'web UI down', 'warning'],
  ['not good', { answer: json({ status: 'bad' }) }, 'unhealthy', 'error', /bad/],
  ['a login is set', { answer: answered(401) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['puts its files in order', { answer: silent, age: 200 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const dot = answered(200, '.');
const system = (status: string): Answer => json({ data: { systemStatus: { status, databaseSchema: 75, appSchema: 75 } } });

table('media-organiser', [
  ['a login is set', { answer: dot, calls: { system: answered(401) } }, 'healthy', 'ok'],
  ['no login', { answer: dot, calls: { system: system('OK') } }, 'no login', 'warning'],
  ['not set up', { answer: dot, calls: { system: system('SETUP') } }, 'setup required', 'warning'],
  ['waits for its migration', { answer: dot, calls: { system: system('NEEDS_MIGRATION') } }, 'migration required', 'warning'],
  ['locked itself', { answer: dot, calls: { system: answered(403, 'Stash is exposed') } }, 'locked', 'error'],
  ['no more is known', { answer: dot, calls: { system: silent } }, 'running', 'ok'],
  ['a refusal', { answer: answered(403) }, 'login required', 'ok'],
  ['garbage', { answer: garbage }, 'unexpected response', 'warning'],
  ['just started', { answer: silent, age: 10 }, 'starting', 'busy'],
  ['silent', { answer: silent }, 'unreachable', 'error'],
]);

const container = (state: string): Answer => json({ state, health: '', exitCode: 0, restarts: 0, env: {}, uptime: 4000 });
const outcome = (line: string): Answer => exited(0, `${line}\n`);

table('metadata-manager', [
  ['waits', { answer: container('running'), calls: { outcome: outcome('Finished 05:00 Run') } }, 'waiting', 'ok', /05:00/],
  ['works', { answer: container('running'), calls: { outcome: outcome('Starting 05:00 Run') } }, 'working', 'busy'],
  [
    'never worked',
    { answer: container('running'), calls: { outcome: outcome('') }, env: { KOMETA_TIMES: '03:30' } },
    'running',
    'ok',
    /03:30/,
  ],
  [
    'no media server',
    { answer: container('running'), calls: { outcome: outcome('Movies Library Connection Failed\nFinished 05:00 Run') } },
    'no media server',
    'error',
  ],
  [
    'broke off',
    { answer: container('running'), calls: { outcome: outcome('[CRITICAL] | Config Error: tmdb attribute not found |\nFinished Run') } },
    'last run failed',
    'error',
  ],
  ['may not be asked inside', { answer: container('running'), calls: { outcome: silent } }, 'running', 'ok'],
  ['ends again and again', { answer: container('restarting') }, 'restarting', 'error'],
  ['ended', { answer: container('exited') }, 'stopped', 'error'],
  ['the engine refuses', { answer: silent }, 'unreachable', 'error'],
  ['garbage', { answer: garbage }, undefined],
]);

versions([
  ['audiobook-server', { answer: books(true) }, '2.36.0'],
  ['audiobook-server', { answer: garbage }, ''],
  ['book-library', { answer: silent, calls: { program: exited(0, "STABLE_VERSION =  '0.6.28b'\n") } }, '0.6.28b'],
  ['book-library', { answer: silent, calls: { program: exited(2, '') } }, ''],
  ['transcoding-pipeline', { answer: good }, '2.45.01'],
  ['media-organiser', { answer: dot, calls: { program: exited(0, 'v0.30.1 (cf3489ef) - Official Build - 2026-01-11\n') } }, 'v0.30.1'],
  ['media-organiser', { answer: dot, calls: { program: exited(127, 'not found') } }, ''],
  ['metadata-manager', { answer: container('running'), calls: { program: exited(0, '2.4.4\n') } }, '2.4.4'],
]);

describe('checks', () => {
  it('who makes the first account is not left to chance (R47)', () => {
    expect(findingsOf('comic-server-second', { claim: claimed(false) })).toEqual(['unclaimed']);
    expect(findingsOf('comic-server-second', { claim: claimed(true) })).toEqual([]);
    expect(findingsOf('audiobook-server', { status: books(false) })).toEqual(['set-up-open']);
    expect(findingsOf('audiobook-server', { status: books(true) })).toEqual([]);
    expect(findingsOf('comic-server-second', {}, lan('web'))).toEqual(['wider-than-loopback']);
  });

  it('the book library is set up, has its library, and may write it (R22, R47)', () => {
    expect(findingsOf('book-library', { front: sentTo('/admin/dbconfig') })).toEqual(['no-library-yet']);
    expect(findingsOf('book-library', { library: noMetadata })).toEqual(['no-metadata']);
    expect(findingsOf('book-library', { library: metadata }, { env: { PUID: '911' } })).toEqual(['metadata-of-another-user']);
    expect(findingsOf('book-library', { front: sentTo('/login'), library: metadata }, { env: { PUID: '1000' } })).toEqual([]);
    const ofGroup = exited(0, '-rw-rw-r-- 1 1000 1000 417792 Nov  1 10:00 /books/metadata.db\n');
    expect(findingsOf('book-library', { library: ofGroup }, { env: { PUID: '911', PGID: '1000' } })).toEqual([]);
    expect(findingsOf('book-library', { library: ofGroup }, { env: { PUID: '911', PGID: '911' } })).toEqual(['metadata-of-another-user']);
  });

  it('the transcoding pipeline listens where it is published, behind a login where others reach it', () => {
    expect(findingsOf('transcoding-pipeline', {}, { env: { serverPort: '8267' } })).toEqual(['ports-differ']);
    expect(findingsOf('transcoding-pipeline', {}, { env: { serverPort: '8266', webUIPort: '8265', auth: 'false' } })).toEqual([]);
    expect(findingsOf('transcoding-pipeline', {}, { ...lan('web'), env: { auth: 'false' } })).toEqual(['no-login', 'wider-than-loopback']);
    expect(findingsOf('transcoding-pipeline', {}, { ...lan('web'), env: { auth: 'true' } })).toEqual(['wider-than-loopback']);
    expect(findingsOf('transcoding-pipeline', { container: json({ devices: [] }) })).toEqual(['no-graphics-device']);
    expect(findingsOf('transcoding-pipeline', { container: json({ devices: ['/dev/dri:/dev/dri'] }) })).toEqual([]);
    const room = (used: number) =>
      exited(
        0,
        `Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 97 3 ${used}% /temp\n/dev/sdb1 100 1 99 1% /media\n`,
      );
    expect(findingsOf('transcoding-pipeline', { devices: room(97) })).toEqual(['cache-full']);
    expect(findingsOf('transcoding-pipeline', { devices: room(60) })).toEqual([]);
  });

  it('the media organiser is set up, wants a login, and says why it locked itself (R47)', () => {
    expect(findingsOf('media-organiser', { system: system('SETUP') })).toEqual(['set-up-open']);
    expect(findingsOf('media-organiser', { system: system('OK') })).toEqual(['no-login']);
    expect(findingsOf('media-organiser', { system: system('NEEDS_MIGRATION') })).toEqual(['no-login', 'schema-behind']);
    expect(findingsOf('media-organiser', { system: answered(403) })).toEqual(['seen-from-the-internet']);
    expect(findingsOf('media-organiser', { system: answered(401) })).toEqual([]);
  });

  it('the metadata manager tells how its last run ended, and has what it logs in with', () => {
    expect(findingsOf('metadata-manager', { outcome: outcome('Movies Library Connection Failed\nFinished Run') })).toEqual([
      'last-run-failed',
    ]);
    expect(findingsOf('metadata-manager', { outcome: outcome('Finished 05:00 Run') })).toEqual([]);
    expect(findingsOf('metadata-manager', {}, { env: { KOMETA_MEDIATOKEN: '' } })).toEqual(['no-media-token']);
    expect(
      findingsOf('metadata-manager', {}, { env: { KOMETA_MEDIATOKEN: 'x', KOMETA_TMDBKEY: 'y', KOMETA_MEDIAURL: 'http://plex:32400' } }),
    ).toEqual([]);
    expect(findingsOf('metadata-manager', {}, { env: { KOMETA_MEDIAURL: 'http://localhost:32400' } })).toEqual([
      'kometa-mediaurl-at-localhost',
    ]);
  });
});
