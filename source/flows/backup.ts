import type { CatalogEntry } from '../catalog/catalog.ts';
import { variableOf } from '../catalog/draft.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Session } from '../session/session.ts';
import { throwIfUncovered, throwIfUnmatched } from '../stack/backup-coverage.ts';
import { type BackupChoices, type BackupManifest, type BackupPlan, missingSecretsText } from '../stack/backup-model.ts';
import { planBackup } from '../stack/backup-plan.ts';
import { defaultRetention } from '../stack/backup-retention.ts';
import { releaseHalted, runBackup } from '../stack/backup-run.ts';
import { secretNames } from '../stack/backup-secrets.ts';
import { StillContainers } from '../stack/backup-still.ts';
import type { BackupStore } from '../stack/backup-store.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { readRuns } from '../stack/run-journal.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText, countText } from '../text/quantities.ts';
import { backupAbout, backupAllAbout } from './about-backups.ts';
import { openStore, sealingOf } from './backup-target.ts';
import { listBackupsOf } from './backups-of.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { throwIfRestoreOpen } from './recover-restore.ts';
import { entryOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';

const limitMs = 24 * 3_600_000;
export const backup: Flow = {
  ...backupAbout,
  async run(session, input, world) {
    const component = componentOf(input);
    const store = await openStore(session, input, world);
    const manifest = await backUp(session, input, world, component, store);
    if (!manifest) return { message: 'Rehearsed: nothing was saved.' };
    return { message: savedText(manifest, store), data: { backup: manifest } };
  },
};

export const backupAll: Flow = {
  ...backupAllAbout,
  async run(session, input, world) {
    const store = await openStore(session, input, world);
    const components = world.fleet
      .snapshot()
      .components.filter((component) => component.host === input.place && (entryOf(world, component)?.backup.length ?? 0) > 0);
    if (components.length === 0) return { message: `Nothing on ${input.place} says how it is backed up.`, data: { backups: [] } };
    const saved: BackupManifest[] = [];
    const failed: string[] = [];
    for (const component of components) {
      try {
        const manifest = await backUp(session, input, world, component, store);
        if (!manifest) continue;
        saved.push(manifest);
        session.show({ kind: 'item', id: component.id, title: component.id, state: 'ok', evidence: savedText(manifest, store) });
      } catch (thrown) {
        session.signal.throwIfAborted();
        failed.push(component.id);
        session.show({ kind: 'item', id: component.id, title: component.id, state: 'blocked', evidence: cleanLine(messageOf(thrown)) });
      }
    }
    if (failed.length > 0) {
      throw new Fault({
        code: 'failed.backup',
        message: `${countText(saved.length, 'backup')} made, ${countText(failed.length, 'component')} not backed up: ${failed.join(', ')}.`,
        remedy: `Try one alone to see why: quarterdeck backup ${failed[0]}`,
      });
    }
    if (session.rehearsing) return { message: 'Rehearsed: nothing was saved.' };
    return { message: `${countText(saved.length, 'component')} backed up to ${store.where}.`, data: { backups: saved } };
  },
};

/** Undefined in a rehearsal. */
export async function backUp(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  component: ComponentView,
  store: BackupStore,
): Promise<BackupManifest | undefined> {
  const host = world.hostOf(input.place);
  const engine = world.engineOf(input.place);
  const stackFolder = await world.stackFolderOf(input.place, session.signal);
  const entry = entryOf(world, component);
  await throwIfRestoreOpen(session, world, component);
  const { typed, choices } = await choicesOf(session, input, world, component, store);
  const plan = await planBackup({ entry, component, engine, host, stackFolder, choices, signal: session.signal });
  if (typed) throwIfUnmatched(plan);
  for (const { volume, why } of plan.skipped)
    session.show({ kind: 'text', text: `Not in the backup: ${cleanLine(volume)}, ${cleanLine(why)}.` });
  throwIfUncovered(plan);
  const secrets = await secretsOf(session, input, world, component.id, entry);
  const still = new StillContainers(engine);
  const by = await operatorOf(world, input.place, session.signal);
  const waysBack = backupsOfRuns(await readRuns(host, stackFolder, session.signal), component.id);
  const now = new Date();
  const manifest = await session.act({
    id: `backup ${component.key}`,
    right: 'operate',
    request: `back up ${component.id} to ${store.where}: ${itemsText(plan)}`,
    target: { host: input.place, component: component.key },
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'backup', component: component.id, by });
      const made = await runBackup(grant, {
        plan,
        store,
        engine,
        host,
        stackFolder,
        still,
        secrets,
        by,
        now,
        told: ({ label, bytes }) =>
          session.progress({ id: 'backup', label: bytes === undefined ? label : `${label}: ${bytesText(bytes)}` }),
      }).finally(() => lock.release());
      if (input.options['keep-all'] !== true) await store.thin(grant, plan.component, defaultRetention, waysBack);
      return made;
    },
    afterwards: (grant) => releaseHalted(grant, { still, host, stackFolder, plan, now }),
  });
  session.progress({ id: 'backup', label: `Backed up ${component.id}`, fraction: 1, done: true });
  world.fleet.refresh(component.key);
  return manifest;
}

