import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { Fault, messageOf } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { type AgeFor, encrypterFor } from '../../secrets/age-file.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import { parseJson } from '../../text/json-value.ts';
import { bytesText } from '../../text/quantities.ts';
import type { DeployRecord } from '../model.ts';
import { readRecord, recordPath } from '../read-deployment.ts';
import { failureOf, removeFolder, runThere } from './files.ts';
import type { BackupManifest } from './manifest.ts';
import type { BackupFacts } from './model.ts';
import type { BackupStore } from './store.ts';
import { checkedArchive } from './tar.ts';
import { damaged, filesDamaged, openSaved, readProblem, type SavedContent } from './verify.ts';

/** Returns the texts of a saved component by path in its folder, and its record. Undefined if Quarterdeck had not deployed it. */
export async function projectIn(grant: Grant, store: BackupStore, backup: BackupFacts) {
  const files = new Set(backup.manifest?.files.map(({ file }) => file));
  if (!files.has('project.tar') || !files.has('record.json')) return undefined;
  const tar = await wholeFile(grant, store, backup, 'project.tar');
  const { record } = await savedRecord(grant, store, backup);
  const texts: Record<string, string> = {};
  const reader = extract();
  reader.on('entry', ({ type, name }, entry, next) => {
    buffer(entry as unknown as Readable).then((content) => {
      // Binary files were not written by Quarterdeck, and stay as they are.
      if (type === 'file' && !content.includes(0) && isUtf8(content)) texts[posix.normalize(name)] = content.toString('utf8');
      next();
    }, next);
  });
  await pipeline(Readable.from([tar]), reader);
  return { texts, record };
}

const sealedLimitBytes = 64 * 1024 * 1024;

/**
 * Restores `compose.yaml`, `.env` and `files/` into the component's folder, and our record of it. The existing folder is moved, never
 * deleted; returns its new path. For a host that no longer has any of it, before it is deployed again.
 */
export async function restoreProject(
  grant: Grant,
  { store, backup, host, stackFolder, stamp }: { store: BackupStore; backup: BackupFacts; host: Host; stackFolder: string; stamp: string },
): Promise<{ folder: string; aside: string | undefined } | undefined> {
  const files = new Set(backup.manifest?.files.map(({ file }) => file));
  if (!files.has('project.tar')) return undefined;
  const saved = files.has('record.json') ? await savedRecord(grant, store, backup) : undefined;
  const folder = posix.join(stackFolder, backup.component);
  const arriving = `${folder}.${stamp}.partial`;
  await host.files.makeFolder(grant, arriving, { mode: 0o755 });
  try {
    await unpackProject(grant, store, backup, host, arriving);
  } catch (thrown) {
    await removeFolder(grant, host, arriving).catch(() => undefined);
    throw thrown;
  }
  const aside = (await host.files.facts(folder, grant.signal)) ? `${folder}.before-${stamp}` : undefined;
  if (aside !== undefined) await runThere(grant, host, ['mv', '-T', '--', folder, aside]);
  await runThere(grant, host, ['mv', '-T', '--', arriving, folder]);
  if (saved) {
    const record = recordPath(stackFolder, backup.component);
    await host.files.makeFolder(grant, posix.dirname(record), { mode: 0o700 });
    await host.files.write(grant, record, saved.bytes, { mode: 0o600 });
  }
  return { folder, aside };
}

async function unpackProject(grant: Grant, store: BackupStore, backup: BackupFacts, host: Host, folder: string): Promise<void> {
  const source = await openFile(grant, store, backup, 'project.tar');
  const target = await host.pipe(grant, ['tar', '-C', folder, '-xpf', '-']);
  target.stdout.resume();
  await pipeline(checkedArchive(source.content, grant.signal).archive, target.stdin, { signal: grant.signal });
  await checkWhole(source, backup, 'project.tar');
  const ended = await target.ended;
  if (ended.exitCode === 0) return;
  const message = `The archive project.tar could not be unpacked to ${folder}: ${failureOf(ended)}.`;
  throw new Fault('failed.restore', message, 'Check the permissions of the stack folder and the free space on its filesystem.');
}

