import type { LogEntry } from '../fleet/log-store.ts';
import type { Tone } from '../fleet/model.ts';
import type { FlowOutcome } from '../flows/flow.ts';
import type { Confirmation, Progress, Question, Shown } from '../session/session.ts';
import type { UnfinishedChange } from '../terminal/unfinished-changes.ts';
import type { ChecklistDialog } from './checklist-dialog.ts';
import type { Grouping } from './component-rows.ts';
import type { FormDialog } from './form-dialog.ts';
import type { Frames } from './frames.ts';
import type { HostAsking } from './host-asking.ts';
import type { LogPlace } from './log-view.ts';
import type { PreventionLook } from './prevention-rows.ts';
import type { ReviewDialog } from './review-dialog.ts';
import { fieldOf, type TextField } from './text-field.ts';
import type { TriageShows } from './triage-rows.ts';

/** The panes, in the order of their number keys. Keys, help, palette and tabs follow from this; what else a pane needs, the compiler asks for. */
export const paneTitles = { components: 'Components', detail: 'Details', ports: 'Ports', logs: 'Logs' } as const;
export type PaneId = keyof typeof paneTitles;
export const paneIds = Object.keys(paneTitles) as readonly PaneId[];

export const detailTabs = ['overview', 'logs', 'ports', 'fields', 'inspect'] as const;
export type DetailTab = (typeof detailTabs)[number];

/** What a typed filter is about. `inspect` is a search: it jumps instead of hiding. */
export type FilterTarget = 'components' | 'ports' | 'logs' | 'fields' | 'inspect' | 'prevention' | 'triage' | 'catalog';

/** How the time of a log line is told: in the operator's zone, in UTC, as how long ago, or not at all. */
export const logTimes = ['local', 'utc', 'relative', 'off'] as const;
export type LogTimes = (typeof logTimes)[number];

/** Whose logs are looked at: of the selected component, or of those that are marked; of its project; of its whole host. */
export const logScopes = ['component', 'project', 'host'] as const;
export type LogScope = (typeof logScopes)[number];

/** The filter of one log: what was typed, and whether it hides what does not match or only highlights what does. */
export interface KeptFilter {
  typed: string;
  hides: boolean;
}

export type Dialog =
  | { kind: 'question'; question: Question; field: TextField; cursor: number; picked: ReadonlySet<string>; problem: string | undefined }
  | { kind: 'confirm'; confirmation: Confirmation; field: TextField; problem: string | undefined }
  | FormDialog
  | ReviewDialog
  | ChecklistDialog;

/** A flow that was started here, until its outcome has been read. */
export interface RunView {
  id: number;
  /** `Stop the component: media-server`, with several hosts `Stop the component: media-server on nas`. */
  title: string;
  /** ` on nas`, where there are several hosts: for titles that say what, and not where. */
  where: string;
  /** The host that it is about. */
  place: string;
  /** What does the same from a shell; empty where nothing does. */
  command: string;
  state: 'running' | 'done' | 'failed';
  dialog: Dialog | undefined;
  shown: readonly Shown[];
  progress: readonly Progress[];
  /** The last lines that programs wrote while it runs. */
  tail: readonly string[];
  outcome: string | undefined;
  /** It came to its end, and found what is not in order: a verb would end with another code than 0. */
  amiss?: boolean;
  /** What it left for people to do. */
  todo: FlowOutcome['todo'];
  fault: { message: string; remedy: string } | undefined;
  /** Whether it is looked at while it runs: from its first step on by itself, unless it was hidden. */
  watch: 'unasked' | 'shown' | 'hidden';
  /** When a secret that it showed is masked again. */
  secretUntilMs: number | undefined;
  /** Its QR code has the whole screen. */
  codeAlone: boolean;
  /** Light and dark of its QR code are exchanged: without colours nothing says which of them the terminal's background is. */
  codeSwapped: boolean;
  /** Top line of what it shows; below a question counted from what was not there at the last one. */
  scroll: number;
  /** How much it had shown when the last question was answered. */
  answeredAt: number;
}

export interface Notice {
  tone: Tone;
  text: string;
  untilMs: number;
}

