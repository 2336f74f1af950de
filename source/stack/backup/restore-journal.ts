import { posix } from 'node:path';
import { z } from 'zod';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { cleaned, readRecords, writeRecord } from '../apply/journal-file.ts';
import { readLock } from '../apply/lock.ts';
import { type BackupFolder, removeFolder } from './files.ts';
import { stillContainer } from './stopped-containers.ts';

const paths = z.array(z.string()).readonly();

/** A volume or folder whose data a restore replaces: enough information for another process to put them back. */
const restoredVolume = z.object({
  volume: z.string(),
  /** Name of the volume, or folder of the host; the file itself if a single file is mounted. */
  source: z.string(),
  isFile: z.boolean(),
  /** Relative to the volume: further mounts, which stay as they are. */
  kept: paths,
  /** Images on the host that may contain a shell. */
  images: paths,
});

export type RestoredVolume = z.infer<typeof restoredVolume>;

/** A database whose current content was saved before it is replaced. */
const restoredDump = z.object({
  id: z.string(),
  container: z.object({ id: z.string(), name: z.string() }),
  restore: paths,
  copy: z.string(),
  /** Set before the restore program runs. */
  begun: z.boolean(),
});

const restoreRecord = z.object({
  schema: z.literal(1),
  run: z.string(),
  component: z.string(),
  project: z.string(),
  /** Stamp of the backup, and its location, for sentences. */
  backup: z.string(),
  where: cleaned,
  /** The same location as `--to` accepts it, if it contains no credentials. */
  to: z.string().optional(),
  by: cleaned,
  startedAt: cleaned,
  /** `replaced`: everything is restored, and only the previous data still have to be removed. */
  state: z.enum(['replacing', 'replaced']),
  volumes: z.array(restoredVolume).readonly(),
  dumps: z.array(restoredDump).readonly(),
  halted: z.array(stillContainer).readonly(),
});

/**
 * A restore that has started and is not complete. Written on the host before anything is stopped or replaced, with all the information
 * needed to put the previous data back. `STACK/.quarterdeck/restores/<run>/restore.json`; no secrets.
 */
export type RestoreRecord = z.infer<typeof restoreRecord>;

const restoresFolder = (stackFolder: string) => posix.join(stackFolder, '.quarterdeck', 'restores');

export function recordFolder(host: Host, stackFolder: string, { run }: Pick<RestoreRecord, 'run'>): BackupFolder {
  return { host, folder: posix.join(restoresFolder(stackFolder), run) };
}

export function writeRestore(grant: Grant, host: Host, stackFolder: string, record: RestoreRecord): Promise<void> {
  return writeRecord(grant, host, posix.join(recordFolder(host, stackFolder, record).folder, 'restore.json'), record);
}

export async function removeRestore(grant: Grant, host: Host, stackFolder: string, record: Pick<RestoreRecord, 'run'>): Promise<void> {
  await removeFolder(grant, host, recordFolder(host, stackFolder, record).folder);
}

export async function readOpenRestores(host: Host, stackFolder: string, signal: AbortSignal): Promise<RestoreRecord[]> {
  const records = await listRestores(host, stackFolder, signal);
  return records.length > 0 && (await isRestoring(host, stackFolder, signal)) ? [] : records;
}

export async function isRestoring(host: Host, stackFolder: string, signal: AbortSignal): Promise<boolean> {
  const lock = await readLock(host, stackFolder, signal);
  return lock?.alive === true && lock.run.startsWith('restore-');
}

export async function listRestores(host: Host, stackFolder: string, signal: AbortSignal): Promise<RestoreRecord[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ record }) => record ?? []);
}

/** The previous data are in these folders and beside the volumes. */
export async function findDamagedRestores(host: Host, stackFolder: string, signal: AbortSignal, component?: string): Promise<string[]> {
  return (await readAll(host, stackFolder, signal)).flatMap(({ name, path, record }) =>
    record || (component !== undefined && name.replace(/^[^-]*-/, '') !== component) ? [] : path,
  );
}

// A restore without a record had not started, or is being removed.
const readAll = (host: Host, stackFolder: string, signal: AbortSignal) =>
  readRecords(host, restoresFolder(stackFolder), { shape: restoreRecord, ending: '/restore.json', signal });

export function restoreSentence({ backup, state }: RestoreRecord): string {
  return state === 'replaced'
    ? `The data of the backup ${cleanLine(backup)} is restored, but the previous data must still be deleted and the containers started.`
    : `The restore of the backup ${cleanLine(backup)} was interrupted, so the data may be inconsistent. The previous data is kept.`;
}
