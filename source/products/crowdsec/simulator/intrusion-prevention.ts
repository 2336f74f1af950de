import { randomBytes } from 'node:crypto';
import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';
import { runCscli } from './cscli.ts';
import { rfc3339 } from './go-words.ts';
import { Hub } from './hub.ts';
import { localApi } from './local-api.ts';
import { attack, live, seedHistory, subscribeBlocklist } from './scenes.ts';
import { type Dialect, Store } from './store.ts';

export interface IntrusionPreventionOptions {
  version?: Dialect;
  /** Decisions of the shared block list at the start. 0 by default. */
  blocklist?: number;
  /** Alerts of the last days, and new ones now and then. True by default; a contract needs an empty one that stands still. */
  living?: boolean;
}

export type PracticeIntrusionPrevention = ReturnType<typeof createIntrusionPrevention>;

export const apiPort = 8080;
/** Where the firewall's bouncer comes from: the gateway of the container's network. */
const bouncerAddress = '172.18.0.1';

/** CrowdSec as release 1.4.6 was observed and 1.7.8 reads. Its database outlives a restart; tokens and counters do not. */
export function createIntrusionPrevention(options: IntrusionPreventionOptions = {}) {
  const { version: dialect = '1.7.8', living = true } = options;
  const versionText = dialect === '1.4.6' ? 'v1.4.6-linux' : 'v1.7.8-docker';
  const machine = { login: 'localhost', password: randomBytes(32).toString('base64url') };
  const store = new Store();
  const hub = new Hub(dialect);
  store.addMachine(machine.login, machine.password, true).version = versionText;
  const bouncerKey = store.addBouncer('firewall');
  let surroundings: ProductSurroundings | undefined;
  let tokens = new Map<string, number>();
  let requests: Record<string, Record<string, number>> = {};
  let seeded = false;
  let running = new AbortController();

  const log = (message: string, ms = Date.now()) =>
    surroundings?.log(`time="${rfc3339(ms)}" level=info msg=${JSON.stringify(message)}`, 'stdout', ms);
  const counted = (method: string, route: string) => {
    requests[route] = { ...requests[route], [method]: (requests[route]?.[method] ?? 0) + 1 };
  };
  const scene = () => ({ store, machine: machine.login, log, signal: running.signal });

  const product: PracticeProduct = {
    listeners: { [apiPort]: localApi({ store, dialect, tokens: () => tokens, counted, log }) },
    files: {
      '/etc/crowdsec/local_api_credentials.yaml': `url: http://0.0.0.0:8080\nlogin: ${machine.login}\npassword: ${machine.password}\n`,
    },
    start(given) {
      surroundings = given;
      if (!seeded) {
        seeded = true;
        if (living) seedHistory(store, machine.login);
        if (options.blocklist) subscribeBlocklist(store, options.blocklist);
      }
      tokens = new Map();
      requests = {};
      running = new AbortController();
      log(`Crowdsec ${versionText}`, given.startedMs);
      log(`CrowdSec Local API listening on 0.0.0.0:${apiPort}`, given.startedMs);
      if (living) live(scene(), bouncerAddress);
    },
    stop() {
      running.abort();
      log('SIGTERM received, shutting down');
      tokens = new Map();
    },
    exec: ([program, ...argv]) =>
      program === 'cscli'
        ? Promise.resolve(runCscli({ store, hub, dialect, versionText, login: machine.login, requests, log }, argv))
        : undefined,
    play(incident) {
      if (incident === 'attack') attack(scene());
    },
  };
  return { product, machine, bouncerKey, store };
}
