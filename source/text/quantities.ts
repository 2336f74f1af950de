const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];

/** `86 MB`, `1.2 GB`: decimal, as engines and disks count. */
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

/** What a clock is off by, ahead or behind: to the minute, since it is measured over a network, and one of another time zone is an hour off and not 59 minutes. */
export function clockDifferenceText(ms: number): string {
  const off = Math.abs(ms);
  return durationText(off < 60_000 ? off : Math.round(off / 60_000) * 60_000);
}

/** For sentences: `just now`, `2 minutes ago`, `12 days ago`. */
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

/** `1,234,567`. `toLocaleString` says the same, and reads all languages' tables when it is first asked: on the way to the first frame. */
export function numberText(whole: number): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 service`, `3 services`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
