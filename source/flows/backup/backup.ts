import type { CatalogEntry } from '../../catalog/catalog.ts';
import { variableOf } from '../../catalog/draft.ts';
import { Fault, messageOf } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { holdStackLock } from '../../stack/apply/lock.ts';
import { readRuns } from '../../stack/apply/run-journal.ts';
import { throwIfUncovered, throwIfUnmatched } from '../../stack/backup/coverage.ts';
import { type BackupManifest, missingSecretsText } from '../../stack/backup/manifest.ts';
import type { BackupPlan } from '../../stack/backup/model.ts';
import { planBackup } from '../../stack/backup/plan.ts';
import { secretNames } from '../../stack/backup/project.ts';
import { defaultRetention } from '../../stack/backup/retention.ts';
import { releaseHalted, runBackup } from '../../stack/backup/run.ts';
import { StillContainers } from '../../stack/backup/stopped-containers.ts';
import type { BackupStore } from '../../stack/backup/store.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText, countText } from '../../text/quantities.ts';
import { entryOf } from '../call-target.ts';
import { componentOf } from '../components/service-targets.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowInput } from '../flow.ts';
import { optionsOf } from '../flow-options.ts';
import { openStore, sealingOf } from './backup-target.ts';
import { listBackupsOf } from './backups-of.ts';
import { refuseDuringRestore } from './restore-data.ts';

const limitMs = 24 * 3_600_000;

export const backup = onEngine(async (scope, input) => {
  const component = componentOf(input);
  const store = await openStore(scope, input);
  const saved = await backUp(scope, input, component, store);
  if (!saved) return { message: 'Dry run: nothing was saved.' };
  return { message: savedText(saved, store), data: { backup: saved.manifest }, ...(saved.notThinned && { exitCode: 1 }) };
});

export const backupAll = onEngine(async (scope, input, session, context) => {
  const store = await openStore(scope, input);
  const components = context.fleet
    .snapshot()
    .components.filter((component) => component.host === input.engineName && (entryOf(context, component)?.backup.length ?? 0) > 0);
  if (components.length === 0) return { message: `No component on ${input.engineName} defines a backup.`, data: { backups: [] } };
  const saved: BackupManifest[] = [];
  const failed: string[] = [];
  const notThinned: string[] = [];
  for (const component of components) {
    const { id } = component;
    try {
      const one = await backUp(scope, input, component, store);
      if (!one) continue;
      saved.push(one.manifest);
      if (one.notThinned) notThinned.push(id);
      session.show({ kind: 'item', id, title: id, state: one.notThinned ? 'warning' : 'ok', evidence: savedText(one, store) });
    } catch (thrown) {
      session.signal.throwIfAborted();
      failed.push(id);
      session.show({ kind: 'item', id, title: id, state: 'blocked', evidence: cleanLine(messageOf(thrown)) });
    }
  }
  if (failed.length > 0) {
    const message = `${countText(saved.length, 'backup')} created, ${countText(failed.length, 'component')} not backed up: ${failed.join(', ')}.`;
    throw new Fault('failed.backup', message, `To see how to fix the problem, back up a single component: quarterdeck backup ${failed[0]}`);
  }
  if (session.dryRun) return { message: 'Dry run: nothing was saved.' };
  const left = notThinned.length > 0 ? ` Not all old backups could be deleted: ${notThinned.join(', ')}.` : '';
  return {
    message: `Backed up ${countText(saved.length, 'component')} to ${store.where}.${left}`,
    data: { backups: saved },
    ...(left !== '' && { exitCode: 1 }),
  };
});

interface Saved {
  manifest: BackupManifest;
  /** The backup is complete, but not all old ones could be deleted. */
  notThinned?: Fault;
}

