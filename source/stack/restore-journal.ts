import { posix } from 'node:path';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { objectOf, parseJson } from '../text/json-value.ts';
import { type BackupFolder, removeFolder } from './backup-files.ts';
import type { StillContainer } from './backup-still.ts';
import { readJournalFile } from './journal-file.ts';
import type { RestoredVolume } from './restore-volume.ts';
import { readLock } from './stack-lock.ts';

const file = 'restore.json';
const limitBytes = 1024 * 1024;

/** A database whose present content was saved before it is replaced. */
export interface RestoredDump {
  id: string;
  container: { id: string; name: string };
  restore: readonly string[];
  /** The copy, beside the journal. */
  copy: string;
  /** Set before the restore program runs. */
  begun: boolean;
}

/**
 * A restore that has begun and is not complete, as it is written on the host before anything is stopped or replaced: what it takes to put the data from before back.
 * `STACK/.quarterdeck/restores/<run>/restore.json`; no secret.
 */
export interface RestoreRecord {
  schema: 1;
  run: string;
  component: string;
  project: string;
  /** Stamp of the backup, and where it is, for sentences. */
  backup: string;
  where: string;
  /** The same, as `--to` takes it, where it holds no credentials. */
  to?: string | undefined;
  by: string;
  startedAt: string;
  /** `replaced`: everything is restored, and only the data from before are still to be removed. */
  state: 'replacing' | 'replaced';
  volumes: readonly RestoredVolume[];
  dumps: readonly RestoredDump[];
  /** What the restore stopped. */
  halted: readonly StillContainer[];
}

const restoresFolder = (stackFolder: string) => posix.join(stackFolder, '.quarterdeck', 'restores');

export function recordFolder(host: Host, stackFolder: string, { run }: Pick<RestoreRecord, 'run'>): BackupFolder {
  return { host, folder: posix.join(restoresFolder(stackFolder), run) };
}

/** On the disk when it returns. */
export async function writeRestore(grant: Grant, host: Host, stackFolder: string, record: RestoreRecord): Promise<void> {
  const { folder } = recordFolder(host, stackFolder, record);
  await host.files.makeFolder(grant, folder, { mode: 0o700 });
  await host.files.write(grant, posix.join(folder, file), Buffer.from(`${JSON.stringify(record, null, 2)}\n`), { mode: 0o600 });
}

export async function removeRestore(grant: Grant, host: Host, stackFolder: string, record: Pick<RestoreRecord, 'run'>): Promise<void> {
  await removeFolder(grant, host, recordFolder(host, stackFolder, record).folder);
}

/** Restores that did not come to their end, oldest first; none while one is at work. */
export async function readOpenRestores(host: Host, stackFolder: string, signal: AbortSignal): Promise<RestoreRecord[]> {
  const records = await listRestores(host, stackFolder, signal);
  return records.length > 0 && (await isRestoring(host, stackFolder, signal)) ? [] : records;
}

export async function isRestoring(host: Host, stackFolder: string, signal: AbortSignal): Promise<boolean> {
  const lock = await readLock(host, stackFolder, signal);
  return lock?.alive === true && lock.run.startsWith('restore-');
}

/** Also those that are at work. */
export async function listRestores(host: Host, stackFolder: string, signal: AbortSignal): Promise<RestoreRecord[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ record }) => record ?? []);
}

/**
 * Folders of restores with a record that cannot be read. The data from before are in them and beside the volumes.
 * @param component only those of one
 */
export async function findDamagedRestores(host: Host, stackFolder: string, signal: AbortSignal, component?: string): Promise<string[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ folder, record }) =>
    record || (component !== undefined && posix.basename(folder).replace(/^[^-]*-/, '') !== component) ? [] : folder,
  );
}

async function readAll(
  host: Host,
  stackFolder: string,
  signal: AbortSignal,
): Promise<{ folder: string; record: RestoreRecord | undefined }[]> {
  const runs = (await host.files.list(restoresFolder(stackFolder), signal)) ?? [];
  const all: { folder: string; record: RestoreRecord | undefined }[] = [];
  for (const run of runs.sort()) {
    const folder = posix.join(restoresFolder(stackFolder), run);
    const content = await readJournalFile(host, posix.join(folder, file), { signal, limitBytes });
    const record = content && recordIn(content);
    // Without a record it had not begun, or is being cleared.
    if (content) all.push({ folder, record: record?.run === run ? record : undefined });
  }
  return all;
}

function recordIn(content: Uint8Array): RestoreRecord | undefined {
  try {
    const read = parseJson(Buffer.from(content).toString('utf8')) as RestoreRecord | null;
    if (read?.schema !== 1 || (read.state !== 'replacing' && read.state !== 'replaced')) return undefined;
    const { volumes, dumps, halted } = read;
    if (![volumes, dumps, halted].every(Array.isArray)) return undefined;
    if (!volumes.every(isVolume) || !dumps.every(isDump) || !halted.every(isContainer)) return undefined;
    if (![read.run, read.component, read.project, read.backup, read.where, read.by, read.startedAt].every((one) => typeof one === 'string'))
      return undefined;
    return { ...read, by: cleanLine(read.by), where: cleanLine(read.where), startedAt: cleanLine(read.startedAt) };
  } catch {
    return undefined;
  }
}

const isText = (value: unknown) => typeof value === 'string';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);

function isVolume(read: unknown): boolean {
  const { volume, source, isFile, kept, images } = objectOf(read) ?? {};
  return isText(volume) && isText(source) && typeof isFile === 'boolean' && isTexts(kept) && isTexts(images);
}

function isDump(read: unknown): boolean {
  const { id, container, restore, copy, begun } = objectOf(read) ?? {};
  const { id: containerId, name } = objectOf(container) ?? {};
  return [id, containerId, name, copy].every(isText) && isTexts(restore) && typeof begun === 'boolean';
}

function isContainer(read: unknown): boolean {
  const { id, name, how } = objectOf(read) ?? {};
  return isText(id) && isText(name) && (how === 'stopped' || how === 'paused');
}

/** `The restore of the backup 20261121T031500Z was interrupted; …` */
export function restoreSentence({ backup, state }: RestoreRecord): string {
  return state === 'replaced'
    ? `The restore of the backup ${cleanLine(backup)} is complete, but the data from before it are still to be removed and its containers to be started.`
    : `The restore of the backup ${cleanLine(backup)} was interrupted: the data may be half of each. Those from before it are kept.`;
}
