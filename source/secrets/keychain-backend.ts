import { Fault } from '../faults/fault.ts';
import { parseJson } from '../text/json-value.ts';
import { keepAll, type SecretBackend, type StoredVersion, withVersion } from './backend.ts';
import { checkUnlocked, type Environment, queryKeychain } from './keychain.ts';
import type { SecretEntry, SecretName, SecretVersion } from './secrets.ts';

const indexAccount = 'index';
const indexFormat = 1;

type Entries = Map<SecretName, SecretVersion[]>;

/** `pending`: a change was started and not completed, so the index may be out of date. */
interface Index {
  entries: Entries;
  pending: boolean;
}

/** All of a version, to rebuild a lost index: `value a1b2c3 1795299325000 generated nas/password-vault/ADMIN_TOKEN`. */
function accountOf(name: SecretName, { id, createdMs, origin }: SecretVersion): string {
  return `value ${id} ${createdMs} ${origin} ${name}`;
}

function versionOf(account: string): { name: SecretName; version: SecretVersion } | undefined {
  const parts = /^value ([a-z0-9]+) (\d{1,15}) (\S+) (.+)$/s.exec(account);
  if (!parts) return undefined;
  const [, id = '', createdMs = '', origin = '', name = ''] = parts;
  return { name: name as SecretName, version: { id, createdMs: Number(createdMs), origin } };
}

const wheres: Partial<Record<NodeJS.Platform, string>> = { darwin: 'the macOS login keychain', win32: 'the Windows Credential Manager' };

/**
 * Secrets in the keychain of the operating system: one account for each value, readable with the keychain's own tools, and one for the
 * index of names and versions. An index that is missing, damaged or out of date is rebuilt from the accounts, and written with the next
 * change.
 */
export function keychainBackend(env: Environment, service: string): SecretBackend {
  async function rebuilt(): Promise<Entries> {
    // On a locked item keytar's `findCredentials` ends the whole process: libsecret returns no value, and keytar expects one.
    await checkUnlocked(env, service);
    const found = await queryKeychain(env, (keytar) => keytar.findCredentials(service));
    const entries: Entries = new Map();
    for (const { name, version } of found.flatMap(({ account }) => versionOf(account) ?? []))
      entries.set(name, withVersion(entries.get(name) ?? [], version, keepAll).kept);
    return entries;
  }

  async function readIndex(): Promise<Index> {
    const text = await queryKeychain(env, (keytar) => keytar.getPassword(service, indexAccount));
    const index = text === null ? undefined : parseIndex(text);
    if (index === 'newer')
      throw new Fault('failed.secrets', 'The keychain index was written by a newer version of Quarterdeck.', 'Update Quarterdeck.');
    return index ?? { entries: await rebuilt(), pending: false };
  }

  /** For a change: the traces of an earlier, incomplete change are looked up. */
  async function settledIndex(): Promise<Entries> {
    const { entries, pending } = await readIndex();
    return pending ? await rebuilt() : entries;
  }

  async function writeIndex(entries: Entries, pending: boolean): Promise<void> {
    const secrets = [...entries].map(([name, versions]) => [name, versions.map(({ id, createdMs, origin }) => [id, createdMs, origin])]);
    const text = JSON.stringify({ format: indexFormat, ...(pending && { pending }), secrets });
    await queryKeychain(env, (keytar) => keytar.setPassword(service, indexAccount, text));
  }

  async function readValue(name: SecretName, version: SecretVersion): Promise<string | undefined> {
    return (await queryKeychain(env, (keytar) => keytar.getPassword(service, accountOf(name, version)))) ?? undefined;
  }

  const forget = (name: SecretName, version: SecretVersion) =>
    queryKeychain(env, (keytar) => keytar.deletePassword(service, accountOf(name, version)));

  const pick = (versions: readonly SecretVersion[] | undefined, id: string | undefined) =>
    id === undefined ? versions?.at(-1) : versions?.find((version) => version.id === id);

  return {
    kind: 'keychain',
    where: wheres[process.platform] ?? 'the keychain of this session (Secret Service)',
    open: async (signal) => signal.throwIfAborted(),
    async list(signal) {
      signal.throwIfAborted();
      return listed((await readIndex()).entries);
    },
    async read(name, signal, id) {
      signal.throwIfAborted();
      const indexed = pick((await readIndex()).entries.get(name), id);
      const value = indexed && (await readValue(name, indexed));
      if (value !== undefined || !indexed) return value;
      // The account was removed by hand: the remaining accounts decide.
      const found = pick((await rebuilt()).get(name), id);
      return found && (await readValue(name, found));
    },
    async add(name, { value, ...version }, keep, signal) {
      signal.throwIfAborted();
      const entries = await settledIndex();
      const { kept, dropped } = withVersion(entries.get(name) ?? [], version, keep);
      await writeIndex(entries, true);
      await queryKeychain(env, (keytar) => keytar.setPassword(service, accountOf(name, version), value));
      entries.set(name, kept);
      for (const old of dropped) await forget(name, old);
      await writeIndex(entries, false);
    },
    async remove(name, signal) {
      signal.throwIfAborted();
      const entries = await settledIndex();
      const versions = entries.get(name);
      if (!versions) return;
      await writeIndex(entries, true);
      for (const version of versions) await forget(name, version);
      entries.delete(name);
      await writeIndex(entries, false);
    },
  };
}

export function listed(entries: ReadonlyMap<SecretName, readonly (SecretVersion | StoredVersion)[]>): readonly SecretEntry[] {
  return [...entries]
    .map(([name, versions]) => ({ name, versions: versions.map(({ id, createdMs, origin }) => ({ id, createdMs, origin })) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns undefined if the text is not an index. */
function parseIndex(text: string): Index | 'newer' | undefined {
  try {
    const { format, pending, secrets } = parseJson(text) as {
      format: number;
      pending?: boolean;
      secrets: readonly [SecretName, readonly [string, number, string][]][];
    };
    if (format > indexFormat) return 'newer';
    if (format !== indexFormat) return undefined;
    const entries: Entries = new Map();
    for (const [name, versions] of secrets) {
      const isOdd = ([id, createdMs, origin]: readonly unknown[]) =>
        typeof id !== 'string' || typeof createdMs !== 'number' || typeof origin !== 'string';
      if (typeof name !== 'string' || versions.some(isOdd)) return undefined;
      const read = versions.map(([id, createdMs, origin]) => ({ id, createdMs, origin }));
      entries.set(name, read);
    }
    return { entries, pending: pending === true };
  } catch {
    return undefined;
  }
}
