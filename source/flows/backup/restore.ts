import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Session } from '../../session/session.ts';
import { holdStackLock } from '../../stack/apply/lock.ts';
import { missingSecretsText } from '../../stack/backup/manifest.ts';
import { type BackupFacts, stampOf } from '../../stack/backup/model.ts';
import { restoreProject, restoreSecrets } from '../../stack/backup/project.ts';
import type { BackupStore } from '../../stack/backup/store.ts';
import { identityProblem, verifyBackup } from '../../stack/backup/verify.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText, countText } from '../../text/quantities.ts';
import { hasContainer } from '../components/service-targets.ts';
import { waitUntilHealthy } from '../components/wait-until-healthy.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowInput, FlowOutcome } from '../flow.ts';
import { operatorOf } from './backup.ts';
import { contentText, noBackup } from './backup-list.ts';
import { backupPassphrase, openStore } from './backup-target.ts';
import { listBackupsOf, throwUnlessAuthentic } from './backups-of.ts';
import { restoreData } from './restore-data.ts';
import { restoreSnapshot } from './restore-snapshot.ts';

const limitMs = 24 * 3_600_000;

export const restore = onEngine(async (scope, input, session) => {
  const id = input.component?.id ?? input.entry?.id;
  if (id === undefined) throw new Fault('usage.component', 'A component is required.', 'List the backups: quarterdeck backup list');
  const { snapshot } = input.options;
  if (typeof snapshot === 'string') return restoreSnapshot(scope, input, id, snapshot);
  const store = await openStore(scope, input);
  const chosen = await choose(scope, input, store, id);
  showContent(session, chosen);
  await throwUnlessAuthentic(session, input, chosen);
  if (!input.component?.services.some(hasContainer)) return restoreFiles(scope, store, chosen);
  return restoreDeployed(scope, input.component, store, chosen);
});

async function choose(scope: EngineScope, input: FlowInput, store: BackupStore, id: string): Promise<BackupFacts> {
  const { session } = scope;
  const backups = input.component ? await listBackupsOf(scope, store, input.component) : await store.list(session.signal, id);
  const [wanted] = input.words;
  const now = Date.now();
  const newest = backups.find((backup) => backup.manifest !== undefined && identityProblem(backup, now) === undefined);
  if (wanted !== undefined) {
    const found = backups.find(({ stamp }) => stamp === wanted);
    if (!found) throw noBackup(id, store.where, `backup ${wanted}`);
    return found;
  }
  if (!newest) throw noBackup(id, store.where, backups.length > 0 ? 'intact backup' : undefined);
  if (!session.attended || backups.length === 1) return newest;
  const answer = await session.ask.choice({
    id: 'backup',
    label: `Backup of ${id} to restore`,
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
    title: `Backup ${backup.stamp} of ${backup.component}, created by ${cleanLine(manifest.by)}`,
    columns: ['WHAT', 'TARGET', 'SIZE'],
    align: ['left', 'left', 'right'],
    rows: [
      ...manifest.items.map(({ id, service, target, contentBytes }) => [
        cleanLine(id),
        cleanLine(`${service} ${target}`),
        bytesText(contentBytes),
      ]),
      ...manifest.files.map(({ file, sizeBytes }) => [
        file,
        file === 'secrets.age' ? manifest.secrets.names.map(cleanLine).join(', ') : 'the component folder',
        bytesText(sizeBytes),
      ]),
    ],
  });
  const lack = missingSecretsText(manifest);
  if (lack !== '') session.show({ kind: 'text', text: lack });
}