/** What the command line says to include and exclude; without that, what the newest backup was made with, so that unattended runs keep to it. */
async function choicesOf(
  session: Session,
  { options }: FlowInput,
  world: FlowWorld,
  component: ComponentView,
  store: BackupStore,
): Promise<{ typed: boolean; choices: BackupChoices }> {
  const listOf = (value: unknown) => (Array.isArray(value) ? (value as readonly string[]) : []);
  const given = { include: listOf(options.include), exclude: listOf(options.exclude) };
  if (given.include.length + given.exclude.length > 0) return { typed: true, choices: given };
  const all = await listBackupsOf(store, component, world.fleet.snapshot().components, session.signal);
  // A planted backup must not decide what the next ones omit.
  const before = all.find(({ manifest, own }) => manifest !== undefined && own === true);
  const { include = [], exclude = [] } = before?.manifest?.choices ?? {};
  if (before && include.length + exclude.length > 0)
    session.show({
      kind: 'text',
      text: `As in the backup ${before.stamp}: ${[...include.map((name) => `--include ${name}`), ...exclude.map((name) => `--exclude ${name}`)].map((text) => cleanLine(text)).join(' ')}`,
    });
  return { typed: false, choices: { include, exclude } };
}

/** Their names always; their values where something seals them. A vault that stays closed leaves a backup without them, which says so. */
async function secretsOf(session: Session, input: FlowInput, world: FlowWorld, component: string, entry: CatalogEntry | undefined) {
  const declared = (entry?.fields ?? []).flatMap((field) =>
    field.secret && field.goes === 'environment' ? (variableOf(field) ?? []) : [],
  );
  if (declared.length === 0) return { names: [] };
  try {
    const vault = await world.vault(session);
    const names = await secretNames(vault, input.place, component, session.signal);
    if (names.length === 0) return { names: declared };
    const sealWith = await sealingOf(session, input, vault);
    return sealWith ? { names, seal: { vault, sealWith } } : { names };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind === 'interrupted' || thrown.kind === 'usage') throw thrown;
    session.show({ kind: 'text', text: `The secrets stay out of this backup: ${thrown.message}` });
    return { names: declared };
  }
}

/** What the last two updates of a component took before they began: the way back from them, whatever else is saved on the same day. */
export function backupsOfRuns(runs: readonly RunOnHost[], id: string): ReadonlySet<string> {
  return new Set(runs.flatMap(({ transaction }) => transaction.backups?.[id]?.stamp ?? []).slice(-2));
}

/** Who works there, `ada@nas`, for whoever finds the stack taken. */
export async function operatorOf(world: FlowWorld, place: string, signal: AbortSignal): Promise<string> {
  const { env, hostname } = await world.hostOf(place).facts(signal);
  return cleanLine(`${env.USER ?? env.LOGNAME ?? 'root'}@${hostname}`);
}

function itemsText({ items }: BackupPlan): string {
  return items
    .map(({ id, way, still }) => {
      const names = still.filter(({ running }) => running).map(({ name }) => name);
      const halted = names.length === 0 ? '' : ` of ${names.join(' and ')}, ${way === 'stop' ? 'stopped' : 'paused'} meanwhile`;
      return `${id} (${way === 'dump' ? 'dump' : 'copy'}${halted})`;
    })
    .join(', ');
}

function savedText(manifest: BackupManifest, store: BackupStore): string {
  const bytes = [...manifest.items, ...manifest.files].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const lack = missingSecretsText(manifest);
  return `${manifest.component} is backed up to ${store.where}: ${manifest.stamp}, ${bytesText(bytes)}.${lack === '' ? '' : ` ${lack}`}`;
}
