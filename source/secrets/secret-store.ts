import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { objectOf, parsedJson } from '../text/json-value.ts';
import { checkUnlocked, type Environment, type Keytar, queryKeychain } from './keychain.ts';

export interface SecretStore {
  readonly kind: 'keychain' | 'file';
  /** Returns undefined if the store has no secret of that name. Throws `failed.keychain` if it cannot be queried. */
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
}

const service = 'quarterdeck';

/** The keychain of the operating system. After a failure it is not queried again through the same store. */
export function keychainStore(env: Environment = process.env): SecretStore {
  let away: Fault | undefined;

  async function ask<T>(use: (keytar: Keytar) => Promise<T>): Promise<T> {
    if (away) throw away;
    try {
      return await queryKeychain(env, use);
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
      // A locked keychain may still hold an audit key: a second key must not be created.
      await ask(() => checkUnlocked(env, service));
      return undefined;
    },
    set: (name, value) => ask((keytar) => keytar.setPassword(service, name, value)),
  };
}

const purposes = {
  audit: {
    code: 'failed.auditKey',
    loss: 'Without this file, the existing audit log cannot be verified. To start a new log, move this file and audit.jsonl to another folder.',
  },
  backup: {
    code: 'failed.backupKey',
    loss: 'Without this file, backups that were signed with it cannot be authenticated. To start with a new key, move this file to another folder.',
  },
  secrets: {
    code: 'failed.secretsAnchor',
    loss: 'Without this file, an older copy of the sealed secrets is not detected. To continue without it, move this file to another folder.',
  },
} as const;

/**
 * A file that only its owner can read. It keeps remembered values for one purpose if there is no keychain. It detects accidents, and
 * changes by anyone who can write the log or the backups but cannot read this file: another user, a restored copy, an editor. It gives no
 * protection from the operator, from root, or from a program that runs as the operator: all of these can read it.
 */
export function keyFile(path: string, purpose: keyof typeof purposes): SecretStore {
  async function read(): Promise<Record<string, string>> {
    const text = await readOwnFile(path);
    if (text === undefined) return {};
    const values = objectOf(parsedJson(text));
    if (values && Object.values(values).every((value) => typeof value === 'string')) return values as Record<string, string>;
    const { code, loss } = purposes[purpose];
    throw new Fault(code, `${path} is damaged.`, `Restore the file from a backup. ${loss}`, { where: { file: path } });
  }
  return {
    kind: 'file',
    get: async (name) => (await read())[name],
    async set(name, value) {
      if (!name.startsWith(`${purpose}-`)) {
        const remedy = 'Start a secret service (gnome-keyring, KWallet) in this session.';
        throw new Fault('refused.noKeychain', 'Secrets are stored in the keychain only, and no keychain is available.', remedy);
      }
      await writeOwnFile(path, `${JSON.stringify({ ...(await read()), [name]: value })}\n`);
    },
  };
}
