/** A row of bars, one per value and the newest on the right; `most` is the value of a full bar. */
export function sparkline(values: readonly number[], columns: number, most: number, steps: string): string {
  const bars = [...steps];
  const shown = values.slice(-columns);
  const line = shown
    .map((value) => bars[Math.min(bars.length - 1, Math.max(0, Math.round((value / (most || 1)) * (bars.length - 1))))] ?? ' ')
    .join('');
  return ' '.repeat(Math.max(0, columns - shown.length)) + line;
}
