import type { ComponentView, FleetSnapshot } from '../fleet/model.ts';
import { numberText } from '../text/quantities.ts';
import type { ConsoleParts } from './context.ts';
import type { InterfaceState } from './interface-store.ts';
import type { KeyPress } from './key-press.ts';
import type { CommandId, KeyBinding } from './keymap.ts';
import { type Size, windowStart } from './layout.ts';
import type { KeyTarget } from './selection.ts';
import type { Role, Theme } from './theme.ts';

/** Keymap, help, footer, dispatcher and both forms of output, drawn and spoken, are derived from this definition. */
export interface Screen<Id extends string = string, Command extends string = never, State = undefined> {
  readonly id: Id;
  readonly heading?: string;
  /** Keys without a context of their own work on this screen only. */
  readonly keys?: readonly ScreenKey<Command>[];
  /** Its initial part of the interface state, stored under its id. */
  readonly state?: State;
  /** `body`: instead of the panes. `whole`: without header and footer. `line`: typed into the edge of another one. */
  readonly kind: 'pane' | 'body' | 'overlay' | 'whole' | 'line';
  /** It belongs to a flow that has been started, and precedes the screens that the operator opened. */
  readonly ofRun?: true;
  readonly filtered?: true;
  /** The minimum size, where it is smaller than that of the panes. */
  readonly least?: Size;
  /** Returns whether the screen is open. Without it: while `state.screen` names it. */
  isOn?(state: InterfaceState): boolean;
  open(parts: ConsoleParts): OpenScreen;
}

export type ListScreen<Id extends string, Command extends string, State> = Screen<Id, Command, State> & { readonly filtered: true };

export type ScreenKey<Command extends string = string> = Omit<KeyBinding, 'id' | 'context' | 'title'> & {
  readonly id: Command;
  readonly context?: 'everywhere';
} & ({ readonly title: string } | { readonly flow: string });

export type Actions = Partial<Record<CommandId, () => void>>;

export type Amount = number | 'top' | 'bottom';

export interface OpenScreen {
  /** Hooks that redraw it after changes outside of the stores and the clock. Called each time it is drawn or spoken. */
  useChanges?(view: View): void;
  /** Returns the part of the state that a pane shows, so that a key in another pane does not redraw it. */
  reads?(state: InterfaceState): readonly unknown[];
  draw?(view: View): Drawn;
  speak?(view: View): Spoken;
  /** Returns the available actions. Without it, or undefined: the labelled keys of a list, those that scroll any other screen. */
  footer?(view: FooterView): Footer | undefined;
  readonly actions?: Actions;
  /** Moves up, down and by pages; `page` is the one in the last frame. */
  move?(amount: Amount, page: Page): void;
  /** Returns the target of keys, never the selection of another pane. Without it, or undefined: the selected component. */
  target?(): KeyTarget | undefined;
  /** Nothing on it changes with the time alone. */
  readonly timeless?: true;
  navigation?(state: InterfaceState): boolean;
  /** A search in it is being typed: moves to the nearest match. */
  searched?(): void;
  /** Undoes one thing on it. Returns false when there is nothing to undo. */
  back?(): boolean;
  /** Receives all keys. Returns false for a key without a meaning. */
  press?(press: KeyPress): boolean;
  paste?(text: string): boolean;
}

export interface View {
  /** The theme of the terminal; for screen readers, one without colours and signs. */
  theme: Theme;
  state: InterfaceState;
  snapshot: FleetSnapshot;
  nowMs: number;
  component: ComponentView | undefined;
  /** The width including the edges; for an overlay, that of the terminal. */
  width: number;
  height: number;
  focused: boolean;
  /** The first row of its window in the previous frame. */
  previousTop: number;
  step: number;
}

/** The layout of the last frame. Keys apply to the content that was on the screen when they were pressed. */
interface Showing {
  page?: Page;
  /** Called once the frame is on the terminal. */
  shown?: () => void;
}

export type Room = Pick<View, 'width' | 'height' | 'previousTop'>;

export interface Drawn extends Showing {
  title: string;
  /** Text on the right of the upper edge. */
  aside?: string;
  /** Text on the right of the lower edge. */
  foot?: string;
  /** Text on the left of the lower edge. */
  below?: string;
  edgeRole?: Role | undefined;
  width?: number;
  rows: readonly DrawnRow[];
  top?: number;
}

export type DrawnRow = string | ChoiceList;

export interface ChoiceList {
  choices: readonly string[];
  selected: number;
  width: number;
  indent: number;
  pointer?: Role;
}

export interface Spoken extends Showing {
  lines: readonly string[];
}

export interface FooterItem {
  key: string;
  label: string;
}

/** The most specific items come first, the permanent ones last. */
export interface Footer {
  items: FooterItem[];
  always: FooterItem[];
}

export interface FooterView {
  state: InterfaceState;
  /** True on a screen, false for a screen reader. */
  drawn: boolean;
  of(id: CommandId, label?: string): FooterItem;
}

export const spokenRows = 10;

export interface Page {
  height: number;
  total: number;
}

export const noPage: Page = { height: 1, total: 0 };

