import { randomBytes } from 'node:crypto';
import { isOwnFilePrivate, readOwnFile, removeOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import { damagedFault, type SecretBackend, type StoredVersion, withVersion } from './backend.ts';
import { deriveKey, usualCost } from './key-derivation.ts';
import { listed } from './keychain-backend.ts';
import { readSealed, type SealHeader, seal } from './sealed-format.ts';
import type { SecretName } from './secrets.ts';
import { lossOf, missingFault, type openSecretsAnchor, type SealedVersion } from './secrets-anchor.ts';

export interface PassphraseQuestion {
  id: 'secrets-passphrase' | 'secrets-new-passphrase' | 'secrets-new-passphrase-again';
  label: string;
  /** One more sentence; after a mistake it states what was wrong. */
  help?: string;
}

export type PromptPassphrase = (question: PassphraseQuestion, signal: AbortSignal) => Promise<string>;

interface SealedBackendOptions {
  path: string;
  /** Key text that opens the file, instead of a passphrase. */
  keyFile: string | undefined;
  askPassphrase: PromptPassphrase | undefined;
  /** Shown before a new file is created: why this backend is used. */
  whyNew?: () => string | undefined;
  /** Distinguishes an older file from the newest. */
  anchor?: ReturnType<typeof openSecretsAnchor> | undefined;
}

interface SealKey {
  header: SealHeader;
  key: Buffer;
}

type Secrets = Map<SecretName, StoredVersion[]>;

const attempts = 3;
const leastCharacters = 8;

/** The file was sealed again since it was opened: it has to be reopened, and no lock may be held during the prompt. */
export class SealChanged extends Error {}

/**
 * Secrets in one sealed file, for hosts without a keychain. The passphrase is prompted for once; only the key derived from it stays in
 * memory. The file is read for each operation, and always written as a whole, so that several processes can use it.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: everything here shares the key, which nothing else may hold
export function sealedBackend({ path, keyFile, askPassphrase, whyNew, anchor }: SealedBackendOptions) {
  let held: SealKey | undefined;
  let opening: Promise<void> | undefined;
  let ahead = false;

  const keyOf = async (phrase: string, header: SealHeader): Promise<SealKey> => ({
    header,
    key: await deriveKey(phrase, Buffer.from(header.salt, 'base64'), header),
  });
  const refused = (message: string, remedy: string) => new Fault('refused.sealed', message, remedy);
  const unattendedFault = (or: string) =>
    refused(`Cannot prompt without a terminal: the passphrase of ${path} is required.`, `Run the command in a terminal, or ${or}`);
  const wrongKeyFault = (message: string) =>
    refused(message, 'Use the right passphrase or key file. If it is right, the file was modified: restore it from a backup.');

  async function sealed() {
    const text = await readOwnFile(path);
    return text === undefined ? undefined : readSealed(text, path);
  }

  const remembered = async () => (await anchor?.remembered()) ?? [];
  /** The file is missing, and there was one. */
  const isGone = async () => (await remembered()).some((version) => version?.id !== undefined) && (await readOwnFile(path)) === undefined;

  async function opens(file: ReturnType<typeof readSealed>, phrase: string): Promise<boolean> {
    const key = await keyOf(phrase, file.header);
    if (file.open(key.key) === undefined) return false;
    held = key;
    return true;
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each kind of key has refusals of its own
  async function unlock(signal: AbortSignal): Promise<void> {
    const file = await sealed();
    if (!file || (held?.header.salt === file.header.salt && file.open(held.key) !== undefined)) return;
    if (file.header.opens === 'key-file') {
      if (!keyFile) throw refused(`${path} is sealed with a key file, but none is set.`, 'Set QUARTERDECK_SECRETS_KEY_FILE.');
      if (await opens(file, await readKeyFile(keyFile))) return;
      throw wrongKeyFault(`The key file ${keyFile} does not open ${path}.`);
    }
    const withKey = 'seal it with a key file there: QUARTERDECK_SECRETS_KEY_FILE=FILE quarterdeck secrets reseal --key-file';
    if (!askPassphrase) throw unattendedFault(withKey);
    for (let attempt = 0; attempt < attempts; attempt++) {
      const help = attempt === 0 ? path : 'Wrong passphrase. Try again.';
      const phrase = await askPassphrase({ id: 'secrets-passphrase', label: 'Passphrase for the sealed secrets', help }, signal);
      signal.throwIfAborted();
      if (await opens(file, phrase)) return;
    }
    throw wrongKeyFault(`None of ${attempts} passphrases is correct for ${path}.`);
  }

  /** For `reseal`. Prompts the operator: must not be called under the lock. */
  async function newKey(opens: SealHeader['opens'], signal: AbortSignal): Promise<SealKey> {
    const header = { opens, salt: randomBytes(16).toString('base64'), ...usualCost };
    if (opens === 'key-file') {
      if (keyFile) return keyOf(await readKeyFile(keyFile), header);
      throw new Fault('usage.secrets', 'No key file is set.', 'Set QUARTERDECK_SECRETS_KEY_FILE.');
    }
    if (!askPassphrase) throw unattendedFault('set QUARTERDECK_SECRETS_KEY_FILE to a key file.');
    let problem = '';
    for (let attempt = 0; attempt < attempts; attempt++) {
      const help = [problem, whyNew?.(), 'If you lose the passphrase, the secrets are lost.'].filter(Boolean).join(' ');
      const phrase = await askPassphrase({ id: 'secrets-new-passphrase', label: 'New passphrase for the sealed secrets', help }, signal);
      problem = `Use at least ${leastCharacters} characters.`;
      if ([...phrase].length < leastCharacters) continue;
      const again = await askPassphrase({ id: 'secrets-new-passphrase-again', label: 'Repeat the passphrase' }, signal);
      if (again === phrase) return keyOf(phrase, header);
      problem = 'The passphrases do not match.';
    }
    throw refused(`No passphrase was set: ${problem.replace(/\.$/, '').toLowerCase()}.`, 'Nothing was written. Try again.');
  }

  async function content(): Promise<{ secrets: Secrets; version: SealedVersion } | undefined> {
    const file = await sealed();
    if (!file) return undefined;
    if (!held || held.header.salt !== file.header.salt) throw new SealChanged();
    const plain = file.open(held.key);
    if (plain === undefined) throw refused(`${path} was modified without its key.`, 'Restore it from a backup.');
    try {
      const { secrets, generation = 0, id } = parseJson(plain) as { secrets: [SecretName, StoredVersion[]][] } & Partial<SealedVersion>;
      return { secrets: new Map(secrets), version: { generation, id } };
    } catch (error) {
      throw damagedFault(path, 'can be opened, but its content is damaged', error);
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
  const forget = async () => anchor?.keep({ generation: await newest(), id: undefined });

  const backend: SecretBackend = {
    kind: 'file',
    where: path,
    async open(signal, purpose) {
      opening ??= (async () => {
        if (await isGone()) throw missingFault(path);
        if (purpose === 'write' && !(await sealed())) held ??= await newKey(keyFile ? 'key-file' : 'passphrase', signal);
        else await unlock(signal);
      })().finally(() => {
        opening = undefined;
      });
      // Two concurrent callers cause only one prompt.
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
  };
  return {
    ...backend,
    exists: async () => (await readOwnFile(path)) !== undefined,
    isGone,
    /** Accepts the open file, or its absence, as the newest version. */
    async accept() {
      const found = await content();
      // Numbered as the newest version, so that every discarded file stays older.
      if (found) await save(found);
      else await forget();
      return found ? 'file' : 'none';
    },
    /** The anchor is older than the file that was read last: a write was killed, or the keychain was locked. */
    isAhead: () => ahead,
    /** Updates the anchor from the file. Must be called under the lock. */
    async remember() {
      const { version } = await load();
      if (ahead && version) await anchor?.keep(version);
    },
    newKey,
    async reseal(key: SealKey) {
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

const leastKeyCharacters = 16;
const howTo = (path: string, start = 'Create a key file') =>
  `${start}, and keep a copy in another location: (umask 077; head -c 32 /dev/urandom | base64 > ${path})`;

/** Throws `refused.sealed` for a file that is missing, readable for others or too short. */
export async function readKeyFile(path: string): Promise<string> {
  const refused = (message: string, remedy: string) => new Fault('refused.sealed', message, remedy, { where: { file: path } });
  // Container engines and Kubernetes mount secrets as links.
  const text = await readOwnFile(path, { followsLinks: true });
  if (text === undefined)
    throw refused(`The key file ${path} is missing.`, howTo(path, 'Restore the key file from a copy. If you never had one, create it'));
  if (!(await isOwnFilePrivate(path))) throw refused(`The key file ${path} can be read by other users.`, `Run: chmod 600 ${path}`);
  const key = text.trim();
  // Bytes that are not valid text would all become the same replacement character.
  if (key.includes('\uFFFD')) throw refused(`The key file ${path} is not valid UTF-8.`, howTo(path));
  if (key.length >= leastKeyCharacters) return key;
  throw refused(`The key file ${path} is too short: at least ${leastKeyCharacters} characters are required.`, howTo(path));
}
