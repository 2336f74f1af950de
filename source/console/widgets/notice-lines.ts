import { unfinishedText } from '../../app/unfinished-changes.ts';
import { missingComponents, sealedManagers } from '../../fleet/missing-components.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { pad, textWidth } from '../../text/width.ts';
import type { ConsoleParts } from '../context.ts';
import type { InterfaceState } from '../interface-store.ts';
import type { CommandId } from '../keymap.ts';
import { bannerLines, type HeaderView } from './header-line.ts';

interface Remark {
  text: string;
  /** Its name in the palette; empty when `key` does it, or no command does. */
  verb: string;
  key?: CommandId;
  effect?: string;
}

export const effects: Readonly<Record<string, string>> = { up: 'starts it', unseal: 'unseals it' };

const asked = {
  hostKey: 'presents an unknown host key',
  secret: 'requests a password or a code',
  confirm: 'requests confirmation to use a key',
} as const;

export function remarks(components: readonly ComponentView[], { unfinished, asking }: InterfaceState): Remark[] {
  const found: Remark[] = [];
  if (asking?.kind === 'touch')
    found.push({ text: cleanLine(`${asking.host} is waiting for you to touch the security key: ${asking.lines.join(' ')}`), verb: '' });
  else if (asking) found.push({ text: cleanLine(`${asking.host} ${asked[asking.kind]}.`), verb: '', key: 'answer-host' });
  const last = unfinished.at(-1);
  if (last) {
    const more = unfinished.length > 1 ? ` (and ${unfinished.length - 1} more)` : '';
    found.push({ text: cleanLine(`${unfinishedText(last)}${more}`), verb: 'recover', ...(last.by === '' && { effect: 'explains it' }) });
  }
  const down = missingComponents(components, unfinished).map(({ id }) => id);
  if (down.length > 0) {
    found.push({ text: cleanLine(`Missing: ${down.join(', ')}.`), verb: 'up' });
    // After an outage unsealing is the next step; at other times the component's row shows the state.
    const sealed = sealedManagers(components).map(({ id }) => id);
    if (sealed.length > 0) found.push({ text: cleanLine(`Sealed: ${sealed.join(', ')}.`), verb: 'unseal' });
  }
  return found;
}

/** Returns `:up`, to be typed exactly; a key with a name is separated by a space. */
const typed = (key: string, verb: string) => (key.length === 1 ? `${key}${verb}` : `${key} ${verb}`);

/** Returns the messages above the panes. The command that resumes is never cut. */
export function bannerRows({ theme, keymap }: ConsoleParts, state: InterfaceState, view: HeaderView): string[] {
  const howText = ({ verb, key, effect = effects[verb] ?? 'resumes' }: Remark) => {
    if (key) return `${keymap.keyOf(key)} answers`;
    return verb === '' ? '' : `${typed(keymap.keyOf('palette'), verb)} ${effect}`;
  };
  const remarkRows = remarks(view.snapshot.components, state).map((remark) => {
    const how = howText(remark);
    const room = view.columns - textWidth(how) - 6;
    return theme.paint('warning', ` ${theme.glyphs.severity.warning} ${pad(remark.text, room, 'left', theme.glyphs.ellipsis)}  ${how} `);
  });
  return [...bannerLines(theme, view), ...remarkRows];
}
