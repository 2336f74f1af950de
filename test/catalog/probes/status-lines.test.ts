import { describe, expect, it } from 'vitest';
import { statusLine } from '../../../source/calls/conditions.ts';
import { answered, entries, exited, factsOf, garbage, opened, silent, statuses } from './answers.ts';

// What each product answers to the calls that its status line uses, as its documentation or source has it, and the line made of it.

const json = (value: unknown) => answered(200, JSON.stringify(value));
const ok = json({});

describe('status lines', () => {
  const withLines = entries.filter(({ probe }) => (probe?.status.length ?? 0) > 0);

  it('at least 40 components have one', () => {
    expect(withLines.length).toBeGreaterThanOrEqual(40);
  });

  it.each(withLines.map((entry) => [entry.id, entry] as const))(
    '%s shows none of what is silent or not its product',
    { retry: 2 },
    (_, entry) => {
      const names = [...(entry.probe?.also ?? []), ...(entry.probe?.withCredentials ?? [])];
      for (const answer of [silent, garbage, json(null), json([]), answered(401)]) {
        const calls = Object.fromEntries(names.map((name) => [name, answer]));
        const line = statusLine(entry, factsOf(entry, { answer, calls }));
        // An empty list is an answer: that of what has nothing to list.
        if (line !== undefined) expect(line, answer.text).toMatch(/^(?:0 |no |nothing )/);
      }
      expect(statusLine(entry, factsOf(entry, { answer: silent }))).toBeUndefined();
    },
  );
});

const queue = (pending: number, running: number, failed: number) =>
  json({ queue: { queue_id: 'default', pending, in_progress: running, completed: 9, failed, canceled: 0, total: 9 }, processor: {} });
statuses('image-canvas', [
  ['working', { answer: ok, calls: { queue: queue(3, 1, 2) } }, '1 running, 3 waiting, 2 failed'],
  ['idle', { answer: ok, calls: { queue: queue(0, 0, 0) } }, 'queue empty'],
  ['accounts are on', { answer: ok, calls: { queue: answered(401, '{"detail":"Missing authentication credentials"}') } }, undefined],
]);

const progress = (share: number, step: number) =>
  json({
    progress: share,
    eta_relative: 3,
    state: { job: 'x', job_count: 1, sampling_step: step, sampling_steps: 20 },
    current_image: null,
  });
statuses('image-form', [
  ['drawing', { answer: progress(0.43, 9) }, '43 %, step 9 of 20'],
  ['idle', { answer: progress(0, 0) }, 'no job running'],
  ['an answer without progress', { answer: ok }, undefined],
]);

statuses('image-node-graph', [
  [
    'on a graphics card',
    {
      answer: json({ system: {}, devices: [{ name: 'cuda:0', vram_total: 12_884_901_888, vram_free: 9_663_676_416 }] }),
      calls: { queue: json({ exec_info: { queue_remaining: 1 } }) },
    },
    '1 workflow queued, 9.7 GB VRAM free',
  ],
  [
    'without a device',
    { answer: json({ devices: [] }), calls: { queue: json({ exec_info: { queue_remaining: 4 } }) } },
    '4 workflows queued',
  ],
  ['no queue', { answer: json({ devices: [] }) }, undefined],
]);

const loaded = (...names: string[]) =>
  json({ models: names.map((name) => ({ name, size: 5_137_025_024, size_vram: 0, expires_at: 'x' })) });
statuses('model-runtime', [
  ['one model', { answer: ok, calls: { loaded: loaded('llama3.2:3b') } }, 'llama3.2:3b, 5.1 GB in memory'],
  ['two', { answer: ok, calls: { loaded: loaded('a', 'b') } }, '2 models in memory'],
  ['none', { answer: ok, calls: { loaded: loaded() } }, 'no model in memory'],
  ['the list is missing', { answer: ok }, undefined],
]);

statuses('llm-proxy', [
  ['models', { answer: ok, calls: { models: json({ data: [{ id: 'a' }, { id: 'b' }], object: 'list' }) } }, '2 models'],
  ['no key', { answer: ok }, undefined],
]);

