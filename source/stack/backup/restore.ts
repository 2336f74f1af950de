import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Engine } from '../../engine/engine.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText } from '../../text/quantities.ts';
import { lockedFault } from '../apply/faults.ts';
import { failureOf, finished, readStream, writeStream } from './files.ts';
import type { BackedUpItem, BackupManifest } from './manifest.ts';
import { type BackupContainer, type BackupFacts, type BackupPlan, type PlannedItem, stampOf } from './model.ts';
import {
  findDamagedRestores,
  isRestoring,
  listRestores,
  type RestoredVolume,
  type RestoreRecord,
  recordFolder,
  removeRestore,
  restoreSentence,
  writeRestore,
} from './restore-journal.ts';
import { imagesOf, openVolume, type VolumeDoor } from './restore-volume.ts';
import type { BackupRun } from './run.ts';
import { restart } from './stopped-containers.ts';
import { ArchiveProblem, checkedArchive } from './tar.ts';
import { type ArchiveCounts, damaged, filesDamaged, openSaved, readProblem, verifyBackup } from './verify.ts';

/** Limit until a database that was just started accepts connections. */
const readyLimitMs = 90_000;
const readyStepMs = 500;

export interface RestoreItem {
  saved: BackedUpItem;
  planned: PlannedItem;
}

export interface RestorePlan extends Pick<BackupPlan, 'engineName' | 'component' | 'project' | 'containers'> {
  backup: BackupFacts;
  manifest: BackupManifest;
  items: readonly RestoreItem[];
  /** Items of the backup that no longer have a target here, a sentence each. */
  homeless: readonly string[];
}

/** Maps the items to their targets. Throws `refused.damaged` for a backup without a readable manifest. */
export function planRestore(backup: BackupFacts, now: BackupPlan): RestorePlan {
  const { manifest } = backup;
  if (!manifest) throw filesDamaged(backup, ['manifest.json']);
  const items: RestoreItem[] = [];
  const homeless: string[] = [];
  const twice = manifest.items.find(({ volume }, at) => manifest.items.findIndex((other) => other.volume === volume) !== at);
  if (twice) throw damaged(backup, `it has two items for ${cleanLine(twice.volume)}`);
  for (const saved of manifest.items) {
    const planned =
      now.items.find(({ id, volume }) => id === saved.id && volume === saved.volume) ??
      now.items.find(({ volume }) => volume === saved.volume);
    const omitted = now.skipped.find(({ volume }) => volume === saved.volume)?.why;
    const why = omitted === undefined ? 'no container on this host uses this volume' : `backups now omit it (${cleanLine(omitted)})`;
    if (!planned) homeless.push(`${saved.volume}: ${why}.`);
    else if ((planned.method === 'dump') !== (saved.method === 'dump'))
      homeless.push(`${saved.volume}: it was saved with a different method than the current one.`);
    else items.push({ saved, planned });
  }
  const { engineName, component, project, containers } = now;
  return { engineName, component, project, backup, manifest, items, homeless, containers };
}

export function restoreConsequences({ items, manifest, homeless, engineName, project }: RestorePlan): string[] {
  const isOther = manifest.engineName !== engineName || manifest.project !== project;
  return [
    isOther ? `The backup is from another instance: the project ${cleanLine(manifest.project)} on ${cleanLine(manifest.engineName)}.` : '',
    ...items.map(({ saved, planned }) =>
      saved.method === 'dump'
        ? `The database in ${planned.container.name} is replaced with the backup of ${manifest.startedAt} (${bytesText(saved.contentBytes)}).`
        : `Everything in ${cleanLine(planned.source)} (${planned.target} in ${planned.container.name}) is deleted and replaced with the backup of ${manifest.startedAt} (${bytesText(saved.contentBytes)}).`,
    ),
    ...homeless.map((line) => `Not restored: ${line}`),
    'Changes made after that backup are lost.',
  ].filter(Boolean);
}

export type RestoreRun = Omit<BackupRun, 'plan' | 'secrets' | 'now'>;

/**
 * Restores the data of a backup, so that at every moment either the previous data or those of the backup are complete: the backup is read,
 * the free space checked, and the plan is written on the host. Then everything stops; volumes are unpacked beside the existing data and
 * swapped by renaming, databases are dumped before they are replaced. A failed restore is undone at once; an interrupted one can be undone
 * by `undoRestore`, from any process.
 */
