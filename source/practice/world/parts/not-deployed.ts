import type { PracticeProduct } from '../../practice.ts';
import { days, type Part, said } from '../part.ts';
import { dayTime } from '../voice.ts';
import { htmlPage, type Pages } from '../web.ts';
import { postgresPlay } from './databases.ts';
import { mediaAutomation } from './media.ts';
import type { Products } from './products.ts';

const line = (at: Date, level: string, text: string) => `${level.padEnd(8)} ${dayTime(at)} - ${text}`;

const pages = (firstLogin: boolean): Pages => ({
  '/api/app/about': {
    body: { production: true, version: 'v3.5.0', demoStatus: false, allowSignup: false, enableOidc: false, allowPasswordLogin: true },
  },
  '/api/app/about/startup-info': { body: { isFirstLogin: firstLogin, isDemo: false } },
  '/': htmlPage('Mealie'),
});

/** Mealie, as it is when it is new: with the account that everybody knows, until somebody has been there. */
export const recipeManager: Part = {
  component: 'recipe-manager',
  project: 'recipe-manager',
  createdAgoMs: days(1),
  startedAgoMs: days(1),
  plays: {
    mealie: {
      voice: {
        everyMs: 20_000,
        begin: (at) => [
          line(at, 'INFO', 'Database connection established.'),
          line(at, 'INFO', 'Database contains no users, initializing...'),
          line(at, 'INFO', 'Generating Default User'),
          line(at, 'INFO', '-----SYSTEM STARTUP-----'),
          line(at, 'INFO', 'Uvicorn running on http://0.0.0.0:9000 (Press CTRL+C to quit)'),
        ],
        happen: (at, random) => [
          line(
            at,
            'INFO',
            `[127.0.0.1:${random.between(32_000, 60_000)}] 200 OK "GET ${random.pick(['/api/app/about', '/api/recipes', '/api/households/mealplans/today'])} HTTP/1.1"`,
          ),
        ],
        end: (at) => [line(at, 'INFO', '-----SYSTEM SHUTDOWN-----')],
      },
      figures: { cpuPercent: [0.6, 0.4], memoryMb: [214, 12] },
      health: { status: 'healthy', output: '' },
      pages: { 9000: pages(true) },
      exec: (argv) => (argv[0] === 'python' ? said('') : undefined),
      bootMs: 2_000,
      ends: { exitCode: 0, afterMs: 300 },
      processes: ['/opt/mealie/bin/python3 /opt/mealie/bin/mealie'],
      settles: { afterMs: 5 * 60_000, mood: 'changed' },
      moods: { changed: { pages: { 9000: pages(false) } } },
    },
    db: postgresPlay('mealie'),
  },
};

/** WireGuard Easy: whoever deploys it lets devices in. */
const tunnelServerUi = (product?: PracticeProduct): Part => ({
  ...(product && { product }),
  component: 'tunnel-server-ui',
  project: 'tunnel-server-ui',
  createdAgoMs: days(1),
  startedAgoMs: days(1),
  plays: {
    'wg-easy': {
      // The product writes its own log.
      voice: { everyMs: Number.POSITIVE_INFINITY, happen: () => [] },
      figures: { cpuPercent: [0.2, 0.1], memoryMb: [48, 4] },
      bootMs: 400,
      ends: { exitCode: 0, afterMs: 200 },
      processes: ['/usr/bin/dumb-init node server.js'],
    },
  },
});

/** What its control server says to whoever has the key that it was started with. */
function withKey(body: object): Pages[string] {
  return ({ headers }, environment) => {
    const said = /"apikey":"([^"]+)"/.exec(environment['HTTP_CONTROL_SERVER_AUTH_DEFAULT_ROLE'] ?? '')?.[1];
    return said === undefined || headers['x-api-key'] === said ? { body } : { status: 401, body: 'Unauthorized' };
  };
}

const gluetunLine = (at: Date, text: string) => `${at.toISOString().slice(0, 19)}Z INFO ${text}`;

/** Gluetun, as if its provider answered: what is routed through it leaves in Sweden. */
const vpnClientGateway: Part = {
  component: 'vpn-client-gateway',
  project: 'vpn-client-gateway',
  createdAgoMs: days(1),
  startedAgoMs: days(1),
  plays: {
    gluetun: {
      voice: {
        everyMs: 60_000,
        begin: (at) => [
          gluetunLine(at, '[routing] default route found: interface eth0, gateway 172.18.0.1'),
          gluetunLine(at, '[firewall] enabled successfully'),
          gluetunLine(at, '[http server] http server listening on [::]:8000'),
          gluetunLine(at, '[wireguard] Connecting to 198.51.100.1:51820'),
          gluetunLine(at, '[ip getter] Public IP address is 198.51.100.7 (Sweden)'),
        ],
        happen: (at) => [gluetunLine(at, '[healthcheck] healthy!')],
        end: (at) => [gluetunLine(at, 'Shutdown successful')],
      },
      figures: { cpuPercent: [0.4, 0.3], memoryMb: [34, 3] },
      pages: {
        8000: {
          '/v1/openvpn/status': withKey({ status: 'running' }),
          '/v1/vpn/status': withKey({ status: 'running' }),
          '/v1/publicip/ip': withKey({ public_ip: '198.51.100.7', country: 'Sweden', city: 'Malmo', organization: 'Practice' }),
        },
      },
      exec: (argv) => (argv[0] === '/gluetun-entrypoint' ? said('') : undefined),
      bootMs: 600,
      ends: { exitCode: 0, afterMs: 200 },
      processes: ['/gluetun-entrypoint'],
    },
  },
};

/** What can be deployed in practice and is not there at its start. */
export const notDeployed = ({ tunnelUi }: Products): readonly Part[] => [
  recipeManager,
  tunnelServerUi(tunnelUi),
  vpnClientGateway,
  ...mediaAutomation,
];
