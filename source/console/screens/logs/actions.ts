import { saveLogs } from '../../../flows/components/save-logs.ts';
import type { LogEntry } from '../../../logs/store.ts';
import { countText } from '../../../text/quantities.ts';
import { parseTimeWords } from '../../../text/time-words.ts';
import type { Commands } from '../../commands.ts';
import type { ConsoleParts } from '../../context.ts';
import type { FilterHistory } from '../../filter-history.ts';
import { type Actions, type Amount, noPage, scrolledTo } from '../../screen.ts';
import { inLogs } from '../../selection.ts';
import { fieldOf } from '../../text-field.ts';
import { fullLine, markOf, sourceNamingOf } from './line-prefix.ts';
import type { LogMeasured } from './lines.ts';
import { type LogPosition, positionAround, positionAtEnd, positionOf, scrolled, stepped, withCursor, withCursorSeen } from './model.ts';
import { type LogsState, logSubject, logTimes, nextScope } from './state.ts';

const loadLines = 300;
const shiftColumns = 16;
const unread = 'The log could not be read.';

interface Options extends Pick<ConsoleParts, 'app' | 'store' | 'keymap' | 'logs' | 'now'> {
  filterHistory: FilterHistory;
  commands: Pick<Commands, 'selected' | 'target' | 'select' | 'say' | 'copy' | 'startFlow' | 'turnTab'>;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: all of these functions depend on the frame that was drawn last
export function createLogActions({ app, store, keymap, filterHistory, logs: viewer, commands, now }: Options) {
  const { say } = commands;
  let measured: LogMeasured = { height: 1, rowsOf: () => 1, cut: undefined, whole: noPage };
  /** The line at which the log was paused when the operator began to type a filter. */
  let anchor: LogEntry | undefined;

  const { entries } = viewer;
  const logs = () => store.get().logs;
  const change = (by: (logs: LogsState) => Partial<LogsState>) => store.update((state) => ({ logs: { ...state.logs, ...by(state.logs) } }));
  const goTo = (at: LogPosition | undefined) => change(() => ({ at }));
  const subject = () => logSubject(app.fleet.snapshot(), store.get(), commands.selected());

  function cursorEntry(): LogEntry | undefined {
    const { at } = logs();
    const all = entries();
    return all.at(at ? Math.max(0, positionOf(all, at.cursor)) : -1);
  }

  /** Returns the position of the log, which is paused from now on. */
  function pausedPosition(): LogPosition | undefined {
    const { at } = logs();
    if (at) return withCursorSeen(entries(), at, measured);
    viewer.reading()?.pause();
    const all = entries();
    if (all.length === 0) return undefined;
    const position = positionAtEnd(all);
    goTo(position);
    return position;
  }

  function follow(): void {
    if (viewer.inContext()) viewer.leaveContext();
    viewer.reading()?.follow();
    change(() => ({ at: undefined, before: undefined, whole: undefined }));
  }

  function loadNearEdge(current: LogPosition, direction: number): void {
    const all = entries();
    const position = positionOf(all, direction < 0 ? current.cursor : current.bottom);
    const side = direction < 0 ? 'back' : 'forth';
    const isNear = direction < 0 ? position < measured.height : position >= all.length - 1 - measured.height;
    if (isNear && viewer.edges()[side].state !== 'loading') viewer.reading()?.more(side, loadLines);
  }

  const goToLine = (index: number) => goTo(positionAround(entries(), index, measured));

  function toLogs(): void {
    if (!inLogs(store.get())) store.update(() => ({ focus: 'logs', screen: 'panes' }));
  }

  /** Synchronizes the position after a search without a match, which can leave the log at its end. */
  function synchronize(): void {
    const reading = viewer.reading();
    if (reading?.following) goTo(undefined);
    else if (logs().at === undefined && reading) goTo(positionAtEnd(entries()));
  }

  function refilter() {
    const look = subject();
    const { filters } = store.get();
    if (!look) return;
    const from = anchor;
    change(() => ({ before: undefined, whole: undefined }));
    void viewer.look({ componentKeys: look.componentKeys, typed: filters.logs, hides: logs().hides }, from).then((index) => {
      if (index !== undefined) goToLine(index);
    });
  }

  function remember() {
    const look = subject();
    if (!look) return;
    store.update(({ filters, logs: { hides }, logFilters }) => {
      const { [look.key]: _, ...others } = logFilters;
      return { logFilters: filters.logs === '' ? others : { ...others, [look.key]: { typed: filters.logs, hides } } };
    });
    filterHistory.keep(store.get().logFilters);
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one key moves a line in full, the end of the log, or the cursor in it
  function move(amount: Amount) {
    const { whole } = logs();
    if (whole !== undefined) return change(() => ({ whole: scrolledTo(whole, measured.whole, amount) }));
    if (amount === 'bottom') return follow();
    // At the end there are no lines further down.
    if (amount !== 'top' && amount > 0 && logs().at === undefined) return;
    if (entries().length === 0) {
      if (amount !== 'top' && amount < 0) viewer.reading()?.more('back', measured.height);
      return;
    }
    const current = pausedPosition();
    if (!current) return;
    if (amount === 'top') return goTo(withCursor(entries(), current, 0, measured));
    if (amount > 0) loadNearEdge(current, amount);
    const isStep = amount === 1 || amount === -1;
    const next = isStep ? stepped(entries(), current, amount, measured) : scrolled(entries(), current, amount, measured);
    goTo(next);
    loadNearEdge(next, amount);
  }

  function toMatch(step: 1 | -1) {
    if (store.get().filters.logs === '') return say('off', `No search text. Press ${keymap.keyOf('filter')} to enter a text.`);
    if (viewer.problem() !== undefined) return;
    if (logs().hides && !viewer.inContext()) return move(step);
    const from = pausedPosition() && cursorEntry();
    if (!from) return;
    const end = step > 0 ? 'No more matches below.' : 'No more matches above.';
    void viewer.findMatch(from, step > 0 ? 'forth' : 'back').then((index) => {
      if (index === 'stopped') return synchronize();
      if (typeof index !== 'number') {
        synchronize();
        return index ? say('warning', unread) : say('off', end);
      }
      const all = entries();
      const { at } = logs();
      const cursor = at ? positionOf(all, at.cursor) : -1;
      const position = positionOf(all, index);
      // A near match scrolls as little as possible; a loaded match is shown in the middle of its neighbours.
      if (at && cursor >= 0 && Math.abs(cursor - position) < measured.height) goTo(withCursor(all, at, position, measured));
      else goToLine(index);
    });
  }

  /** Scrolls sideways, or turns the tab when there is nothing to see there. */
  function scrollAside(step: 1 | -1): void {
    const { wrap, shift } = logs();
    const { focus } = store.get();
    const mayBeCut = measured.cut ?? focus === 'logs';
    if (!wrap && (step > 0 ? mayBeCut : shift > 0)) change(() => ({ shift: Math.max(0, shift + step * shiftColumns) }));
    else if (focus === 'detail') commands.turnTab(step);
  }

  function hiding(): void {
    anchor = logs().at ? cursorEntry() : undefined;
    change(({ hides }) => ({ hides: !hides }));
    typed();
    if (store.get().filters.logs === '')
      say('off', logs().hides ? 'The filter hides lines that do not match.' : 'The filter only highlights matches.');
  }

  function enter() {
    const { filters } = store.get();
    const isHiding = filters.logs !== '' && logs().hides && viewer.filter() !== undefined;
    if (!isHiding || viewer.inContext() || logs().whole !== undefined) return whole();
    const before = pausedPosition();
    const entry = cursorEntry();
    if (!before || !entry) return;
    void viewer.enterContext(entry).then((index) => {
      if (index === 'stopped') return;
      if (typeof index !== 'number') return say('warning', index ? unread : 'The engine no longer has this line.');
      change(() => ({ before }));
      goToLine(index);
    });
  }

  function whole() {
    if (logs().whole !== undefined) change(() => ({ whole: undefined }));
    else if (pausedPosition()) change(() => ({ whole: 0 }));
  }

  function scope() {
    const { component, reason = 'No component is selected.' } =
      store.get().focus === 'ports' ? commands.target() : { component: commands.selected() };
    if (!component) return say('off', reason);
    commands.select(component.key);
    store.update(({ logScope }) => ({ logScope: nextScope(app.fleet.snapshot(), logScope, component) }));
    toLogs();
  }

  function askTime(): void {
    toLogs();
    store.update(() => ({ editing: { target: 'time', field: fieldOf(), before: '' } }));
  }

  /** Called when a filter was accepted or discarded. */
  function typed(): void {
    refilter();
    anchor = undefined;
    remember();
  }

  function markedInOrder(): LogEntry[] {
    const byTime = (one: LogEntry, other: LogEntry) => (one.timeMs ?? 0) - (other.timeMs ?? 0) || one.index - other.index;
    return [...logs().marks.values()].sort(byTime);
  }

  function copyText(withPrefix: boolean) {
    const { size } = logs().marks;
    const entry = cursorEntry();
    const chosen = size > 0 ? markedInOrder() : entry ? [entry] : [];
    if (chosen.length === 0) return say('off', 'No line to copy.');
    const naming = sourceNamingOf(subject()?.componentKeys ?? []);
    commands.copy(chosen.map((each) => (withPrefix ? fullLine(each, naming) : each.text)).join('\n'));
    say('ok', `Copied ${countText(chosen.length, size > 0 ? 'marked line' : 'line')}`);
  }

  function mark() {
    const entry = pausedPosition() && cursorEntry();
    if (!entry) return;
    change(({ marks }) => {
      const next = new Map(marks);
      if (!next.delete(markOf(entry))) next.set(markOf(entry), entry);
      return { marks: next };
    });
  }

  function unmark() {
    const count = logs().marks.size;
    change(() => ({ marks: new Map() }));
    say('off', count === 0 ? 'No line is marked.' : `Cleared ${count === 1 ? '1 mark' : `${count} marks`}.`);
  }

  function toNextMark() {
    const { marks } = logs();
    const current = pausedPosition();
    if (!current) return;
    const all = entries();
    const cursor = positionOf(all, current.cursor);
    const times = new Set([...marks.values()].map(({ timeMs }) => timeMs));
    const isMarked = (entry: LogEntry) => times.has(entry.timeMs) && marks.has(markOf(entry));
    const next = all.findIndex((entry, position) => position > cursor && isMarked(entry));
    const target = next >= 0 ? next : all.findIndex(isMarked);
    if (target >= 0) goTo(withCursor(all, current, target, measured));
    else say('off', marks.size > 0 ? 'None of the marked lines are shown.' : `No line is marked. ${keymap.keyOf('mark')} marks a line.`);
  }

  function save() {
    const look = subject();
    const hasMarks = logs().marks.size > 0;
    const chosen = hasMarks ? markedInOrder() : entries();
    if (!look || chosen.length === 0) return say('off', 'No line to save.');
    const naming = sourceNamingOf(look.componentKeys);
    const lines = chosen.map((entry) => fullLine(entry, naming));
    const what = `${hasMarks ? 'marked ' : ''}${chosen.length === 1 ? 'line' : 'lines'} from ${look.title}`;
    const flow = saveLogs({ lines, what, name: look.name, nowMs: now() });
    commands.startFlow(flow, naming === 'service' ? commands.selected() : undefined);
  }

  return {
    seen(frame: LogMeasured) {
      measured = frame;
    },
    sync(shown: boolean) {
      const look = shown ? subject() : undefined;
      if (!look) return void viewer.look(undefined);
      if (logs().look !== look.key) {
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
      void viewer.look({ componentKeys: look.componentKeys, typed: store.get().filters.logs, hides: logs().hides });
    },
    /** Returns the line that keys act on, highlighted: the log is paused from now on. */
    held() {
      pausedPosition();
      return cursorEntry();
    },
    move,
    typed,
    acceptable: () => viewer.problem() === undefined,
    /** Jumps to a time. Returns the error of an invalid one. */
    jump(text: string) {
      if (text.trim() === '') return undefined;
      const parsed = parseTimeWords(text, now());
      if ('problem' in parsed) return parsed.problem;
      change(() => ({ whole: undefined }));
      void viewer.jump(parsed.timeMs).then((index) => {
        if (typeof index === 'number') return goToLine(index);
        synchronize();
        if (index !== 'stopped') say('off', index ? unread : 'No log lines at or after that time.');
      });
      return undefined;
    },
    /** Applies the typed filter from now on. */
    typing() {
      if (anchor === undefined && logs().at) anchor = cursorEntry();
      refilter();
    },
    back() {
      const { at, whole } = logs();
      if (whole !== undefined) change(() => ({ whole: undefined }));
      else if (viewer.stop()) return true;
      else if (viewer.inContext()) {
        viewer.leaveContext();
        change(({ before }) => ({ at: before, before: undefined }));
      } else if (store.get().filters.logs !== '') {
        anchor = at ? cursorEntry() : undefined;
        store.update((state) => ({ filters: { ...state.filters, logs: '' } }));
        typed();
      } else if (store.get().logScope !== 'component') store.update(() => ({ logScope: 'component' }));
      else return false;
      return true;
    },
    actions: {
      follow: () => (logs().at ? follow() : void pausedPosition()),
      'enter-line': enter,
      'whole-line': whole,
      'next-found': () => toMatch(1),
      'previous-found': () => toMatch(-1),
      hiding,
      wrap: () => change(({ wrap }) => ({ wrap: !wrap, shift: 0 })),
      'scroll-right': () => scrollAside(1),
      'scroll-left': () => scrollAside(-1),
      timestamps: () => change(({ times }) => ({ times: logTimes[(logTimes.indexOf(times) + 1) % logTimes.length] ?? 'local' })),
      raw: () => change(({ raw }) => ({ raw: !raw })),
      jump: askTime,
      'log-scope': scope,
      ...{ mark, unmark, 'next-mark': toNextMark, 'save-logs': save },
      'copy-line': () => copyText(false),
      'copy-full': () => copyText(true),
    } satisfies Actions,
  };
}

export type LogActions = ReturnType<typeof createLogActions>;