statuses('code-completion', [
  [
    'a completion model',
    { answer: ok, calls: { health: json({ model: 'StarCoder-1B', device: 'cuda', cuda_devices: [] }) } },
    'StarCoder-1B on cuda',
  ],
  ['only a chat model', { answer: ok, calls: { health: json({ chat_model: 'Qwen2-1.5B', device: 'cpu' }) } }, 'Qwen2-1.5B on cpu'],
  ['no token', { answer: answered(401) }, undefined],
]);

statuses('video-downloader', [
  ['downloads', { answer: ok, calls: { history: json({ done: [{}], queue: [{}], pending: [{}, {}] }) } }, '1 download, 2 pending'],
  ['an older release, without pending', { answer: ok, calls: { history: json({ done: [], queue: [] }) } }, '0 downloads'],
  ['a history that is too long', { answer: ok, calls: { history: answered(200, '{"done": [') } }, undefined],
]);

for (const id of ['movie-automation', 'tv-automation', 'music-automation', 'book-automation']) {
  const status = (totalCount: number, more: Record<string, boolean> = {}) =>
    json({
      totalCount,
      count: totalCount,
      unknownCount: 0,
      errors: false,
      warnings: false,
      unknownErrors: false,
      unknownWarnings: false,
      ...more,
    });
  statuses(id, [
    ['waiting', { answer: ok, calls: { queue: status(4) } }, '4 queued'],
    ['with errors', { answer: ok, calls: { queue: status(4, { unknownErrors: true, warnings: true }) } }, '4 queued, with errors'],
    ['with warnings', { answer: ok, calls: { queue: status(1, { warnings: true }) } }, '1 queued, with warnings'],
    ['empty', { answer: ok, calls: { queue: status(0) } }, 'queue empty'],
    ['no key', { answer: ok }, undefined],
  ]);
}

statuses('indexer-manager', [
  [
    'a warning',
    { answer: ok, calls: { health: json([{ source: 'IndexerStatusCheck', type: 'warning', message: 'x' }]) } },
    '1 health warning',
  ],
  ['none', { answer: ok, calls: { health: json([]) } }, 'no health warnings'],
  ['no key', { answer: ok }, undefined],
]);

const badges = (episodes: number, movies: number) =>
  json({ episodes, movies, providers: 0, status: 0, announcements: 0, sonarr_signalr: 'LIVE' });
statuses('subtitle-automation', [
  ['some missing', { answer: ok, calls: { wanted: badges(12, 1) } }, 'no subtitles: 12 episodes, 1 movie'],
  ['none missing', { answer: ok, calls: { wanted: badges(0, 0) } }, 'no subtitles missing'],
  ['no key', { answer: ok }, undefined],
]);

for (const id of ['request-manager', 'request-manager-second']) {
  const counted = (pending: number) => json({ total: 9, movie: 4, tv: 5, pending, approved: 5, declined: 0, processing: 2, available: 3 });
  statuses(id, [
    ['to be decided', { answer: ok, calls: { requests: counted(3) } }, '3 requests pending, 2 processing'],
    ['all decided', { answer: ok, calls: { requests: counted(0) } }, 'no requests pending, 2 processing'],
    ['no key', { answer: ok }, undefined],
  ]);
}

statuses('photo-library', [
  [
    'an administrator',
    { answer: ok, calls: { statistics: json({ photos: 12_345, videos: 678, usage: 1, usageByUser: [] }) } },
    '12,345 photos, 678 videos',
  ],
  ['no key', { answer: ok }, undefined],
]);

const jobs = (value: unknown) => json({ data: { jobQueue: value } });
const scenes = json({ data: { stats: { scene_count: 1234, image_count: 0 } } });
statuses('media-organiser', [
  [
    'a scan',
    { answer: ok, calls: { jobs: jobs([{ id: '1', status: 'RUNNING', description: 'Scanning...', progress: 0.43 }]), statistics: scenes } },
    'Scanning... 43 %',
  ],
  ['idle', { answer: ok, calls: { jobs: jobs(null), statistics: scenes } }, '1,234 scenes, no job running'],
  ['no key', { answer: ok }, undefined],
]);

statuses('torrent-client', [
  [
    'downloading',
    {
      answer: answered(403),
      calls: { transfer: json({ connection_status: 'connected', dl_info_speed: 3_210_000, up_info_speed: 120_400 }) },
    },
    '3.2 MB/s down, 120 KB/s up',
  ],
  ['no key', { answer: answered(403) }, undefined],
]);

