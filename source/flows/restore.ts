import { Fault } from '../faults/fault.ts';
import type { Session } from '../session/session.ts';
import type { BackupFacts } from '../stack/backup-model.ts';
import { missingSecretsText, stampOf } from '../stack/backup-model.ts';
import { planBackup } from '../stack/backup-plan.ts';
import { restoreProject, restoreSecrets } from '../stack/backup-project.ts';
import { planRestore, restoreConsequences, runRestore, verifyBackup } from '../stack/backup-restore.ts';
import { StillContainers } from '../stack/backup-still.ts';
import type { BackupStore } from '../stack/backup-store.ts';
import { holdStackLock } from '../stack/hold-stack-lock.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, bytesText, countText } from '../text/quantities.ts';
import { restoreAbout } from './about-backups.ts';
import { whoAmI } from './backup.ts';
import { contentText, noBackup } from './backup-list.ts';
import { backupPassphrase, openStore } from './backup-target.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { restoreSnapshot } from './restore-snapshot.ts';
import { hasContainer } from './service-targets.ts';
import { waitUntilHealthy } from './wait-until-healthy.ts';

const limitMs = 24 * 3_600_000;

export const restore: Flow = {
  ...restoreAbout,
  async run(session, input, world) {
    const id = input.component?.id ?? input.entry?.id;
    if (id === undefined)
      throw new Fault({
        code: 'usage.component',
        message: 'No component was named.',
        remedy: 'Name one; "quarterdeck backup list" lists them.',
      });
    const { snapshot } = input.options;
    if (typeof snapshot === 'string') return restoreSnapshot(session, input, world, id, snapshot);
    const store = await openStore(session, input, world);
    const chosen = await choose(session, input, store, id);
    showContent(session, chosen);
    if (!input.component?.services.some(hasContainer)) return restoreFiles(session, input, world, store, chosen);
    return restoreData(session, input, world, store, chosen);
  },
};

async function choose(session: Session, input: FlowInput, store: BackupStore, id: string): Promise<BackupFacts> {
  const backups = await store.list(session.signal, id);
  const [wanted] = input.words;
  const [newest] = backups.filter(({ manifest }) => manifest !== undefined);
  if (wanted !== undefined) {
    const found = backups.find(({ stamp }) => stamp === wanted);
    if (!found) throw noBackup(id, store.where, wanted);
    return found;
  }
  if (!newest) throw noBackup(id, store.where);
  if (!session.attended || backups.length === 1) return newest;
  const now = Date.now();
  const answer = await session.ask.choice({
    id: 'backup',
    label: `Which backup of ${id}?`,
    initial: newest.stamp,
    choices: backups.map((backup) => ({
      value: backup.stamp,
      label: `${backup.stamp}, ${agoText(now - backup.atMs)}`,
      detail: contentText(backup),
    })),
  });
  return backups.find(({ stamp }) => stamp === answer) ?? newest;
}

function showContent(session: Session, backup: BackupFacts): void {
  const { manifest } = backup;
  if (!manifest) return;
  session.show({
    kind: 'table',
    title: `Backup ${backup.stamp} of ${backup.component}, by ${cleanLine(manifest.by)}`,
    columns: ['WHAT', 'WHERE IT BELONGS', 'SIZE'],
    align: ['left', 'left', 'right'],
    rows: [
      ...manifest.items.map(({ id, service, target, contentBytes }) => [
        cleanLine(id),
        cleanLine(`${service} ${target}`),
        bytesText(contentBytes),
      ]),
      ...manifest.files.map(({ file, sizeBytes }) => [
        file,
        file === 'secrets.age' ? manifest.secrets.names.map(cleanLine).join(', ') : "the component's folder",
        bytesText(sizeBytes),
      ]),
    ],
  });
  const lack = missingSecretsText(manifest);
  if (lack !== '') session.show({ kind: 'text', text: lack });
}

