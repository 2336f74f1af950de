import { posix } from 'node:path';
import type { Engine } from '../../engine/engine.ts';
import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import type { AgeFor } from '../../secrets/age-file.ts';
import type { SecretStorage } from '../../secrets/secrets.ts';
import { cleanLine } from '../../text/clean.ts';
import type { ImagePin } from '../model.ts';
import { pinOf } from '../plan/image-pin.ts';
import { type BackupFolder, lastLine, removeFolder, runThere, sumOf, sumsFile, sumsText, writeStream, writeText } from './files.ts';
import { type BackedUpItem, type BackupFile, type BackupManifest, signManifest } from './manifest.ts';
import { type BackupPlan, type PlannedItem, stampOf } from './model.ts';
import { sealSecrets, secretsFile } from './project.ts';
import { ownFolders, withVolumeArchive } from './restore-volume.ts';
import { listHalted, removeHalted, type StillContainer, type StillContainers, startHalted, writeHalted } from './stopped-containers.ts';
import type { BackupStore } from './store.ts';
import { volumeArchive } from './tar.ts';

export interface BackupRun {
  plan: BackupPlan;
  store: BackupStore;
  engine: Engine;
  host: Host;
  stackFolder: string;
  /** Owned by the caller, who releases the containers in the end, whatever happens here. */
  still: StillContainers;
  /** `names` are all secrets of the component; their values are saved if `seal` is set. */
  secrets: { names: readonly string[]; seal?: { vault: SecretStorage; sealWith: AgeFor } };
  by: string;
  now: Date;
  reported(progress: { label: string; bytes?: number }): void;
}

/** The result is complete or absent. Throws `refused.backupRuns`, `failed.diskFull`, `failed.backup`, `failed.dump`. */
export async function runBackup(grant: Grant, run: BackupRun): Promise<BackupManifest> {
  const { plan, store, engine, now } = run;
  // First, so that no container is stopped for a backup that cannot be signed.
  const key = await store.keys.signing();
  await using _lock = await store.lock(grant);
  await sweepInterrupted(grant, run);
  const folder = await store.begin(grant, plan.component, stampOf(now));
  try {
    const manifest = await fill(grant, folder, run);
    await store.complete(grant, folder, manifest);
    return manifest;
  } catch (thrown) {
    // Without this its disk space stays occupied until the next backup removes it.
    if (!grant.signal.aborted) {
      await releaseHalted(grant, run);
      await removeFolder(grant, folder.host, folder.folder).catch(() => undefined);
    }
    throw thrown;
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
      run.reported({ label: 'Sealing the secrets' });
      const { engineName, component } = plan;
      const sealed = await sealSecrets(seal.vault, { engineName, component, names, sealWith: seal.sealWith, signal: grant.signal });
      files.push(await writeText(grant, folder, secretsFile, sealed));
    }
    const manifest = signManifest(
      {
        schema: 1,
        component: plan.component,
        engineName: plan.engineName,
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
  const { store, still, host, reported } = run;
  const label = `Saving ${item.id} of ${run.plan.component}`;
  reported({ label, bytes: 0 });
  const { id, volume, method, target, exclude } = item;
  const packed: BackedUpItem['packed'] = store.packs ? 'gzip' : 'none';
  const common = { id, volume, method, service: item.container.service, target, exclude, packed };
  const ending = store.packs ? '.gz' : '';
  const pace = { gzip: store.packs, reported: (bytes: number) => reported({ label, bytes }) };
  if (item.method === 'dump') return { ...common, ...(await saveDump(grant, folder, item, `${item.id}.dump${ending}`, pace, run)) };
  const copy = () =>
    withVolumeArchive(grant, run.engine, item, run.plan.containers, (raw, top) => {
      const { archive } = volumeArchive(raw, top, [...item.exclude, ...ownFolders], grant.signal);
      return writeStream(grant, folder, `${item.id}.tar${ending}`, archive, pace);
    });
  if (item.method === 'copy') return { ...common, ...(await copy()) };
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
  await still.halt(grant, item.still, item.method === 'stop' ? 'stopped' : 'paused', note);
  const saved = await copy();
  await releaseHalted(grant, run);
  return { ...common, ...saved };
}

const haltRun = ({ plan, now }: Pick<BackupRun, 'plan' | 'now'>) => `backup-${stampOf(now)}-${plan.component}`;

/** Throws `failed.stillStopped`; the journal keeps the containers then. */
export async function releaseHalted(grant: Grant, run: Pick<BackupRun, 'still' | 'host' | 'stackFolder' | 'plan' | 'now'>): Promise<void> {
  await run.still.release(grant);
  await removeHalted(grant, run.host, run.stackFolder, haltRun(run));
}

async function saveDump(
  grant: Grant,
  folder: BackupFolder,
  item: PlannedItem,
  file: string,
  pace: { gzip: boolean; reported: (bytes: number) => void },
  run: BackupRun,
) {
  if (!item.container.running) {
    const message = `The dump requires a running container, but ${item.container.name} is not running.`;
    throw new Fault('refused.notRunning', message, `Start the component first: quarterdeck start ${run.plan.component}`);
  }
  const program = await run.engine.writer(grant).execStream(item.container.id, item.dump ?? []);
  const saved = await writeStream(grant, folder, file, program.stdout, pace);
  const { exitCode, stderr } = await program.ended;
  if (exitCode === 0 && saved.contentBytes > 0) return saved;
  const why = lastLine(stderr) || (exitCode === 0 ? 'it is empty' : `exit code ${exitCode}`);
  const message = `The dump of ${item.id} failed in ${item.container.name}: ${why}.`;
  throw new Fault('failed.dump', message, `Check the log: quarterdeck logs ${run.plan.component}`);
}

/** Parts of the component's folder that define it: any other mounted folder is a volume of its own. */
const projectParts = ['compose.yaml', '.env', 'files'];

async function saveProject(grant: Grant, folder: BackupFolder, project: string, { host }: BackupRun): Promise<BackupFile> {
  const parts: string[] = [];
  for (const part of projectParts) if (await host.files.facts(posix.join(project, part), grant.signal)) parts.push(part);
  const script = 'umask 077; out=$1; shift; exec tar -cf "$out" "$@"';
  await runThere(grant, host, ['sh', '-c', script, 'sh', posix.join(folder.folder, 'project.tar'), '-C', project, ...parts], folder.folder);
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

/** Starts the containers that interrupted flows stopped, and removes unfinished backups. The caller holds the locks of stack and store. */
export async function sweepInterrupted(
  grant: Grant,
  { store, engine, host, stackFolder, reported }: Pick<BackupRun, 'store' | 'engine' | 'host' | 'stackFolder' | 'reported'>,
): Promise<void> {
  for (const record of await listHalted(host, stackFolder, grant.signal))
    if (!record.secrets) await startHalted(grant, record, { host, engine, stackFolder });
  for (const { component, stamp, folder } of await store.interrupted(grant.signal)) {
    reported({ label: `Removing the interrupted backup ${stamp} of ${component}` });
    await removeFolder(grant, host, folder);
  }
}