statuses('video-archiver', [
  ['waiting', { answer: ok, calls: { queue: json({ pending: 12, ignore: 3, pending_videos: 12 }) } }, '12 videos to download'],
  ['nothing', { answer: ok, calls: { queue: json({ ignore: 3 }) } }, 'nothing to download'],
  ['no key', { answer: ok }, undefined],
]);

statuses('audiobook-server', [
  ['listening', { answer: ok, calls: { online: json({ usersOnline: [{}], openSessions: [{}] }) } }, '1 open session'],
  ['not an administrator', { answer: ok }, undefined],
]);

statuses('media-server-second', [
  ['playing', { answer: ok, calls: { sessions: json({ MediaContainer: { size: 2, Metadata: [] } }) } }, '2 streams'],
  ['no token', { answer: ok }, undefined],
]);

const sessions = json([
  { UserName: 'ann', Client: 'web', NowPlayingItem: { Name: 'x' } },
  { UserName: 'bob', Client: 'tv' },
]);
const tasks = (...running: object[]) => json([{ Name: 'Clean Cache', State: 'Idle' }, ...running]);
statuses('media-server', [
  ['playing', { answer: ok, calls: { playing: sessions, tasks: tasks() } }, '1 stream'],
  [
    'scanning',
    {
      answer: ok,
      calls: { playing: json([]), tasks: tasks({ Name: 'Scan Media Library', State: 'Running', CurrentProgressPercentage: 42.6 }) },
    },
    '0 streams, Scan Media Library 43 %',
  ],
  ['a task without progress', { answer: ok, calls: { playing: json([]), tasks: tasks({ Name: 'Scan', State: 'Running' }) } }, '0 streams'],
  ['no key', { answer: ok }, undefined],
]);

const scan = (scanning: boolean) =>
  json({ 'subsonic-response': { status: 'ok', serverVersion: '0.58.0', scanStatus: { scanning, count: 8421, folderCount: 700 } } });
statuses('music-server', [
  ['scanning', { answer: ok, calls: { scanstatus: scan(true) } }, 'scanning, 8,421 files'],
  ['idle', { answer: ok, calls: { scanstatus: scan(false) } }, '8,421 files'],
  [
    'refused with status 200',
    { answer: ok, calls: { scanstatus: json({ 'subsonic-response': { status: 'failed', error: { code: 40 } } }) } },
    undefined,
  ],
]);

statuses('network-monitoring', [
  ['one down', { answer: ok, calls: { inside: exited(0, '2 12 1 1 30\n') } }, '12 devices, 1 down'],
  ['the database does not answer', { answer: ok, calls: { inside: exited(1, 'ERROR 2002') } }, undefined],
]);

const counters =
  'thread0.num.queries=45120\ntotal.num.queries=45120\ntotal.num.queries_ip_ratelimited=0\ntotal.num.cachehits=37450\ntotal.num.cachemiss=7670\n';
statuses('recursive-resolver', [
  ['answering', { answer: opened, calls: { stats: exited(0, counters) } }, '45,120 queries, 83 % cached'],
  ['just started', { answer: opened, calls: { stats: exited(0, counters.replaceAll(/=\d+/g, '=0')) } }, '0 queries, 0 % cached'],
  ['control is off', { answer: opened, calls: { stats: exited(1, 'error: connect') } }, undefined],
]);

const overview = (errors: number) =>
  json({ http: { routers: { total: 12, warnings: 0, errors }, services: { total: 1, warnings: 0, errors: 0 } } });
statuses('dynamic-proxy', [
  ['all well', { answer: answered(200, 'OK'), calls: { overview: overview(0) } }, '12 routers, 1 service'],
  ['one fails', { answer: answered(200, 'OK'), calls: { overview: overview(1) } }, '12 routers, 1 failing'],
  ['its API is off', { answer: answered(200, 'OK'), calls: { overview: answered(404) } }, undefined],
]);

statuses('load-balancer', [
  ['one down', { answer: json({ servers: { a: true, b: false } }) }, '1 of 2 servers up'],
  ['no servers in the answer', { answer: ok }, undefined],
]);

statuses('authoritative-dns', [
  ['zones', { answer: answered(401), calls: { zones: json([{ id: 'a.' }, { id: 'b.' }]) } }, '2 zones'],
  ['no key', { answer: answered(401) }, undefined],
]);

