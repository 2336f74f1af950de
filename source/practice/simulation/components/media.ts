import { htmlPage } from '../../answers.ts';
import { type PracticeComponent, printed } from '../component.ts';

// Downloads and library are on one disk.
const onOneDisk = (argv: readonly string[]) => (argv[0] === 'stat' ? printed('2049\n2049') : undefined);

/** One of the family that finds, picks and files releases: they answer alike. */
function servarr(component: string, service: string, program: string, port: number): PracticeComponent {
  const info = '[Info] {{day}}.0';
  return {
    component,
    services: {
      [service]: {
        log: {
          everyMs: 45_000,
          start: [`${info} Microsoft.Hosting.Lifetime: Now listening on: http://[::]:${port}`],
          entries: [`${info} RssSyncService: RSS Sync Completed. Reports found: 100, Reports grabbed: 0`],
        },
        figures: { cpuPercent: [0.5, 0.4], memoryMb: [168, 14] },
        pages: { [port]: { '/ping': { body: { status: 'OK' } }, '/': htmlPage(program) } },
        files: { '/config/config.xml': '<Config>\n  <AuthenticationMethod>Forms</AuthenticationMethod>\n</Config>\n' },
        exec: onOneDisk,
        processes: [`/app/${service}/bin/${program} -nobrowser -data=/config`],
      },
    },
  };
}

const torrentClient: PracticeComponent = {
  component: 'torrent-client',
  services: {
    qbittorrent: {
      log: { start: ['******** Information ********', 'To control qBittorrent, access the WebUI at: http://localhost:8080'] },
      figures: { cpuPercent: [1.4, 1.2], memoryMb: [142, 30] },
      pages: { 8080: { '/api/v2/app/version': { status: 403, body: 'Forbidden' }, '/': htmlPage('qBittorrent') } },
      exec: onOneDisk,
      processes: ['/usr/bin/qbittorrent-nox --webui-port=8080'],
    },
  },
};

/** What the media server's library is filled by: deploying it sets up the chain of media automation. */
export const mediaAutomation: readonly PracticeComponent[] = [
  servarr('indexer-manager', 'prowlarr', 'Prowlarr', 9696),
  servarr('movie-automation', 'radarr', 'Radarr', 7878),
  torrentClient,
];
