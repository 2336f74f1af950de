import { randomBytes } from 'node:crypto';
import type { PracticeProduct, ProductSurroundings } from '../practice.ts';
import { type CliSurroundings, runCscli } from './cscli.ts';
import { dayFirst, logfmtValue, rfc3339 } from './go-words.ts';
import { freshHub } from './hub-items.ts';
import { localApi } from './local-api.ts';
import { prometheusText, RequestCounts } from './metrics.ts';
import type { Dialect } from './queries.ts';
import { attack, liveOn, pullOn, seedHistory, subscribeBlocklist } from './scenes.ts';
import { Store } from './store.ts';

export interface IntrusionPreventionOptions {
  /** Which release is played; they differ in many answers. The newer one by default. */
  version?: Dialect;
  /** Decisions of the shared block list at the start. 0 by default. */
  blocklist?: number;
  /** Alerts of the last days, and new ones now and then. True by default; a contract wants an empty one that stands still. */
  living?: boolean;
}

export interface PracticeIntrusionPrevention {
  readonly product: PracticeProduct;
  /** What the credentials file in its container holds. */
  readonly machine: { readonly login: string; readonly password: string };
  /** The key of its one bouncer. */
  readonly bouncerKey: string;
  readonly store: Store;
}

/** The port of the local API in the container. */
export const apiPort = 8080;
export const metricsPort = 6060;
/** Where the firewall's bouncer comes from: the gateway of the container's network. */
const bouncerAddress = '172.18.0.1';

/**
 * CrowdSec with its local API, its metrics page and `cscli`, as release 1.4.6 was observed and 1.7.8 reads. Its database outlives a restart
 * of the container; tokens and counters do not.
 */
export function createIntrusionPrevention(options: IntrusionPreventionOptions = {}): PracticeIntrusionPrevention {
  const dialect = options.version ?? '1.7.8';
  const living = options.living ?? true;
  const versionText = dialect === '1.4.6' ? 'v1.4.6-linux' : 'v1.7.8-docker';
  const machine = { login: 'localhost', password: randomBytes(32).toString('base64url') };
  const store = new Store();
  const hub = freshHub();
  store.addMachine(machine.login, machine.password, true).version = versionText;
  const bouncerKey = store.addBouncer('firewall');
  let surroundings: ProductSurroundings | undefined;
  let run: { secret: Buffer; counts: RequestCounts; stopLife(): void } | undefined;
  let idle = new RequestCounts();
  let seeded = false;

  const logAt = (ms: number, level: string, message: string, fields: Readonly<Record<string, string>> = {}): void => {
    const time = dialect === '1.4.6' ? dayFirst(ms) : rfc3339(ms);
    const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${logfmtValue(value)}`);
    surroundings?.log(`time=${JSON.stringify(time)} level=${level} msg=${logfmtValue(message)}${rest.join('')}`, 'stdout', ms);
  };
  const log = (level: string, message: string, fields?: Readonly<Record<string, string>>) => logAt(store.now(), level, message, fields);
  const counts = () => run?.counts ?? idle;
  const called: CliSurroundings['called'] = (method, path, status) => {
    const [route = path] = path.split('?');
    counts().route(route, method);
    if (route !== '/v1/watchers/login') counts().machine(machine.login, route, method);
    const stamp = new Date(store.now()).toUTCString().replace('GMT', 'UTC');
    log(
      'info',
      `127.0.0.1 - [${stamp}] "${method} ${path} HTTP/1.1 ${status} ${(Math.random() * 4 + 0.2).toFixed(6)}ms "cscli/${versionText}" "`,
    );
  };

  const product: PracticeProduct = {
    listeners: {
      [apiPort]: localApi({ store, dialect, run: () => run, log }),
      [metricsPort]: (request, response) => {
        const found = request.url === '/metrics';
        response.writeHead(found ? 200 : 404, {
          'Content-Type': found ? 'text/plain; version=0.0.4; charset=utf-8' : 'text/plain; charset=utf-8',
        });
        response.end(found ? prometheusText(store, counts(), versionText) : '404 page not found\n');
      },
    },
    start(given) {
      surroundings = given;
      store.now = given.now;
      if (!seeded) {
        seeded = true;
        if (living) seedHistory(store, machine.login);
        if (options.blocklist) subscribeBlocklist(store, options.blocklist);
      }
      const fresh = { secret: randomBytes(64), counts: new RequestCounts(), stopLife: () => {} };
      run = fresh;
      const startedMs = given.startedMs ?? given.now();
      logAt(startedMs, 'info', `Crowdsec ${versionText}`);
      logAt(startedMs, 'info', 'Loading prometheus collectors');
      logAt(startedMs, 'warning', 'Communication with CrowdSec Central API disabled from configuration file');
      logAt(startedMs, 'info', `CrowdSec Local API listening on 0.0.0.0:${apiPort}`);
      logAt(startedMs, 'info', 'Loading grok library /etc/crowdsec/patterns');
      logAt(startedMs, 'info', 'Starting processing data');
      if (living) {
        const stopAlerts = liveOn({ store, dialect, machine: machine.login, log, counts: fresh.counts, signal: given.signal });
        const stopPulls = pullOn(store, bouncerAddress);
        fresh.stopLife = () => {
          stopAlerts();
          stopPulls();
        };
      }
    },
    stop() {
      run?.stopLife();
      log('warning', 'SIGTERM received, shutting down');
      log('info', 'Shutting down API server');
      run = undefined;
      idle = new RequestCounts();
    },
    exec(argv, stdin) {
      const [program = '', ...rest] = argv;
      if (program !== 'cscli' && program !== '/usr/local/bin/cscli' && program !== '/usr/bin/cscli') return undefined;
      return Promise.resolve(runCscli({ store, hub, dialect, versionText, login: machine.login, counts, called, log }, rest, stdin));
    },
    incidents: [
      {
        name: 'attack',
        title: 'An attack',
        summary: 'A few addresses try passwords and probe pages, faster and faster; CrowdSec bans them one by one.',
        play: () =>
          attack({ store, dialect, machine: machine.login, log, counts: counts(), signal: surroundings?.signal ?? AbortSignal.abort() }),
      },
    ],
  };
  return { product, machine, bouncerKey, store };
}
