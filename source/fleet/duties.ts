import type { CatalogEntry } from '../catalog/catalog.ts';
import { agoText } from '../text/quantities.ts';
import type { ComponentView, DutyView } from './model.ts';

/**
 * The first-run duties of a component, in the order of the catalog. What can be observed is in it once it has been; what only people can tell is asked of those who
 * deployed it from here, and of nobody else.
 */
export function dutiesOf(
  entry: CatalogEntry | undefined,
  observed: ReadonlyMap<string, boolean>,
  deployed: { duties: Readonly<Record<string, string>>; site: string } | undefined,
): readonly DutyView[] {
  if (!entry || entry.firstRun.length === 0) return [];
  return entry.firstRun.flatMap(({ id, title, detail, done: condition, urgent, bySite, page }): DutyView[] => {
    const duty = { id, title, detail, urgent, ...(page !== undefined && { page }) };
    if (condition !== undefined) {
      const done = observed.get(id);
      return done === undefined ? [] : [{ ...duty, done, by: 'observed' }];
    }
    if (!deployed) return [];
    if (bySite && deployed.site !== '') return [{ ...duty, done: true, by: 'observed' }];
    return [{ ...duty, done: Object.hasOwn(deployed.duties, id), by: 'hand' }];
  });
}

export function dutiesLeft({ duties }: Pick<ComponentView, 'duties'>): readonly DutyView[] {
  return duties.filter(({ done }) => !done);
}

/** A backup that is older is told in the list. */
export const staleBackupMs = 7 * 86_400_000;

/** `backed up 9 days ago`, `no backup`, `no complete backup`; empty where nobody can tell, or it has nothing to save. */
export function backupText({ backup }: Pick<ComponentView, 'backup'>, nowMs: number): string {
  if (!backup) return '';
  if (backup.pretended) return 'none in practice, where data are made up';
  if (backup.incomplete) return 'no complete backup: run quarterdeck backup verify';
  return backup.atMs === undefined ? 'no backup' : `backed up ${agoText(nowMs - backup.atMs)}`;
}

export function isBackupDue({ backup }: Pick<ComponentView, 'backup'>, nowMs: number): boolean {
  if (!backup || backup.pretended) return false;
  return backup.atMs === undefined || nowMs - backup.atMs > staleBackupMs;
}

/** What is left to do about a component, one thing a line, and that its backup is due. Empty where there is nothing. */
export function leftLines(component: ComponentView, nowMs: number): string[] {
  const [first, ...more] = dutiesLeft(component).map(({ title }) => title.replace(/\.$/, ''));
  return [
    ...(first === undefined ? [] : more.length === 0 ? [`to do: ${first}`] : ['to do:', ...[first, ...more].map((title) => `- ${title}`)]),
    ...(isBackupDue(component, nowMs) ? [backupText(component, nowMs)] : []),
  ];
}
