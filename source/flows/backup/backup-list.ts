import { cannotTellExitCode, Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import type { Session } from '../../session/session.ts';
import { coverageText, incompleteText, notCoveredBy } from '../../stack/backup/coverage.ts';
import { missingSecretsText } from '../../stack/backup/manifest.ts';
import type { BackupFacts } from '../../stack/backup/model.ts';
import type { BackupStore } from '../../stack/backup/store.ts';
import { identityProblem, verifyBackup } from '../../stack/backup/verify.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText, countText } from '../../text/quantities.ts';
import { hasContainer } from '../components/service-targets.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import { type Columns, showList } from '../list-table.ts';
import { openStore } from './backup-target.ts';
import { listBackupsOf, planLike, unauthenticatedText } from './backups-of.ts';

export const backupList = onEngine(async (scope, input, session) => {
  const store = await openStore(scope, input);
  const [named] = input.words;
  const backups = await store.list(session.signal, named);
  const interrupted = await store.interrupted(session.signal);
  for (const { component, stamp } of interrupted)
    session.show({ kind: 'text', text: `Backup ${stamp} of ${component} is incomplete: it is still running, or was interrupted.` });
  const now = Date.now();
  const data = {
    backups: backups.map(({ component, stamp, sizeBytes, manifest, unauthenticated, where }) => ({
      component,
      stamp,
      sizeBytes,
      where,
      good: manifest !== undefined && identityProblem({ component, stamp, manifest }, now) === undefined,
      authentic: manifest !== undefined && unauthenticated === undefined,
      ...(unauthenticated !== undefined && { unauthenticated }),
      manifest,
    })),
  };
  const whose = named === undefined ? '' : ` of ${cleanLine(named)}`;
  if (backups.length === 0) return { message: `No backups${whose} in ${store.where}.`, data };
  const columns: Columns<BackupFacts> = {
    COMPONENT: ({ component }) => component,
    BACKUP: ({ stamp }) => stamp,
    AGE: ({ atMs }) => agoText(now - atMs),
    SIZE: ({ sizeBytes }) => bytesText(sizeBytes),
    CONTENT: contentText,
  };
  showList(session, backups, columns, { title: 'Backups', right: ['SIZE'] });
  return { message: `${countText(backups.length, 'backup')}${whose} in ${store.where}.`, data };
});

export function contentText(backup: BackupFacts): string {
  const { manifest, unauthenticated } = backup;
  if (!manifest) return 'damaged: its manifest is missing or was changed';
  const problem = identityProblem(backup, Date.now());
  if (problem !== undefined) return `damaged: ${problem}`;
  const parts = [
    ...manifest.items.map(({ id }) => cleanLine(id)),
    ...(manifest.files.some(({ file }) => file === 'project.tar') ? ['files'] : []),
  ];
  const lack = missingSecretsText(manifest);
  const omitted = incompleteText(manifest);
  const incomplete = omitted.length === 0 ? '' : `. Incomplete: omits ${coverageText(omitted)}`;
  const doubt = unauthenticated === undefined ? '' : `. Cannot be authenticated: ${unauthenticated}`;
  return `${parts.join(', ')}${manifest.secrets.sealed ? ', sealed secrets' : ''}${incomplete}${doubt}${lack === '' ? '' : `. ${lack}`}`;
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the order of the outcomes is the order of their severity
export const backupVerify = onEngine(async (scope, input, session, context) => {
  const [named, stamp] = input.words;
  if (named === undefined && !session.attended)
    throw new Fault('usage.component', 'A component is required.', 'For example: quarterdeck backup verify password-vault');
  const store = await openStore(scope, input);
  const component = named ?? (await choose(session, store));
  const view = context.fleet.snapshot().components.find(({ host, id }) => host === input.engineName && id === component);
  const all = view ? await listBackupsOf(scope, store, view) : await store.list(session.signal, component);
  const backups = all.filter((backup) => stamp === undefined || backup.stamp === stamp);
  if (backups.length === 0) throw noBackup(component, store.where, stamp && `backup ${stamp}`);
  const damaged: string[] = [];
  const unauthenticated = backups.filter((backup) => backup.manifest && backup.unauthenticated !== undefined);
  for (const backup of unauthenticated) session.show({ kind: 'text', text: unauthenticatedText(backup) ?? '' });
  for (const backup of backups) {
    session.progress({ id: 'verify', label: `Reading backup ${backup.stamp} of ${component}` });
    try {
      await verifyBackup(store, backup, session.signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'refused.damaged') throw thrown;
      damaged.push(backup.stamp);
      session.show({ kind: 'text', text: thrown.message });
    }
  }
  session.progress({ id: 'verify', label: `Verified ${component}`, fraction: 1, done: true });
  const omitted = await omittedBy(scope, view, backups[0]);
  const data = {
    verified: backups.map((backup) => ({
      stamp: backup.stamp,
      good: !damaged.includes(backup.stamp),
      authentic: backup.manifest !== undefined && backup.unauthenticated === undefined,
    })),
    omitted,
  };
  if (damaged.length === 0 && omitted.length > 0) {
    const message = `The backup ${backups[0]?.stamp} of ${component} is intact, but omits ${coverageText(omitted)}.`;
    throw new Fault('failed.backupIncomplete', message, `Back up again: quarterdeck backup ${component}`);
  }
  const count = `${countText(backups.length, 'backup')} of ${component}`;
  if (damaged.length === 0 && unauthenticated.length > 0) {
    const which = unauthenticated.length === 1 ? unauthenticated[0]?.stamp : `${unauthenticated.length} of them`;
    const matches = backups.length === 1 ? 'matches its' : 'match their';
    return { message: `${count} ${matches} checksums, but ${which} cannot be authenticated.`, data, exitCode: cannotTellExitCode };
  }
  if (damaged.length === 0) return { message: `Verified ${count}: no damage found.`, data };
  const message = `${countText(damaged.length, 'backup')} of ${component} ${damaged.length === 1 ? 'is' : 'are'} damaged: ${damaged.join(', ')}.`;
  throw new Fault('failed.damaged', message, `Create a new backup: quarterdeck backup ${component}`);
});

async function omittedBy(scope: EngineScope, component: ComponentView | undefined, backup: BackupFacts | undefined) {
  if (!backup?.manifest) return [];
  if (!component?.services.some(hasContainer)) return incompleteText(backup.manifest);
  return notCoveredBy(backup.manifest, await planLike(scope, backup, component));
}

async function choose(session: Session, store: BackupStore): Promise<string> {
  const backups = Map.groupBy(await store.list(session.signal), ({ component }) => component);
  if (backups.size === 0) throw new Fault('usage.backup', `No backups in ${store.where}.`, 'Create backups: quarterdeck backup all');
  return session.ask.choice({
    id: 'component',
    label: 'Component to verify',
    choices: [...backups].map(([component, all]) => ({
      value: component,
      label: cleanLine(component),
      detail: countText(all.length, 'backup'),
    })),
  });
}

/** `which`: the missing one, `backup 20261121T031500Z`; by default there is none at all. */
export function noBackup(component: string, where: string, which?: string): Fault {
  const remedy =
    which === undefined ? 'List all backups: quarterdeck backup list' : `List the backups: quarterdeck backup list ${component}`;
  return new Fault('usage.backup', `No ${cleanLine(which ?? 'backup')} of ${component} in ${where}.`, remedy);
}
