import { type Answer, type Asked, htmlPage } from '../../answers.ts';
import { days, hours, type Pages, type PracticeComponent, printed } from '../component.ts';
import { postgresService } from './databases.ts';

const film = '{{Metropolis (1927)|Nosferatu (1922)|The General (1926)|A Trip to the Moon (1902)}}';

/** Any API key is accepted, but one is required. */
const withKey =
  (body: unknown) =>
  ({ header }: Asked): Answer =>
    header('authorization').includes('Token=') ? { body } : { status: 401 };

const playing = { UserName: 'ann', Client: 'Jellyfin Web', NowPlayingItem: { Name: 'Metropolis', Type: 'Movie' } };
const scheduledTasks = [
  { Name: 'Scan Media Library', State: 'Idle', Category: 'Library' },
  { Name: 'Generate Trickplay Images', State: 'Running', CurrentProgressPercentage: 43, Category: 'Library' },
];

/** Jellyfin. */
const mediaServer: PracticeComponent = {
  component: 'media-server',
  past: { createdAgoMs: days(41), startedAgoMs: days(40) },
  values: { PUBLISHED_URL: 'https://media.home.example.org' },
  services: {
    jellyfin: {
      log: {
        everyMs: 18_000,
        start: ['[{{clock}}] [INF] [1] Main: Jellyfin version: 10.11.3', '[{{clock}}] [INF] [1] Main: Startup complete 0:00:07.4821'],
        entries: [
          `[{{clock}}] [INF] [{{8..60}}] Emby.Server.Implementations.Session.SessionManager: Playback stopped reported by app Jellyfin Web 10.11.3 playing "${film}". Stopped at {{2..90}}000 ms`,
          '[{{clock}}] [WRN] [{{8..60}}] Jellyfin.Server.Middleware.ResponseTimeMiddleware: Slow HTTP Response from https://media.home.example.org/Items/Latest to {{home}} in 0:00:00.{{500..999}}1204 with Status Code 200',
          `[{{clock}}] [ERR] [{{8..60}}] MediaBrowser.Providers.Manager.ProviderManager: Error in metadata saver for "${film}"
   at MediaBrowser.XbmcMetadata.Savers.BaseNfoSaver.SaveToFileAsync(Stream stream, String path)`,
        ],
      },
      figures: { cpuPercent: [14, 22], memoryMb: [486, 60] },
      health: { status: 'healthy', output: 'Healthy' },
      pages: {
        8096: {
          '/health': { body: 'Healthy' },
          '/System/Info/Public': {
            body: { ServerName: 'attic', Version: '10.11.3', ProductName: 'Jellyfin Server', StartupWizardCompleted: true },
          },
          '/System/Info': withKey({ ServerName: 'attic', Version: '10.11.3', HasPendingRestart: false }),
          '/Sessions': withKey([playing]),
          '/ScheduledTasks': withKey(scheduledTasks),
          '/': { status: 302, headers: { Location: '/web/' } },
          '/web/': htmlPage('Jellyfin'),
        },
      },
      bootMs: 5_000,
      processes: ['/jellyfin/jellyfin --datadir /config --cachedir /cache --ffmpeg /usr/lib/jellyfin-ffmpeg/ffmpeg'],
    },
  },
};

