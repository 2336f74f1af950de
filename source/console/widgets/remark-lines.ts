import { notBack } from '../../fleet/come-back.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { type UnfinishedChange, unfinishedText } from '../../terminal/unfinished-changes.ts';
import { cleanLine } from '../../text/clean.ts';
import { cut, pad, textWidth } from '../../text/width.ts';
import type { Keymap } from '../keymap.ts';
import type { Theme } from '../theme.ts';

interface RemarkOptions {
  theme: Theme;
  columns: number;
  keymap: Keymap;
  components: readonly ComponentView[];
  unfinished: readonly UnfinishedChange[];
}

/** What stays to be settled, a sentence each without how. For the screen and for screen readers. */
export function remarks({ components, unfinished }: Pick<RemarkOptions, 'components' | 'unfinished'>): { text: string; verb: string }[] {
  const found: { text: string; verb: string }[] = [];
  const last = unfinished.at(-1);
  if (last) {
    const more = unfinished.length > 1 ? ` (and ${unfinished.length - 1} more)` : '';
    found.push({ text: cleanLine(`${unfinishedText(last)}${more}`), verb: 'recover' });
  }
  const down = notBack(components).map(({ id }) => id);
  if (down.length > 0) found.push({ text: cleanLine(`Did not come back: ${down.join(', ')}.`), verb: 'up' });
  return found;
}

/** Above the panes, one line each, until it is settled: what broke off and what did not come back, with the way to go on, which is never cut. */
export function remarkLines({ theme, columns, keymap, ...about }: RemarkOptions): string[] {
  return remarks(about).map(({ text, verb }) => {
    const how = `${keymap.keyOf('palette')} ${verb} ${verb === 'up' ? 'brings up' : 'goes on'}`;
    const room = columns - textWidth(how) - 6;
    return theme.paint('warn', ` ${theme.glyphs.tone.warn} ${pad(cut(text, room, theme.glyphs.ellipsis), room)}  ${how} `);
  });
}
