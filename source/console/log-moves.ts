import type { LogEntry } from '../fleet/log-store.ts';
import type { ComponentView } from '../fleet/model.ts';
import type { Flow } from '../flows/flow.ts';
import type { Deck } from '../terminal/deck.ts';
import { parseTimeWords } from '../text/time-words.ts';
import type { FilterKeeper } from './filter-keeper.ts';
import { type InterfaceState, type InterfaceStore, logTimes } from './interface-store.ts';
import type { Keymap } from './keymap.ts';
import type { LogHub } from './log-hub.ts';
import { type LogWhose, logWhose, nextScope } from './log-look.ts';
import { createLogMarks, type LogMarks } from './log-marks.ts';
import { type LogPlace, placeAround, placeAtEnd, positionOf, scrolled, stepped, withCursor, withCursorSeen } from './log-view.ts';
import type { Measured } from './measured.ts';
import type { KeyTarget } from './selection.ts';
import { fieldOf } from './text-field.ts';

/** Lines that are loaded in one go when somebody scrolls beyond what is kept. */
const loadLines = 300;
/** Columns that a key scrolls to the side. */
const shiftColumns = 16;

export interface LogMovesOptions {
  deck: Deck;
  store: InterfaceStore;
  keymap: Keymap;
  hub: LogHub;
  measured: Measured;
  keeper: FilterKeeper;
  selected: () => ComponentView | undefined;
  target: () => KeyTarget;
  select: (componentKey: string) => void;
  say: (tone: 'good' | 'idle' | 'warn', text: string) => void;
  copy: (text: string) => void;
  startFlow: (flow: Flow, component: ComponentView | undefined) => void;
  now: () => number;
}

/** Everything that keys do in a log. */
export interface LogMoves extends LogMarks {
  /** Looks at the log that the screen shows; undefined when it shows none. Does nothing when it does already. */
  sync(shown: boolean): void;
  whose(): LogWhose | undefined;
  /** The line that keys are about: under the cursor, or the last one. */
  line(): LogEntry | undefined;
  /** The same line, highlighted: the log stands still from now on. */
  held(): LogEntry | undefined;
  move(by: (page: number) => number | 'top' | 'bottom'): void;
  toMatch(step: 1 | -1): void;
  /** Follows the end, or stands still. */
  toggle(): void;
  /** To the side. False when there is nothing to see there. */
  shift(step: 1 | -1): boolean;
  wrap(): void;
  times(): void;
  raw(): void;
  hiding(): void;
  /** The line whole, or among its neighbours when a filter hides those. */
  enter(): void;
  whole(): void;
  scope(): void;
  /** Begins to type a time to go to. */
  askTime(): void;
  /** What is wrong with the time; undefined when it goes there. */
  jump(typed: string): string | undefined;
  /** What was typed as a filter can be one. */
  acceptable(): boolean;
  /** What was typed as a filter counts from now on. */
  typing(): void;
  /** A filter was accepted or given up. */
  typed(): void;
  /** Undoes one thing in the log. False when there was nothing to undo. */
  back(): boolean;
}