export async function runRestore(grant: Grant, plan: RestorePlan, run: RestoreRun): Promise<void> {
  const { backup, items, containers } = plan;
  const { store, engine, host, stackFolder, still, reported } = run;
  const [open] = await restoresOf(host, stackFolder, plan, grant.signal);
  if (open) throw restoreOpen(open, false);
  reported({ label: `Verifying the backup ${backup.stamp}` });
  const counts = await verifyBackup(store, backup, grant.signal);
  const dumps = items.filter(({ saved }) => saved.method === 'dump');
  const volumes = items.filter(({ saved }) => saved.method !== 'dump');
  const doors: { item: RestoreItem; door: VolumeDoor }[] = [];
  try {
    for (const item of volumes) doors.push({ item, door: await openVolume(grant, engine, restoredVolume(item.planned, containers)) });
    await throwIfFull(doors, counts);
    const databases = new Set(dumps.map(({ planned }) => planned.container.id));
    const users = containers.filter(({ id }) => !databases.has(id));
    // A database keeps running for its dump, unless a volume of its own is replaced.
    const replaced = containers.filter(({ id }) => databases.has(id) && volumes.some(({ planned }) => planned.container.id === id));
    let record = newRecord(plan, run);
    const note = async (changes: Partial<RestoreRecord>) => {
      record = { ...record, ...changes };
      await writeRestore(grant, host, stackFolder, record);
    };
    await note({});
    try {
      reported({ label: `Stopping ${[...users, ...replaced].map(({ name }) => name).join(', ')}` });
      const halt = (these: typeof containers) => still.halt(grant, these, 'stopped', (all) => note({ halted: [...all] }));
      await halt(users);
      for (const { planned } of dumps) await copyDatabase(grant, planned, record, run);
      await halt(replaced);
      for (const { item, door } of doors) {
        await door.prepare();
        await readItem(grant, plan, item.saved, run, (content) => unpack(grant, item.planned, door, content));
      }
      for (const { item, door } of doors) {
        reported({ label: `Replacing ${item.planned.volume}` });
        await door.swap();
      }
      for (const { saved, planned } of dumps) {
        const { id, container, restore = [] } = planned;
        await makeReady(grant, engine, container);
        await note({ dumps: record.dumps.map((dump) => (dump.id === id ? { ...dump, begun: true } : dump)) });
        await readItem(grant, plan, saved, run, (content) => takeDump(grant, engine, container, restore, content));
      }
      await note({ state: 'replaced' });
    } catch (thrown) {
      // A cancelled restore is undone by the session, with a grant that is still valid.
      if (grant.signal.aborted) throw thrown;
      reported({ label: 'Restoring the previous data' });
      await undoRestore(grant, record, run);
      if (!(thrown instanceof Fault)) throw thrown;
      throw new Fault(thrown.code, `${thrown.message} The previous data was restored.`, thrown.remedy, { cause: thrown });
    }
    for (const { door } of doors) await door.clean();
    await still.release(grant);
    await removeRestore(grant, host, stackFolder, record);
  } finally {
    for (const { door } of doors) await door.close();
  }
}

function restoredVolume(planned: PlannedItem, containers: readonly BackupContainer[]): RestoredVolume {
  const { volume, source, isFile, mountedBelow } = planned;
  return { volume, source, isFile, kept: mountedBelow, images: imagesOf(planned, containers) };
}

function newRecord({ component, backup, items, project, containers }: RestorePlan, { store, by }: RestoreRun): RestoreRecord {
  const now = new Date();
  return {
    schema: 1,
    // Its current name: the backup may be filed under a previous one.
    run: `${stampOf(now)}-${component}`,
    component,
    project,
    backup: backup.stamp,
    where: store.where,
    to: store.to,
    by,
    startedAt: now.toISOString(),
    state: 'replacing',
    volumes: items.flatMap(({ saved, planned }) => (saved.method === 'dump' ? [] : [restoredVolume(planned, containers)])),
    dumps: items.flatMap(({ saved, planned: { id, container, restore = [] } }) => {
      const { id: containerId, name } = container;
      return saved.method === 'dump' ? [{ id, container: { id: containerId, name }, restore, copy: `${id}.dump.gz`, begun: false }] : [];
    }),
    halted: [],
  };
}

/** Block size of a filesystem: each file uses whole blocks. */
const blockBytes = 4096;

/** @throws Fault `refused.diskFull` if the backup does not fit beside the existing data. */
async function throwIfFull(doors: readonly { item: RestoreItem; door: VolumeDoor }[], counts: ArchiveCounts): Promise<void> {
  const needs = new Map<string, { neededBytes: number; freeBytes: number; volumes: string[] }>();
  for (const { item, door } of doors) {
    const { filesystem, freeBytes } = await door.space();
    const need = needs.get(filesystem) ?? { neededBytes: 0, freeBytes, volumes: [] };
    need.neededBytes += item.saved.contentBytes + (counts.get(item.saved.file)?.members ?? 0) * blockBytes;
    need.volumes.push(item.planned.volume);
    needs.set(filesystem, need);
  }
  for (const { neededBytes, freeBytes, volumes } of needs.values()) {
    if (neededBytes <= freeBytes) continue;
    const names = volumes.map((volume) => cleanLine(volume)).join(', ');
    const message = `Not enough free space to restore ${names}: ${bytesText(neededBytes)} is required in addition to the current data, but only ${bytesText(freeBytes)} is free.`;
    throw new Fault('refused.diskFull', message, 'Nothing was changed. Free some space on that disk, then run the same restore again.');
  }
}

