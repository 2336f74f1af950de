import { posix } from 'node:path';
import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import type { SecretVault } from '../secrets/vault.ts';
import { cleanLine } from '../text/clean.ts';
import { type BackupFolder, lastLine, runThere, sumOf, sumsFile, sumsText, writeStream, writeText } from './backup-files.ts';
import type { BackedUpItem, BackupFile, BackupManifest, BackupPlan, BackupProgress, PlannedItem } from './backup-model.ts';
import { stampOf } from './backup-model.ts';
import { type SealWith, sealSecrets, secretsFile } from './backup-secrets.ts';
import { signManifest } from './backup-signature.ts';
import type { StillContainer, StillContainers } from './backup-still.ts';
import type { BackupStore } from './backup-store.ts';
import { volumeArchive } from './backup-tar.ts';
import { listHalted, removeHalted, startHalted, writeHalted } from './halted-journal.ts';
import { pinOf } from './image-pin.ts';
import type { ImagePin } from './model.ts';
import { ownFolders } from './restore-volume.ts';
import { withVolumeArchive } from './volume-beside.ts';

export interface BackupRun {
  plan: BackupPlan;
  store: BackupStore;
  engine: Engine;
  host: Host;
  stackFolder: string;
  /** Of the caller, who releases it in the end whatever happens here. */
  still: StillContainers;
  /** `names` are all secrets of the component; they go in where `seal` is there. */
  secrets: { names: readonly string[]; seal?: { vault: SecretVault; sealWith: SealWith } };
  by: string;
  now: Date;
  told(progress: BackupProgress): void;
}

/**
 * Saves what the plan says, under the store's lock. What comes out is whole or nothing: until the last file is written it has another name.
 * @throws Fault `refused.backupRuns`, `failed.diskFull`, `failed.backup`, `failed.dump`.
 */
export async function runBackup(grant: Grant, run: BackupRun): Promise<BackupManifest> {
  const { plan, store, engine, now } = run;
  // First, so that nothing is stopped for a backup that cannot be signed.
  const key = await store.keys.signing();
  const lock = await store.lock(grant);
  try {
    await sweepInterrupted(grant, run);
    const folder = await store.begin(grant, plan.component, stampOf(now));
    try {
      const manifest = await fill(grant, folder, run);
      await store.complete(grant, folder, manifest);
      return manifest;
    } catch (thrown) {
      // Without this the room it takes is gone until the next backup sweeps it.
      if (!grant.signal.aborted) {
        await releaseHalted(grant, run);
        await store.discard(grant, folder.folder).catch(() => undefined);
      }
      throw thrown;
    }
  } finally {
    await lock.release();
  }

  async function fill(grant: Grant, folder: BackupFolder, run: BackupRun): Promise<BackupManifest> {
    const items: BackedUpItem[] = [];
    for (const item of plan.items) items.push(await saveItem(grant, folder, item, run));
    const files: BackupFile[] = [];
    if (plan.folder !== undefined) files.push(await saveProject(grant, folder, plan.folder, run));
    if (plan.record !== undefined) {
      const record = await run.host.files.read(plan.record, { signal: grant.signal });
      if (record) files.push(await writeText(grant, folder, 'record.json', record));
    }
    const { names, seal } = run.secrets;
    if (seal && names.length > 0) {
      run.told({ label: 'Sealing the secrets' });
      const sealed = await sealSecrets(seal.vault, {
        place: plan.place,
        component: plan.component,
        names,
        sealWith: seal.sealWith,
        signal: grant.signal,
      });
      files.push(await writeText(grant, folder, secretsFile, sealed));
    }
    const manifest = signManifest(
      {
        schema: 1,
        component: plan.component,
        place: plan.place,
        project: plan.project,
        stamp: stampOf(now),
        startedAt: now.toISOString(),
        endedAt: new Date().toISOString(),
        by: run.by,
        items,
        files,
        skipped: plan.skipped,
        choices: plan.choices,
        images: await pinsOf(plan, engine, grant.signal),
        secrets: { names, sealed: seal !== undefined },
      },
      key,
    );
    const written = await writeText(grant, folder, 'manifest.json', `${JSON.stringify(manifest, null, 2)}\n`);
    await writeText(grant, folder, sumsFile, sumsText([...items, ...files, written]));
    return manifest;
  }
}

