/** The value that this share (0..1) of the values does not exceed, by nearest rank. NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Differences between neighbours. */
export function spacings(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? time));
}

/** Runs each in turn, so that other load of the machine affects all alike. Returns medians, in ms; the first turns are not counted. */
export async function inTurns<T extends string>(
  works: Record<T, () => Promise<unknown>>,
  times: number,
  uncounted = 2,
): Promise<Record<T, number>> {
  const taken = Object.fromEntries(Object.keys(works).map((name) => [name, [] as number[]])) as Record<T, number[]>;
  for (let turn = -uncounted; turn < times; turn++) {
    for (const [name, work] of Object.entries(works) as [T, () => Promise<unknown>][]) {
      const sinceMs = performance.now();
      await work();
      if (turn >= 0) taken[name].push(performance.now() - sinceMs);
    }
  }
  return Object.fromEntries(Object.entries<number[]>(taken).map(([name, all]) => [name, median(all)])) as Record<T, number>;
}
