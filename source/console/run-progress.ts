import type { Progress, Shown } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { pad, textWidth, wrap } from '../text/width.ts';
import type { RunView } from './interface-store.ts';
import { cutStyled } from './styled-text.ts';
import type { Theme } from './theme.ts';

type ShownItem = Extract<Shown, { kind: 'item' }>;

/** So that a bar does not stand too far from what it is about. */
const longestLabel = 60;
const itemTones = { todo: 'idle', running: 'busy', ok: 'good', warning: 'warn', blocked: 'bad', skipped: 'idle' } as const;

/** `● Pull images: ok`, and what tells so below it. */
export function itemLines(item: ShownItem, theme: Theme, room: number): string[] {
  const tone = itemTones[item.state];
  return [
    ...wrap(`${theme.glyphs.tone[tone]} ${cleanLine(item.title)}: ${item.state}`, room).map((line) => theme.paint(tone, line)),
    ...(item.evidence ? wrap(cleanLine(item.evidence), room - 2).map((line) => `  ${theme.paint('faint', line)}`) : []),
  ];
}

/** The same on one row, for a list of steps that goes on. */
function stepLine(item: ShownItem, theme: Theme, room: number, spinner: string): string {
  const tone = itemTones[item.state];
  const glyph = item.state === 'running' ? spinner : theme.glyphs.tone[tone];
  const state = theme.paint(tone, item.state.padEnd(7));
  const title = item.state === 'todo' ? theme.paint('faint', cleanLine(item.title)) : cleanLine(item.title);
  const evidence = item.evidence === undefined ? '' : `  ${theme.paint('faint', cleanLine(item.evidence))}`;
  return cutStyled(`${theme.paint(tone, glyph)} ${state}  ${title}${evidence}`, room, theme.glyphs.ellipsis);
}

export function progressBar(fraction: number, theme: Theme, columns: number): string {
  const within = Math.min(1, Math.max(0, fraction));
  const full = Math.round(within * columns);
  const { bar } = theme.glyphs;
  return bar.full.repeat(full) + bar.empty.repeat(columns - full);
}

function thinBar(fraction: number, theme: Theme, columns: number): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * columns);
  const { thinBar: line } = theme.glyphs;
  return theme.paint(full === columns ? 'good' : 'busy', line.full.repeat(full)) + theme.paint('border', line.empty.repeat(columns - full));
}

/** One row for each thing that is under way, its figures in columns. */
function progressLines(progress: readonly Progress[], theme: Theme, room: number, spinner: string): string[] {
  const labels = progress.map(({ label }) => cleanLine(label));
  const bar = room >= 60 ? 24 : 10;
  // In steps of eight: figures in a label that grow by a digit do not move the bars.
  const widest = Math.ceil(Math.max(0, ...labels.map(textWidth)) / 8) * 8;
  const labelWidth = Math.min(widest, Math.max(10, room - bar - 9), longestLabel);
  return progress.map(({ fraction }, index) => {
    const label = labels[index] ?? '';
    if (fraction === undefined) return cutStyled(`${label} ${theme.paint('busy', spinner)}`, room, theme.glyphs.ellipsis);
    const named = pad(label, labelWidth, 'left', theme.glyphs.ellipsis);
    const percent = `${Math.round(Math.min(1, Math.max(0, fraction)) * 100)} %`.padStart(5);
    return `${named}  ${thinBar(fraction, theme, bar)} ${percent}`;
  });
}

/** Steps beyond what fits: those before the first that is not over go, and it is said how many. */
function fitting(steps: string[], firstOpen: number, height: number, theme: Theme): string[] {
  if (steps.length <= height) return steps;
  const start = Math.max(0, Math.min(firstOpen - 1, steps.length - height + 1));
  const shown = steps.slice(start, start + height - 1);
  return [theme.paint('faint', start > 0 ? `${start} steps above` : `${steps.length - height + 1} more below`), ...shown];
}

interface RunningOptions {
  theme: Theme;
  room: number;
  height: number;
  /** Of the motion. */
  step: number;
  /** Everything else that was shown, as lines. */
  told: readonly string[];
}

/** A flow that is under way: its steps, how far what runs now is, and the last lines of what was said. */
export function runningLines({ shown, progress }: RunView, { theme, room, height, step, told }: RunningOptions): string[] {
  const spinner = theme.glyphs.spinner[step % theme.glyphs.spinner.length] ?? '';
  const items = shown.filter((each) => each.kind === 'item');
  const bars = progressLines(progress, theme, room - 4, spinner).map((line) => `    ${line}`);
  const tailLeast = told.length === 0 ? 0 : Math.min(told.length, 3) + 1;
  const stepsRoom = Math.max(2, height - Math.min(bars.length, Math.max(1, height - 4)) - tailLeast);
  const firstOpen = items.findIndex(({ state }) => state === 'running' || state === 'todo');
  const steps = fitting(
    items.map((item) => stepLine(item, theme, room, spinner)),
    firstOpen < 0 ? items.length : firstOpen,
    stepsRoom,
    theme,
  );
  // What is under way stands below the step that it belongs to.
  const running = items.findLast(({ state }) => state === 'running');
  const line = running === undefined ? -1 : steps.indexOf(stepLine(running, theme, room, spinner));
  const lines = line < 0 ? [...steps, ...bars] : [...steps.slice(0, line + 1), ...bars, ...steps.slice(line + 1)];
  const left = height - lines.length - (lines.length > 0 ? 1 : 0);
  if (told.length > 0 && left > 0) lines.push(...(lines.length > 0 ? [''] : []), ...told.slice(-left));
  return lines.slice(0, height);
}
