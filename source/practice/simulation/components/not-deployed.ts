import { htmlPage } from '../../answers.ts';
import { type Pages, type PracticeComponent, printed } from '../component.ts';
import { postgresService } from './databases.ts';
import { mediaAutomation } from './media.ts';

const mealiePages = (isFirstLogin: boolean): Pages => ({
  '/api/app/about': {
    body: { production: true, version: 'v3.5.0', demoStatus: false, allowSignup: false, enableOidc: false, allowPasswordLogin: true },
  },
  '/api/app/about/startup-info': { body: { isFirstLogin, isDemo: false } },
  '/': htmlPage('Mealie'),
});

/** Mealie, as it is when it is new: with the default account, until it is gone as if someone had logged in. */
const recipeManager: PracticeComponent = {
  component: 'recipe-manager',
  services: {
    mealie: {
      log: {
        everyMs: 20_000,
        start: [
          'INFO     {{day}} - Database contains no users, initializing...',
          'INFO     {{day}} - -----SYSTEM STARTUP-----',
          'INFO     {{day}} - Uvicorn running on http://0.0.0.0:9000 (Press CTRL+C to quit)',
        ],
        entries: [
          'INFO     {{day}} - [127.0.0.1:{{32000..60000}}] 200 OK "GET {{/api/app/about|/api/recipes|/api/households/mealplans/today}} HTTP/1.1"',
        ],
      },
      figures: { cpuPercent: [0.6, 0.4], memoryMb: [214, 12] },
      pages: { 9000: mealiePages(true) },
      exec: (argv) => (argv[0] === 'python' ? printed('') : undefined),
      bootMs: 2_000,
      processes: ['/opt/mealie/bin/python3 /opt/mealie/bin/mealie'],
      settles: { afterMs: 5 * 60_000, scenario: 'changed' },
      scenarios: { changed: { pages: { 9000: mealiePages(false) } } },
    },
    db: postgresService('mealie'),
  },
};

/** WireGuard Easy: whoever deploys it lets devices in. */
const tunnelServerUi: PracticeComponent = {
  component: 'tunnel-server-ui',
  services: {
    'wg-easy': {
      figures: { cpuPercent: [0.2, 0.1], memoryMb: [48, 4] },
      processes: ['/usr/bin/dumb-init node server.js'],
    },
  },
};

/** What its control server says to whoever has the key that it was started with. */
function withKey(body: object): Pages[string] {
  return ({ header }, environment) => {
    const key = /"apikey":"([^"]+)"/.exec(environment['HTTP_CONTROL_SERVER_AUTH_DEFAULT_ROLE'] ?? '')?.[1];
    return key === undefined || header('x-api-key') === key ? { body } : { status: 401, body: 'Unauthorized' };
  };
}

/** Gluetun, as if its provider answered: what is routed through it leaves in Sweden. */
const vpnClientGateway: PracticeComponent = {
  component: 'vpn-client-gateway',
  services: {
    gluetun: {
      log: {
        everyMs: 60_000,
        start: ['{{second}} INFO [ip getter] Public IP address is 198.51.100.7 (Sweden)'],
        entries: ['{{second}} INFO [healthcheck] healthy!'],
      },
      figures: { cpuPercent: [0.4, 0.3], memoryMb: [34, 3] },
      pages: {
        8000: {
          '/v1/openvpn/status': withKey({ status: 'running' }),
          '/v1/vpn/status': withKey({ status: 'running' }),
          '/v1/publicip/ip': withKey({ public_ip: '198.51.100.7', country: 'Sweden', city: 'Malmo', organization: 'Practice' }),
        },
      },
      exec: (argv) => (argv[0] === '/gluetun-entrypoint' ? printed('') : undefined),
      processes: ['/gluetun-entrypoint'],
    },
  },
};

/** What can be deployed in practice and is not there at its start. */
export const notDeployed: readonly PracticeComponent[] = [recipeManager, tunnelServerUi, vpnClientGateway, ...mediaAutomation];
