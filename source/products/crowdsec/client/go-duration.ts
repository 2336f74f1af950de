import parseDuration from 'parse-duration';

const form = /^[+-]?(?:0|(?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h))+)$/;

/** Converts `3h59m59.63s`, `-202.733ms` or `0s` to milliseconds; returns undefined for anything but a Go duration. */
export function goDurationMs(text: string): number | undefined {
  // Go reads two letters as micro; parse-duration knows only the one that Go writes.
  return form.test(text) ? (parseDuration(text.replaceAll('\u03bc', '\u00b5')) ?? undefined) : undefined;
}

/** Formats `168h`, `1h30m` or `90s`: only newer versions support days (reference/crowdsec.md). */
export function goDurationText(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${rest > 0 || seconds === 0 ? `${rest}s` : ''}`;
}
