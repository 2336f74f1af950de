import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import { finished, lastLine } from './backup-files.ts';
import type {
  BackedUpItem,
  BackupContainer,
  BackupFacts,
  BackupManifest,
  BackupPlan,
  BackupProgress,
  PlannedItem,
} from './backup-model.ts';
import type { StillContainers } from './backup-still.ts';
import type { BackupStore } from './backup-store.ts';
import { emptyVolume } from './volume-beside.ts';

/** Until a database that was just started takes connections. */
const readyLimitMs = 90_000;
const readyStepMs = 500;

/** An item of a backup, and where it goes back to. */
export interface RestoreItem {
  saved: BackedUpItem;
  planned: PlannedItem;
}

export interface RestorePlan {
  backup: BackupFacts;
  manifest: BackupManifest;
  items: readonly RestoreItem[];
  /** Items of the backup that have no place here any more, a sentence each. */
  homeless: readonly string[];
  containers: readonly BackupContainer[];
}

/** Which item goes where. Throws `refused.damaged` for a backup without a readable manifest. */
export function planRestore(backup: BackupFacts, now: BackupPlan): RestorePlan {
  const { manifest } = backup;
  if (!manifest) throw damaged(backup, ['manifest.json']);
  const items: RestoreItem[] = [];
  const homeless: string[] = [];
  for (const saved of manifest.items) {
    const planned =
      now.items.find(({ id, volume }) => id === saved.id && volume === saved.volume) ??
      now.items.find(({ volume }) => volume === saved.volume);
    if (!planned) homeless.push(`${saved.volume}: no container here has this volume.`);
    else if ((planned.way === 'dump') !== (saved.way === 'dump'))
      homeless.push(`${saved.volume}: it was saved in another way than it is now.`);
    else items.push({ saved, planned });
  }
  return { backup, manifest, items, homeless, containers: now.containers };
}

/** What is lost by it, a line each. */
export function restoreConsequences({ items, manifest, homeless }: RestorePlan): string[] {
  return [
    ...items.map(({ saved, planned }) =>
      saved.way === 'dump'
        ? `The database in ${planned.container.name} is replaced by that of ${manifest.startedAt} (${bytesText(saved.contentBytes)}).`
        : `Everything in ${cleanLine(planned.source)} (${planned.target} of ${planned.container.name}) is deleted, and replaced by that of ${manifest.startedAt} (${bytesText(saved.contentBytes)}).`,
    ),
    ...homeless.map((line) => `Not restored: ${line}`),
    'What was written since then is lost.',
  ];
}

function damaged({ component, stamp }: BackupFacts, files: readonly string[]): Fault {
  return new Fault({
    code: 'refused.damaged',
    message: `The backup ${stamp} of ${component} is damaged: ${files.join(', ')} ${files.length === 1 ? 'is' : 'are'} missing, or not what was written.`,
    remedy: 'Nothing was changed. Take another one: quarterdeck backup list.',
  });
}

/** Reads all of it and throws `refused.damaged` where a file differs from its checksum. */
export async function verifyBackup(store: BackupStore, backup: BackupFacts, signal: AbortSignal): Promise<void> {
  const wrong = await store.verify(backup, signal);
  if (wrong.length > 0) throw damaged(backup, wrong);
}

/**
 * Puts the data of a backup back. It is verified first; then everything stops, volumes are emptied and filled, databases take their dumps, and what ran before runs
 * again. What ends it in between leaves data that is half of each: the fault says so, and the same restore can be run again.
 */
