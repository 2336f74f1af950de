import { cleanLine } from '../../text/clean.ts';
import { pad } from '../../text/width.ts';
import { useParts } from '../context.ts';
import { fieldText } from '../filter-text.ts';
import { useFleet } from '../hooks/use-fleet.ts';
import { useInterface } from '../hooks/use-interface.ts';
import { type Size, windowStart } from '../layout.ts';
import { type PaletteItem, paletteItems } from '../palette-items.ts';
import { keyTarget } from '../selection.ts';
import { cutStyled, padStyled, unstyled } from '../styled-text.ts';
import type { Theme } from '../theme.ts';
import { Overlay } from '../widgets/overlay.tsx';
import { wholeRow } from '../widgets/whole-row.ts';

/** Below the list, about the item that is chosen: enough for most, so that the list seldom moves. */
const leastAboutRows = 3;

function textOf({ title, detail }: PaletteItem): string {
  return [title, detail].filter(Boolean).map(cleanLine).join('. ');
}

function isCut(item: PaletteItem, theme: Theme, width: number): boolean {
  return unstyled(itemLine(item, false, theme, width)).includes(theme.glyphs.ellipsis);
}

function itemLine(item: PaletteItem, here: boolean, theme: Theme, width: number): string {
  const { glyphs } = theme;
  const key = item.key === '' ? '' : ` ${item.key} `;
  const room = width - 10 - key.length;
  const title = cleanLine(item.title);
  const detail = item.detail === '' ? '' : `  ${here ? cleanLine(item.detail) : theme.paint('faint', cleanLine(item.detail))}`;
  const line = `${here ? theme.paint('accent', glyphs.pointer) : ' '} ${theme.paint('faint', pad(item.kind, 5))} ${padStyled(cutStyled(title + detail, room, glyphs.ellipsis), room)} ${theme.paint('key', key)}`;
  return here ? theme.paint('selected', padStyled(line, width)) : line;
}

/** Everything that can be done or looked at, found by a few letters. */
export function Palette({ size }: { size: Size }) {
  const { theme, deck, keymap } = useParts();
  useFleet();
  const state = useInterface((whole) => whole);
  const { field, cursor } = state.palette;
  const { component, host } = keyTarget(deck, state);
  const items = paletteItems({ deck, keymap, component, host, query: field.text });
  const width = Math.min(size.columns - 4, 96);
  const selected = Math.min(cursor, items.length - 1);
  const chosen = items[selected];
  const about = chosen ? wholeRow(isCut(chosen, theme, width - 4), textOf(chosen), { theme, width: width - 4, height: size.rows }) : [];
  const aboutRows = Math.max(leastAboutRows, about.length);
  const height = Math.min(size.rows - 8, 18) - aboutRows;
  const start = windowStart({ previous: 0, selected, height, total: items.length });
  const list = items.slice(start, start + height).map((item, row) => itemLine(item, start + row === selected, theme, width - 4));
  if (items.length === 0) list.push(theme.paint('faint', 'Nothing is called like that.'));
  while (list.length < height) list.push('');
  const below = [...about];
  while (below.length < aboutRows) below.push('');
  return (
    <Overlay
      size={size}
      width={width}
      title="Find"
      foot={theme.paint('faint', `${Math.max(0, selected + 1)} of ${items.length}`)}
      rows={[
        ` ${theme.paint('key', ':')} ${cutStyled(fieldText(theme, field), width - 8)}`,
        '',
        ...list.map((line) => ` ${line}`),
        ...below,
      ]}
    />
  );
}
