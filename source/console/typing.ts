import type { Deck } from '../terminal/deck.ts';
import { cleanLine } from '../text/clean.ts';
import type { Commands } from './commands.ts';
import type { InterfaceStore } from './interface-store.ts';
import type { KeyPress } from './key-press.ts';
import type { Keymap } from './keymap.ts';
import type { LogMoves } from './log-moves.ts';
import type { Measured } from './measured.ts';
import type { Moves } from './moves.ts';
import { paletteItems } from './palette-items.ts';
import { keyTarget } from './selection.ts';
import { editField, typeInto } from './text-field.ts';

interface Options {
  deck: Deck;
  store: InterfaceStore;
  keymap: Keymap;
  measured: Measured;
  moves: Moves;
  logMoves: LogMoves;
  commands: () => Commands;
}

/** Keys and pastes while a filter or the palette's line is typed. */
export interface Typing {
  pressFilter(press: KeyPress): void;
  pressPalette(press: KeyPress): void;
  /** True when something took it. */
  paste(text: string): boolean;
}

export function createTyping({ deck, store, keymap, measured, moves, logMoves, commands }: Options): Typing {
  /** A time to go to: nothing happens before Enter. */
  function pressTime(press: KeyPress): void {
    const { editing } = store.get();
    if (!editing) return;
    if (keymap.binding('cancel').keys.includes(press.name)) {
      store.update(() => ({ editing: undefined }));
      return;
    }
    if (keymap.binding('accept').keys.includes(press.name)) {
      const problem = logMoves.jump(editing.field.text);
      store.update(() => ({ editing: problem === undefined ? undefined : { ...editing, problem } }));
      return;
    }
    const field = editField(editing.field, press);
    if (field) store.update(() => ({ editing: { target: 'time', field, before: '' } }));
  }

  function pressFilter(press: KeyPress): void {
    const { editing, filters } = store.get();
    if (!editing) return;
    const { target } = editing;
    if (target === 'time') {
      pressTime(press);
      return;
    }
    const accepted = keymap.binding('accept').keys.includes(press.name);
    const cancelled = keymap.binding('cancel').keys.includes(press.name);
    if (accepted && target === 'logs' && !logMoves.acceptable()) return;
    const field = accepted || cancelled ? undefined : editField(editing.field, press);
    if (accepted) store.update(() => ({ editing: undefined }));
    else if (cancelled) store.update(() => ({ editing: undefined, filters: { ...filters, [target]: editing.before } }));
    else if (field) store.update(() => ({ editing: { ...editing, field }, filters: { ...filters, [target]: field.text } }));
    if (target === 'logs' && (accepted || cancelled)) logMoves.typed();
    else if (target === 'logs' && field && field.text !== editing.field.text) logMoves.typing();
    if (target === 'inspect' && store.get().editing) moves.moveDetail((top) => measured.detail.matches.find((row) => row >= top) ?? top);
  }

  function pressPalette(press: KeyPress): void {
    const state = store.get();
    const { component, host } = keyTarget(deck, state);
    const items = paletteItems({ deck, keymap, component, host, query: state.palette.field.text });
    const { cursor, field } = state.palette;
    if (keymap.binding('cancel').keys.includes(press.name)) {
      store.update(() => ({ screen: state.under }));
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
      const { target } = editing;
      if (target === 'time') store.update(() => ({ editing: { target, field, before: '' } }));
      else store.update(({ filters }) => ({ editing: { ...editing, field }, filters: { ...filters, [target]: field.text } }));
      if (target === 'logs') logMoves.typing();
      return true;
    }
    if (screen !== 'palette') return false;
    store.update(({ palette }) => ({ palette: { field: typeInto(palette.field, line), cursor: 0 } }));
    return true;
  }

  return { pressFilter, pressPalette, paste };
}