export function movedTo(at: number, total: number, amount: Amount): number {
  const last = Math.max(0, total - 1);
  return amount === 'top' ? 0 : amount === 'bottom' ? last : Math.min(last, Math.max(0, at + amount));
}

/** Pages repeat one row, except pages of a few rows. */
const pageStep = (page: number): number => (page > 3 ? page - 1 : Math.max(1, page));

export const navigation = {
  down: () => 1,
  up: () => -1,
  top: () => 'top',
  bottom: () => 'bottom',
  'page-down': pageStep,
  'page-up': (page) => -pageStep(page),
  'half-down': (page) => Math.max(1, page >> 1),
  'half-up': (page) => -Math.max(1, page >> 1),
} as const satisfies Record<string, (page: number) => Amount>;

const navigationIds = Object.keys(navigation) as (keyof typeof navigation)[];

export function amountOf(is: (id: CommandId) => boolean, page: number, ids = navigationIds): Amount | undefined {
  const id = ids.find(is);
  return id && navigation[id](page);
}

/** Returns a function that gives each answer of a dialog a letter of its name that has no other meaning there: `reserved` has one. */
export function freeLetters(reserved: string, others: string): (name: string) => string {
  const taken = new Set(reserved);
  return (name) => {
    const letter = [...`${name}${others}`.toLowerCase()].find((each) => /[a-z]/.test(each) && !taken.has(each)) ?? '';
    taken.add(letter);
    return letter;
  };
}

export function scrolledTo(top: number, { height, total }: Page, amount: Amount): number {
  const windows = Math.max(0, total - height) + 1;
  return movedTo(Math.min(top, windows - 1), windows, amount);
}

/** The cursor of a list: the selected row or, after it disappeared, the one in its position. */
export interface ListCursor {
  selected?: string | undefined;
  /** Without it, the first row is selected after the selected one disappeared. */
  cursor?: number;
}

/** Creates the navigation of a list whose rows are identified by a text. `at` is 0 without rows. */
export function createList<T>(
  rows: () => readonly T[],
  idOf: (row: T) => string,
  get: () => ListCursor,
  set: (to: { selected: string; cursor: number }) => void,
) {
  const at = (all = rows()) => {
    const { selected, cursor = 0 } = get();
    const found = selected === undefined ? -1 : all.findIndex((row) => idOf(row) === selected);
    return Math.max(0, found >= 0 ? found : Math.min(cursor, all.length - 1));
  };
  return {
    at,
    chosen: () => rows()[at()],
    move(amount: Amount) {
      const all = rows();
      const cursor = movedTo(at(all), all.length, amount);
      const row = all[cursor];
      if (row !== undefined) set({ selected: idOf(row), cursor });
    },
  };
}

/** Returns an action on the selected row of a list. */
export function onChosen<T>({ chosen }: { chosen: () => T | undefined }, { say }: ConsoleParts['commands']) {
  return (act: (row: T) => void) => () => {
    const row = chosen();
    if (row === undefined) say('off', 'No row is selected.');
    else act(row);
  };
}

export function matchingWords<T>(rows: readonly T[], filter: string, textOf: (row: T) => string): readonly T[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length === 0 ? rows : rows.filter((row) => words.every((word) => textOf(row).includes(word)));
}

/** Returns the rows of a list that are visible with the selected one, scrolled as little as possible. */
export function listWindow<T>(rows: readonly T[], { previous, selected, height }: { previous: number; selected: number; height: number }) {
  const top = windowStart({ previous, selected, height, total: rows.length });
  return { top, visible: rows.slice(top, top + height), page: { height, total: rows.length } };
}

interface ListRows<T> {
  rows: readonly T[];
  at: number;
  line: (row: T, isSelected: boolean) => string;
  empty: () => readonly string[];
  above?: readonly string[];
  below?: readonly string[];
}

/** Draws the visible rows of a list between fixed lines, and the position of the selected one. */
export function drawList<T>({ theme, height: whole, previousTop }: View, { rows, at, line, empty, above = [], below = [] }: ListRows<T>) {
  const height = Math.max(1, whole - 2 - above.length - below.length);
  const { top, visible, page } = listWindow(rows, { previous: previousTop, selected: at, height });
  const body = rows.length > 0 ? visible.map((row, index) => line(row, top + index === at)) : empty();
  return {
    foot: rows.length > 0 ? theme.paint('faint', `${numberText(at + 1)} of ${numberText(rows.length)}`) : '',
    rows: [...above, ...(below.length > 0 ? filled(body, height) : body), ...below],
    ...{ top, page },
  };
}

export function filled(rows: readonly string[], height: number): string[] {
  return [...rows, ...Array.from({ length: Math.max(0, height - rows.length) }, () => '')];
}

/** Returns the visible rows of a scrolled text, its page, and which rows they are: empty when all are visible. */
export function scrolledText(theme: Theme, lines: readonly string[], wanted: number, height: number, between = ' to ') {
  const top = Math.max(0, Math.min(wanted, lines.length - height));
  const end = Math.min(lines.length, top + height);
  const foot = lines.length > height ? theme.paint('faint', `${top + 1}${between}${end} of ${lines.length}`) : '';
  return { rows: lines.slice(top, end), foot, page: { height, total: lines.length } };
}
