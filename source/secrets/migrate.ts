import { readOwnFile, writeOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { objectOf, parsedJson } from '../text/json-value.ts';
import { keepAll, type SecretBackend } from './backend.ts';
import type { SecretStorage } from './secrets.ts';

/** The backend in effect, and the progress of a migration. Written before each step of it. */
export interface BackendRecord {
  schema: 1;
  kind: SecretStorage['kind'];
  /** Copies are being created in that backend; until all are verified, `kind` has everything. */
  movingTo?: SecretStorage['kind'];
  /** All older versions have been copied from that backend and verified, and are being removed there. */
  leaving?: { kind: SecretStorage['kind']; atMs: number };
}

const isKind = (value: unknown) => value === 'keychain' || value === 'file';

/** A damaged record is a fault: guessing would mean to look for the secrets in the wrong backend. */
export async function readBackendRecord(path: string): Promise<BackendRecord | undefined> {
  const text = await readOwnFile(path);
  if (text === undefined) return undefined;
  const record = objectOf(parsedJson(text)) as BackendRecord | undefined;
  const { schema, kind, movingTo = 'file', leaving = { kind: 'file', atMs: 0 } } = record ?? {};
  const isLeavingRight = isKind(objectOf(leaving)?.['kind']) && typeof leaving.atMs === 'number';
  if (schema === 1 && isKind(kind) && isKind(movingTo) && isLeavingRight) return record;
  const remedy = 'Nothing was changed. Move the file, and set QUARTERDECK_SECRETS to keychain or file, whichever has the secrets.';
  throw new Fault('failed.secrets', `${path} is damaged: it does not specify a backend.`, remedy, { where: { file: path } });
}

export async function writeBackendRecord(path: string, record: Omit<BackendRecord, 'schema'>): Promise<void> {
  await writeOwnFile(path, `${JSON.stringify({ schema: 1, ...record })}\n`);
}

type Reported = (fraction: number, label: string) => void;

/** Can be repeated after an interruption. Must be called under the lock. Throws `failed.migrate`; nothing is removed then. */
export async function copySecrets(from: SecretBackend, to: SecretBackend, signal: AbortSignal, reported?: Reported): Promise<number> {
  const entries = await from.list(signal);
  const versions = entries.flatMap(({ name, versions: all }) => all.map((version) => ({ name, version })));
  for (const [index, { name, version }] of versions.entries()) {
    signal.throwIfAborted();
    reported?.(index / (versions.length * 2), `Copying ${name}`);
    const value = await from.read(name, signal, version.id);
    if (value === undefined) throw unreadFault(name, from);
    const there = await to.read(name, signal, version.id);
    if (there === undefined) await to.add(name, { ...version, value }, keepAll, signal);
    else if (there !== value) {
      const message = `Version ${version.id} of ${name} exists in both backends with different values.`;
      throw new Fault('failed.migrate', message, 'Nothing was removed. Export the secrets, remove the wrong one, and migrate again.');
    }
  }
  const listed = new Map((await to.list(signal)).map((entry) => [entry.name, entry.versions]));
  for (const [index, { name, version }] of versions.entries()) {
    signal.throwIfAborted();
    reported?.((versions.length + index) / (versions.length * 2), `Checking ${name}`);
    const known = listed.get(name)?.some(({ id, createdMs }) => id === version.id && createdMs === version.createdMs);
    if (!known || (await to.read(name, signal, version.id)) !== (await from.read(name, signal, version.id))) throw unreadFault(name, to);
  }
  return entries.length;
}

export async function removeCopied(backend: SecretBackend, atMs: number, signal: AbortSignal): Promise<void> {
  for (const { name, versions } of await backend.list(signal)) {
    signal.throwIfAborted();
    if (versions.every(({ createdMs }) => createdMs <= atMs)) await backend.remove(name, signal);
  }
}

function unreadFault(name: string, backend: SecretBackend): Fault {
  const message = `${name} could not be read back from ${backend.where}.`;
  return new Fault('failed.migrate', message, 'Nothing was removed or moved. Try again.');
}
