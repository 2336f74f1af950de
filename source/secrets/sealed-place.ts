import { randomBytes } from 'node:crypto';
import { readOwnFile, removeOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import { deriveKey, usualCost } from './key-derivation.ts';
import { readKeyFile } from './key-file.ts';
import { listed } from './keychain-place.ts';
import { readSealed, type SealHeader, seal } from './sealed-format.ts';
import { lossOf, missingFault, type SealedVersion, type SecretsAnchor } from './secrets-anchor.ts';
import type { SecretName } from './vault.ts';
import { damagedFault, type StoredVersion, type VaultPlace, withVersion } from './vault-place.ts';

export interface PassphraseQuestion {
  id: 'secrets-passphrase' | 'secrets-new-passphrase' | 'secrets-new-passphrase-again';
  label: string;
  /** One more sentence; after a mistake it says what was wrong. */
  help?: string;
}

export type AskPassphrase = (question: PassphraseQuestion, signal: AbortSignal) => Promise<string>;

export interface SealedPlaceOptions {
  path: string;
  /** Text that opens it, instead of a passphrase. */
  keyFile: string | undefined;
  /** Missing: there is nobody to ask. */
  askPassphrase: AskPassphrase | undefined;
  /** Said when a new file is about to be made: why it is this place. */
  whyNew?: () => string | undefined;
  /** Tells an older file from the newest. */
  anchor?: SecretsAnchor | undefined;
}

export interface SealedPlace extends VaultPlace {
  exists(): Promise<boolean>;
  /** There is none, and there was. */
  isGone(): Promise<boolean>;
  /** Makes the file, which is open, the newest version, or the absence of one. */
  accept(): Promise<'file' | 'none'>;
  /** Does the anchor lag behind the file that was read last? It does after a write was killed, or while the keychain was locked. */
  isAhead(): boolean;
  /** Updates the anchor from the file. Call it under the lock. */
  remember(): Promise<void>;
  /** A new key, which `reseal` puts to use. Asks the operator: not under the lock. */
  newKey(opens: SealHeader['opens'], signal: AbortSignal): Promise<SealKey>;
  reseal(key: SealKey): Promise<void>;
  /** Writes it with nothing in it yet. */
  begin(): Promise<void>;
  /** With everything in it. */
  destroy(): Promise<void>;
}

export interface SealKey {
  header: SealHeader;
  key: Buffer;
}

type Secrets = Map<SecretName, StoredVersion[]>;

const attempts = 3;
const leastCharacters = 8;

/** The file was sealed anew since it was opened: it has to be opened again, with nobody waiting for a lock meanwhile. */
export class SealChanged extends Error {}

/**
 * Secrets in one sealed file, for hosts without a keychain. The passphrase is asked once; what is kept in memory is the key that was derived from it. The
 * file is read anew every time, and written whole, so that several processes can use it.
 */
export function sealedPlace({ path, keyFile, askPassphrase, whyNew, anchor }: SealedPlaceOptions): SealedPlace {
  let held: SealKey | undefined;
  let opening: Promise<void> | undefined;
  let ahead = false;

  const keyOf = async (phrase: string, header: SealHeader): Promise<SealKey> => ({
    header,
    key: await deriveKey(phrase, Buffer.from(header.salt, 'base64'), header),
  });
  const nobodyFault = () =>
    new Fault({
      code: 'refused.sealed',
      message: `The secrets are sealed in ${path}, and there is nobody to ask for the passphrase.`,
      remedy: 'Run it in a terminal, or seal them with a key file and name that in QUARTERDECK_SECRETS_KEY_FILE.',
    });

  async function sealed() {
    const text = await readOwnFile(path);
    return text === undefined ? undefined : readSealed(text, path);
  }

  const remembered = async () => (await anchor?.remembered()) ?? [];
  const isGone = async () => (await remembered()).some((version) => version?.id !== undefined) && (await readOwnFile(path)) === undefined;

  async function unlock(signal: AbortSignal): Promise<void> {
    const file = await sealed();
    if (!file || (held && held.header.salt === file.header.salt && file.open(held.key) !== undefined)) return;
    const { header } = file;
    if (header.opens === 'key-file') {
      if (!keyFile) {
        throw new Fault({
          code: 'refused.sealed',
          message: `${path} is sealed with a key file, and none is named.`,
          remedy: 'Name it in QUARTERDECK_SECRETS_KEY_FILE.',
        });
      }
      const key = await keyOf(await readKeyFile(keyFile), header);
      if (file.open(key.key) === undefined) throw wrongKeyFault(`The key file ${keyFile} does not open ${path}.`);
      held = key;
      return;
    }
    if (!askPassphrase) throw nobodyFault();
    let help: string | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const phrase = await askPassphrase(
        { id: 'secrets-passphrase', label: 'Passphrase of the sealed secrets', help: help ?? path },
        signal,
      );
      signal.throwIfAborted();
      const key = await keyOf(phrase, header);
      if (file.open(key.key) !== undefined) {
        held = key;
        return;
      }
      help = 'That passphrase does not open it. Try again.';
    }
    throw wrongKeyFault(`None of ${attempts} passphrases opens ${path}.`);
  }

  async function newKey(opens: SealHeader['opens'], signal: AbortSignal): Promise<SealKey> {
    const header = { opens, salt: randomBytes(16).toString('base64'), ...usualCost };
    if (opens === 'key-file') {
      if (keyFile) return keyOf(await readKeyFile(keyFile), header);
      throw new Fault({
        code: 'usage.secrets',
        message: 'No key file is named.',
        remedy: 'Name it in QUARTERDECK_SECRETS_KEY_FILE.',
      });
    }
    if (!askPassphrase) throw nobodyFault();
    let problem: string | undefined;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const phrase = await askPassphrase(
        {
          id: 'secrets-new-passphrase',
          label: 'New passphrase for the sealed secrets',
          help: [problem, whyNew?.(), 'Without it they are lost: nobody can open the file.'].filter(Boolean).join(' '),
        },
        signal,
      );
      if ([...phrase].length < leastCharacters) {
        problem = `At least ${leastCharacters} characters.`;
        continue;
      }
      const again = await askPassphrase({ id: 'secrets-new-passphrase-again', label: 'The same passphrase again' }, signal);
      if (again === phrase) return keyOf(phrase, header);
      problem = 'The two were not the same.';
    }
    throw new Fault({
      code: 'refused.sealed',
      message: `No passphrase was set: ${(problem ?? '').replace(/\.$/, '').toLowerCase()}.`,
      remedy: 'Nothing was written. Try again.',
    });
  }

  /** What is in the file, whichever version it is. */
  async function content(): Promise<{ secrets: Secrets; version: SealedVersion } | undefined> {
    const file = await sealed();
    if (!file) return undefined;
    if (!held || held.header.salt !== file.header.salt) throw new SealChanged();
    const plain = file.open(held.key);
    if (plain === undefined) throw wrongKeyFault(`${path} was changed by someone without its key.`);
    try {
      const { secrets, generation = 0, id } = parseJson(plain) as { secrets: [SecretName, StoredVersion[]][] } & Partial<SealedVersion>;
      return { secrets: new Map(secrets), version: { generation, id } };
    } catch (error) {
      throw damagedFault(path, 'opens, but what is in it is damaged', error);
    }
  }

  async function load(): Promise<{ secrets: Secrets; version?: SealedVersion }> {
    const versions = await remembered();
    const found = await content();
    const loss = lossOf(path, found?.version, versions);
    if (loss) throw loss;
    ahead = found?.version.id !== undefined && versions.some((version) => (version?.generation ?? 0) < found.version.generation);
    return found ?? { secrets: new Map() };
  }

  async function save({ secrets, version: before }: { secrets: Secrets; version?: SealedVersion }): Promise<void> {
    if (!held) throw new SealChanged();
    const version = { generation: (await newest(before)) + 1, id: before?.id ?? randomBytes(8).toString('hex') };
    await writeOwnFile(path, seal(JSON.stringify({ secrets: [...secrets], ...version }), held.key, held.header));
    await anchor?.keep(version);
    ahead = false;
  }

  const newest = async (before?: SealedVersion) =>
    Math.max(...[before, ...(await remembered())].map((version) => version?.generation ?? 0));
  /** There is no file any more. */
  const forget = async () => anchor?.keep({ generation: await newest(), id: undefined });

  return {
    kind: 'file',
    where: path,
    exists: async () => (await readOwnFile(path)) !== undefined,
    isGone,
    async accept() {
      const found = await content();
      // As the newest version of all, so that what is discarded by this stays older.
      if (found) await save(found);
      else await forget();
      return found ? 'file' : 'none';
    },
    isAhead: () => ahead,
    async remember() {
      const { version } = await load();
      if (ahead && version) await anchor?.keep(version);
    },
    async open(signal, purpose) {
      opening ??= (async () => {
        if (await isGone()) throw missingFault(path);
        if (purpose === 'write' && !(await sealed())) held ??= await newKey(keyFile ? 'key-file' : 'passphrase', signal);
        else await unlock(signal);
      })().finally(() => {
        opening = undefined;
      });
      // Two who come at once are asked once.
      await opening;
    },
    list: async () => listed((await load()).secrets),
    async read(name, _signal, id) {
      const versions = (await load()).secrets.get(name);
      return (id === undefined ? versions?.at(-1) : versions?.find((version) => version.id === id))?.value;
    },
    async add(name, version, keep) {
      const before = await load();
      before.secrets.set(name, withVersion(before.secrets.get(name) ?? [], version, keep).kept);
      await save(before);
    },
    async remove(name) {
      const before = await load();
      if (before.secrets.delete(name)) await save(before);
    },
    newKey,
    async reseal(key) {
      const content = await load();
      const before = held;
      held = key;
      await save(content).catch((error: unknown) => {
        held = before;
        throw error;
      });
    },
    begin: () => save({ secrets: new Map() }),
    async destroy() {
      await removeOwnFile(path);
      await forget();
    },
  };
}

function wrongKeyFault(message: string): Fault {
  return new Fault({
    code: 'refused.sealed',
    message,
    remedy: 'The file is whole and was left as it is. If the key is right, somebody changed the file: restore it from a backup.',
  });
}