export function createLogMoves(options: LogMovesOptions): LogMoves {
  const { deck, store, keymap, hub, measured, keeper, selected, target, select, say } = options;
  /** The line at which the log stood still when a filter began to be typed. */
  let anchor: LogEntry | undefined;

  const entries = () => hub.entries();
  const change = (by: (logs: InterfaceState['logs']) => Partial<InterfaceState['logs']>) =>
    store.update((state) => ({ logs: { ...state.logs, ...by(state.logs) } }));
  const whose = () => logWhose(deck.fleet.snapshot(), store.get(), selected());

  function cursorEntry(): LogEntry | undefined {
    const { at } = store.get().logs;
    const all = entries();
    return all.at(at ? Math.max(0, positionOf(all, at.cursor)) : -1);
  }

  /** Where the log stands; it stands still from now on. */
  function standing(): LogPlace | undefined {
    const { at } = store.get().logs;
    if (at) return withCursorSeen(entries(), at, measured.logs);
    const reading = hub.reading();
    reading?.pause();
    const all = entries();
    if (all.length === 0) return undefined;
    const place = placeAtEnd(all);
    change(() => ({ at: place }));
    return place;
  }

  function follow(): void {
    if (hub.inContext()) hub.leaveContext();
    hub.reading()?.follow();
    change(() => ({ at: undefined, before: undefined, whole: undefined }));
  }

  /** Asks for more where the edge of what is loaded comes near. */
  function reachOut(place: LogPlace, direction: number): void {
    const all = entries();
    const position = positionOf(all, direction < 0 ? place.cursor : place.bottom);
    const side = direction < 0 ? 'back' : 'forth';
    const near = direction < 0 ? position < measured.logs.height : position >= all.length - 1 - measured.logs.height;
    if (near && hub.edges()[side].state !== 'loading') hub.reading()?.more(side, loadLines);
  }

  function standOn(index: number | undefined): boolean {
    if (index === undefined) return false;
    change(() => ({ at: placeAround(entries(), index, measured.logs) }));
    return true;
  }

  function toLogs(): void {
    const { focus, tab } = store.get();
    if (focus !== 'logs' && !(focus === 'detail' && tab === 'logs')) store.update(() => ({ focus: 'logs', screen: 'panes' }));
  }

  /** What was looked for in vain can have left the log at its end. */
  function agree(): void {
    const reading = hub.reading();
    if (reading?.following) change(() => ({ at: undefined }));
    else if (store.get().logs.at === undefined && reading) change(() => ({ at: placeAtEnd(entries()) }));
  }

  function refilter(): void {
    const look = whose();
    const { filters, logs } = store.get();
    if (!look) return;
    const still = anchor;
    change(() => ({ before: undefined, whole: undefined }));
    void hub.look({ componentKeys: look.componentKeys, typed: filters.logs, hides: logs.hides }, still).then((index) => {
      if (index !== undefined) standOn(index);
    });
  }

  /** Keeps the filter for these components, also for the next time the console is started. */
  function remember(): void {
    const look = whose();
    if (!look) return;
    store.update(({ filters, logs, logFilters }) => {
      const { [look.key]: _, ...others } = logFilters;
      return { logFilters: filters.logs === '' ? others : { ...others, [look.key]: { typed: filters.logs, hides: logs.hides } } };
    });
    keeper.keep(store.get().logFilters);
  }

  const marks = createLogMarks({ ...options, entries, cursorEntry, standing, whose, change });

  const moves: LogMoves = {
    sync(shown) {
      const look = shown ? whose() : undefined;
      if (!look) {
        void hub.look(undefined);
        return;
      }
      if (store.get().logs.look !== look.key) {
        anchor = undefined;
        store.update((state) => {
          const kept = state.logFilters[look.key] ?? { typed: '', hides: true };
          const typing = state.editing?.target === 'logs' || state.editing?.target === 'time';
          return {
            filters: { ...state.filters, logs: kept.typed },
            ...(typing ? { editing: undefined } : {}),
            logs: { ...state.logs, look: look.key, hides: kept.hides, at: undefined, before: undefined, whole: undefined, shift: 0 },
          };
        });
      }
      const { filters, logs } = store.get();
      void hub.look({ componentKeys: look.componentKeys, typed: filters.logs, hides: logs.hides });
    },
    whose,
    line: cursorEntry,
    held() {
      standing();
      return cursorEntry();
    },
    move(by) {
      const { whole } = store.get().logs;
      const amount = by(measured.logs.height);
      if (whole !== undefined) {
        const { height, total } = measured.logs.whole;
        const last = Math.max(0, total - height);
        const next = amount === 'top' ? 0 : amount === 'bottom' ? last : Math.min(whole, last) + amount;
        change(() => ({ whole: Math.min(last, Math.max(0, next)) }));
        return;
      }
      if (amount === 'bottom') {
        follow();
        return;
      }
      // At the end there is nothing further down.
      if (amount !== 'top' && amount > 0 && store.get().logs.at === undefined) return;
      if (entries().length === 0) {
        if (amount !== 'top' && amount < 0) hub.reading()?.more('back', measured.logs.height);
        return;
      }
      const place = standing();
      if (!place) return;
      if (amount !== 'top' && amount > 0) reachOut(place, amount);
      const all = entries();
      const next =
        amount === 'top'
          ? withCursor(all, place, 0, measured.logs)
          : amount === 1 || amount === -1
            ? stepped(all, place, amount, measured.logs)
            : scrolled(all, place, amount, measured.logs);
      change(() => ({ at: next }));
      if (amount !== 'top') reachOut(next, amount);
    },
    toMatch(step) {
      const { filters, logs } = store.get();
      if (filters.logs === '') {
        say('idle', `Nothing is searched for: ${keymap.keyOf('filter')} asks what.`);
        return;
      }
      if (hub.problem() !== undefined) return;
      if (logs.hides && !hub.inContext()) {
        moves.move(() => step);
        return;
      }
      const place = standing();
      const from = cursorEntry();
      if (!place || !from) return;
      void hub.findMatch(from, step > 0 ? 'forth' : 'back').then((index) => {
        if (index === 'stopped') {
          agree();
          return;
        }
        if (index === undefined) {
          agree();
          say('idle', step > 0 ? 'No further match below.' : 'No further match above.');
          return;
        }
        const all = entries();
        const { at } = store.get().logs;
        const position = positionOf(all, index);
        // Near by the screen moves as little as it must; what was fetched stands in the middle of its neighbours.
        if (at && positionOf(all, at.cursor) >= 0 && Math.abs(positionOf(all, at.cursor) - position) < measured.logs.height) {
          change(() => ({ at: withCursor(all, at, position, measured.logs) }));
        } else standOn(index);
      });
    },
    toggle() {
      if (store.get().logs.at) follow();
      else standing();
    },
    shift(step) {
      const { wrap, shift } = store.get().logs;
      const mayBeCut = measured.logs.cut ?? store.get().focus === 'logs';
      if (wrap || (step < 0 && shift === 0) || (step > 0 && !mayBeCut)) return false;
      change((logs) => ({ shift: Math.max(0, logs.shift + step * shiftColumns) }));
      return true;
    },
    wrap: () => change((logs) => ({ wrap: !logs.wrap, shift: 0 })),
    times() {
      change((logs) => ({ times: logTimes[(logTimes.indexOf(logs.times) + 1) % logTimes.length] ?? 'local' }));
    },
    raw: () => change((logs) => ({ raw: !logs.raw })),
    hiding() {
      anchor = store.get().logs.at ? cursorEntry() : undefined;
      change((logs) => ({ hides: !logs.hides }));
      refilter();
      anchor = undefined;
      remember();
      const { hides } = store.get().logs;
      if (store.get().filters.logs === '')
        say('idle', hides ? 'A filter hides what does not match.' : 'A filter only highlights what matches.');
    },
    enter() {
      const { filters, logs } = store.get();
      const hiding = filters.logs !== '' && logs.hides && hub.filter() !== undefined;
      if (!hiding || hub.inContext() || logs.whole !== undefined) {
        moves.whole();
        return;
      }
      const place = standing();
      const entry = cursorEntry();
      if (!place || !entry) return;
      void hub.enterContext(entry).then((index) => {
        if (index === 'stopped') return;
        if (index === undefined) {
          say('warn', 'The engine no longer has this line.');
          return;
        }
        change(() => ({ before: place }));
        standOn(index);
      });
    },
    whole() {
      if (store.get().logs.whole !== undefined) {
        change(() => ({ whole: undefined }));
        return;
      }
      if (standing()) change(() => ({ whole: 0 }));
    },
    ...marks,
    scope() {
      const { component, reason = 'No component is selected.' } = store.get().focus === 'ports' ? target() : { component: selected() };
      if (!component) return say('idle', reason);
      select(component.key);
      const snapshot = deck.fleet.snapshot();
      const scope = nextScope(snapshot, store.get().logScope, component);
      store.update(() => ({ logScope: scope }));
      toLogs();
    },
    askTime() {
      toLogs();
      store.update(() => ({ editing: { target: 'time', field: fieldOf(), before: '' } }));
    },
    jump(typed) {
      if (typed.trim() === '') return undefined;
      const parsed = parseTimeWords(typed, options.now());
      if ('problem' in parsed) return parsed.problem;
      change(() => ({ whole: undefined }));
      void hub.jump(parsed.timeMs).then((index) => {
        if (index === 'stopped' || index === undefined) agree();
        if (index !== 'stopped' && !standOn(index)) say('idle', 'Nothing was logged so late.');
      });
      return undefined;
    },
    acceptable: () => hub.problem() === undefined,
    typing() {
      if (anchor === undefined && store.get().logs.at) anchor = cursorEntry();
      refilter();
    },
    typed() {
      refilter();
      anchor = undefined;
      remember();
    },
    back() {
      const { logs, filters } = store.get();
      if (logs.whole !== undefined) {
        change(() => ({ whole: undefined }));
        return true;
      }
      if (hub.stop()) return true;
      if (hub.inContext()) {
        hub.leaveContext();
        change(({ before }) => ({ at: before, before: undefined }));
        return true;
      }
      if (filters.logs !== '') {
        anchor = logs.at ? cursorEntry() : undefined;
        store.update((state) => ({ filters: { ...state.filters, logs: '' } }));
        moves.typed();
        return true;
      }
      if (store.get().logScope !== 'component') {
        store.update(() => ({ logScope: 'component' }));
        return true;
      }
      return false;
    },
  };
  return moves;
}
