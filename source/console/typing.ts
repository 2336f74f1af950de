import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import type { Commands } from './commands.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { KeyPress } from './key-press.ts';
import type { Keymap } from './keymap.ts';
import type { Measured } from './measured.ts';
import type { Moves } from './moves.ts';
import { paletteItems } from './palette-items.ts';
import { editField, typeInto } from './text-field.ts';

interface Options {
  deck: Deck;
  store: InterfaceStore;
  keymap: Keymap;
  measured: Measured;
  moves: Moves;
  commands: () => Commands;
}

/** Keys and pastes while a filter or the palette's line is typed. */
export interface Typing {
  pressFilter(press: KeyPress): void;
  pressPalette(press: KeyPress): void;
  /** True when something took it. */
  paste(text: string): boolean;
}

export function createTyping({ deck, store, keymap, measured, moves, commands }: Options): Typing {
  function pressFilter(press: KeyPress): void {
    store.update((state) => {
      const { editing } = state;
      if (!editing) return {};
      const { target } = editing;
      if (keymap.binding('accept').keys.includes(press.name)) return { editing: undefined };
      if (keymap.binding('cancel').keys.includes(press.name))
        return { editing: undefined, filters: { ...state.filters, [target]: editing.before } };
      const field = editField(editing.field, press);
      return field ? { editing: { ...editing, field }, filters: { ...state.filters, [target]: field.text } } : {};
    });
    if (store.get().editing?.target === 'inspect') moves.moveDetail((top) => measured.detail.matches.find((row) => row >= top) ?? top);
  }

  function pressPalette(press: KeyPress): void {
    const state = store.get();
    const items = paletteItems({ deck, keymap, component: commands().selected(), query: state.palette.field.text });
    const { cursor, field } = state.palette;
    if (keymap.binding('cancel').keys.includes(press.name)) {
      store.update(() => ({ screen: 'panes' }));
      return;
    }
    if (keymap.binding('accept').keys.includes(press.name)) {
      store.update(() => ({ screen: 'panes' }));
      items[Math.min(cursor, items.length - 1)]?.choose(commands());
      return;
    }
    const step = keymap.binding('choice-down').keys.includes(press.name)
      ? 1
      : keymap.binding('choice-up').keys.includes(press.name)
        ? -1
        : 0;
    if (step !== 0) {
      store.update(() => ({ palette: { field, cursor: Math.max(0, Math.min(items.length - 1, cursor + step)) } }));
      return;
    }
    const edited = editField(field, press);
    if (edited) store.update(() => ({ palette: { field: edited, cursor: edited.text === field.text ? cursor : 0 } }));
  }

  function paste(text: string): boolean {
    const { editing, screen } = store.get();
    const line = cleanLine(text.trim());
    if (editing) {
      const field = typeInto(editing.field, line);
      store.update(({ filters }) => ({ editing: { ...editing, field }, filters: { ...filters, [editing.target]: field.text } }));
      return true;
    }
    if (screen !== 'palette') return false;
    store.update(({ palette }) => ({ palette: { field: typeInto(palette.field, line), cursor: 0 } }));
    return true;
  }

  return { pressFilter, pressPalette, paste };
}
