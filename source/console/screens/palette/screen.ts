import { cleanLine } from '../../../text/clean.ts';
import { pad } from '../../../text/width.ts';
import { fieldText } from '../../filter-text.ts';
import { overlaid } from '../../panes.ts';
import { filled, listWindow, movedTo, type Screen } from '../../screen.ts';
import { cutStyled, padStyled, unstyled } from '../../styled-text.ts';
import { editField, fieldOf, pasteInto, type TextField } from '../../text-field.ts';
import type { Theme } from '../../theme.ts';
import { wholeRow } from '../../widgets/table-rows.ts';
import { type PaletteItem, paletteItems } from './items.ts';

/** Rows for the details of the selected item: enough for most, so that the list seldom moves. */
const leastAboutRows = 3;

function itemLine(item: PaletteItem, here: boolean, theme: Theme, width: number): string {
  const { glyphs } = theme;
  const key = item.key === '' ? '' : ` ${item.key} `;
  const room = width - 10 - key.length;
  const title = cleanLine(item.title);
  const detail = item.detail === '' ? '' : `  ${here ? cleanLine(item.detail) : theme.paint('faint', cleanLine(item.detail))}`;
  return ` ${theme.paint('faint', pad(item.kind, 5))} ${padStyled(cutStyled(title + detail, room, glyphs.ellipsis), room)} ${theme.paint('key', key)}`;
}

export const palette: Screen<'palette', never, { field: TextField; cursor: number }> = {
  id: 'palette',
  state: { field: fieldOf(), cursor: 0 },
  kind: 'overlay',
  open({ app, store, commands, keymap }) {
    const items = () => {
      const { component, host } = commands.target();
      return paletteItems({ app, keymap, component, host, query: store.get().palette.field.text });
    };
    const at = () => Math.min(store.get().palette.cursor, items().length - 1);
    const set = (field: TextField, cursor: number) => store.update(() => ({ palette: { field, cursor } }));

    return {
      draw({ theme, state, width: columns, height: terminalRows }) {
        const all = items();
        const width = Math.min(columns - 4, 96);
        const selected = at();
        const chosen = all[selected];
        const isCut = chosen !== undefined && unstyled(itemLine(chosen, false, theme, width - 4)).includes(theme.glyphs.ellipsis);
        const sentence = [chosen?.title, chosen?.detail].flatMap((text) => (text ? cleanLine(text) : [])).join('. ');
        const about = wholeRow(isCut, sentence, { theme, width: width - 4, height: terminalRows });
        const aboutRows = Math.max(leastAboutRows, about.length);
        const height = Math.min(terminalRows - 8, 18) - aboutRows;
        const { top, visible } = listWindow(all, { previous: 0, selected, height });
        const empty = all.length === 0 ? [` ${theme.paint('faint', 'No matches.')}`] : [];
        return {
          title: 'Find',
          foot: theme.paint('faint', `${Math.max(0, selected + 1)} of ${all.length}`),
          width,
          rows: [
            ` ${theme.paint('key', ':')} ${cutStyled(fieldText(theme, state.palette.field), width - 8)}`,
            '',
            {
              choices: visible.map((item, row) => itemLine(item, top + row === selected, theme, width - 4)),
              selected: selected - top,
              width: width - 4,
              indent: 1,
              pointer: 'accent',
            },
            ...filled(empty, height - visible.length),
            ...filled(about, aboutRows),
          ],
        };
      },
      speak({ state }) {
        const item = items()[at()];
        const reported = item && [item.title, item.detail].filter(Boolean).map(cleanLine).join(', ');
        const line = reported === undefined ? 'No matches.' : `${at() + 1} of ${items().length}: ${reported.replace(/\.$/, '')}.`;
        return { lines: [`Find: ${state.palette.field.text}`, line] };
      },
      footer: ({ of }) => ({ items: [of('choice-down', 'move')], always: [of('accept', 'choose'), of('cancel', 'close')] }),
      actions: { palette: () => store.update((state) => ({ ...overlaid(state, 'palette'), palette: { field: fieldOf(), cursor: 0 } })) },
      press(press) {
        const { field, cursor } = store.get().palette;
        const step = keymap.is(press, 'choice-down') ? 1 : keymap.is(press, 'choice-up') ? -1 : 0;
        if (keymap.is(press, 'cancel')) store.update(({ under }) => ({ screen: under }));
        else if (keymap.is(press, 'accept')) {
          const item = items()[at()];
          store.update(() => ({ screen: 'panes' }));
          item?.choose(commands);
        } else if (step !== 0) set(field, movedTo(cursor, items().length, step));
        else {
          const edited = editField(field, press);
          if (edited) set(edited, edited.text === field.text ? cursor : 0);
        }
        return true;
      },
      paste(text) {
        set(pasteInto(store.get().palette.field, text), 0);
        return true;
      },
    };
  },
};
