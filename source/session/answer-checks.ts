import ipaddr from 'ipaddr.js';

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Converts `90`, `10m`, `4h`, `1h30m` or `7d` to seconds; undefined for anything else. */
export function parseDuration(answer: string): number | undefined {
  const text = answer.trim().toLowerCase();
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^(\d+[smhdw])+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)([smhdw])/g)) seconds += Number(count) * (unitSeconds[unit ?? ''] ?? 0);
  return Number.isSafeInteger(seconds) ? seconds : undefined;
}

export function durationProblem(answer: string): string | undefined {
  return parseDuration(answer) === undefined ? 'Use a duration such as 30s, 10m, 4h or 7d.' : undefined;
}

export function numberProblem(answer: string, { least, most }: { least?: number; most?: number }): string | undefined {
  const text = answer.trim();
  if (!/^[+-]?\d+(\.\d+)?$/.test(text)) return 'Enter a number.';
  const number = Number(text);
  if (least !== undefined && number < least) return `Enter at least ${least}.`;
  if (most !== undefined && number > most) return `Enter at most ${most}.`;
  return undefined;
}

/** Shortened and octal forms are refused: tools disagree about them. */
export function addressProblem(answer: string): string | undefined {
  const text = answer.trim();
  const good = text.includes('/')
    ? ipaddr.IPv6.isValidCIDR(text) || (ipaddr.IPv4.isValidCIDR(text) && ipaddr.IPv4.isValidFourPartDecimal(text.split('/')[0] ?? ''))
    : ipaddr.IPv6.isValid(text) || ipaddr.IPv4.isValidFourPartDecimal(text);
  return good ? undefined : 'Use an IP address such as 192.0.2.7 or 2001:db8::7, or a range such as 192.0.2.0/24.';
}