export async function runRestore(
  grant: Grant,
  plan: RestorePlan,
  { store, engine, still, told }: { store: BackupStore; engine: Engine; still: StillContainers; told(progress: BackupProgress): void },
): Promise<void> {
  const { backup, items, containers } = plan;
  told({ label: `Verifying the backup ${backup.stamp}` });
  await verifyBackup(store, backup, grant.signal);
  const dumps = items.filter(({ saved }) => saved.way === 'dump');
  const volumes = items.filter(({ saved }) => saved.way !== 'dump');
  const databases = new Set(dumps.map(({ planned }) => planned.container.id));
  // A database keeps running for its dump, unless a volume of its own is replaced.
  const halted = containers.filter(({ id }) => !databases.has(id) || volumes.some(({ planned }) => planned.container.id === id));
  told({ label: `Stopping ${halted.map(({ name }) => name).join(', ')}` });
  await still.halt(grant, halted, 'stopped', async () => undefined);
  for (const { saved, planned } of volumes) {
    told({ label: `Emptying ${planned.volume}` });
    await emptyVolume(grant, engine, planned, containers);
    const label = `Restoring ${saved.id}`;
    await readInto(
      grant,
      store,
      backup,
      saved,
      (content) => engine.writer(grant).putArchive(planned.container.id, planned.target, content),
      (bytes) => told({ label, bytes }),
    );
  }
  for (const { saved, planned } of dumps) {
    await makeReady(grant, engine, planned.container);
    const label = `Restoring ${saved.id}`;
    await readInto(
      grant,
      store,
      backup,
      saved,
      (content) => takeDump(grant, engine, planned, content),
      (bytes) => told({ label, bytes }),
    );
  }
  await still.release(grant);
}

async function readInto(
  grant: Grant,
  store: BackupStore,
  backup: BackupFacts,
  saved: BackedUpItem,
  take: (content: Readable) => Promise<void>,
  told: (bytes: number) => void,
): Promise<void> {
  const program = await store.open(grant, backup, saved.file);
  let bytes = 0;
  // A stream of its own: whoever takes it may let go of it early, and then the program must not wait for ever.
  const content = Readable.from(
    (async function* () {
      const plain = saved.packed === 'gzip' ? program.stdout.pipe(createGunzip()) : program.stdout;
      if (plain !== program.stdout) program.stdout.once('error', (cause) => plain.destroy(cause));
      for await (const chunk of plain as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        told(bytes);
        yield chunk;
      }
    })(),
    { objectMode: false },
  );
  try {
    await take(content);
  } finally {
    content.destroy();
    program.stdout.destroy();
  }
  if (bytes === saved.contentBytes) return;
  await finished(program, saved.file);
  throw new Fault({
    code: 'failed.restore',
    message: `Only ${bytesText(bytes)} of ${bytesText(saved.contentBytes)} of ${saved.id} went back.`,
    remedy: 'Run the same restore again.',
  });
}

async function takeDump(grant: Grant, engine: Engine, item: PlannedItem, content: Readable): Promise<void> {
  const program = await engine.writer(grant).execStream(item.container.id, item.restore ?? [], { input: true });
  program.stdout.resume();
  // A program that gives up early says why: its words count, not our broken pipe.
  if (program.stdin) await pipeline(content, program.stdin, { signal: grant.signal }).catch(() => grant.signal.throwIfAborted());
  const { exitCode, stderr } = await program.ended;
  if (exitCode === 0) return;
  throw new Fault({
    code: 'failed.restore',
    message: `${item.container.name} did not take its dump: ${lastLine(stderr) || `exit code ${exitCode}`}.`,
    remedy: 'What was there before is still there, unless the sentence says otherwise. Look at its log, then run the same restore again.',
  });
}

/** Runs, and where it says how it is, well. */
async function makeReady(grant: Grant, engine: Engine, { id, name }: BackupContainer): Promise<void> {
  await engine.writer(grant).start(id);
  const deadline = Date.now() + readyLimitMs;
  for (;;) {
    const detail = await engine.inspect(id, grant.signal);
    if (detail?.state === 'running' && (detail.health === 'healthy' || detail.health === 'none')) return;
    if (detail === undefined || detail.state === 'exited' || detail.state === 'dead' || Date.now() > deadline) {
      throw new Fault({
        code: 'failed.notReady',
        message: `${name} is not ready for its dump: ${detail ? cleanLine(detail.statusText || detail.state) : 'it is gone'}.`,
        remedy: 'Look at its log, then run the same restore again.',
      });
    }
    await pauseFor(readyStepMs, grant.signal);
  }
}
