import { days, type Part, said } from '../part.ts';
import { htmlPage } from '../web.ts';

const stamp = (at: Date) => `${at.toISOString().slice(0, 19).replace('T', ' ')}.0`;
const line = (at: Date, who: string, text: string) => `[Info] ${stamp(at)} ${who}: ${text}`;

/** One of the family that finds, picks and files releases: they answer alike. */
function servarr(component: string, service: string, program: string, port: number, does: readonly [string, ...string[]]): Part {
  return {
    component,
    project: component,
    createdAgoMs: days(1),
    startedAgoMs: days(1),
    plays: {
      [service]: {
        voice: {
          everyMs: 45_000,
          begin: (at) => [
            line(at, 'Bootstrap', `Starting ${program} - /app/${service}/bin/${program}`),
            line(at, 'MigrationController', '*** Migrating data source=/config/main.db ***'),
            line(at, 'Microsoft.Hosting.Lifetime', `Now listening on: http://[::]:${port}`),
          ],
          happen: (at, random) => [line(at, 'RssSyncService', random.pick(does))],
          end: (at) => [line(at, 'Microsoft.Hosting.Lifetime', 'Application is shutting down...')],
        },
        figures: { cpuPercent: [0.5, 0.4], memoryMb: [168, 14] },
        pages: { [port]: { '/ping': { body: { status: 'OK' } }, '/': htmlPage(program) } },
        files: { '/config/config.xml': '<Config>\n  <AuthenticationMethod>Forms</AuthenticationMethod>\n</Config>\n' },
        // Downloads and library are on one disk.
        exec: (argv) => (argv[0] === 'stat' ? said('2049\n2049') : undefined),
        bootMs: 800,
        ends: { exitCode: 0, afterMs: 300 },
        processes: [`/app/${service}/bin/${program} -nobrowser -data=/config`],
      },
    },
  };
}

const torrentClient: Part = {
  component: 'torrent-client',
  project: 'torrent-client',
  createdAgoMs: days(1),
  startedAgoMs: days(1),
  plays: {
    qbittorrent: {
      voice: {
        everyMs: 60_000,
        begin: () => ['******** Information ********', 'To control qBittorrent, access the WebUI at: http://localhost:8080'],
        happen: () => [],
      },
      figures: { cpuPercent: [1.4, 1.2], memoryMb: [142, 30] },
      pages: { 8080: { '/api/v2/app/version': { status: 403, body: 'Forbidden' }, '/': htmlPage('qBittorrent') } },
      exec: (argv) => (argv[0] === 'stat' ? said('2049\n2049') : undefined),
      bootMs: 500,
      ends: { exitCode: 0, afterMs: 300 },
      processes: ['/usr/bin/qbittorrent-nox --webui-port=8080'],
    },
  },
};

/** What the media server's library is filled by: whoever deploys it has the chain of media automation. */
export const mediaAutomation: readonly Part[] = [
  servarr('indexer-manager', 'prowlarr', 'Prowlarr', 9696, ['RSS sync completed. Reports found: 100, Reports grabbed: 0']),
  servarr('movie-automation', 'radarr', 'Radarr', 7878, [
    'Processing 100 releases',
    'RSS Sync Completed. Reports found: 100, Reports grabbed: 0',
  ]),
  torrentClient,
];
