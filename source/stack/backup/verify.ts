import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Fault, messageOf } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import { finished, Meter } from './files.ts';
import { type BackedUpItem, type BackupFile, filesOf } from './manifest.ts';
import { type BackupFacts, clockToleranceMs, msOfStamp, stampOf } from './model.ts';
import type { BackupStore } from './store.ts';
import { type ArchiveCount, ArchiveProblem, checkedArchive } from './tar.ts';

const earliestMs = Date.UTC(2000, 0, 1);

export type ArchiveCounts = ReadonlyMap<string, ArchiveCount>;

/** Reads checksums, archives entry by entry, and whether the manifest is that of this backup. Throws `refused.damaged`. */
export async function verifyBackup(store: BackupStore, backup: BackupFacts, signal: AbortSignal): Promise<ArchiveCounts> {
  const foreign = identityProblem(backup, Date.now());
  if (foreign !== undefined) throw damaged(backup, foreign);
  const wrong = await store.verify(backup, signal);
  if (wrong.length > 0 || !backup.manifest) throw filesDamaged(backup, backup.manifest ? wrong : ['manifest.json']);
  const counts = new Map<string, ArchiveCount>();
  for (const saved of filesOf(backup.manifest)) {
    const count = await verifyFile(store, backup, saved, signal);
    if (count) counts.set(saved.file, count);
  }
  return counts;
}

export function identityProblem({ component, stamp, manifest }: Pick<BackupFacts, 'component' | 'stamp' | 'manifest'>, nowMs: number) {
  if (!manifest) return undefined;
  if (manifest.component !== component) return `its manifest belongs to ${cleanLine(manifest.component)}`;
  if (manifest.stamp !== stamp) return `its manifest belongs to the backup ${cleanLine(manifest.stamp)}`;
  const atMs = msOfStamp(stamp);
  const started = new Date(manifest.startedAt);
  if (atMs === undefined || Number.isNaN(started.getTime()) || stampOf(started) !== stamp)
    return `its manifest has another creation time: ${cleanLine(manifest.startedAt)}`;
  if (atMs < earliestMs || atMs > nowMs + clockToleranceMs) return `its date is not plausible: ${manifest.startedAt}`;
  return undefined;
}

export function filesDamaged(backup: BackupFacts, files: readonly string[]): Fault {
  return damaged(backup, `${files.join(', ')} ${files.length === 1 ? 'is' : 'are'} missing or changed`);
}

export function damaged({ component, stamp }: BackupFacts, problem: string): Fault {
  const message = `The backup ${stamp} of ${component} is damaged: ${problem}.`;
  return new Fault('refused.damaged', message, 'Nothing was changed. Choose another backup: quarterdeck backup list');
}

export type SavedContent = Awaited<ReturnType<typeof openSaved>>;

type Saved = BackupFile & Partial<Pick<BackedUpItem, 'packed' | 'contentBytes'>>;

/** Opens a file of a backup, decompressed while it is read. */
export async function openSaved(
  store: BackupStore,
  backup: BackupFacts,
  saved: Saved,
  signal: AbortSignal,
  reported?: (bytes: number) => void,
) {
  const program = await store.open(signal, backup, saved.file);
  const asStored = new Meter();
  const content = new Meter(reported);
  const through = saved.packed === 'gzip' ? [asStored, createGunzip(), content] : [asStored, content];
  // Errors end `content`, and so reach its reader.
  pipeline([program.stdout, ...through], { signal }).catch(() => undefined);
  return {
    /** Ends in an error if it cannot be decompressed. */
    content,
    /** Must be awaited after `content` was read to its end. Throws if the file differs from what was written. */
    async whole(): Promise<void> {
      await finished(program, saved.file);
      if (asStored.sum() !== saved.sha256) throw new ArchiveProblem('its content was changed');
      if (saved.contentBytes !== undefined && content.bytes !== saved.contentBytes)
        throw new ArchiveProblem(`it contains ${bytesText(content.bytes)} instead of ${bytesText(saved.contentBytes)}`);
    },
  };
}

async function verifyFile(store: BackupStore, backup: BackupFacts, saved: Saved, signal: AbortSignal): Promise<ArchiveCount | undefined> {
  const opened = await openSaved(store, backup, saved, signal);
  try {
    const checked = /\.tar(?:\.gz)?$/.test(saved.file) ? checkedArchive(opened.content, signal) : undefined;
    let bytes = 0;
    for await (const chunk of (checked?.archive ?? opened.content) as AsyncIterable<Buffer>) bytes += chunk.length;
    await opened.whole();
    if (bytes === 0) throw new ArchiveProblem('it is empty');
    return checked?.count;
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof Fault && thrown.code !== 'failed.backup') throw thrown;
    throw damaged(backup, `${saved.file}: ${readProblem(thrown)}`);
  } finally {
    opened.content.destroy();
  }
}

export function readProblem(thrown: unknown): string {
  const { code } = thrown as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return 'its compressed data is truncated';
  if (code?.startsWith('Z_')) return `it cannot be decompressed (${messageOf(thrown)})`;
  return cleanLine(messageOf(thrown)).replace(/\.$/, '');
}