/** Miniflux and its database. */
const rssReader: PracticeComponent = {
  component: 'rss-reader',
  past: { createdAgoMs: days(88), startedAgoMs: days(6) },
  values: { BASE_URL: 'https://feeds.home.example.org' },
  services: {
    reader: {
      log: {
        everyMs: 9_000,
        stderr: true,
        start: ['time={{iso}} level=INFO msg="Starting HTTP server" listen_address=0.0.0.0:8080'],
        entries: [
          'time={{iso}} level=INFO msg="Feed refreshed" user_id=1 feed_id={{2..180}} entries={{0..14}} elapsed={{80..900}}.{{100..999}}ms',
          'time={{iso}} level=WARN msg="Unable to refresh feed" user_id=1 feed_id={{2..180}} error="fetcher: unable to access website: Get \\"https://blog.example.net/feed.xml\\": context deadline exceeded"',
        ],
      },
      figures: { cpuPercent: [0.5, 0.6], memoryMb: [33, 4] },
      health: { status: 'healthy', output: 'OK' },
      pages: {
        8080: {
          '/readiness': { body: 'OK' },
          '/healthcheck': { body: 'OK' },
          '/liveness': { body: 'OK' },
          '/': htmlPage('Sign In - Miniflux'),
        },
      },
      exec: (argv) => (argv[0]?.endsWith('miniflux') ? printed('2.2.14') : undefined),
      processes: ['/usr/bin/miniflux'],
      scenarios: {
        'full-disk': {
          log: {
            everyMs: 4_000,
            stderr: true,
            entries: [
              'time={{iso}} level=ERROR msg="Unable to create entry" user_id=1 feed_id={{2..180}} error="store: unable to create entry: pq: could not extend file \\"base/16384/16512\\": No space left on device"',
            ],
          },
          pages: {
            8080: {
              '/readiness': { status: 503, body: 'Database Connection Error: pq: the database system is in recovery mode' },
              '*': { status: 500, body: 'Internal Server Error' },
            },
          },
          health: { status: 'unhealthy', output: 'Database Connection Error' },
        },
      },
    },
    db: postgresService('miniflux', (scenario) => (scenario === 'full-disk' ? '' : '2 178 412\n')),
  },
};

const syncthingVersion = 'syncthing v2.0.12 "Hafnium Hornet" (go1.25.4 linux-amd64)';

/** Syncthing, which a restart would fix. */
const fileSync: PracticeComponent = {
  component: 'file-sync',
  past: { createdAgoMs: days(120), startedAgoMs: days(15) },
  services: {
    syncthing: {
      log: {
        everyMs: 30_000,
        start: [`{{day}} INF ${syncthingVersion} (log.pkg=main)`, '{{day}} INF GUI and API listening (address=[::]:8384 log.pkg=api)'],
        entries: [
          '{{day}} INF Synced file (folder.id=docs file.name="notes/week-{{1..52}}.md" file.size={{800..90000}} log.pkg=model)',
          '{{day}} ERR Error on folder (folder.label=Photos folder.id=ph0t0-s{{hex4}} error="folder marker missing (this indicates potential data loss, search docs/forum to get information about how to proceed)" log.pkg=model)',
        ],
      },
      figures: { cpuPercent: [1.1, 1.4], memoryMb: [96, 12] },
      health: { status: 'unhealthy', output: 'curl: (28) Operation timed out after 2001 milliseconds with 0 bytes received\n' },
      pages: {
        8384: {
          '/rest/noauth/health': { body: { status: 'OK' } },
          '/rest/system/version': { status: 403, body: 'Not Authorized' },
          '/': htmlPage('Syncthing'),
        },
      },
      exec: (argv) =>
        argv[0] === 'syncthing' ? printed(`${syncthingVersion} builder@github.syncthing.net 2025-11-04 06:20:33 UTC`) : undefined,
      processes: ['/bin/syncthing serve'],
      restarted: 'mended',
      scenarios: { mended: { health: { status: 'healthy', output: 'OK\n' } } },
    },
  },
};

const model = (name: string, size: number) => ({ name, model: name, modified_at: '2026-01-12T09:14:00Z', size, digest: 'a80c4f17acd5' });

