import type { PracticeProduct, ProductSurroundings } from '../../../practice/practice.ts';
import { runCommand, validate } from './command.ts';
import { type Configuration, readConfiguration, rendered } from './configuration.ts';
import { portalApi } from './http.ts';
import { readUsers, type User } from './users.ts';

interface Ban {
  id: number;
  whom: string;
  untilMs: number;
  revoked: boolean;
}

/** The state of the portal; second factors and bans are in its database and outlive a restart. */
export interface PortalState {
  readonly bans: Ban[];
  readonly secondFactors: Map<string, { codes: boolean; keys: string[] }>;
  users: ReadonlyMap<string, User>;
  environment(): Readonly<Record<string, string>>;
  /** The configuration file with its templates. */
  text(): string;
  /** The configuration in effect: read at the start. */
  configuration(): Configuration;
  log(level: string, message: string, more?: string): void;
}

export const portalPort = 9091;
const configurationPath = '/config/configuration.yml';
const lookEveryMs = 200;
/** A change within this time of the last one is ignored, and not read later. */
const cooldownMs = 500;

/** Authelia with its users file, its rules and its own command, in release 4.39 (reference/authelia.md). */
export function createSsoPortal(): PracticeProduct {
  let surroundings: ProductSurroundings | undefined;
  let timer: NodeJS.Timeout | undefined;
  let configuration: Configuration | undefined;
  /** Modification time of the users file that was read last. */
  let seenMs = 0;
  let readMs = 0;
  const read = (path: string) => surroundings?.file?.(path)?.content.toString('utf8');
  const state: PortalState = {
    bans: [],
    secondFactors: new Map([
      ['mara', { codes: true, keys: ['Yubikey', 'Phone'] }],
      ['jonas', { codes: true, keys: [] }],
    ]),
    users: new Map(),
    environment: () => surroundings?.environment ?? {},
    text: () => read(configurationPath) ?? '',
    configuration() {
      if (configuration) return configuration;
      const text = state.text();
      // Its files are written a moment after the practice starts.
      if (text === '') return readConfiguration('');
      try {
        configuration = readConfiguration(rendered(text, state.environment()));
      } catch {
        // The real one does not start: here everything is denied.
        configuration = readConfiguration('');
      }
      return configuration;
    },
    log(level, message, more = '') {
      const time = new Date().toISOString().slice(0, 19);
      surroundings?.log(`time="${time}Z" level=${level} msg="${message}"${more}`);
    },
  };

  /** Reads the users file when it is new or has changed. It may be written after the start. */
  const look = () => {
    const file = surroundings?.file?.(state.configuration().usersFile);
    if (!file || file.ms === seenMs || file.content.length === 0) return;
    seenMs = file.ms;
    const where = ` file=${state.configuration().usersFile} op=CREATE service=watcher watcher=users`;
    if (Date.now() - readMs < cooldownMs) return;
    const isFirst = state.users.size === 0;
    try {
      state.users = readUsers(file.content.toString('utf8'));
      readMs = Date.now();
      if (!isFirst) state.log('info', 'Reloaded successfully', where);
    } catch (thrown) {
      const reason = (thrown as Error).message.replaceAll('"', '\\"');
      state.log('error', 'Error occurred during reload', ` error="failed to reload: ${reason}"${where}`);
    }
  };

  return {
    listeners: { [portalPort]: portalApi(state) },
    start(given) {
      surroundings = given;
      configuration = undefined;
      state.users = new Map();
      seenMs = 0;
      readMs = 0;
      look();
      timer = setInterval(() => (configuration?.watch !== false || state.users.size === 0) && look(), lookEveryMs).unref();
    },
    stop() {
      clearInterval(timer);
      surroundings = undefined;
    },
    exec(argv, stdin) {
      const [program = '', ...words] = argv;
      if (program === 'authelia' || program === '/app/authelia') return Promise.resolve(runCommand(state, words));
      if (program === 'sh' && words[0] === '-c' && words[1]?.includes('authelia config validate'))
        return Promise.resolve(validate(state, stdin));
      return undefined;
    },
  };
}