/** Passes the content of a saved item to `use`, which reads it to its end. Throws `refused.damaged` if it is not what was written. */
async function readItem(
  grant: Grant,
  { backup }: RestorePlan,
  saved: BackedUpItem,
  { store, reported }: RestoreRun,
  use: (content: Readable) => Promise<void>,
): Promise<void> {
  const label = `Restoring ${saved.id}`;
  const opened = await openSaved(store, backup, saved, grant.signal, (bytes) => reported({ label, bytes }));
  try {
    await use(opened.content);
    await opened.whole();
  } catch (thrown) {
    grant.signal.throwIfAborted();
    throw thrown instanceof ArchiveProblem ? damaged(backup, `${saved.file}: ${readProblem(thrown)}`) : thrown;
  } finally {
    opened.content.destroy();
  }
}

/** An error in the archive is the cause, not the engine's lost connection that follows it: it is thrown as an `ArchiveProblem`. */
async function unpack(grant: Grant, { volume }: PlannedItem, door: VolumeDoor, content: Readable): Promise<void> {
  const { archive } = checkedArchive(content, grant.signal);
  let broken: unknown;
  // A separate stream: its consumer may close it early.
  const members = Readable.from(
    (async function* () {
      try {
        for await (const chunk of archive as AsyncIterable<Buffer>) yield chunk;
      } catch (thrown) {
        broken = thrown;
        throw thrown;
      }
    })(),
    { objectMode: false },
  );
  try {
    await door.unpack(members);
  } catch (thrown) {
    grant.signal.throwIfAborted();
    if (/no space left|disk quota/i.test(messageOf(thrown))) {
      const message = `The disk that stores the volume ${cleanLine(volume)} ran out of space during the restore.`;
      throw new Fault('failed.diskFull', message, 'Free some space on that disk, then run the same restore again.', { cause: thrown });
    }
    throw broken === undefined ? thrown : new ArchiveProblem(readProblem(broken), { cause: broken });
  } finally {
    members.destroy();
  }
}

async function copyDatabase(grant: Grant, item: PlannedItem, record: RestoreRecord, { engine, host, stackFolder, reported }: RestoreRun) {
  const label = `Saving the current ${item.id}`;
  reported({ label });
  await makeReady(grant, engine, item.container);
  const program = await engine.writer(grant).execStream(item.container.id, item.dump ?? []);
  const folder = recordFolder(host, stackFolder, record);
  await writeStream(grant, folder, `${item.id}.dump.gz`, program.stdout, { gzip: true, reported: (bytes) => reported({ label, bytes }) });
  const ended = await program.ended;
  if (ended.exitCode === 0) return;
  const message = `The current database in ${item.container.name} cannot be saved: ${failureOf(ended)}.`;
  throw new Fault('failed.dump', message, `Check the log: quarterdeck logs ${record.component}`);
}

/**
 * Puts the data from before a restore back, starts the containers that it had stopped, and removes its record. Can be repeated after an
 * interruption; containers with half-restored data are not started. Throws `failed.restoreHalf`.
 */
export async function undoRestore(
  grant: Grant,
  record: RestoreRecord,
  { engine, host, stackFolder }: Pick<RestoreRun, 'engine' | 'host' | 'stackFolder'>,
): Promise<void> {
  const writer = engine.writer(grant);
  try {
    // Some containers may run again: the machine was restarted, or their database had to run for its dump.
    if (record.state === 'replacing')
      for (const { id } of [...record.halted].reverse())
        if ((await engine.inspect(id, grant.signal))?.state === 'running') await writer.stop(id);
    for (const volume of record.volumes) {
      const door = await openVolume(grant, engine, volume);
      await (record.state === 'replaced' ? door.clean() : door.undo()).finally(() => door.close());
    }
    if (record.state === 'replacing')
      for (const { container, restore, copy, begun } of record.dumps) {
        if (!begun) continue;
        await makeReady(grant, engine, container);
        const program = await readStream(grant.signal, recordFolder(host, stackFolder, record), copy);
        const content = program.stdout.pipe(createGunzip());
        program.stdout.once('error', (cause) => content.destroy(cause));
        await takeDump(grant, engine, container, restore, content);
        await finished(program, copy);
      }
  } catch (thrown) {
    grant.signal.throwIfAborted();
    throw restoreHalf(record, thrown);
  }
  const [failure] = await restart(engine, grant, record.halted);
  if (failure) {
    const message = `${cleanLine(failure.container.name)} could not be restarted: ${failure.reason}`;
    throw new Fault('failed.stillStopped', message, 'Check the log of the container, then run: quarterdeck recover');
  }
  await removeRestore(grant, host, stackFolder, record);
}

