const line = /(\d{9}) bench: a request/;

/** The number of the newest line of the source that stands on the screen; undefined when none does. Newest is lowest. */
export function newestLine(lines: readonly string[]): number | undefined {
  for (let row = lines.length - 1; row >= 0; row--) {
    const found = line.exec(lines[row] ?? '');
    if (found) return Number(found[1]);
  }
  return undefined;
}

/**
 * The program of the source, for busybox awk: numbered lines of 60 characters, as many as are due by the machine's clock, every 20 ms. With
 * `delay` seconds before the first, and an end after `limit` lines unless that is 0, from where on it is silent.
 */
export const sourceProgram = `
function now(  t, p) { getline t < "/proc/uptime"; close("/proc/uptime"); split(t, p, " "); return p[1] + 0 }
BEGIN {
  if (delay) system("sleep " delay)
  start = now()
  for (;;) {
    due = int((now() - start) * rate)
    if (limit && due > limit) due = limit
    while (n < due) { n++; printf "%09d bench: a request took %02d ms and was answered with 200\\n", n, n % 97 }
    fflush()
    if (limit && n >= limit) system("sleep 1000000")
    system("usleep 20000")
  }
}`;
