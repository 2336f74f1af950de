import { days, hours, type Part, said } from '../part.ts';
import type { Random } from '../random.ts';
import { clockTime, dayTime, type Said, slashTime, toStderr } from '../voice.ts';
import { htmlPage, type Pages } from '../web.ts';
import { postgresPlay } from './databases.ts';
import { attackers } from './security.ts';

function jellyfin(at: Date, level: string, thread: number, where: string, text: string): string {
  return `[${clockTime(at)}] [${level}] [${thread}] ${where}: ${text}`;
}

const films: readonly [string, ...string[]] = [
  'Metropolis (1927)',
  'Nosferatu (1922)',
  'The General (1926)',
  'Steamboat Bill, Jr. (1928)',
  'A Trip to the Moon (1902)',
];

/** Jellyfin. */
export const mediaServer: Part = {
  component: 'media-server',
  project: 'media-server',
  createdAgoMs: days(41),
  startedAgoMs: days(40),
  values: { PUBLISHED_URL: 'https://media.home.example.org' },
  plays: {
    jellyfin: {
      voice: {
        everyMs: 18_000,
        begin: (at) => [
          jellyfin(at, 'INF', 1, 'Main', 'Jellyfin version: 10.11.3'),
          jellyfin(at, 'INF', 1, 'Main', 'Environment Variables: ["[JELLYFIN_DATA_DIR, /config]", "[JELLYFIN_CACHE_DIR, /cache]"]'),
          jellyfin(at, 'INF', 1, 'Emby.Server.Implementations.AppBase.BaseConfigurationManager', 'Setting cache path: /cache'),
          jellyfin(
            at,
            'INF',
            12,
            'Emby.Server.Implementations.ScheduledTasks.TaskManager',
            'Daily trigger for Generate Trickplay Images set to fire at 03:00:00',
          ),
          jellyfin(at, 'INF', 1, 'Main', 'Startup complete 0:00:07.4821'),
        ],
        happen: (at, random) => {
          const thread = random.between(8, 60);
          const film = random.pick(films);
          const kind = random.next();
          if (kind < 0.05) return [stackTrace(at, thread, film)];
          if (kind < 0.35)
            return [
              jellyfin(
                at,
                'INF',
                thread,
                'Emby.Server.Implementations.Session.SessionManager',
                `Playback stopped reported by app Jellyfin Web 10.11.3 playing "${film}". Stopped at ${random.between(2, 90) * 60_000} ms`,
              ),
            ];
          if (kind < 0.55)
            return [
              jellyfin(
                at,
                'INF',
                thread,
                'Jellyfin.Api.Helpers.MediaInfoHelper',
                `User policy for "mara". EnablePlaybackRemuxing: True EnableVideoPlaybackTranscoding: True EnableAudioPlaybackTranscoding: True`,
              ),
              jellyfin(
                at,
                'INF',
                thread,
                'Jellyfin.Api.Helpers.TranscodeManager',
                `/usr/lib/jellyfin-ffmpeg/ffmpeg -analyzeduration 200M -probesize 1G -i file:"/media/films/${film}/${film}.mkv" -codec:v:0 libx264 -preset veryfast -crf 23`,
              ),
            ];
          if (kind < 0.75)
            return [
              jellyfin(
                at,
                'INF',
                thread,
                'Emby.Server.Implementations.HttpServer.WebSocketManager',
                `WS "${random.homeAddress()}" request`,
              ),
            ];
          if (kind < 0.88)
            return [
              jellyfin(
                at,
                'INF',
                thread,
                'Emby.Server.Implementations.ScheduledTasks.TaskManager',
                `Scan Media Library Completed after 0 minute(s) and ${random.between(8, 55)} seconds`,
              ),
            ];
          return [
            jellyfin(
              at,
              'WRN',
              thread,
              'Jellyfin.Server.Middleware.ResponseTimeMiddleware',
              `Slow HTTP Response from https://media.home.example.org/Items/Latest to ${random.homeAddress()} in 0:00:00.${random.between(500, 999)}1204 with Status Code 200`,
            ),
          ];
        },
        end: (at) => [
          jellyfin(at, 'INF', 1, 'Main', 'Received a SIGTERM signal, shutting down'),
          jellyfin(at, 'INF', 1, 'Emby.Server.Implementations.ApplicationHost', 'Disposing CoreAppHost'),
        ],
      },
      figures: { cpuPercent: [14, 22], memoryMb: [486, 60] },
      healthcheck: ['CMD-SHELL', 'curl --noproxy localhost -Lk -fsS http://localhost:8096/health || exit 1'],
      health: { status: 'healthy', output: 'Healthy' },
      pages: {
        8096: {
          '/health': { body: 'Healthy' },
          '/System/Info/Public': {
            body: {
              LocalAddress: 'http://172.18.0.9:8096',
              ServerName: 'attic',
              Version: '10.11.3',
              ProductName: 'Jellyfin Server',
              OperatingSystem: '',
              Id: '7c1d9e0f4b6a4d6f9a2b',
              StartupWizardCompleted: true,
            },
          },
          '/': { status: 302, headers: { Location: '/web/' } },
          '/web/': htmlPage('Jellyfin'),
        },
      },
      bootMs: 5_000,
      ends: { exitCode: 0, afterMs: 700 },
      processes: ['/jellyfin/jellyfin --datadir /config --cachedir /cache --ffmpeg /usr/lib/jellyfin-ffmpeg/ffmpeg'],
    },
  },
};

