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

const purposes = {
  audit: {
    code: 'failed.auditKey',
    loss: 'Without it the existing audit log cannot be verified. To start a new log, move both files away.',
  },
  backup: {
    code: 'failed.backupKey',
    loss: 'Without it, backups that it signed cannot be authenticated. To start with a new key, move it away.',
  },
  secrets: {
    code: 'failed.secretsAnchor',
    loss: 'Without it an older copy of the sealed secrets is not detected. To continue without it, move it away.',
  },
} as const;

/**
 * A file that only its owner can read, for what is remembered for one purpose alone, where there is no keychain. With it accidents are found, and whoever can write the log or the
 * backups but not read this file: another user, a copy that was put back, an editor. It is no protection from the operator, from root, or from a
 * program that runs as the operator: all of these can read it.
 */
export function keyFile(path: string, purpose: keyof typeof purposes): SecretStore {
  async function read(): Promise<Record<string, string>> {
    const text = await readOwnFile(path);
    if (text === undefined) return {};
    try {
      const stored: unknown = parseJson(text);
      const values = objectOf(stored);
      if (values && Object.values(values).every((value) => typeof value === 'string')) return values as Record<string, string>;
    } catch {}
    throw new Fault({
      code: purposes[purpose].code,
      message: `${path} is damaged.`,
      remedy: `Restore it from a backup. ${purposes[purpose].loss}`,
      where: { file: path },
    });
  }
  return {
    kind: 'file',
    get: async (name) => (await read())[name],
    async set(name, value) {
      if (!name.startsWith(`${purpose}-`)) {
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
