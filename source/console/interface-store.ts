import type { HostQuestion } from '../app/host-questions.ts';
import type { UnfinishedChange } from '../app/unfinished-changes.ts';
import { createListeners } from '../faults/listeners.ts';
import type { Severity } from '../fleet/model.ts';
import type { FlowOutcome } from '../flows/flow.ts';
import type { FormValues } from '../session/form-checks.ts';
import type { Confirmation, Progress, Question, Shown } from '../session/session.ts';
import type { Frames } from './frames.ts';
import type { DetailTab, PaneId } from './panes.ts';
import type { ChecklistDialog } from './screens/checklist/dialog.ts';
import type { Grouping } from './screens/components/rows.ts';
import type { FormDialog } from './screens/form/dialog.ts';
import { type ListScreenId, type ScreenId, type ScreenStates, screens } from './screens/list.ts';
import type { KeptFilter, LogScope } from './screens/logs/state.ts';
import type { ReviewDialog } from './screens/review/dialog.ts';
import type { TextField } from './text-field.ts';

/** Targets of a typed filter. `inspect` is a search: it jumps instead of hiding. */
export type FilterTarget = 'components' | 'ports' | 'logs' | 'fields' | 'operations' | 'inspect' | ListScreenId;

export type Dialog =
  | { kind: 'question'; question: Question; field: TextField; cursor: number; picked: ReadonlySet<string>; problem: string | undefined }
  | { kind: 'confirm'; confirmation: Confirmation; field: TextField; problem: string | undefined }
  | FormDialog
  | ReviewDialog
  | ChecklistDialog;

/** The effect of a key in a dialog: a changed dialog, the answer, or leaving it. Undefined when the key does nothing. */
export type DialogStep = { change: Partial<Dialog> } | { answer: Answer } | 'leave' | undefined;
export type Answer = string | readonly string[] | boolean | FormValues;

/** A flow that was started here, until its outcome has been read. */
export interface RunView {
  id: number;
  /** `Stop the component: media-server`, with several hosts `Stop the component: media-server on nas`. */
  title: string;
  /** ` on nas`, with several hosts, for titles without the host. */
  where: string;
  engineName: string;
  command: string;
  state: 'running' | 'done' | 'failed';
  dialog?: Dialog | undefined;
  shown: readonly Shown[];
  progress: readonly Progress[];
  tail: readonly string[];
  outcome?: string;
  /** The flow completed and found a problem: its verb would return a non-zero code. */
  amiss?: boolean;
  todo?: FlowOutcome['todo'];
  fault?: { message: string; remedy: string };
  /** Whether the run is shown in a box while it runs: from its first step on automatically, unless it was hidden. */
  watch: 'unasked' | 'shown' | 'hidden';
  /** The time when a secret that it showed is masked again. */
  secretUntilMs?: number;
  codeAlone: boolean;
  /** Light and dark of its QR code are swapped: without colours the console does not know which of them is the terminal's background. */
  codeSwapped: boolean;
  /** Top line of its output; while a question is open, counted from the lines added since the last one. */
  scroll: number;
  /** The length of the output when the last question was answered. */
  answeredAt: number;
}

const ownState = {
  focus: 'components' as PaneId,
  zoomed: false,
  screen: 'panes' as 'panes' | ScreenId,
  /** The screen below help or palette, restored when they are closed. */
  under: 'panes' as 'panes' | ScreenId,
  /** Key of a component. */
  selected: undefined as string | undefined,
  /** Its row in the list, for when the component disappears. */
  selectedRow: 0,
  selectedPort: undefined as string | undefined,
  grouping: 'kind' as Grouping,
  tab: 'overview' as DetailTab,
  /** Selected service by component key; missing means the main one. */
  services: {} as Readonly<Record<string, string>>,
  /** The filter being typed, and its previous text. `time` is a time in the log to jump to; `problem` says why it is invalid. */
  editing: undefined as { target: FilterTarget | 'time'; field: TextField; before: string; problem?: string } | undefined,
  scroll: { overview: 0, logs: 0, ports: 0, fields: 0, operations: 0, inspect: 0 } as Readonly<Record<DetailTab, number>>,
  /** Keys of the components marked in the list: their logs are merged. */
  marked: new Set() as ReadonlySet<string>,
  logScope: 'component' as LogScope,
  /** Filters by the keys of the components they were typed for, joined by a newline. */
  logFilters: {} as Readonly<Record<string, KeptFilter>>,
  runs: [] as readonly RunView[],
  notice: undefined as { severity: Severity; text: string; untilMs: number } | undefined,
  /** A prompt of ssh that is not open yet, without the typed answer. */
  asking: undefined as Pick<HostQuestion, 'host' | 'kind' | 'lines'> | undefined,
  unfinished: [] as readonly UnfinishedChange[],
};

export type InterfaceState = typeof ownState & ScreenStates & { filters: Readonly<Record<FilterTarget, string>> };

export const firstScroll = ownState.scroll;

export function firstState(): InterfaceState {
  const ofScreens = Object.fromEntries(screens.flatMap(({ id, state }) => (state === undefined ? [] : [[id, state]])));
  const filtered = Object.fromEntries(screens.flatMap((screen) => ('filtered' in screen ? [[screen.id, '']] : [])));
  const filters = {
    components: '',
    ports: '',
    logs: '',
    fields: '',
    operations: '',
    inspect: '',
    ...(filtered as Record<ListScreenId, string>),
  };
  return { ...(ofScreens as ScreenStates), ...ownState, filters };
}

/** The third store: the state of the interface. Changes are visible at once; subscribers are notified with the next frame. */
export function createInterfaceStore(frames: Frames, start: Partial<InterfaceState> = {}) {
  let state: InterfaceState = { ...firstState(), ...start };
  let reported = state;
  const listeners = createListeners();
  const notify = () => {
    if (reported === state) return;
    reported = state;
    listeners.notify();
  };

  return {
    get: () => state,
    update(change: (state: InterfaceState) => Partial<InterfaceState>) {
      const changes = change(state);
      if (Object.entries(changes).every(([name, value]) => Object.is(state[name as keyof InterfaceState], value))) return;
      state = { ...state, ...changes };
      frames.ask(notify, 'key');
    },
    subscribe: listeners.subscribe,
    close: listeners.clear,
  };
}

export type InterfaceStore = ReturnType<typeof createInterfaceStore>;
