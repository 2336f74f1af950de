import { notBack, sealedManagers } from '../../fleet/come-back.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { type UnfinishedChange, unfinishedText } from '../../terminal/unfinished-changes.ts';
import { cleanLine } from '../../text/clean.ts';
import { cut, pad, textWidth } from '../../text/width.ts';
import type { HostAsking } from '../host-asking.ts';
import type { CommandId, Keymap } from '../keymap.ts';
import type { Theme } from '../theme.ts';

interface RemarkOptions {
  theme: Theme;
  columns: number;
  keymap: Keymap;
  components: readonly ComponentView[];
  unfinished: readonly UnfinishedChange[];
  asking?: HostAsking | undefined;
}

interface Remark {
  text: string;
  /** Found in the palette; empty where `key` does it, or nothing does. */
  verb: string;
  key?: CommandId;
}

const waysOn: Readonly<Record<string, string>> = { up: 'brings it up', unseal: 'opens it' };

const asked = {
  hostKey: 'shows a host key that is not known',
  secret: 'asks for a password or a code',
  confirm: 'asks whether a key may be used',
} as const;

/** What stays to be settled, a sentence each without how. For the screen and for screen readers. */
export function remarks({ components, unfinished, asking }: Pick<RemarkOptions, 'components' | 'unfinished' | 'asking'>): Remark[] {
  const found: Remark[] = [];
  if (asking?.kind === 'touch')
    found.push({ text: cleanLine(`${asking.host} waits for a key to be touched: ${asking.lines.join(' ')}`), verb: '' });
  else if (asking) found.push({ text: cleanLine(`${asking.host} ${asked[asking.kind]}.`), verb: '', key: 'answer-host' });
  const last = unfinished.at(-1);
  if (last) {
    const more = unfinished.length > 1 ? ` (and ${unfinished.length - 1} more)` : '';
    found.push({ text: cleanLine(`${unfinishedText(last)}${more}`), verb: 'recover' });
  }
  const down = notBack(components, unfinished).map(({ id }) => id);
  if (down.length > 0) {
    found.push({ text: cleanLine(`Did not come back: ${down.join(', ')}.`), verb: 'up' });
    // After an outage that is what comes next; at other times its row says it.
    const sealed = sealedManagers(components).map(({ id }) => id);
    if (sealed.length > 0) found.push({ text: cleanLine(`Sealed: ${sealed.join(', ')}.`), verb: 'unseal' });
  }
  return found;
}

/** `:up`, to be typed as it stands; a key with a name stands apart. */
const typed = (key: string, verb: string) => (key.length === 1 ? `${key}${verb}` : `${key} ${verb}`);

/** Above the panes, one line each, until it is settled: what broke off and what did not come back, with the way to go on, which is never cut. */
export function remarkLines({ theme, columns, keymap, ...about }: RemarkOptions): string[] {
  return remarks(about).map(({ text, verb, key }) => {
    const how = key
      ? `${keymap.keyOf(key)} answers`
      : verb === ''
        ? ''
        : `${typed(keymap.keyOf('palette'), verb)} ${waysOn[verb] ?? 'goes on'}`;
    const room = columns - textWidth(how) - 6;
    return theme.paint('warn', ` ${theme.glyphs.tone.warn} ${pad(cut(text, room, theme.glyphs.ellipsis), room)}  ${how} `);
  });
}