/** Undefined in a dry run. */
export async function backUp(scope: EngineScope, input: FlowInput, component: ComponentView, store: BackupStore) {
  const { session, context, engineName, host, engine } = scope;
  const stackFolder = await scope.stackFolder();
  const entry = entryOf(context, component);
  await refuseDuringRestore(scope, component);
  const { typed, choices } = await choicesOf(scope, input, component, store);
  const plan = await planBackup({ entry, component, engine, host, stackFolder, choices, signal: session.signal });
  if (typed) throwIfUnmatched(plan);
  for (const { volume, why } of plan.skipped)
    session.show({ kind: 'text', text: `Not in the backup: ${cleanLine(volume)} (${cleanLine(why)}).` });
  throwIfUncovered(plan);
  const secrets = await secretsOf(scope, input, component.id, entry);
  const still = new StillContainers(engine);
  const by = await operatorOf(scope);
  // The backups of the last two updates are the way to undo them, whatever else is backed up on that day.
  const stamps = (await readRuns(host, stackFolder, session.signal)).flatMap(
    ({ transaction }) => transaction.backups?.[component.id]?.stamp ?? [],
  );
  const now = new Date();
  const saved = await session.act({
    id: `backup ${component.key}`,
    right: 'operate',
    request: `back up ${component.id} to ${store.where}: ${itemsText(plan)}`,
    target: { host: engineName, component: component.key },
    limitMs,
    run: async (grant): Promise<Saved> => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'backup', component: component.id, by });
      const manifest = await runBackup(grant, {
        plan,
        store,
        engine,
        host,
        stackFolder,
        still,
        secrets,
        by,
        now,
        reported: ({ label, bytes }) =>
          session.progress({ id: 'backup', label: bytes === undefined ? label : `${label}: ${bytesText(bytes)}` }),
      }).finally(() => lock.release());
      try {
        if (input.options['keep-all'] !== true) await store.thin(grant, plan.component, defaultRetention, new Set(stamps.slice(-2)));
        return { manifest };
      } catch (thrown) {
        if (grant.signal.aborted || !(thrown instanceof Fault)) throw thrown;
        return { manifest, notThinned: thrown };
      }
    },
    afterwards: (grant) => releaseHalted(grant, { still, host, stackFolder, plan, now }),
  });
  session.progress({ id: 'backup', label: `Backed up ${component.id}`, fraction: 1, done: true });
  context.fleet.refresh(component.key);
  return saved;
}

/** By default the choices of the newest backup are used, so that unattended runs keep to them. */
async function choicesOf(scope: EngineScope, input: FlowInput, component: ComponentView, store: BackupStore) {
  const typed = { include: optionsOf(input, 'include') ?? [], exclude: optionsOf(input, 'exclude') ?? [] };
  if (typed.include.length + typed.exclude.length > 0) return { typed: true, choices: typed };
  const all = await listBackupsOf(scope, store, component);
  // A planted backup must not decide what later backups omit.
  const before = all.find(({ manifest, own }) => manifest !== undefined && own === true);
  const { include = [], exclude = [] } = before?.manifest?.choices ?? {};
  const words = [...include.map((name) => `--include ${name}`), ...exclude.map((name) => `--exclude ${name}`)].map(cleanLine);
  if (before && words.length > 0) scope.session.show({ kind: 'text', text: `Same options as backup ${before.stamp}: ${words.join(' ')}` });
  return { typed: false, choices: { include, exclude } };
}

/** If the secrets cannot be opened, the backup is created without them, and says so. */
async function secretsOf(scope: EngineScope, input: FlowInput, component: string, entry: CatalogEntry | undefined) {
  const { session, context, engineName } = scope;
  const declared = (entry?.fields ?? []).flatMap((field) =>
    field.secret && field.target === 'environment' ? (variableOf(field) ?? []) : [],
  );
  if (declared.length === 0) return { names: [] };
  try {
    const vault = await context.vault(session);
    const names = await secretNames(vault, engineName, component, session.signal);
    if (names.length === 0) return { names: declared };
    const sealWith = await sealingOf(scope, input, vault);
    return sealWith ? { names, seal: { vault, sealWith } } : { names };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind === 'interrupted' || thrown.kind === 'usage') throw thrown;
    session.show({ kind: 'text', text: `This backup omits the secrets: ${thrown.message}` });
    return { names: declared };
  }
}

/** Returns the operator, `ada@nas`, shown to others who find the stack locked. */
export async function operatorOf({ host, signal }: EngineScope): Promise<string> {
  const { env, hostname } = await host.facts(signal);
  return cleanLine(`${env.USER ?? env.LOGNAME ?? 'root'}@${hostname}`);
}

function itemsText({ items }: BackupPlan): string {
  return items
    .map(({ id, method, still }) => {
      const names = still.filter(({ running }) => running).map(({ name }) => name);
      const halted = names.length === 0 ? '' : `, ${names.join(' and ')} ${method === 'stop' ? 'stopped' : 'paused'} during the backup`;
      return `${id} (${method === 'dump' ? 'dump' : 'copy'}${halted})`;
    })
    .join(', ');
}

export const notThinnedText = ({ message, remedy }: Fault) =>
  cleanLine(`Not all old backups could be deleted: ${message} ${remedy}`.trim());

function savedText({ manifest, notThinned }: Saved, store: BackupStore): string {
  const bytes = [...manifest.items, ...manifest.files].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const lack = missingSecretsText(manifest);
  const text = `Backed up ${manifest.component} to ${store.where}: ${manifest.stamp}, ${bytesText(bytes)}.`;
  return [text, lack, notThinned ? notThinnedText(notThinned) : ''].filter(Boolean).join(' ');
}