async function restoreData(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  store: BackupStore,
  backup: BackupFacts,
): Promise<FlowOutcome> {
  const { component } = input;
  if (!component) throw new TypeError('a component is needed to restore its data');
  const engine = world.engineOf(input.place);
  const host = world.hostOf(input.place);
  const stackFolder = await world.stackFolderOf(input.place, session.signal);
  const now = await planBackup({ entry: world.catalog.get(component.id), component, engine, host, stackFolder, signal: session.signal });
  const plan = planRestore(backup, now);
  const by = await operatorOf(world, input.place, session.signal);
  const still = new StillContainers(engine);
  const sinceMs = Date.now();
  await session.act({
    id: 'restore',
    right: 'destroy',
    title: `Restore ${component.id} to ${plan.manifest.startedAt}`,
    request: `restore ${plan.items.map(({ saved }) => saved.id).join(', ')} of ${component.id} from ${store.where}, ${backup.stamp}`,
    target: { host: input.place, component: component.key },
    consequences: restoreConsequences(plan),
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component: component.id, by });
      await runRestore(grant, plan, {
        store,
        engine,
        still,
        told: ({ label, bytes }) =>
          session.progress({ id: 'restore', label: bytes === undefined ? label : `${label}: ${bytesText(bytes)}` }),
      }).finally(() => lock.release());
    },
    afterwards: (grant) => still.release(grant),
  });
  session.progress({ id: 'restore', label: `Restored ${component.id}`, fraction: 1, done: true });
  world.fleet.refresh(component.key);
  if (session.rehearsing) return { message: 'Rehearsed: nothing was restored.' };
  const seen =
    component.project === component.id ? await waitUntilHealthy(session, world, input.place, component.id, { sinceMs }) : undefined;
  const homeless = plan.homeless.length === 0 ? '' : ` Not restored: ${plan.homeless.join(' ')}`;
  return {
    message: `${component.id} is restored to ${plan.manifest.startedAt}${seen ? `, and is ${seen.word}` : ''}.${homeless}`,
    data: { backup: backup.stamp, restored: plan.items.map(({ saved }) => saved.id), notRestored: plan.homeless },
  };
}

/** Where nothing of it stands: files and secrets first, so that it can be deployed again as it was. */
async function restoreFiles(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  store: BackupStore,
  backup: BackupFacts,
): Promise<FlowOutcome> {
  const { manifest, component } = backup;
  if (!manifest?.files.some(({ file }) => file === 'project.tar')) {
    throw new Fault({
      code: 'refused.notDeployed',
      message: `${component} is not deployed here, and its files are not in this backup.`,
      remedy: `Deploy it first, then restore its data: quarterdeck deploy ${component}`,
    });
  }
  const host = world.hostOf(input.place);
  const stackFolder = await world.stackFolderOf(input.place, session.signal);
  const vault = manifest.secrets.sealed ? await world.vault(session) : undefined;
  const key = vault && ((await vault.read(`${input.place}/backup/${backupPassphrase}`, session.signal)) ?? (await askKey(session)));
  if (key !== undefined) session.hide(key);
  const by = await operatorOf(world, input.place, session.signal);
  let names: readonly string[] = [];
  await session.act({
    id: 'restore files',
    right: 'destroy',
    title: `Bring back the files of ${component}`,
    request: `restore ${stackFolder}/${component} from ${store.where}, ${backup.stamp}`,
    target: { host: input.place },
    consequences: [
      `What is in ${stackFolder}/${component} now is moved aside.`,
      ...(vault ? [`Its secrets become those of the backup: ${manifest.secrets.names.join(', ')}.`] : []),
    ],
    limitMs,
    run: async (grant) => {
      const lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component, by });
      try {
        await verifyBackup(store, backup, grant.signal);
        if (vault && key !== undefined) names = await restoreSecrets(grant, { store, backup, manifest, vault, key, place: input.place });
        await restoreProject(grant, { store, backup, host, stackFolder, stamp: stampOf(new Date()) });
      } finally {
        await lock.release();
      }
    },
  });
  if (session.rehearsing) return { message: 'Rehearsed: nothing was restored.' };
  const lack = missingSecretsText(manifest);
  return {
    message: `The files of ${component}${names.length === 0 ? '' : ` and ${countText(names.length, 'secret')}`} are back. Now deploy it (quarterdeck deploy ${component}), then restore its data (quarterdeck restore ${component} ${backup.stamp}).${lack === '' ? '' : ` ${lack}`}`,
    data: { backup: backup.stamp, restored: ['files', ...names] },
  };
}

function askKey(session: Session): Promise<string> {
  return session.ask.secret({
    id: 'backup-key',
    label: 'Passphrase that sealed the secrets of this backup',
    help: 'Or the identity of age (AGE-SECRET-KEY-…), where it was sealed for a recipient.',
  });
}

async function operatorOf(world: FlowWorld, place: string, signal: AbortSignal): Promise<string> {
  const { user, machine } = await whoAmI(world, place, signal);
  return `${user}@${machine}`;
}