async function restoreDeployed(scope: EngineScope, component: ComponentView, store: BackupStore, backup: BackupFacts) {
  const { session } = scope;
  const { id } = component;
  const { manifest, items, homeless, containers } = await restoreData(scope, { component, store, backup });
  if (items.length === 0) {
    const message = `Nothing in the backup ${backup.stamp} can be restored into ${id}. ${homeless.join(' ')}`.trim();
    const remedy = 'Check the content of the backup: quarterdeck backup list. The current containers must have the same volumes.';
    throw new Fault('refused.nothingToRestore', message, remedy);
  }
  if (session.dryRun) return { message: 'Dry run: nothing was restored.' };
  // Containers that were stopped before stay stopped, and would never become healthy.
  const ran = containers.some(({ running }) => running);
  const seen = ran && component.project === id ? await seenAfter(scope, id, manifest.startedAt) : undefined;
  const notRestored = homeless.length === 0 ? '' : ` Not restored: ${homeless.join(' ')}`;
  const next = ran ? '' : ` To start it: quarterdeck start ${id}`;
  return {
    message: `Restored ${id} as of ${manifest.startedAt}${seen ? `. State: ${seen.state.label}` : ''}.${notRestored}${next}`,
    data: { backup: backup.stamp, restored: items.map(({ saved }) => saved.id), notRestored: homeless },
  };
}

async function seenAfter(scope: EngineScope, id: string, startedAt: string): Promise<ComponentView> {
  try {
    return await waitUntilHealthy(scope, id);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'failed.unhealthy') throw thrown;
    const { code, message, remedy } = thrown;
    throw new Fault(code, `The data of ${id} was restored as of ${startedAt}, but ${message}`, remedy, { cause: thrown });
  }
}

/** Handles a component that no longer exists: restores files and secrets first, so that it can be deployed again as it was. */
async function restoreFiles(scope: EngineScope, store: BackupStore, backup: BackupFacts): Promise<FlowOutcome> {
  const { session, context, engineName, host } = scope;
  const { manifest, component } = backup;
  if (!manifest?.files.some(({ file }) => file === 'project.tar')) {
    const message = `${component} has no containers on this host, and its files are not in this backup.`;
    throw new Fault('refused.notDeployed', message, `Deploy the component first, then restore its data: quarterdeck deploy ${component}`);
  }
  const stackFolder = await scope.stackFolder();
  const vault = manifest.secrets.sealed ? await context.vault(session) : undefined;
  const question = {
    id: 'backup-key',
    label: 'Passphrase for the secrets in this backup',
    help: 'Or enter the age identity (AGE-SECRET-KEY-…), if the secrets were sealed for a recipient.',
  };
  const key =
    vault && ((await vault.read(`${engineName}/backup/${backupPassphrase}`, session.signal)) ?? (await session.ask.secret(question)));
  if (key !== undefined) session.hide(key);
  const by = await operatorOf(scope);
  let names: readonly string[] = [];
  await session.act({
    id: 'restore files',
    right: 'destroy',
    title: `Restore the files of ${component}`,
    request: `restore ${stackFolder}/${component} from backup ${backup.stamp} in ${store.where}`,
    target: { host: engineName },
    consequences: [
      `Any current content of ${stackFolder}/${component} is moved aside.`,
      ...(vault ? [`The secrets of ${component} are replaced with those of the backup: ${manifest.secrets.names.join(', ')}.`] : []),
    ],
    limitMs,
    run: async (grant) => {
      await using _lock = await holdStackLock(grant, host, { stackFolder, what: 'restore', component, by });
      await verifyBackup(store, backup, grant.signal);
      if (vault && key !== undefined) names = await restoreSecrets(grant, { store, backup, manifest, vault, key, engineName });
      await restoreProject(grant, { store, backup, host, stackFolder, stamp: stampOf(new Date()) });
    },
  });
  if (session.dryRun) return { message: 'Dry run: nothing was restored.' };
  const lack = missingSecretsText(manifest);
  return {
    message: `Restored the files of ${component}${names.length === 0 ? '' : ` and ${countText(names.length, 'secret')}`}. Now deploy the component (quarterdeck deploy ${component}), then restore its data (quarterdeck restore ${component} ${backup.stamp}).${lack === '' ? '' : ` ${lack}`}`,
    data: { backup: backup.stamp, restored: ['files', ...names] },
  };
}
