/** Upper limit of each unit, and its length, in seconds; hours are rounded. */
const units = [
  [60, 1, 'second'],
  [3600, 60, 'minute'],
  [172_800, 3600, 'hour'],
  [1_209_600, 86_400, 'day'],
  [5_184_000, 604_800, 'week'],
  [Number.POSITIVE_INFINITY, 2_592_000, 'month'],
] as const;

/** How long, as Docker words it in a status: `About an hour`, `12 days`. */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [, length, unit] = units.find(([limit]) => seconds < limit) ?? units[5];
  const count = unit === 'hour' ? Math.round(seconds / length) : Math.floor(seconds / length);
  if (count === 0) return 'Less than a second';
  if (count === 1 && unit !== 'second') return `About ${unit === 'hour' ? 'an hour' : 'a minute'}`;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** RFC 3339 with nine digits, as engines write moments; never is the year 1. */
export function momentText(ms: number | undefined, subNanoseconds = 0): string {
  if (ms === undefined) return '0001-01-01T00:00:00Z';
  return `${new Date(ms).toISOString().slice(0, -1)}${String(subNanoseconds % 1_000_000).padStart(6, '0')}Z`;
}

/** `1795167986.123456789` as a moment in whole milliseconds and the nanoseconds beyond; undefined for nothing and 0. */
export function readMoment(text: string | null): { ms: number; subNanoseconds: number } | undefined {
  const [, seconds = '0', fraction = ''] = /^(\d+)(?:\.(\d{1,9}))?$/.exec(text ?? '') ?? [];
  const nanoseconds = Number(fraction.padEnd(9, '0'));
  const ms = Number(seconds) * 1000 + Math.floor(nanoseconds / 1_000_000);
  return ms === 0 ? undefined : { ms, subNanoseconds: nanoseconds % 1_000_000 };
}