function stackTrace(at: Date, thread: number, film: string): string {
  return [
    jellyfin(at, 'ERR', thread, 'MediaBrowser.Providers.Manager.ProviderManager', `Error in metadata saver for "${film}"`),
    'System.IO.IOException: The process cannot access the file because it is being used by another process.',
    '   at System.IO.Strategies.FileStreamHelpers.ChooseStrategy(FileStream fileStream, String path, FileMode mode, FileAccess access)',
    '   at System.IO.StreamWriter.ValidateArgsAndOpenPath(String path, Boolean append, Encoding encoding, Int32 bufferSize)',
    '   at MediaBrowser.XbmcMetadata.Savers.BaseNfoSaver.SaveToFileAsync(Stream stream, String path)',
    '   at MediaBrowser.Providers.Manager.ProviderManager.SaveMetadataAsync(BaseItem item, ItemUpdateType updateType, IEnumerable`1 savers)',
    '   --- End of stack trace from previous location ---',
  ].join('\n');
}

function slog(at: Date, level: string, message: string, more: string): Said {
  return { err: `time=${at.toISOString()} level=${level} msg="${message}"${more && ` ${more}`}` };
}

/** Miniflux and its database. */
export const rssReader: Part = {
  component: 'rss-reader',
  project: 'rss-reader',
  createdAgoMs: days(88),
  startedAgoMs: days(6),
  values: { BASE_URL: 'https://feeds.home.example.org' },
  plays: {
    reader: {
      voice: {
        everyMs: 9_000,
        begin: (at) => [
          slog(at, 'INFO', 'Starting HTTP server', 'listen_address=0.0.0.0:8080'),
          slog(at, 'INFO', 'Starting background schedulers...', ''),
        ],
        happen: (at, random) => {
          const feed = random.between(2, 180);
          const kind = random.next();
          if (kind < 0.1)
            return [
              slog(
                at,
                'WARN',
                'Unable to refresh feed',
                `user_id=1 feed_id=${feed} error="fetcher: unable to access website: Get \\"https://blog.example.net/feed.xml\\": context deadline exceeded"`,
              ),
            ];
          if (kind < 0.3) return [slog(at, 'INFO', 'Created a batch of feeds', `nb_jobs=${random.between(3, 40)}`)];
          if (kind < 0.45)
            return [
              slog(
                at,
                'INFO',
                'User authenticated with the Google Reader API',
                `client_ip=${random.homeAddress()} user_agent="Reeder/5040" username=mara`,
              ),
            ];
          return [
            slog(
              at,
              'INFO',
              'Feed refreshed',
              `user_id=1 feed_id=${feed} entries=${random.between(0, 14)} elapsed=${random.between(80, 900)}.${random.between(100, 999)}ms`,
            ),
          ];
        },
        end: (at) => [slog(at, 'INFO', 'Shutting down the process', ''), slog(at, 'INFO', 'Process gracefully stopped', '')],
      },
      figures: { cpuPercent: [0.5, 0.6], memoryMb: [33, 4] },
      healthcheck: ['CMD', '/usr/bin/miniflux', '-healthcheck', 'auto'],
      health: { status: 'healthy', output: 'OK' },
      pages: {
        8080: {
          '/readiness': { body: 'OK' },
          '/healthcheck': { body: 'OK' },
          '/liveness': { body: 'OK' },
          '/': htmlPage('Sign In - Miniflux'),
        },
      },
      exec: (argv) => (argv[0]?.endsWith('miniflux') ? said('2.2.14') : undefined),
      bootMs: 1_000,
      ends: { exitCode: 0, afterMs: 200 },
      processes: ['/usr/bin/miniflux'],
      moods: {
        'full-disk': {
          voice: {
            everyMs: 4_000,
            happen: (at, random) => [
              slog(
                at,
                'ERROR',
                'Unable to create entry',
                `user_id=1 feed_id=${random.between(2, 180)} error="store: unable to create entry: pq: could not extend file \\"base/16384/16512\\": No space left on device"`,
              ),
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
    db: postgresPlay('miniflux'),
  },
};

/** Syncthing, which a restart would mend. */
export const fileSync: Part = {
  component: 'file-sync',
  project: 'file-sync',
  createdAgoMs: days(120),
  startedAgoMs: days(15),
  plays: {
    syncthing: {
      voice: {
        everyMs: 30_000,
        begin: (at) => [
          `${dayTime(at)} INF syncthing v2.0.12 "Hafnium Hornet" (go1.25.4 linux-amd64) (log.pkg=main)`,
          `${dayTime(at)} INF Calculated our device ID (device=P5QD7RA log.pkg=syncthing)`,
          `${dayTime(at)} INF GUI and API listening (address=[::]:8384 log.pkg=api)`,
          `${dayTime(at)} INF TCP listener starting (address=0.0.0.0:22000 log.pkg=connections)`,
        ],
        happen: (at, random) => {
          const kind = random.next();
          if (kind < 0.25)
            return [
              `${dayTime(at)} ERR Error on folder (folder.label=Photos folder.id=ph0t0-s${random.hex(4)} error="folder marker missing (this indicates potential data loss, search docs/forum to get information about how to proceed)" log.pkg=model)`,
            ];
          if (kind < 0.6)
            return [
              `${dayTime(at)} INF Established secure connection (device=JMBX6WX connection=${random.hex(7)} address=tcp://${random.homeAddress()}:22000 log.pkg=model)`,
            ];
          return [
            `${dayTime(at)} INF Synced file (folder.id=docs file.name="notes/week-${random.between(1, 52)}.md" file.size=${random.between(800, 90_000)} log.pkg=model)`,
          ];
        },
        end: (at) => [`${dayTime(at)} INF Syncthing exited: terminated (log.pkg=main)`],
      },
      figures: { cpuPercent: [1.1, 1.4], memoryMb: [96, 12] },
      healthcheck: ['CMD-SHELL', 'curl -fkLsS -m 2 127.0.0.1:8384/rest/noauth/health | grep -o --color=never OK || exit 1'],
      health: { status: 'unhealthy', output: 'curl: (28) Operation timed out after 2001 milliseconds with 0 bytes received\n' },
      pages: {
        8384: {
          '/rest/noauth/health': { body: { status: 'OK' } },
          '/rest/system/version': { status: 403, body: 'Not Authorized' },
          '/': htmlPage('Syncthing'),
        },
      },
      exec: (argv) =>
        argv[0] === 'syncthing'
          ? said('syncthing v2.0.12 "Hafnium Hornet" (go1.25.4 linux-amd64) builder@github.syncthing.net 2025-11-04 06:20:33 UTC')
          : undefined,
      bootMs: 1_500,
      ends: { exitCode: 0, afterMs: 500 },
      processes: ['/bin/syncthing serve'],
      restarted: 'mended',
      moods: { mended: { health: { status: 'healthy', output: 'OK\n' } } },
    },
  },
};

function gin(at: Date, random: Random, method: string, path: string, status = 200): string {
  return `[GIN] ${slashTime(at).replace(' ', ' - ')} | ${status} | ${`${random.between(1, 900)}.${random.between(100, 999)}ms`.padStart(12)} | ${'172.18.0.7'.padStart(15)} | ${method.padEnd(8)} "${path}"`;
}

/** Ollama. */
export const modelRuntime: Part = {
  component: 'model-runtime',
  project: 'model-runtime',
  createdAgoMs: days(18),
  startedAgoMs: days(2),
  plays: {
    ollama: {
      voice: {
        everyMs: 22_000,
        begin: (at) => [
          {
            err: `time=${at.toISOString()} level=INFO source=routes.go:1524 msg="server config" env="map[OLLAMA_HOST:http://0.0.0.0:11434 OLLAMA_KEEP_ALIVE:5m0s]"`,
          },
          { err: `time=${at.toISOString()} level=INFO source=images.go:522 msg="total blobs: 11"` },
          { err: `time=${at.toISOString()} level=INFO source=routes.go:1577 msg="Listening on [::]:11434 (version 0.12.11)"` },
          {
            err: `time=${at.toISOString()} level=INFO source=types.go:42 msg="inference compute" id=0 library=Vulkan name=Vulkan0 total="8.0 GiB" available="7.4 GiB"`,
          },
        ],
        happen: (at, random) => {
          const kind = random.next();
          if (kind < 0.5) return [gin(at, random, 'POST', '/api/chat')];
          if (kind < 0.65)
            return [
              {
                err: `time=${at.toISOString()} level=INFO source=server.go:1289 msg="llama runner started in ${random.between(1, 6)}.${random.between(10, 99)} seconds"`,
              },
              gin(at, random, 'POST', '/api/generate'),
            ];
          if (kind < 0.7)
            return [
              {
                err: `time=${at.toISOString()} level=WARN source=runner.go:159 msg="truncating input prompt" limit=4096 prompt=${random.between(4100, 9000)} keep=4 new=4096`,
              },
            ];
          return [gin(at, random, 'GET', random.pick(['/api/tags', '/api/ps', '/api/version']))];
        },
      },
      figures: { cpuPercent: [46, 60], memoryMb: [5120, 300] },
      pages: {
        11434: {
          '/api/tags': { body: { models: [model('qwen3:8b', 5_225_388_164), model('nomic-embed-text:latest', 274_302_450)] } },
          '/api/ps': {
            body: { models: [{ ...model('qwen3:8b', 6_000_000_000), size_vram: 6_000_000_000, expires_at: '2030-01-01T00:00:00Z' }] },
          },
          '/api/version': { body: { version: '0.12.11' } },
          '/': { body: 'Ollama is running' },
        },
      },
      bootMs: 1_200,
      ends: { exitCode: 0, afterMs: 300 },
      processes: ['/bin/ollama serve', '/usr/bin/ollama runner --ollama-engine --port 40123'],
    },
  },
};

function model(name: string, size: number): object {
  return {
    name,
    model: name,
    modified_at: '2026-01-12T09:14:00Z',
    size,
    digest: 'a80c4f17acd5',
    details: { family: 'qwen3', parameter_size: '8.2B', quantization_level: 'Q4_K_M' },
  };
}

const green = (text: string) => `\x1b[32m${text}\x1b[0m`;
const red = (text: string) => `\x1b[31m${text}\x1b[0m`;
const bold = (text: string) => `\x1b[1m${text}\x1b[0m`;

function uvicorn(random: Random, request: string, status: string): string {
  return `${green('INFO')}:     172.18.0.1:${random.between(32_000, 60_000)} - "${bold(`${request} HTTP/1.1`)}" ${status.startsWith('2') ? green(status) : red(status)}`;
}

/** Who has the key that its container was started with sees the models. */
const litellmModels: Pages[string] = ({ headers }, { LITELLM_MASTER_KEY: key }) =>
  key !== undefined && headers.authorization === `Bearer ${key}`
    ? { body: { data: [{ id: 'qwen', object: 'model', owned_by: 'openai' }], object: 'list' } }
    : { status: 401, body: { error: { message: 'Authentication Error, Invalid proxy server token passed.', code: '401' } } };

/** LiteLLM, in a terminal of its own, which has lost its database and would find it again after a restart. */
export const llmProxy: Part = {
  component: 'llm-proxy',
  project: 'llm-proxy',
  createdAgoMs: days(18),
  startedAgoMs: hours(7),
  values: { LITELLM_MASTER_KEY: 'sk-practice-only-not-a-key-4711' },
  plays: {
    litellm: {
      tty: true,
      voice: {
        everyMs: 12_000,
        begin: (at) => [
          `${green('INFO')}:     Started server process [${bold('1')}]`,
          `${green('INFO')}:     Waiting for application startup.`,
          '',
          '   ██╗     ██╗████████╗███████╗██╗     ██╗     ███╗   ███╗',
          '   ██║     ██║╚══██╔══╝██╔════╝██║     ██║     ████╗ ████║',
          '',
          `\x1b[92m${clockTime(at)} - LiteLLM Proxy:INFO\x1b[0m: proxy_server.py:2198 - Setting attribute store_model_in_db on prisma client`,
          `${green('INFO')}:     Application startup complete.`,
          `${green('INFO')}:     Uvicorn running on ${bold('http://0.0.0.0:4000')} (Press CTRL+C to quit)`,
        ],
        happen: (at, random) => {
          const kind = random.next();
          if (kind < 0.3)
            return [
              `\x1b[91m${clockTime(at)} - LiteLLM Proxy:ERROR\x1b[0m: utils.py:3121 - Error getting LiteLLM_SpendLogs: All connection attempts failed`,
              'Traceback (most recent call last):',
              '  File "/usr/lib/python3.13/site-packages/httpcore/_async/connection_pool.py", line 236, in handle_async_request',
              '    response = await connection.handle_async_request(pool_request.request)',
              'httpcore.ConnectError: All connection attempts failed',
            ];
          if (kind < 0.6) return [uvicorn(random, 'GET /health/readiness', '503 Service Unavailable')];
          if (kind < 0.9) return [uvicorn(random, 'POST /chat/completions', '200 OK')];
          return [uvicorn(random, 'POST /chat/completions', '429 Too Many Requests')];
        },
        end: () => [`${green('INFO')}:     Shutting down`, `${green('INFO')}:     Finished server process [${bold('1')}]`],
      },
      figures: { cpuPercent: [2.4, 1.5], memoryMb: [512, 30] },
      healthcheck: ['CMD-SHELL', 'python3 -c "import urllib.request; urllib.request.urlopen(\'http://localhost:4000/health/readiness\')"'],
      health: { status: 'unhealthy', output: 'urllib.error.HTTPError: HTTP Error 503: Service Unavailable\n' },
      pages: {
        4000: {
          '/health/readiness': { status: 503, body: { status: 'unhealthy', db: 'disconnected', litellm_version: '1.79.3' } },
          '/health/liveliness': { body: '"I\'m alive!"', type: 'application/json' },
          '/v1/models': litellmModels,
          '/': htmlPage('LiteLLM API - Swagger UI'),
        },
      },
      files: {
        '/app/config.yaml':
          'model_list:\n  - model_name: qwen\n    litellm_params:\n      model: ollama_chat/qwen3:8b\n      api_base: http://model-runtime:11434\n',
      },
      bootMs: 6_000,
      restarted: 'mended',
      moods: {
        mended: {
          voice: {
            everyMs: 12_000,
            happen: (_, random) => [
              random.chance(0.3) ? uvicorn(random, 'GET /health/readiness', '200 OK') : uvicorn(random, 'POST /chat/completions', '200 OK'),
            ],
          },
          health: { status: 'healthy', output: '' },
          pages: {
            4000: {
              '/health/readiness': { body: { status: 'healthy', db: 'connected', litellm_version: '1.79.3' } },
              '/health/liveliness': { body: '"I\'m alive!"', type: 'application/json' },
              '/v1/models': litellmModels,
              '/': htmlPage('LiteLLM API - Swagger UI'),
            },
          },
        },
      },
      ends: { exitCode: 0, afterMs: 400 },
      processes: ['/usr/bin/python3.13 /usr/bin/litellm --config /app/config.yaml --port 4000'],
    },
    db: postgresPlay('litellm'),
  },
};

/** AdGuard Home, made by hand and never set up. */
export const dnsFilter: Part = {
  component: 'dns-filter-second',
  createdAgoMs: hours(2),
  startedAgoMs: hours(2),
  plays: {
    adguard: {
      voice: {
        everyMs: 120_000,
        begin: (at) =>
          toStderr([
            `${slashTime(at)}.104882 [info] starting adguard home version=v0.107.69`,
            `${slashTime(at)}.105120 [info] This is the first time AdGuard Home is launched`,
            `${slashTime(at)}.105133 [info] Checking if AdGuard Home has necessary permissions`,
            `${slashTime(at)}.106001 [info] AdGuard Home can bind to port 53`,
            `${slashTime(at)}.112034 [info] webapi: AdGuard Home is available at the following addresses:`,
            `${slashTime(at)}.112041 [info] webapi: go to http://127.0.0.1:3000`,
            `${slashTime(at)}.112047 [info] webapi: go to http://172.17.0.2:3000`,
          ]),
        happen: (at) =>
          toStderr([
            `${slashTime(at)}.${at.getMilliseconds()}120 [info] waiting for the first set-up at http://127.0.0.1:3000/install.html`,
          ]),
      },
      figures: { cpuPercent: [0.1, 0.05], memoryMb: [29, 2] },
      pages: { 3000: { '/install.html': htmlPage('Setup AdGuard Home'), '*': { status: 302, headers: { Location: '/install.html' } } } },
      bootMs: 600,
      ends: { exitCode: 0, afterMs: 150 },
      processes: ['/opt/adguardhome/AdGuardHome --no-check-update -c /opt/adguardhome/conf/AdGuardHome.yaml'],
    },
  },
};

interface Access {
  host: string;
  method: string;
  uri: string;
  status: number;
  address: string;
}

function caddyAccess(at: Date, random: Random, { host, method, uri, status, address }: Access): Said {
  return {
    err: JSON.stringify({
      level: status >= 500 ? 'error' : 'info',
      ts: at.getTime() / 1000,
      logger: 'http.log.access.log0',
      msg: 'handled request',
      request: {
        remote_ip: address,
        remote_port: String(random.between(32_000, 61_000)),
        client_ip: address,
        proto: 'HTTP/2.0',
        method,
        host,
        uri,
        headers: {
          'User-Agent': [
            random.pick(['Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Reeder/5040', 'curl/8.17.0']),
          ],
          Accept: ['*/*'],
        },
        tls: { resumed: random.chance(0.5), version: 772, cipher_suite: 4865, proto: 'h2', server_name: host },
      },
      bytes_read: 0,
      user_id: '',
      duration: random.between(300, 90_000) / 1_000_000,
      size: random.between(120, 48_000),
      status,
      resp_headers: { Server: ['Caddy'], 'Content-Type': ['text/html; charset=utf-8'] },
    }),
  };
}

/** Caddy, on the host's own network. */
export const reverseProxy: Part = {
  component: 'reverse-proxy',
  project: 'reverse-proxy',
  createdAgoMs: days(120),
  startedAgoMs: days(40),
  plays: {
    caddy: {
      voice: {
        everyMs: 5_000,
        begin: (at) => {
          const ts = at.getTime() / 1000;
          return [
            { err: JSON.stringify({ level: 'info', ts, msg: 'using config from file', file: '/etc/caddy/Caddyfile' }) },
            { err: JSON.stringify({ level: 'info', ts, msg: 'adapted config to JSON', adapter: 'caddyfile' }) },
            {
              err: JSON.stringify({
                level: 'info',
                ts,
                logger: 'admin',
                msg: 'admin endpoint started',
                address: 'localhost:2019',
                enforce_origin: false,
                origins: ['//localhost:2019'],
              }),
            },
            {
              err: JSON.stringify({
                level: 'info',
                ts,
                logger: 'http',
                msg: 'enabling automatic TLS certificate management',
                domains: ['auth.home.example.org', 'feeds.home.example.org', 'media.home.example.org'],
              }),
            },
            { err: JSON.stringify({ level: 'info', ts, msg: 'serving initial configuration' }) },
          ];
        },
        happen: (at, random) => {
          if (random.chance(0.02))
            return [
              {
                err: JSON.stringify({
                  level: 'error',
                  ts: at.getTime() / 1000,
                  logger: 'http.handlers.reverse_proxy',
                  msg: 'aborting with incomplete response',
                  upstream: 'media-server:8096',
                  duration: 0.0021,
                  error: 'writing: write tcp 127.0.0.1:443: write: broken pipe',
                }),
              },
            ];
          const host = `${random.pick(['feeds', 'media', 'auth', 'vault', 'sync'])}.home.example.org`;
          return [
            caddyAccess(at, random, {
              host,
              method: random.chance(0.8) ? 'GET' : 'POST',
              uri: random.pick(['/', '/api/v1/me', '/web/', '/api/sync', '/static/js/app.js', '/favicon.ico']),
              status: random.pick([200, 200, 200, 200, 304, 302, 404]),
              address: random.chance(0.8) ? random.homeAddress() : random.farAddress(),
            }),
          ];
        },
        end: (at) => [{ err: JSON.stringify({ level: 'info', ts: at.getTime() / 1000, msg: 'shutting down', signal: 'SIGTERM' }) }],
      },
      figures: { cpuPercent: [0.9, 0.8], memoryMb: [41, 5] },
      pages: { 80: { '*': { status: 308, headers: { Location: 'https://home.example.org/' } } } },
      exec: (argv) =>
        argv[0] !== 'caddy'
          ? undefined
          : argv[1] === 'version'
            ? said('v2.10.2 h1:g/gTYjGMD0dec+UgMw8SnfmJ3I9+M2TdvoRL/Ovu6U8=')
            : argv[1] === 'adapt'
              ? said(
                  '{"apps":{"http":{"servers":{"srv0":{"listen":[":443"],"routes":[{"match":[{"host":["auth.home.example.org"]}],"handle":[{"handler":"reverse_proxy","upstreams":[{"dial":"127.0.0.1:9091"}]}]}]}}}}}',
                )
              : argv[1] === 'validate' || argv[1] === 'reload'
                ? said(argv[1] === 'validate' ? 'Valid configuration' : '')
                : undefined,
      bootMs: 800,
      ends: { exitCode: 0, afterMs: 200 },
      processes: ['caddy run --config /etc/caddy/Caddyfile --adapter caddyfile'],
      moods: {
        attack: {
          voice: {
            everyMs: 250,
            happen: (at, random) => [
              caddyAccess(at, random, {
                host: 'auth.home.example.org',
                method: 'POST',
                uri: random.pick(['/api/firstfactor', '/api/firstfactor', '/api/firstfactor', '/wp-login.php', '/.env']),
                status: 401,
                address: attackers[random.between(0, attackers.length - 1)] ?? '203.0.113.66',
              }),
            ],
          },
          figures: { cpuPercent: [22, 8], memoryMb: [58, 6] },
        },
      },
    },
  },
};
