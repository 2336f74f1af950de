/** How long, as Docker words it in a status: `About an hour`, `12 days`. */
export function humanDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 1) return 'Less than a second';
  if (seconds === 1) return '1 second';
  if (seconds < 60) return `${seconds} seconds`;
  const minutes = Math.floor(seconds / 60);
  if (minutes === 1) return 'About a minute';
  if (minutes < 60) return `${minutes} minutes`;
  const hours = Math.floor(seconds / 3600 + 0.5);
  if (hours === 1) return 'About an hour';
  if (hours < 48) return `${hours} hours`;
  if (hours < 24 * 7 * 2) return `${Math.floor(hours / 24)} days`;
  if (hours < 24 * 30 * 2) return `${Math.floor(hours / 24 / 7)} weeks`;
  if (hours < 24 * 365 * 2) return `${Math.floor(hours / 24 / 30)} months`;
  return `${Math.floor(hours / 24 / 365)} years`;
}

/** RFC 3339 with nine digits, as engines write moments; never is the year 1. */
export function momentText(ms: number | undefined, subNanoseconds = 0): string {
  if (ms === undefined) return '0001-01-01T00:00:00Z';
  return `${new Date(ms).toISOString().slice(0, -1)}${String(subNanoseconds % 1_000_000).padStart(6, '0')}Z`;
}

/** `1795167986.123456789` or RFC 3339 as a moment in whole milliseconds and the nanoseconds beyond; undefined for nothing and 0. */
export function readMoment(text: string | null): { ms: number; subNanoseconds: number } | undefined {
  if (!text || text === '0') return undefined;
  const [, seconds, fraction = ''] = /^(\d+)(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (seconds === undefined) {
    const ms = Date.parse(text);
    return Number.isNaN(ms) ? undefined : { ms, subNanoseconds: 0 };
  }
  const nanoseconds = Number(fraction.padEnd(9, '0'));
  const ms = Number(seconds) * 1000 + Math.floor(nanoseconds / 1_000_000);
  return ms === 0 ? undefined : { ms, subNanoseconds: nanoseconds % 1_000_000 };
}
