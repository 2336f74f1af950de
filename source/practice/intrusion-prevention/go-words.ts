const unitNanos: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9, m: 6e10, h: 3.6e12 };

/** A duration as Go's `time.ParseDuration` takes it, in milliseconds; or Go's own words of refusal. Days are no unit of Go's. */
export function parseGoDuration(text: string): { ms: number } | { refusal: string } {
  const invalid = { refusal: `time: invalid duration ${JSON.stringify(text)}` };
  const sign = text.startsWith('-') ? -1 : 1;
  let rest = text.replace(/^[+-]/, '');
  if (rest === '0') return { ms: 0 };
  if (rest === '') return invalid;
  let nanos = 0;
  while (rest !== '') {
    const number = /^(?:\d+\.?\d*|\.\d+)/.exec(rest)?.[0];
    if (number === undefined) return invalid;
    rest = rest.slice(number.length);
    const unit = /^[^\d.]*/.exec(rest)?.[0] ?? '';
    if (unit === '') return { refusal: `time: missing unit in duration ${JSON.stringify(text)}` };
    const factor = unitNanos[unit];
    if (factor === undefined) return { refusal: `time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}` };
    nanos += Number(number) * factor;
    rest = rest.slice(unit.length);
  }
  return { ms: (sign * nanos) / 1e6 };
}

/** As `parseGoDuration`, with a whole number of days before the rest, as this product takes them since 1.6.9 (and in its filters always): `30d`, `1d12h`. */
export function parseDurationWithDays(text: string): { ms: number } | { refusal: string } {
  const days = /^(\d+)d(.*)$/.exec(text);
  if (days === null) return parseGoDuration(text);
  const rest = days[2] === '' ? { ms: 0 } : parseGoDuration(days[2] ?? '');
  return 'refusal' in rest ? rest : { ms: Number(days[1]) * 86_400_000 + rest.ms };
}

const trimmed = (value: number, digits: number): string => value.toFixed(digits).replace(/\.?0+$/, '');

/** A duration as Go writes it: `3h59m59.63s`, `-202.733ms`, `0s`. */
export function goDurationText(nanos: number): string {
  if (nanos === 0) return '0s';
  const sign = nanos < 0 ? '-' : '';
  const size = Math.abs(Math.round(nanos));
  if (size < 1e3) return `${sign}${size}ns`;
  if (size < 1e6) return `${sign}${trimmed(size / 1e3, 3)}µs`;
  if (size < 1e9) return `${sign}${trimmed(size / 1e6, 6)}ms`;
  const hours = Math.floor(size / 3.6e12);
  const minutes = Math.floor((size % 3.6e12) / 6e10);
  const seconds = `${trimmedSeconds(size % 6e10)}s`;
  return `${sign}${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds}`;
}

function trimmedSeconds(nanos: number): string {
  const whole = Math.floor(nanos / 1e9);
  const fraction = String(nanos % 1e9)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return fraction === '' ? String(whole) : `${whole}.${fraction}`;
}

/** `2026-11-20T12:49:36Z`. */
export const rfc3339 = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

/** `2026-11-20T12:49:36.561Z`: RFC 3339 with what follows the second, as Go marshals a time. */
export const rfc3339Nano = (ms: number): string => new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z');

/** What Go's `Time.String` gives: `2026-11-20 12:49:36.561 +0000 UTC`. */
export function goTimeText(ms: number): string {
  const [date, time = ''] = new Date(ms).toISOString().split('T');
  return `${date} ${time.replace(/\.?0*Z$/, '')} +0000 UTC`;
}

/** `20-11-2026 12:49:36`: how this product stamped its log until 1.5. */
export function dayFirst(ms: number): string {
  const [year, month, day] = new Date(ms).toISOString().slice(0, 10).split('-');
  return `${day}-${month}-${year} ${new Date(ms).toISOString().slice(11, 19)}`;
}

/** A value of a logfmt line, quoted where logrus quotes. */
export const logfmtValue = (value: string): string => (/^[\w./@^+-]+$/.test(value) ? value : JSON.stringify(value));

/** A row of CSV, quoted where Go's `encoding/csv` quotes. */
export const csvRow = (fields: readonly string[]): string =>
  `${fields.map((field) => (/[",\r\n]|^\s|^\\\.$/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(',')}\n`;

/** JSON as Go encodes it: `<`, `>` and `&` as escapes. */
export const goJson = (value: unknown, indent?: string): string =>
  JSON.stringify(value, undefined, indent).replace(
    /[<>&\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** What `strconv.ParseBool` takes; undefined for anything else. */
export function parseGoBool(text: string): boolean | undefined {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false;
  return undefined;
}
