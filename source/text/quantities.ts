const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

export function bytesText(bytes: number): string {
  let value = Math.max(0, bytes);
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  const digits = unit === 0 || value >= 9.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** Short enough for a column: `8s`, `12m`, `3h`, `12d`, `2y`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

/** To the minute, because it is measured over a network, and another time zone is off by an hour, not by 59 minutes. */
export function clockDifferenceText(ms: number): string {
  const off = Math.abs(ms);
  return durationText(off < 60_000 ? off : Math.round(off / 60_000) * 60_000);
}

export function agoText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 5) return 'just now';
  const [count, unit] =
    seconds < 60
      ? [seconds, 'second']
      : seconds < 3600
        ? [Math.floor(seconds / 60), 'minute']
        : seconds < 48 * 3600
          ? [Math.floor(seconds / 3600), 'hour']
          : [Math.floor(seconds / 86400), 'day'];
  return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
}

/** `1,234,567`. `toLocaleString` loads the tables of all languages on first use, which would delay the first frame. */
export function numberText(whole: number): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `500ms`, `30s`, `5m`, `1h` and `7d` in milliseconds. */
export function durationMs(written: string): number {
  const [, count, unit = 's'] = /^(\d+)(ms|s|m|h|d)$/.exec(written) ?? [];
  return Number(count) * unitMs[unit as keyof typeof unitMs];
}

const daysToTheMinute = 3;

/** In UTC; for recent times to the minute. */
export function dateText(ms: number | undefined): string {
  if (ms === undefined) return 'never';
  const text = new Date(ms).toISOString();
  const isNear = Math.abs(ms - Date.now()) < daysToTheMinute * 86_400_000;
  return isNear ? `${text.slice(0, 10)} ${text.slice(11, 16)} UTC` : text.slice(0, 10);
}