export interface InterfaceState {
  focus: PaneId;
  zoomed: boolean;
  screen: 'panes' | 'help' | 'palette' | 'hosts' | 'prevention' | 'triage' | 'catalog' | 'chain';
  /** What help or palette lie over, and give back when they are closed. */
  under: InterfaceState['screen'];
  /** Key of a component. */
  selected: string | undefined;
  /** Where it stood in the list, for when it goes away. */
  selectedPlace: number;
  selectedPort: string | undefined;
  grouping: Grouping;
  /** On the screen of hosts: the place, or the tunnel, under the cursor. */
  hostsCursor: number;
  /** On the screen of alerts and decisions: whose, which row is under the cursor, and where it stood, for when it goes away. */
  triage: { shows: TriageShows; selected: string | undefined; cursor: number };
  prevention: PreventionLook & { place: string | undefined; selected: string | undefined; cursor: number };
  /** On the screen of the catalog: the component under the cursor, and the top line of what is read about it; undefined shows the list. */
  catalog: { selected: string | undefined; reading: number | undefined };
  tab: DetailTab;
  /** Service looked at, by component key; missing means the main one. */
  services: Readonly<Record<string, string>>;
  filters: Readonly<Record<FilterTarget, string>>;
  /** The filter being typed, and what it was before. `time` is a place in the log to go to; `problem` says why it is none. */
  editing: { target: FilterTarget | 'time'; field: TextField; before: string; problem?: string } | undefined;
  /** Top line of the detail tabs. */
  scroll: Readonly<Record<DetailTab, number>>;
  helpScroll: number;
  /** Top line of the chain of media automation. */
  chainScroll: number;
  palette: { field: TextField; cursor: number };
  /** Components that are marked in the list: their logs are merged. Keys. */
  marked: ReadonlySet<string>;
  logScope: LogScope;
  /** Filters by the keys of the components they were typed for, joined by a newline. */
  logFilters: Readonly<Record<string, KeptFilter>>;
  logs: {
    /** Whose filter `filters.logs` is: a key of `logFilters`. */
    look: string | undefined;
    /** Undefined follows the end. */
    at: LogPlace | undefined;
    /** Where to go back to from a line among its neighbours. */
    before: LogPlace | undefined;
    /** Top row of the one line that is shown whole; undefined shows the log. */
    whole: number | undefined;
    /** Marked lines by what makes them one, `markOf`. */
    marks: ReadonlyMap<string, LogEntry>;
    hides: boolean;
    wrap: boolean;
    times: LogTimes;
    /** Columns that have gone to the left. */
    shift: number;
    /** Lines as the program wrote them, JSON and all. */
    raw: boolean;
  };
  runs: readonly RunView[];
  notice: Notice | undefined;
  /** What ssh asks, and nobody has looked at yet. */
  asking: HostAsking | undefined;
  /** Changes to stacks that broke off. */
  unfinished: readonly UnfinishedChange[];
}

export const firstState: InterfaceState = {
  focus: 'components',
  zoomed: false,
  screen: 'panes',
  under: 'panes',
  selected: undefined,
  selectedPlace: 0,
  selectedPort: undefined,
  grouping: 'kind',
  hostsCursor: 0,
  triage: { shows: 'all', selected: undefined, cursor: 0 },
  prevention: { place: undefined, tab: 'decisions', sort: 'newest', shared: false, selected: undefined, cursor: 0 },
  catalog: { selected: undefined, reading: undefined },
  tab: 'overview',
  services: {},
  filters: { components: '', ports: '', logs: '', fields: '', inspect: '', prevention: '', triage: '', catalog: '' },
  editing: undefined,
  scroll: { overview: 0, logs: 0, ports: 0, fields: 0, inspect: 0 },
  helpScroll: 0,
  chainScroll: 0,
  palette: { field: fieldOf(), cursor: 0 },
  marked: new Set(),
  logScope: 'component',
  logFilters: {},
  logs: {
    look: undefined,
    at: undefined,
    before: undefined,
    whole: undefined,
    marks: new Map(),
    hides: true,
    wrap: false,
    times: 'local',
    shift: 0,
    raw: false,
  },
  runs: [],
  notice: undefined,
  asking: undefined,
  unfinished: [],
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

/** Puts help or palette over what is there. */
export function laidOver(state: InterfaceState, screen: 'help' | 'palette'): Pick<InterfaceState, 'screen' | 'under'> {
  return { screen, under: state.screen === 'help' || state.screen === 'palette' ? state.under : state.screen };
}
