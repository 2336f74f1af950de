import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault, messageOf } from '../faults/fault.ts';

/** Where secrets rest. Names are ours; values are text. */
export interface SecretStore {
  readonly kind: 'keychain' | 'file';
  /** Undefined when it holds none of that name. Throws `failed.keychain` when it cannot be asked. */
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

const service = 'quarterdeck';
/** An unlock prompt of the desktop can block for as long as nobody looks. */
const keychainLimitMs = 3_000;

type Environment = Readonly<Record<string, string | undefined>>;

function unreachable(reason: string, cause?: unknown): Fault {
  return new Fault({
    code: 'failed.keychain',
    message: `The system's keychain does not answer: ${reason}.`,
    remedy: 'Unlock it, or start a secret service (gnome-keyring, KWallet) in this session.',
    cause,
  });
}

/** Why there can be no keychain here, told without loading anything; undefined when it is worth asking. */
function absence(env: Environment): string | undefined {
  if (env.QUARTERDECK_KEYCHAIN === 'off') return 'QUARTERDECK_KEYCHAIN is off';
  if (process.platform !== 'linux') return undefined;
  // The three places where libsecret looks for a bus.
  return env.DBUS_SESSION_BUS_ADDRESS || env.XDG_RUNTIME_DIR || env.DISPLAY ? undefined : 'this session has no D-Bus';
}

/**
 * One that kept silent is not waited for again so soon: every act would begin with three seconds of nothing. And not at all while a question is still
 * open: each of them holds a thread that node reads files with, and there are four.
 */
const silenceMs = 60_000;
let silent: { fault: Fault; sinceMs: number; open: boolean } | undefined;

/** The keychain of the operating system. */
export function keychainStore(env: Environment = process.env): SecretStore {
  let away: Fault | undefined;

  async function ask<T>(use: (keytar: typeof import('keytar')) => Promise<T>): Promise<T> {
    if (away) throw away;
    const reason = absence(env);
    if (reason) {
      away = unreachable(reason);
      throw away;
    }
    if (silent && (silent.open || performance.now() - silent.sinceMs < silenceMs)) throw silent.fault;
    let timer: NodeJS.Timeout | undefined;
    let late = false;
    let asking: Promise<T> | undefined;
    try {
      const tooLong = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          late = true;
          reject(new Error(`no answer within ${keychainLimitMs / 1000} seconds`));
        }, keychainLimitMs);
      });
      tooLong.catch(() => {});
      // A namespace import type-checks but lacks the functions at run time.
      const { default: keytar } = (await import('keytar')) as unknown as { default: typeof import('keytar') };
      asking = use(keytar);
      return await Promise.race([asking, tooLong]);
    } catch (error) {
      away = unreachable(messageOf(error), error);
      if (late) {
        const silence = { fault: away, sinceMs: performance.now(), open: asking !== undefined };
        silent = silence;
        const answered = () => {
          silence.open = false;
        };
        asking?.then(answered, answered);
      }
      throw away;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    kind: 'keychain',
    get: async (name) => (await ask((keytar) => keytar.getPassword(service, name))) ?? undefined,
    set: (name, value) => ask((keytar) => keytar.setPassword(service, name, value)),
  };
}

/**
 * A file that only its owner can read, for the audit's key alone, where there is no keychain. It lets `audit verify` find accidents and whoever can
 * write the log but not read this file: another user, a backup that was put back, an editor. It is no protection from the operator, from root, or
 * from a program that runs as the operator: all of these can read it.
 */
export function auditKeyFile(path: string): SecretStore {
  async function read(): Promise<Record<string, string>> {
    const text = await readOwnFile(path);
    if (text === undefined) return {};
    try {
      return JSON.parse(text) as Record<string, string>;
    } catch (error) {
      throw new Fault({
        code: 'failed.auditKey',
        message: `The audit's key file ${path} is damaged.`,
        remedy: 'Restore it from a backup. Without it the audit log so far cannot be verified; to begin a new one, move both away.',
        cause: error,
      });
    }
  }
  return {
    kind: 'file',
    get: async (name) => (await read())[name],
    async set(name, value) {
      if (!name.startsWith('audit-')) {
        throw new Fault({
          code: 'refused.noKeychain',
          message: 'Secrets are kept in the keychain only, and there is none here.',
          remedy: 'Start a secret service (gnome-keyring, KWallet) in this session.',
        });
      }
      await writeOwnFile(path, `${JSON.stringify({ ...(await read()), [name]: value })}\n`);
    },
  };
}
