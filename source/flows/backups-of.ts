import type { ComponentView } from '../fleet/model.ts';
import type { BackupFacts } from '../stack/backup-model.ts';
import type { BackupStore } from '../stack/backup-store.ts';

/**
 * The backups of a component, newest first. Its name depends on how many of the product are on the host: `photo-library` becomes `photo-library@lab` when a second one
 * is created. Backups of the same project are its own under any of these names, and those of another instance that is here are not, whatever they are filed under.
 */
export async function listBackupsOf(
  store: BackupStore,
  component: Pick<ComponentView, 'key' | 'id' | 'entry' | 'host' | 'project'>,
  components: readonly ComponentView[],
  signal: AbortSignal,
): Promise<readonly BackupFacts[]> {
  const { key, id, entry = id, host, project } = component;
  const names = new Set([id, entry, ...(project === '' ? [] : [`${entry}@${project}`])]);
  const others = new Set(
    components.filter((one) => one.key !== key && one.host === host && (one.entry ?? one.id) === entry).map((one) => one.project),
  );
  const found: BackupFacts[] = [];
  for (const name of names) {
    for (const backup of await store.list(signal, name)) {
      const saved = backup.manifest?.project ?? '';
      const isOfProject = saved !== '' && saved === project;
      const isOfOther = saved !== '' && !isOfProject && others.has(saved);
      if (isOfProject || (name === id && !isOfOther)) found.push(backup);
    }
  }
  return found.sort((one, other) => other.atMs - one.atMs);
}
