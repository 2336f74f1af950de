import { posix } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { expandHome } from '../config/paths.ts';
import type { ReadBackupAges } from '../fleet/deployed-components.ts';
import type { EngineWatch } from '../fleet/engine-watch.ts';
import { CatalogIndex, groupContainers } from '../fleet/grouping.ts';
import type { BackupAges } from '../stack/backup/age.ts';
import { cleanLine } from '../text/clean.ts';

/**
 * Only the destination in the settings is read: backups created with `--to` elsewhere are unknown. A restic repository is not queried,
 * because that takes seconds and a password: the age is then unknown.
 */
export function backupAgesOf(
  targetOf: (engineName: string) => string | undefined,
  catalog: Catalog,
  defaultStackFolder: string,
): ReadBackupAges {
  const known = new Map<EngineWatch, Promise<BackupAges>>();
  const open = async (watch: EngineWatch, target: string, signal: AbortSignal) => {
    const [{ BackupAges: Ages }, { planBackup }, { home }] = await Promise.all([
      import('../stack/backup/age.ts'),
      import('../stack/backup/plan.ts'),
      watch.host.facts(signal),
    ]);
    const index = new CatalogIndex(catalog.entries);
    const stackFolder = expandHome(watch.stackFolder ?? defaultStackFolder, home);
    return new Ages(watch.host, posix.normalize(expandHome(target, home)), async (id, choices, asked) => {
      const group = groupContainers([...watch.containers.values()], index).find(({ project, name }) => project === id && name === id);
      if (!group?.entry) return undefined;
      const services = group.members.map(({ service, container, known }) => ({
        name: cleanLine(service),
        containerId: container.id,
        ...(known && { declared: known.name }),
      }));
      return planBackup({
        entry: catalog.get(group.entry.id),
        component: { id, host: watch.name, project: group.project, services },
        // Details that the watch already has are not queried again.
        engine: { inspect: async (containerId, limit) => watch.detail(containerId) ?? watch.engine?.inspect(containerId, limit) },
        host: watch.host,
        stackFolder,
        ...(choices && { choices }),
        signal: asked,
      });
    });
  };
  return async (watch, signal) => {
    const target = targetOf(watch.name);
    if (target === undefined) return 'no-destination';
    if (target.startsWith('restic:')) return undefined;
    let ages = known.get(watch);
    if (!ages) {
      ages = open(watch, target, signal);
      known.set(watch, ages);
      ages.catch(() => known.delete(watch));
    }
    return (await ages).read(signal);
  };
}
