/** How many backups stay, by age. Each number counts days, weeks or months that have a backup, not those that have passed. */
export interface RetentionPolicy {
  daily: number;
  weekly: number;
  monthly: number;
}

/** 7 daily, 4 weekly, 12 monthly (R69). */
export const defaultRetention: RetentionPolicy = { daily: 7, weekly: 4, monthly: 12 };

export interface DatedBackup {
  atMs: number;
  /** What it is of, where that is known: each project has a policy to itself. */
  manifest?: { project: string } | undefined;
  /** A damaged one is never kept in the place of a whole one, and never counts as the last. */
  good: boolean;
}

/**
 * The backups that stay; all others may go. The newest of each of the last seven days, four weeks (from Monday) and twelve months that have any, as `restic forget`
 * counts; days are those of UTC, so that the answer is the same wherever it is asked. With a policy of zeros the newest good one still stays.
 * Those of another project that are filed under the same name, from before it had one of its own, do not count among them.
 */
export function keepOf<T extends DatedBackup>(backups: readonly T[], policy: RetentionPolicy = defaultRetention): ReadonlySet<T> {
  const projects = projectsOf(backups);
  return new Set(
    [...projects].flatMap((project) => [
      ...keepOfOne(
        backups.filter((backup) => backup.manifest?.project === project),
        policy,
      ),
    ]),
  );
}

export function projectsOf(backups: readonly Pick<DatedBackup, 'manifest'>[]): ReadonlySet<string | undefined> {
  return new Set(backups.map(({ manifest }) => manifest?.project));
}

function keepOfOne<T extends DatedBackup>(backups: readonly T[], policy: RetentionPolicy): ReadonlySet<T> {
  const good = backups.filter(({ good: whole }) => whole).sort((left, right) => right.atMs - left.atMs);
  const kept = new Set<T>(good.slice(0, 1));
  const keepNewestOfEach = (count: number, period: (atMs: number) => number) => {
    const seen = new Set<number>();
    for (const backup of good) {
      const name = period(backup.atMs);
      if (seen.has(name)) continue;
      if (seen.size >= count) return;
      seen.add(name);
      kept.add(backup);
    }
  };
  keepNewestOfEach(policy.daily, dayOf);
  // The first day of 1970 was a Thursday.
  keepNewestOfEach(policy.weekly, (atMs) => Math.floor((dayOf(atMs) + 3) / 7));
  keepNewestOfEach(policy.monthly, (atMs) => new Date(atMs).getUTCFullYear() * 12 + new Date(atMs).getUTCMonth());
  return kept;
}

const dayOf = (atMs: number) => Math.floor(atMs / 86_400_000);
