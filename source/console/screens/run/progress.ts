import type { Progress, Shown } from '../../../session/session.ts';
import { cleanLine } from '../../../text/clean.ts';
import { pad, textWidth } from '../../../text/width.ts';
import type { RunView } from '../../interface-store.ts';
import { cutStyled, paragraph } from '../../styled-text.ts';
import type { Theme } from '../../theme.ts';

type ShownItem = Extract<Shown, { kind: 'item' }>;

/** Keeps a bar close to its label. */
const longestLabel = 60;
export const itemSeverities = { todo: 'off', running: 'busy', ok: 'ok', warning: 'warning', blocked: 'error', skipped: 'off' } as const;

export function itemLines(item: ShownItem, theme: Theme, room: number): string[] {
  const severity = itemSeverities[item.state];
  return [
    ...paragraph(theme, severity, `${theme.glyphs.severity[severity]} ${item.title}: ${item.state}`, room),
    ...paragraph(theme, 'faint', item.evidence ?? '', room - 2, '  '),
  ];
}

function stepLine(item: ShownItem, theme: Theme, room: number, spinner: string): string {
  const severity = itemSeverities[item.state];
  const glyph = item.state === 'running' ? spinner : theme.glyphs.severity[severity];
  const state = theme.paint(severity, item.state.padEnd(7));
  const title = item.state === 'todo' ? theme.paint('faint', cleanLine(item.title)) : cleanLine(item.title);
  const evidence = item.evidence === undefined ? '' : `  ${theme.paint('faint', cleanLine(item.evidence))}`;
  return cutStyled(`${theme.paint(severity, glyph)} ${state}  ${title}${evidence}`, room, theme.glyphs.ellipsis);
}

const share = (fraction: number | undefined, whole: number) => Math.round(Math.min(1, Math.max(0, fraction ?? 0)) * whole);

export function progressBar(fraction: number, theme: Theme, columns: number): string {
  const full = share(fraction, columns);
  const { bar } = theme.glyphs;
  return bar.full.repeat(full) + bar.empty.repeat(columns - full);
}

function thinBar(fraction: number, theme: Theme, columns: number): string {
  const full = share(fraction, columns);
  const { thinBar: line } = theme.glyphs;
  return theme.paint(full === columns ? 'ok' : 'busy', line.full.repeat(full)) + theme.paint('border', line.empty.repeat(columns - full));
}

function progressLines(progress: readonly Progress[], theme: Theme, room: number, spinner: string): string[] {
  const labels = progress.map(({ label }) => cleanLine(label));
  const bar = room >= 60 ? 24 : 10;
  // Widths grow in steps of eight, so that a label with one more digit does not move the bars.
  const widest = Math.ceil(Math.max(0, ...labels.map(textWidth)) / 8) * 8;
  const labelWidth = Math.min(widest, Math.max(10, room - bar - 9), longestLabel);
  return progress.map(({ fraction }, index) => {
    const label = labels[index] ?? '';
    if (fraction === undefined) return cutStyled(`${label} ${theme.paint('busy', spinner)}`, room, theme.glyphs.ellipsis);
    const named = pad(label, labelWidth, 'left', theme.glyphs.ellipsis);
    return `${named}  ${thinBar(fraction, theme, bar)} ${`${share(fraction, 100)} %`.padStart(5)}`;
  });
}

/** Returns the steps that fit: leading ones that are over are replaced by their number. */
function fitting(steps: string[], firstOpen: number, height: number, theme: Theme): string[] {
  if (steps.length <= height) return steps;
  const start = Math.max(0, Math.min(firstOpen - 1, steps.length - height + 1));
  const shown = steps.slice(start, start + height - 1);
  return [theme.paint('faint', start > 0 ? `${start} more above` : `${steps.length - height + 1} more below`), ...shown];
}

export function runningLines(
  { shown, progress }: RunView,
  theme: Theme,
  { room, height, step, reported }: { room: number; height: number; step: number; reported: readonly string[] },
): string[] {
  const spinner = theme.glyphs.spinner[step % theme.glyphs.spinner.length] ?? '';
  const items = shown.filter((each) => each.kind === 'item');
  const bars = progressLines(progress, theme, room - 4, spinner).map((line) => `    ${line}`);
  const tailLeast = reported.length === 0 ? 0 : Math.min(reported.length, 3) + 1;
  const stepsRoom = Math.max(2, height - Math.min(bars.length, Math.max(1, height - 4)) - tailLeast);
  const firstOpen = items.findIndex(({ state }) => state === 'running' || state === 'todo');
  const all = items.map((item) => stepLine(item, theme, room, spinner));
  const steps = fitting(all, firstOpen < 0 ? items.length : firstOpen, stepsRoom, theme);
  // The progress is below the step that it belongs to.
  const running = items.findLast(({ state }) => state === 'running');
  const line = running === undefined ? -1 : steps.indexOf(stepLine(running, theme, room, spinner));
  const lines = line < 0 ? [...steps, ...bars] : [...steps.slice(0, line + 1), ...bars, ...steps.slice(line + 1)];
  const left = height - lines.length - (lines.length > 0 ? 1 : 0);
  if (reported.length > 0 && left > 0) lines.push(...(lines.length > 0 ? [''] : []), ...reported.slice(-left));
  return lines.slice(0, height);
}