statuses('dns-filter-second', [
  [
    'blocking',
    { answer: answered(401), calls: { stats: json({ num_dns_queries: 45_120, num_blocked_filtering: 5402, time_units: 'hours' }) } },
    '12 % of 45,120 queries blocked',
  ],
  ['no login', { answer: answered(401) }, undefined],
]);

statuses('dns-server-combined', [
  [
    'blocking',
    { answer: ok, calls: { stats: json({ status: 'ok', response: { stats: { totalQueries: 925, totalBlocked: 49 } } }) } },
    '5.3 % of 925 queries blocked',
  ],
  ['an expired token', { answer: ok, calls: { stats: json({ status: 'invalid-token' }) } }, undefined],
]);

statuses('dns-filter', [
  [
    'blocking',
    { answer: answered(401), calls: { counts: exited(0, '{"queries": {"total": 1, "blocked": 1, "percent_blocked": 100}}') } },
    '100 % of 1 query blocked',
  ],
  ['no CLI password', { answer: answered(401), calls: { counts: exited(1, '') } }, undefined],
]);

statuses('intrusion-prevention', [
  ['bans', { answer: ok, calls: { decisions: exited(0, '[{"id": 1, "decisions": [{"value": "198.51.100.7"}]}]') } }, '1 decision'],
  ['an import', { answer: ok, calls: { decisions: exited(0, '[{"id": 1, "decisions": [{}, {}]}]') } }, 'decisions from 1 alert'],
  ['none, up to 1.5.2', { answer: ok, calls: { decisions: exited(0, 'null') } }, 'no decisions'],
  ['none', { answer: ok, calls: { decisions: exited(0, '[]\n') } }, 'no decisions'],
  ['a failure', { answer: ok, calls: { decisions: exited(1, 'level=fatal') } }, undefined],
]);

statuses('vulnerability-scanner', [
  ['scanning', { answer: ok, calls: { scans: exited(0, '2 43\n') } }, '2 scans running, 43 %'],
  ['idle', { answer: ok, calls: { scans: exited(0, '0 0\n'), tests: exited(0, '94213 9 2\n') } }, 'no scan running'],
  ['loading its feeds', { answer: ok, calls: { scans: exited(0, '0 0\n'), tests: exited(0, '0 0\n') } }, undefined],
  ['no tables yet', { answer: ok, calls: { scans: exited(1, '') } }, undefined],
]);

statuses('docs-collab-pad', [
  ['writing', { answer: ok, calls: { stats: json({ totalUsers: 3, activePads: 2 }) } }, '3 users in 2 pads'],
  ['no statistics', { answer: ok, calls: { stats: answered(404) } }, undefined],
]);

statuses('notes-collab-markdown', [
  ['notes', { answer: ok, calls: { status: json({ notesCount: 120, onlineUsers: 1 }) } }, '120 notes, 1 user online'],
  ['no status', { answer: ok, calls: { status: answered(403) } }, undefined],
]);

statuses('cloud-suite', [
  ['late', { answer: ok, calls: { lastjobs: exited(0, '900\n') } }, 'background jobs ran 15 minutes ago'],
  ['just now', { answer: ok, calls: { lastjobs: exited(0, '20\n') } }, 'background jobs ran just now'],
  ['never', { answer: ok, calls: { lastjobs: exited(1, '') } }, undefined],
]);

statuses('rss-reader', [
  ['feeds with errors', { answer: ok, calls: { counts: exited(0, '2 34 120\n') } }, '2 feeds with errors, 120 unread'],
  ['all well', { answer: ok, calls: { counts: exited(0, '0 34 120\n') } }, '120 unread in 34 feeds'],
  ['no tables yet', { answer: ok, calls: { counts: exited(1, 'ERROR') } }, undefined],
]);

statuses('rss-reader-second', [
  [
    'unread',
    {
      answer: ok,
      calls: {
        users: exited(
          0,
          '[{"default": false, "user": "b", "unreads": 1, "feeds": 1}, {"default": true, "user": "a", "unreads": 120, "feeds": 34}]',
        ),
      },
    },
    '120 unread in 34 feeds',
  ],
  ['no user yet', { answer: ok, calls: { users: exited(0, '[]') } }, undefined],
]);

