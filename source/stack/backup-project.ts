import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { messageOf } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import type { SecretVault } from '../secrets/vault.ts';
import { bytesText } from '../text/quantities.ts';
import { finished, removeFolder, runThere } from './backup-files.ts';
import type { BackupFacts, BackupManifest } from './backup-model.ts';
import { openSecrets, secretsFile } from './backup-secrets.ts';
import type { BackupStore } from './backup-store.ts';
import { checkedArchive } from './backup-tar.ts';
import { damaged, filesDamaged, openSaved, readProblem, type SavedContent } from './backup-verify.ts';
import type { DeployRecord } from './model.ts';
import { readRecord } from './read-deployment.ts';

/** What a backup has of a component besides its data. */
export interface SavedProject {
  /** By path in the component's folder: compose.yaml, .env, files/. */
  texts: Readonly<Record<string, string>>;
  record: DeployRecord;
}

/** Reads it without putting anything anywhere. Undefined where the component was not ours when it was saved. */
export async function projectIn(grant: Grant, store: BackupStore, backup: BackupFacts): Promise<SavedProject | undefined> {
  const files = new Set(backup.manifest?.files.map(({ file }) => file));
  if (!files.has('project.tar') || !files.has('record.json')) return undefined;
  const tar = await wholeFile(grant, store, backup, 'project.tar');
  const { record } = await savedRecord(grant, store, backup);
  const texts: Record<string, string> = {};
  const reader = extract();
  reader.on('entry', ({ type, name }, entry, next) => {
    buffer(entry as unknown as Readable).then((content) => {
      // What is no text was none of ours, and stays as it is.
      if (type === 'file' && !content.includes(0) && isUtf8(content)) texts[posix.normalize(name)] = content.toString('utf8');
      next();
    }, next);
  });
  await pipeline(Readable.from([tar]), reader);
  return { texts, record };
}

/** Sealed secrets, and configuration as text. */
const sealedLimitBytes = 64 * 1024 * 1024;

/**
 * Puts `compose.yaml`, `.env` and `files/` back into the component's folder, and our record of it. The folder as it stands is moved aside, never deleted; answers
 * where to. For a host that has nothing of it any more, before it is deployed again.
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
    await unpackProject(grant, { store, backup, host }, arriving);
  } catch (thrown) {
    await removeFolder(grant, host, arriving).catch(() => undefined);
    throw thrown;
  }
  const stands = (await host.files.facts(folder, grant.signal)) !== undefined;
  const aside = stands ? `${folder}.before-${stamp}` : undefined;
  if (aside !== undefined) await runThere(grant, host, ['mv', '-T', '--', folder, aside]);
  await runThere(grant, host, ['mv', '-T', '--', arriving, folder]);
  if (saved) {
    const records = posix.join(stackFolder, '.quarterdeck', 'components');
    await host.files.makeFolder(grant, records, { mode: 0o700 });
    await host.files.write(grant, posix.join(records, `${backup.component}.json`), saved.bytes, { mode: 0o600 });
  }
  return { folder, aside };
}

async function unpackProject(
  grant: Grant,
  { store, backup, host }: { store: BackupStore; backup: BackupFacts; host: Host },
  folder: string,
): Promise<void> {
  const source = await openFile(grant, store, backup, 'project.tar');
  const target = await host.pipe(grant, ['tar', '-C', folder, '-xpf', '-']);
  target.stdout.resume();
  await pipeline(checkedArchive(source.content, grant.signal).archive, target.stdin, { signal: grant.signal });
  await source.whole().catch((thrown: unknown) => {
    throw damaged(backup, `project.tar: ${readProblem(thrown)}`);
  });
  await finished(target, 'project.tar');
}

/** Gives the sealed secrets of a backup back to the vault, as new versions. Answers their names. Throws `refused.sealed`. */
export async function restoreSecrets(
  grant: Grant,
  {
    store,
    backup,
    manifest,
    vault,
    key,
    place,
  }: { store: BackupStore; backup: BackupFacts; manifest: BackupManifest; vault: SecretVault; key: string; place: string },
): Promise<string[]> {
  const secrets = await openSecrets(await wholeFile(grant, store, backup, secretsFile), key);
  const names = Object.keys(secrets).filter((name) => manifest.secrets.names.includes(name));
  for (const name of names) {
    const value = secrets[name] ?? '';
    if ((await vault.read(`${place}/${manifest.component}/${name}`, grant.signal)) !== value)
      await vault.write(grant, `${place}/${manifest.component}/${name}`, value, 'imported');
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

/** Summed again while it is read: it may have been replaced since the backup was verified. */
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
  await opened.whole().catch((thrown: unknown) => {
    throw damaged(backup, `${file}: ${readProblem(thrown)}`);
  });
  return Buffer.concat(chunks);
}