/** Ollama. */
const modelRuntime: PracticeComponent = {
  component: 'model-runtime',
  past: { createdAgoMs: days(18), startedAgoMs: days(2) },
  services: {
    ollama: {
      log: {
        everyMs: 22_000,
        stderr: true,
        start: ['time={{iso}} level=INFO source=routes.go:1577 msg="Listening on [::]:11434 (version 0.12.11)"'],
        entries: [
          '[GIN] {{slash}} | 200 | {{1..900}}.{{100..999}}ms |      172.18.0.7 | POST     "/api/chat"',
          'time={{iso}} level=WARN source=runner.go:159 msg="truncating input prompt" limit=4096 prompt={{4100..9000}} keep=4 new=4096',
        ],
      },
      figures: { cpuPercent: [46, 60], memoryMb: [5120, 300] },
      pages: {
        11434: {
          '/api/tags': { body: { models: [model('qwen3:8b', 5_225_388_164), model('nomic-embed-text:latest', 274_302_450)] } },
          '/api/ps': { body: { models: [{ ...model('qwen3:8b', 6_000_000_000), size_vram: 6_000_000_000 }] } },
          '/api/version': { body: { version: '0.12.11' } },
          '/': { body: 'Ollama is running' },
        },
      },
      processes: ['/bin/ollama serve', '/usr/bin/ollama runner --ollama-engine --port 40123'],
    },
  },
};

const info = '\x1b[32mINFO\x1b[0m:    ';
const asked = (request: string, status: string) =>
  `${info} 172.18.0.1:{{32000..60000}} - "\x1b[1m${request} HTTP/1.1\x1b[0m" \x1b[${status.startsWith('2') ? 32 : 31}m${status}\x1b[0m`;

/** Models are shown to a client with the key that its container was started with. */
const litellmModels: Pages[string] = ({ header }, { LITELLM_MASTER_KEY: key }) =>
  key !== undefined && header('authorization') === `Bearer ${key}`
    ? { body: { data: [{ id: 'qwen', object: 'model', owned_by: 'openai' }], object: 'list' } }
    : { status: 401, body: { error: { message: 'Authentication Error, Invalid proxy server token passed.', code: '401' } } };

const litellmPages = (readiness: Pages[string]): Pages => ({
  '/health/readiness': readiness,
  '/health/liveliness': { body: '"I\'m alive!"', headers: { 'Content-Type': 'application/json' } },
  '/v1/models': litellmModels,
  '/': htmlPage('LiteLLM API - Swagger UI'),
});

/** LiteLLM, in a terminal of its own, which has lost its database and would find it again after a restart. */
const llmProxy: PracticeComponent = {
  component: 'llm-proxy',
  past: { createdAgoMs: days(18), startedAgoMs: hours(7) },
  values: { LITELLM_MASTER_KEY: 'sk-practice-only-not-a-key-4711' },
  services: {
    litellm: {
      tty: true,
      log: {
        everyMs: 12_000,
        start: [
          `${info} Application startup complete.`,
          `${info} Uvicorn running on \x1b[1mhttp://0.0.0.0:4000\x1b[0m (Press CTRL+C to quit)`,
        ],
        entries: [
          asked('GET /health/readiness', '503 Service Unavailable'),
          asked('POST /chat/completions', '200 OK'),
          [
            '\x1b[91m{{clock}} - LiteLLM Proxy:ERROR\x1b[0m: utils.py:3121 - Error getting LiteLLM_SpendLogs: All connection attempts failed',
            'httpcore.ConnectError: All connection attempts failed',
          ],
        ],
      },
      figures: { cpuPercent: [2.4, 1.5], memoryMb: [512, 30] },
      health: { status: 'unhealthy', output: 'urllib.error.HTTPError: HTTP Error 503: Service Unavailable\n' },
      pages: { 4000: litellmPages({ status: 503, body: { status: 'unhealthy', db: 'disconnected', litellm_version: '1.79.3' } }) },
      files: {
        '/app/config.yaml':
          'model_list:\n  - model_name: qwen\n    litellm_params:\n      model: ollama_chat/qwen3:8b\n      api_base: http://model-runtime:11434\n',
      },
      bootMs: 6_000,
      restarted: 'mended',
      scenarios: {
        mended: {
          log: {
            everyMs: 12_000,
            entries: [asked('POST /chat/completions', '200 OK'), asked('GET /health/readiness', '200 OK')],
          },
          health: { status: 'healthy', output: '' },
          pages: { 4000: litellmPages({ body: { status: 'healthy', db: 'connected', litellm_version: '1.79.3' } }) },
        },
      },
      processes: ['/usr/bin/python3.13 /usr/bin/litellm --config /app/config.yaml --port 4000'],
    },
    db: postgresService('litellm'),
  },
};