function restoreHalf({ component, state }: RestoreRecord, cause: unknown): Fault {
  const done = state === 'replaced';
  const what = done ? 'is no longer needed, but could not be deleted' : 'is kept, but could not be restored';
  const message = `The previous data of ${cleanLine(component)} ${what}: ${messageOf(cause)}`;
  const remedy = `The containers stay stopped. Fix the cause, then run: quarterdeck recover --${done ? 'finish' : 'undo'}`;
  return new Fault('failed.restoreHalf', message, remedy, { cause });
}

type OfComponent = Pick<RestoreRecord, 'component' | 'project'>;

async function restoresOf(host: Host, stackFolder: string, { component, project }: OfComponent, signal: AbortSignal) {
  return (await listRestores(host, stackFolder, signal)).filter((one) => one.component === component && one.project === project);
}

/** @throws Fault `refused.unfinished` if a restore of the component is running, or neither complete nor undone. */
export async function refuseDuringRestore(host: Host, stackFolder: string, of: OfComponent, signal: AbortSignal): Promise<void> {
  const [open] = await restoresOf(host, stackFolder, of, signal);
  if (open) throw restoreOpen(open, await isRestoring(host, stackFolder, signal));
  const [damagedRestore] = await findDamagedRestores(host, stackFolder, signal, of.component);
  if (damagedRestore === undefined) return;
  const message = `A restore of ${cleanLine(of.component)} was interrupted, and its journal is damaged: ${cleanLine(damagedRestore)}.`;
  throw new Fault('refused.unfinished', message, 'The data may be inconsistent. Check the data, then move that folder elsewhere.');
}

function restoreOpen(record: RestoreRecord, atWork: boolean): Fault {
  if (atWork) return lockedFault({ by: record.by, since: record.startedAt, run: `restore-${record.component}` });
  const message = `${cleanLine(record.component)}: ${restoreSentence(record)}`;
  const replaced = record.state === 'replaced';
  const remedy = replaced ? 'Finish the restore' : 'Restore the previous data, or run the restore again';
  return new Fault('refused.unfinished', message, `${remedy}: quarterdeck recover`);
}

export async function settleRestore(grant: Grant, plan: RestorePlan, run: RestoreRun): Promise<void> {
  for (const record of await restoresOf(run.host, run.stackFolder, plan, grant.signal)) await undoRestore(grant, record, run);
  await run.still.release(grant);
}

async function takeDump(
  grant: Grant,
  engine: Engine,
  container: Pick<BackupContainer, 'id' | 'name'>,
  restore: readonly string[],
  content: Readable,
): Promise<void> {
  const program = await engine.writer(grant).execStream(container.id, restore, { input: true });
  program.stdout.resume();
  // A program that ends early prints the reason, which matters more than our broken pipe.
  if (program.stdin) await pipeline(content, program.stdin, { signal: grant.signal }).catch(() => grant.signal.throwIfAborted());
  const { exitCode, stderr } = await program.ended;
  if (exitCode === 0) return;
  const message = `${container.name} rejected the dump: ${failureOf({ exitCode, stderr })}.`;
  throw new Fault('failed.restore', message, 'Check the log of the container, then run the same restore again.');
}

/** Starts a container and waits until it runs, and is healthy if it has a health check. */
async function makeReady(grant: Grant, engine: Engine, { id, name }: Pick<BackupContainer, 'id' | 'name'>): Promise<void> {
  await engine.writer(grant).start(id);
  const deadline = Date.now() + readyLimitMs;
  for (;;) {
    const detail = await engine.inspect(id, grant.signal);
    if (detail?.state === 'running' && (detail.health === 'healthy' || detail.health === 'none')) return;
    if (detail === undefined || detail.state === 'exited' || detail.state === 'dead' || Date.now() > deadline) {
      const message = `${name} is not ready for the dump: ${detail ? cleanLine(detail.statusText || detail.state) : 'the container no longer exists'}.`;
      throw new Fault('failed.notReady', message, 'Check the log of the container, then run the same restore again.');
    }
    await pauseFor(readyStepMs, grant.signal);
  }
}
