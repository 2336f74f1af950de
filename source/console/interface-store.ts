import type { Tone } from '../fleet/model.ts';
import type { Confirmation, Progress, Question, Shown } from '../session/session.ts';
import type { Frames } from './frames.ts';
import { fieldOf, type TextField } from './text-field.ts';

/** The panes, in the order of their number keys. Keys, help, palette and tabs follow from this; what else a pane needs, the compiler asks for. */
export const paneTitles = { components: 'Components', detail: 'Details', ports: 'Ports', logs: 'Logs' } as const;
export type PaneId = keyof typeof paneTitles;
export const paneIds = Object.keys(paneTitles) as readonly PaneId[];

export const detailTabs = ['overview', 'logs', 'ports', 'fields', 'inspect'] as const;
export type DetailTab = (typeof detailTabs)[number];

/** What a typed filter is about. `inspect` is a search: it jumps instead of hiding. */
export type FilterTarget = 'components' | 'ports' | 'logs' | 'fields' | 'inspect';

export type Dialog =
  | { kind: 'question'; question: Question; field: TextField; cursor: number; picked: ReadonlySet<string>; problem: string | undefined }
  | { kind: 'confirm'; confirmation: Confirmation; field: TextField; problem: string | undefined };

/** A flow that was started here, until its outcome has been read. */
export interface RunView {
  id: number;
  /** `Stop the component: media-server`. */
  title: string;
  state: 'running' | 'done' | 'failed';
  dialog: Dialog | undefined;
  shown: readonly Shown[];
  progress: readonly Progress[];
  outcome: string | undefined;
  fault: { message: string; remedy: string } | undefined;
  /** Top line of what it shows. */
  scroll: number;
}

export interface Notice {
  tone: Tone;
  text: string;
  untilMs: number;
}

export interface InterfaceState {
  focus: PaneId;
  zoomed: boolean;
  screen: 'panes' | 'help' | 'palette';
  /** Key of a component. */
  selected: string | undefined;
  /** Where it stood in the list, for when it goes away. */
  selectedPlace: number;
  selectedPort: string | undefined;
  tab: DetailTab;
  /** Service looked at, by component key; missing means the main one. */
  services: Readonly<Record<string, string>>;
  filters: Readonly<Record<FilterTarget, string>>;
  /** The filter being typed, and what it was before. */
  editing: { target: FilterTarget; field: TextField; before: string } | undefined;
  /** Top line of the detail tabs. */
  scroll: Readonly<Record<DetailTab, number>>;
  helpScroll: number;
  palette: { field: TextField; cursor: number };
  logs: {
    /** Index of the last line shown; undefined follows the end. */
    bottom: number | undefined;
    wrap: boolean;
    timestamps: boolean;
  };
  runs: readonly RunView[];
  notice: Notice | undefined;
}

export const firstState: InterfaceState = {
  focus: 'components',
  zoomed: false,
  screen: 'panes',
  selected: undefined,
  selectedPlace: 0,
  selectedPort: undefined,
  tab: 'overview',
  services: {},
  filters: { components: '', ports: '', logs: '', fields: '', inspect: '' },
  editing: undefined,
  scroll: { overview: 0, logs: 0, ports: 0, fields: 0, inspect: 0 },
  helpScroll: 0,
  palette: { field: fieldOf(), cursor: 0 },
  logs: { bottom: undefined, wrap: false, timestamps: true },
  runs: [],
  notice: undefined,
};

/** The third store: what is looked at and how. Changes are seen at once, subscribers hear of them with the next frame. */
export interface InterfaceStore {
  get(): InterfaceState;
  update(change: (state: InterfaceState) => Partial<InterfaceState>): void;
  subscribe(listener: () => void): () => void;
  close(): void;
}

export function createInterfaceStore(frames: Frames, start: Partial<InterfaceState> = {}): InterfaceStore {
  let state: InterfaceState = { ...firstState, ...start };
  let told = state;
  const listeners = new Set<() => void>();

  const tell = () => {
    if (told === state) return;
    told = state;
    for (const listener of [...listeners]) listener();
  };

  return {
    get: () => state,
    update(change) {
      const changes = change(state);
      if (Object.entries(changes).every(([name, value]) => Object.is(state[name as keyof InterfaceState], value))) return;
      state = { ...state, ...changes };
      frames.ask(tell, 'key');
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      listeners.clear();
    },
  };
}
