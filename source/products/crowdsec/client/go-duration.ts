const unitMs: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Converts `3h59m59.63s`, `-202.733ms` or `0s` to milliseconds; returns undefined for anything but a Go duration. */
export function goDurationMs(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return 0;
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let ms = 0;
  for (const [, number, unit = ''] of rest.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/g)) ms += Number(number) * (unitMs[unit] ?? 0);
  return sign * ms;
}

/** Formats `168h`, `1h30m` or `90s`: only newer versions support days (reference/crowdsec.md). */
export function goDurationText(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${rest > 0 || seconds === 0 ? `${rest}s` : ''}`;
}
