import { cannotTellExitCode, Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Session } from '../session/session.ts';
import { coverageText, incompleteText, notCoveredBy } from '../stack/backup-coverage.ts';
import type { BackupFacts } from '../stack/backup-model.ts';
import { missingSecretsText } from '../stack/backup-model.ts';
import { planBackup } from '../stack/backup-plan.ts';
import type { BackupStore } from '../stack/backup-store.ts';
import { identityProblem, verifyBackup } from '../stack/backup-verify.ts';
import { cleanLine } from '../text/clean.ts';
import { agoText, bytesText, countText } from '../text/quantities.ts';
import { backupListAbout, backupVerifyAbout } from './about-backups.ts';
import { unauthenticatedText } from './authentic-backup.ts';
import { openStore } from './backup-target.ts';
import { listBackupsOf } from './backups-of.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { entryOf } from './secret-proof.ts';
import { hasContainer } from './service-targets.ts';

export const backupList: Flow = {
  ...backupListAbout,
  async run(session, input, world) {
    const store = await openStore(session, input, world);
    const backups = await store.list(session.signal, input.words[0]);
    const interrupted = await store.interrupted(session.signal);
    for (const { component, stamp } of interrupted)
      session.show({ kind: 'text', text: `Running or interrupted: ${stamp} of ${component}. The next backup clears it.` });
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
    if (backups.length === 0) return { message: `There is no backup in ${store.where}.`, data };
    session.show({
      kind: 'table',
      title: 'Backups',
      columns: ['COMPONENT', 'BACKUP', 'AGE', 'SIZE', 'WHAT IS IN IT'],
      align: ['left', 'left', 'left', 'right', 'left'],
      rows: backups.map((backup) => [
        backup.component,
        backup.stamp,
        agoText(now - backup.atMs),
        bytesText(backup.sizeBytes),
        contentText(backup),
      ]),
    });
    return { message: `${countText(backups.length, 'backup')} in ${store.where}.`, data };
  },
};

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

export const backupVerify: Flow = {
  ...backupVerifyAbout,
  async run(session, input, world) {
    const [named, stamp] = input.words;
    if (named === undefined && !session.attended) throw unnamed();
    const store = await openStore(session, input, world);
    const component = named ?? (await choose(session, store));
    const view = world.fleet.snapshot().components.find(({ host, id }) => host === input.place && id === component);
    const all = view
      ? await listBackupsOf(store, view, world.fleet.snapshot().components, session.signal)
      : await store.list(session.signal, component);
    const backups = all.filter((backup) => stamp === undefined || backup.stamp === stamp);
    if (backups.length === 0) throw noBackup(component, store.where, stamp);
    const damaged: string[] = [];
    const unauthenticated = backups.filter((backup) => backup.manifest && backup.unauthenticated !== undefined);
    for (const backup of unauthenticated) session.show({ kind: 'text', text: unauthenticatedText(backup) ?? '' });
    for (const backup of backups) {
      session.progress({ id: 'verify', label: `Reading ${backup.stamp} of ${component}` });
      try {
        await verifyBackup(store, backup, session.signal);
      } catch (thrown) {
        if (!(thrown instanceof Fault) || thrown.code !== 'refused.damaged') throw thrown;
        damaged.push(backup.stamp);
        session.show({ kind: 'text', text: thrown.message });
      }
    }
    session.progress({ id: 'verify', label: `Verified ${component}`, fraction: 1, done: true });
    const omitted = await omittedBy(session, input, world, view, backups[0]);
    const data = {
      verified: backups.map((backup) => ({
        stamp: backup.stamp,
        good: !damaged.includes(backup.stamp),
        authentic: backup.manifest !== undefined && backup.unauthenticated === undefined,
      })),
      omitted,
    };
    if (damaged.length === 0 && omitted.length > 0)
      throw new Fault({
        code: 'failed.backupIncomplete',
        message: `The backup ${backups[0]?.stamp} of ${component} is as it was written, but omits ${coverageText(omitted)}.`,
        remedy: `Back up again: quarterdeck backup ${component}`,
      });
    if (damaged.length === 0 && unauthenticated.length > 0)
      return {
        message: `${countText(backups.length, 'backup')} of ${component} ${backups.length === 1 ? 'matches its' : 'match their'} checksums, but ${unauthenticated.length === 1 ? unauthenticated[0]?.stamp : `${unauthenticated.length} of them`} cannot be authenticated.`,
        data,
        exitCode: cannotTellExitCode,
      };
    if (damaged.length === 0)
      return { message: `${countText(backups.length, 'backup')} of ${component} read again: as it was written.`, data };
    throw new Fault({
      code: 'failed.damaged',
      message: `${countText(damaged.length, 'backup')} of ${component} ${damaged.length === 1 ? 'is' : 'are'} damaged: ${damaged.join(', ')}.`,
      remedy: `Make a new one now: quarterdeck backup ${component}`,
    });
  },
};

/** What the newest backup does not have of what is mounted now; nothing where the component is not here to compare with. */
async function omittedBy(
  session: Session,
  { place }: FlowInput,
  world: FlowWorld,
  component: ComponentView | undefined,
  backup: BackupFacts | undefined,
): Promise<readonly string[]> {
  if (!backup?.manifest) return [];
  if (!component?.services.some(hasContainer)) return incompleteText(backup.manifest);
  const now = await planBackup({
    entry: entryOf(world, component),
    component,
    engine: world.engineOf(place),
    host: world.hostOf(place),
    stackFolder: await world.stackFolderOf(place, session.signal),
    ...(backup.manifest.choices && { choices: backup.manifest.choices }),
    signal: session.signal,
  });
  return notCoveredBy(backup.manifest, now);
}

async function choose(session: Session, store: BackupStore): Promise<string> {
  const stamps = new Map<string, string[]>();
  for (const { component, stamp } of await store.list(session.signal)) stamps.set(component, [...(stamps.get(component) ?? []), stamp]);
  if (stamps.size === 0)
    throw new Fault({ code: 'usage.backup', message: `There is no backup in ${store.where}.`, remedy: 'Make one: quarterdeck backup all' });
  return session.ask.choice({
    id: 'component',
    label: 'Verify the backups of which component?',
    choices: [...stamps].map(([component, all]) => ({
      value: component,
      label: cleanLine(component),
      detail: countText(all.length, 'backup'),
    })),
  });
}

const unnamed = () =>
  new Fault({
    code: 'usage.component',
    message: 'No component was named.',
    remedy: 'Name one: quarterdeck backup verify password-vault',
  });

export function noBackup(component: string, where: string, stamp?: string): Fault {
  return new Fault({
    code: 'usage.backup',
    message:
      stamp === undefined
        ? `There is no backup of ${component} in ${where}.`
        : `${where} has no backup ${cleanLine(stamp)} of ${component}.`,
    remedy: `See what there is: quarterdeck backup list ${component}`,
  });
}
