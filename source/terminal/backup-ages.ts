import { posix } from 'node:path';
import { expandHome } from '../config/paths.ts';
import type { ReadBackupAges } from '../fleet/deployed-components.ts';
import type { PlaceWatch } from '../fleet/place-watch.ts';
import type { BackupAges } from '../stack/backup-age.ts';

/**
 * How old backups are, for the fleet: out of the folder that the settings name. A restic repository is not asked, that takes seconds and a password: nobody can tell
 * then. Where the settings name no place there are no backups.
 */
export function backupAgesOf(targetOf: (place: string) => string | undefined): ReadBackupAges {
  const known = new Map<PlaceWatch, Promise<BackupAges>>();
  const open = async (watch: PlaceWatch, target: string, signal: AbortSignal) => {
    const [{ BackupAges: Ages }, { home }] = await Promise.all([import('../stack/backup-age.ts'), watch.host.facts(signal)]);
    return new Ages(watch.host, posix.normalize(expandHome(target, home)));
  };
  return async (watch, signal) => {
    const target = targetOf(watch.name);
    if (target === undefined) return new Map();
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