/** AdGuard Home, created by hand and never set up. */
const dnsFilter: PracticeComponent = {
  component: 'dns-filter-second',
  byHand: true,
  past: { createdAgoMs: hours(2), startedAgoMs: hours(2) },
  services: {
    adguard: {
      log: {
        everyMs: 120_000,
        stderr: true,
        start: [
          '{{slash}}.104882 [info] starting adguard home version=v0.107.69',
          '{{slash}}.112041 [info] webapi: go to http://127.0.0.1:3000',
        ],
        entries: ['{{slash}}.{{100000..900000}} [info] waiting for the first set-up at http://127.0.0.1:3000/install.html'],
      },
      figures: { cpuPercent: [0.1, 0.05], memoryMb: [29, 2] },
      pages: { 3000: { '/install.html': htmlPage('Setup AdGuard Home'), '*': { status: 302, headers: { Location: '/install.html' } } } },
      processes: ['/opt/adguardhome/AdGuardHome --no-check-update -c /opt/adguardhome/conf/AdGuardHome.yaml'],
    },
  },
};

const caddyLine = (rest: string) => `{"level":"info","ts":{{epoch}},${rest}}`;
const caddyAccess = (host: string, method: string, uri: string, status: string, address: string) =>
  caddyLine(
    `"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"${address}","proto":"HTTP/2.0","method":"${method}","host":"${host}","uri":"${uri}","size_in":0},"duration":0.0{{10..90}},"size":{{120..48000}},"status":${status}`,
  );
const adapted =
  '{"apps":{"http":{"servers":{"srv0":{"listen":[":443"],"routes":[{"match":[{"host":["auth.home.example.org"]}],"handle":[{"handler":"reverse_proxy","upstreams":[{"dial":"127.0.0.1:9091"}]}]}]}}}}}';
const caddyAnswers: Readonly<Record<string, string>> = {
  version: 'v2.10.2 h1:g/gTYjGMD0dec+UgMw8SnfmJ3I9+M2TdvoRL/Ovu6U8=',
  adapt: adapted,
  validate: 'Valid configuration',
  reload: '',
};

/** Caddy, on the host's own network. */
export const reverseProxy: PracticeComponent = {
  component: 'reverse-proxy',
  past: { createdAgoMs: days(120), startedAgoMs: days(40) },
  services: {
    caddy: {
      log: {
        everyMs: 5_000,
        stderr: true,
        start: [caddyLine('"msg":"using config from file","file":"/etc/caddy/Caddyfile"')],
        entries: [
          caddyAccess(
            '{{feeds|media|auth|vault|sync}}.home.example.org',
            '{{GET|GET|GET|POST}}',
            '{{/|/api/v1/me|/web/|/api/sync|/static/js/app.js|/favicon.ico}}',
            '{{200|200|200|304|302|404}}',
            '{{home}}',
          ),
        ],
      },
      figures: { cpuPercent: [0.9, 0.8], memoryMb: [41, 5] },
      pages: { 80: { '*': { status: 308, headers: { Location: 'https://home.example.org/' } } } },
      exec: ([program, verb = '']) => {
        const answer = program === 'caddy' ? caddyAnswers[verb] : undefined;
        return answer === undefined ? undefined : printed(answer);
      },
      processes: ['caddy run --config /etc/caddy/Caddyfile --adapter caddyfile'],
      scenarios: {
        attack: {
          log: {
            everyMs: 250,
            stderr: true,
            entries: [
              caddyAccess(
                'auth.home.example.org',
                'POST',
                '{{/api/firstfactor|/api/firstfactor|/wp-login.php|/.env}}',
                '401',
                '{{203.0.113.66|203.0.113.67|198.51.100.23}}',
              ),
            ],
          },
          figures: { cpuPercent: [22, 8], memoryMb: [58, 6] },
        },
      },
    },
  },
};

export const applications: readonly PracticeComponent[] = [mediaServer, rssReader, fileSync, modelRuntime, llmProxy, dnsFilter];
