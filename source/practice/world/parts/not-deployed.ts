import { days, type Part, said } from '../part.ts';
import { dayTime } from '../voice.ts';
import { htmlPage, type Pages } from '../web.ts';
import { postgresPlay } from './databases.ts';

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

/** What can be deployed in practice and is not there at its start. */
export const notDeployed: readonly Part[] = [recipeManager];
