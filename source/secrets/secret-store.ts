import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { objectOf, parseJson } from '../text/json-value.ts';
import { askKeychain, checkUnlocked, type Environment, type Keytar } from './keychain.ts';

/** Where secrets rest. Names are ours; values are text. */
export interface SecretStore {
  readonly kind: 'keychain' | 'file';
  /** Undefined when it holds none of that name. Throws `failed.keychain` when it cannot be asked. */
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

const service = 'quarterdeck';

/** The keychain of the operating system. One that failed once is not asked again through the same store. */
export function keychainStore(env: Environment = process.env): SecretStore {
  let away: Fault | undefined;

  async function ask<T>(use: (keytar: Keytar) => Promise<T>): Promise<T> {
    if (away) throw away;
    try {
      return await askKeychain(env, use);
    } catch (thrown) {
      if (thrown instanceof Fault) away = thrown;
      throw thrown;
    }
  }

  return {
    kind: 'keychain',
    async get(name) {
      const found = await ask((keytar) => keytar.getPassword(service, name));
      if (found !== null) return found;
      // Locked, it has a key of the audit all the same: a second one must not begin.
      await ask(() => checkUnlocked(env, service));
      return undefined;
    },
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
      const stored: unknown = parseJson(text);
      const values = objectOf(stored);
      if (values && Object.values(values).every((value) => typeof value === 'string')) return values as Record<string, string>;
    } catch {}
    throw new Fault({
      code: 'failed.auditKey',
      message: `The audit's key file ${path} is damaged.`,
      remedy: 'Restore it from a backup. Without it the audit log so far cannot be verified; to begin a new one, move both away.',
      where: { file: path },
    });
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