async function saveItem(grant: Grant, folder: BackupFolder, item: PlannedItem, run: BackupRun): Promise<BackedUpItem> {
  const { store, still, host, told } = run;
  const label = `Saving ${item.id} of ${run.plan.component}`;
  told({ label, bytes: 0 });
  const common = {
    id: item.id,
    volume: item.volume,
    way: item.way,
    service: item.container.service,
    target: item.target,
    exclude: item.exclude,
  };
  const packed = store.packs ? 'gzip' : 'none';
  const ending = packed === 'gzip' ? '.gz' : '';
  const pace = { gzip: store.packs, told: (bytes: number) => told({ label, bytes }) };
  if (item.way === 'dump') {
    const file = `${item.id}.dump${ending}`;
    const saved = await saveDump(grant, folder, item, file, pace, run);
    return { ...common, ...saved, packed };
  }
  const copy = () =>
    withVolumeArchive(grant, run.engine, item, run.plan.containers, (raw, top) => {
      const { archive } = volumeArchive(raw, top, [...item.exclude, ...ownFolders], grant.signal);
      return writeStream(grant, folder, `${item.id}.tar${ending}`, archive, pace);
    });
  if (item.way === 'copy') return { ...common, ...(await copy()), packed };
  const note = (containers: readonly StillContainer[]) =>
    writeHalted(grant, host, run.stackFolder, {
      schema: 1,
      run: haltRun(run),
      flow: 'backup',
      component: run.plan.component,
      by: run.by,
      startedAt: run.now.toISOString(),
      containers,
    });
  await still.halt(grant, item.still, item.way === 'stop' ? 'stopped' : 'paused', note);
  const saved = await copy();
  await releaseHalted(grant, run);
  return { ...common, ...saved, packed };
}

const haltRun = ({ plan, now }: Pick<BackupRun, 'plan' | 'now'>) => `backup-${stampOf(now)}-${plan.component}`;

/** Starts what this backup stopped. Throws `failed.stillStopped`; the journal keeps it then. */
export async function releaseHalted(grant: Grant, run: Pick<BackupRun, 'still' | 'host' | 'stackFolder' | 'plan' | 'now'>): Promise<void> {
  await run.still.release(grant);
  await removeHalted(grant, run.host, run.stackFolder, haltRun(run));
}

async function saveDump(
  grant: Grant,
  folder: BackupFolder,
  item: PlannedItem,
  file: string,
  pace: { gzip: boolean; told: (bytes: number) => void },
  run: BackupRun,
) {
  if (!item.container.running) {
    throw new Fault({
      code: 'refused.notRunning',
      message: `${item.container.name} is not running, and its data is dumped by its own program.`,
      remedy: `Start it first: quarterdeck start ${run.plan.component}`,
    });
  }
  const program = await run.engine.writer(grant).execStream(item.container.id, item.dump ?? []);
  const saved = await writeStream(grant, folder, file, program.stdout, pace);
  const { exitCode, stderr } = await program.ended;
  if (exitCode !== 0 || saved.contentBytes === 0) {
    throw new Fault({
      code: 'failed.dump',
      message: `The dump of ${item.id} failed in ${item.container.name}: ${lastLine(stderr) || (exitCode === 0 ? 'it is empty' : `exit code ${exitCode}`)}.`,
      remedy: `Look at its log: quarterdeck logs ${run.plan.component}`,
    });
  }
  return saved;
}

/** Of the component's folder what makes it: a folder that is mounted besides is a volume of its own. */
const projectParts = ['compose.yaml', '.env', 'files'];

async function saveProject(grant: Grant, folder: BackupFolder, project: string, { host }: BackupRun): Promise<BackupFile> {
  const parts: string[] = [];
  for (const part of projectParts) if (await host.files.facts(posix.join(project, part), grant.signal)) parts.push(part);
  await runThere(grant, host, [
    'sh',
    '-c',
    'umask 077; out=$1; shift; exec tar -cf "$out" "$@"',
    'sh',
    posix.join(folder.folder, 'project.tar'),
    '-C',
    project,
    ...parts,
  ]);
  return sumOf(folder, 'project.tar', grant.signal);
}

async function pinsOf(plan: BackupPlan, engine: Engine, signal: AbortSignal): Promise<Record<string, ImagePin>> {
  const pins: Record<string, ImagePin> = {};
  for (const { service, imageId, image } of plan.containers) {
    const { digests = [] } = (await engine.image(imageId, signal)) ?? {};
    pins[service] = pinOf(image, { id: imageId, digests: digests.map(cleanLine) });
  }
  return pins;
}

/** What interrupted flows of this stack left: what they stopped is started, and unfinished backups go. Only for who holds the locks of stack and store. */
export async function sweepInterrupted(
  grant: Grant,
  { store, engine, host, stackFolder, told }: Pick<BackupRun, 'store' | 'engine' | 'host' | 'stackFolder' | 'told'>,
): Promise<void> {
  for (const record of await listHalted(host, stackFolder, grant.signal))
    if (!record.secrets) await startHalted(grant, record, { host, engine, stackFolder });
  for (const { component, stamp, folder } of await store.interrupted(grant.signal)) {
    told({ label: `Clearing the interrupted backup ${stamp} of ${component}` });
    await store.discard(grant, folder);
  }
}