/** Imports the sealed secrets of a backup into the secret backend, as new versions. Returns their names. Throws `refused.sealed`. */
export async function restoreSecrets(
  grant: Grant,
  of: { store: BackupStore; backup: BackupFacts; manifest: BackupManifest; vault: SecretStorage; key: string; engineName: string },
): Promise<string[]> {
  const { store, backup, manifest, vault, key, engineName } = of;
  const secrets = await openSecrets(await wholeFile(grant, store, backup, secretsFile), key);
  const names = Object.keys(secrets).filter((name) => manifest.secrets.names.includes(name));
  for (const name of names) {
    const path = `${engineName}/${manifest.component}/${name}` as const;
    const value = secrets[name] ?? '';
    if ((await vault.read(path, grant.signal)) !== value) await vault.write(grant, path, value, 'imported');
  }
  return names;
}

async function savedRecord(grant: Grant, store: BackupStore, backup: BackupFacts): Promise<{ bytes: Buffer; record: DeployRecord }> {
  const bytes = await wholeFile(grant, store, backup, 'record.json');
  try {
    return { bytes, record: readRecord(bytes.toString('utf8'), 'record.json', backup.component) };
  } catch (thrown) {
    throw damaged(backup, messageOf(thrown).replace(/\.$/, ''));
  }
}

/** Hashed again while it is read: the file may have been replaced since the backup was verified. */
function openFile({ signal }: Grant, store: BackupStore, backup: BackupFacts, file: string): Promise<SavedContent> {
  const saved = backup.manifest?.files.find((one) => one.file === file);
  if (!saved) throw filesDamaged(backup, [file]);
  return openSaved(store, backup, saved, signal);
}

async function wholeFile(grant: Grant, store: BackupStore, backup: BackupFacts, file: string): Promise<Buffer> {
  const opened = await openFile(grant, store, backup, file);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of opened.content as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > sealedLimitBytes) throw damaged(backup, `${file} is larger than ${bytesText(sealedLimitBytes)}`);
    chunks.push(chunk);
  }
  await checkWhole(opened, backup, file);
  return Buffer.concat(chunks);
}

async function checkWhole(content: SavedContent, backup: BackupFacts, file: string): Promise<void> {
  await content.whole().catch((thrown: unknown) => {
    throw damaged(backup, `${file}: ${readProblem(thrown)}`);
  });
}

export const secretsFile = 'secrets.age';

export async function secretNames(vault: SecretStorage, engineName: string, component: string, signal: AbortSignal): Promise<string[]> {
  const begin = `${engineName}/${component}/`;
  return (await vault.list(signal)).flatMap(({ name }) => (name.startsWith(begin) ? [name.slice(begin.length)] : [])).sort();
}

/** Creates an age file with the newest version of each; `age --decrypt secrets.age` opens it without Quarterdeck. */
export async function sealSecrets(
  vault: SecretStorage,
  of: { engineName: string; component: string; names: readonly string[]; sealWith: AgeFor; signal: AbortSignal },
): Promise<Uint8Array> {
  const { engineName, component, names, sealWith, signal } = of;
  const secrets: Record<string, string> = {};
  for (const name of names) {
    const value = await vault.read(`${engineName}/${component}/${name}`, signal);
    if (value !== undefined) secrets[name] = value;
  }
  const remedy = 'Use a key that starts with age1; age-keygen creates one.';
  const encrypter = await encrypterFor(sealWith, 'One of the recipients is not an age public key.', remedy);
  return encrypter.encrypt(JSON.stringify({ schema: 1, component, secrets }));
}

export async function openSecrets(sealed: Uint8Array, key: string): Promise<Readonly<Record<string, string>>> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  try {
    if (/^AGE-SECRET-KEY-/.test(key)) decrypter.addIdentity(key);
    else decrypter.addPassphrase(key);
    return (parseJson(await decrypter.decrypt(sealed, 'text')) as { secrets: Record<string, string> }).secrets;
  } catch (cause) {
    const remedy = 'Enter the passphrase of the backup, or the identity (AGE-SECRET-KEY-…) of one of its recipients.';
    throw new Fault('refused.sealed', 'This passphrase or identity does not decrypt the secrets of this backup.', remedy, { cause });
  }
}