const documents = (inbox: number | null) => json({ documents_total: 1204, documents_inbox: inbox, inbox_tag: 1 });
statuses('document-manager', [
  ['waiting', { answer: ok, calls: { statistics: documents(3) } }, '3 documents in the inbox'],
  ['none waiting', { answer: ok, calls: { statistics: documents(0) } }, 'inbox empty, 1,204 documents'],
  ['no token', { answer: ok }, undefined],
]);

const completion = (needItems: number) =>
  json({ completion: 99.9, globalBytes: 1, needBytes: 1, globalItems: 7823, needItems, needDeletes: 0 });
const connections = json({ connections: { A: { connected: true, paused: false }, B: { connected: false, paused: false } }, total: {} });
statuses('file-sync', [
  ['behind', { answer: ok, calls: { completion: completion(412), connections } }, '412 items out of sync, 1 device connected'],
  ['in sync', { answer: ok, calls: { completion: completion(0), connections } }, 'in sync, 1 device connected'],
  ['no key', { answer: ok }, undefined],
]);

statuses('mesh-control-server', [
  ['nodes', { answer: ok, calls: { nodes: exited(0, '[{"id": 1, "online": true}, {"id": 2}]') } }, '1 of 2 nodes online'],
  ['none', { answer: ok, calls: { nodes: exited(0, '[]') } }, undefined],
]);

const mesh = `# Health check:
#     - Some peers are advertising routes

100.64.0.1      nas                  op@          linux   -
100.64.0.2      phone                op@          iOS     active; direct 10.0.0.9:41641, tx 1 rx 2
100.64.0.3      laptop               op@          macOS   idle; offline, tx 1 rx 2
`;
statuses('mesh-client', [
  ['peers', { answer: ok, calls: { peers: exited(0, mesh) } }, '1 of 2 peers online'],
  ['logged out', { answer: ok, calls: { peers: exited(1, 'Logged out.') } }, undefined],
]);

const clients = `OpenVPN CLIENT LIST
Updated,2026-11-27 10:00:00
Common Name,Real Address,Bytes Received,Bytes Sent,Connected Since
phone,198.51.100.9:60196,8633,6066,2026-11-27 09:52:59
ROUTING TABLE
Virtual Address,Common Name,Real Address,Last Ref
192.168.255.6,phone,198.51.100.9:60196,2026-11-27 09:53:02
GLOBAL STATS
Max bcast/mcast queue length,1
END
`;
statuses('openvpn-server', [
  ['a client', { answer: ok, calls: { connections: exited(0, clients) } }, '1 client connected'],
  ['no file yet', { answer: ok, calls: { connections: exited(1, '') } }, undefined],
]);

statuses('network-controller', [
  [
    'peers',
    {
      answer: ok,
      calls: { peers: exited(0, '[{"role": "PLANET", "paths": [{}]}, {"role": "LEAF", "paths": [{}]}, {"role": "LEAF", "paths": []}]') },
    },
    '2 peers, 1 direct',
  ],
  ['no program', { answer: ok, calls: { peers: exited(2, '') } }, undefined],
]);

statuses('mesh-vpn-platform', [
  [
    'peers',
    {
      answer: answered(401),
      calls: {
        peers: json([
          { id: 'a', connected: true },
          { id: 'b', connected: false },
        ]),
      },
    },
    '1 of 2 peers connected',
  ],
  ['no token', { answer: answered(401) }, undefined],
]);

statuses('vpn-client-gateway', [
  [
    'a city',
    { answer: ok, calls: { publicaddress: json({ public_ip: '198.51.100.7', country: 'Sweden', city: 'Malmö' }) } },
    'public IP in Malmö, Sweden',
  ],
  [
    'a country',
    { answer: ok, calls: { publicaddress: json({ public_ip: '198.51.100.7', country: 'Sweden', city: '' }) } },
    'public IP in Sweden',
  ],
  ['no key', { answer: ok }, undefined],
]);

statuses('tunnel-server-ui', [
  [
    'one connected',
    { answer: ok, calls: { handshakes: exited(0, '1795800000\nAAAA=\t1795799900\nBBBB=\t1795000000\nCCCC=\t0\n') } },
    '1 of 3 clients connected',
  ],
  ['no interface', { answer: ok, calls: { handshakes: exited(1, '1795800000\n') } }, undefined],
]);
