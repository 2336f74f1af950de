import type { CatalogEntry } from '../catalog/catalog.ts';
import { agoText } from '../text/quantities.ts';
import type { ComponentView, SetupTaskView } from './model.ts';

/** Observable tasks are included once observed; those that only people can confirm, if Quarterdeck deployed the component. */
export function setupTasksOf(
  entry: CatalogEntry,
  observed: ReadonlyMap<string, boolean>,
  deployed: { setupTasks: Readonly<Record<string, string>>; site: string } | undefined,
): readonly SetupTaskView[] {
  return entry.firstRun.flatMap(({ id, title, detail, done: condition, urgent, bySite, page }): SetupTaskView[] => {
    const task = { id, title, detail, urgent, ...(page !== undefined && { page }) };
    if (condition !== undefined) {
      const done = observed.get(id);
      return done === undefined ? [] : [{ ...task, done, by: 'observed' }];
    }
    if (!deployed) return [];
    if (bySite && deployed.site !== '') return [{ ...task, done: true, by: 'observed' }];
    return [{ ...task, done: Object.hasOwn(deployed.setupTasks, id), by: 'hand' }];
  });
}

export function setupTasksLeft({ setupTasks }: Pick<ComponentView, 'setupTasks'>): readonly SetupTaskView[] {
  return setupTasks.filter(({ done }) => !done);
}

export const staleBackupMs = 7 * 86_400_000;

/** Empty if unknown, or if there is nothing to back up. */
export function backupText({ backup }: Pick<ComponentView, 'backup'>, nowMs: number): string {
  if (!backup) return '';
  if (backup.pretended) return 'not on the practice stack (data is simulated)';
  if (backup.incomplete) return 'no complete backup: run quarterdeck backup verify';
  if (backup.noDestination) return 'no backup destination in the settings';
  return backup.atMs === undefined ? 'no backup' : `backed up ${agoText(nowMs - backup.atMs)}`;
}

export function isBackupDue({ backup }: Pick<ComponentView, 'backup'>, nowMs: number): boolean {
  if (!backup || backup.pretended) return false;
  return backup.atMs === undefined || nowMs - backup.atMs > staleBackupMs;
}

/** One line per open task, and one for a due backup. */
export function leftLines(component: ComponentView, nowMs: number): string[] {
  const [first, ...more] = setupTasksLeft(component).map(({ title }) => title.replace(/\.$/, ''));
  return [
    ...(first === undefined ? [] : more.length === 0 ? [`to do: ${first}`] : ['to do:', ...[first, ...more].map((title) => `- ${title}`)]),
    ...(isBackupDue(component, nowMs) ? [backupText(component, nowMs)] : []),
  ];
}
