/** Number of backups to keep, by age. Each number counts days, weeks or months with a backup, not elapsed ones. */
export const defaultRetention = { daily: 7, weekly: 4, monthly: 12 };

export type RetentionPolicy = Readonly<typeof defaultRetention>;

export interface DatedBackup {
  atMs: number;
  /** The backed-up project, if known: each project has a separate policy. */
  manifest?: { project: string } | undefined;
  /** A damaged backup never replaces a good one, and never counts as the last. */
  good: boolean;
}

/**
 * Returns the backups to keep; all others may be removed. The newest of each of the last seven days, four weeks (from Monday) and twelve
 * months with backups, as `restic forget` counts; days are in UTC, so that the result does not depend on the machine. With a policy of
 * zeros the newest good one is still kept. Backups of another project under the same name, from before it had a name of its own, are not
 * counted with them.
 */
export function keepOf<T extends DatedBackup>(backups: readonly T[], policy: RetentionPolicy = defaultRetention): ReadonlySet<T> {
  const kept = new Set<T>();
  for (const project of new Set(backups.map(({ manifest }) => manifest?.project))) {
    const good = backups
      .filter((backup) => backup.good && backup.manifest?.project === project)
      .sort((left, right) => right.atMs - left.atMs);
    for (const backup of good.slice(0, 1)) kept.add(backup);
    const keepNewestOfEach = (count: number, period: (atMs: number) => number) => {
      const newest = new Map(good.toReversed().map((backup) => [period(backup.atMs), backup]));
      for (const backup of [...newest.values()].toReversed().slice(0, count)) kept.add(backup);
    };
    keepNewestOfEach(policy.daily, dayOf);
    // The first day of 1970 was a Thursday.
    keepNewestOfEach(policy.weekly, (atMs) => Math.floor((dayOf(atMs) + 3) / 7));
    keepNewestOfEach(policy.monthly, (atMs) => new Date(atMs).getUTCFullYear() * 12 + new Date(atMs).getUTCMonth());
  }
  return kept;
}

const dayOf = (atMs: number) => Math.floor(atMs / 86_400_000);
