import type { Entries } from '../fleet/entry-list.ts';
import type { LogEntry } from '../fleet/log-store.ts';
import { saveLogs } from '../flows/save-logs.ts';
import { countText } from '../text/quantities.ts';
import type { InterfaceState } from './interface-store.ts';
import { fullLine, markOf, tellingOf } from './log-line-text.ts';
import type { LogWhose } from './log-look.ts';
import type { LogMovesOptions } from './log-moves.ts';
import { type LogPlace, positionOf, withCursor } from './log-view.ts';

/** What keys do with lines that are marked, or with the one under the cursor. */
export interface LogMarks {
  mark(): void;
  unmark(): void;
  nextMark(): void;
  copyText(withLead: boolean): void;
  save(): void;
}

interface Options extends Pick<LogMovesOptions, 'store' | 'keymap' | 'measured' | 'selected' | 'say' | 'copy' | 'startFlow' | 'now'> {
  entries: () => Entries<LogEntry>;
  cursorEntry: () => LogEntry | undefined;
  /** Where the log stands; it stands still from now on. */
  standing: () => LogPlace | undefined;
  whose: () => LogWhose | undefined;
  change: (by: (logs: InterfaceState['logs']) => Partial<InterfaceState['logs']>) => void;
}

export function createLogMarks(options: Options): LogMarks {
  const { store, keymap, measured, selected, say, copy, startFlow, now, entries, cursorEntry, standing, whose, change } = options;

  return {
    mark() {
      if (!standing()) return;
      const entry = cursorEntry();
      if (!entry) return;
      change(({ marks }) => {
        const next = new Map(marks);
        if (!next.delete(markOf(entry))) next.set(markOf(entry), entry);
        return { marks: next };
      });
    },
    unmark() {
      const count = store.get().logs.marks.size;
      change(() => ({ marks: new Map() }));
      say('idle', count === 0 ? 'No line is marked.' : `No line is marked any more; there ${count === 1 ? 'was 1' : `were ${count}`}.`);
    },
    nextMark() {
      const { marks } = store.get().logs;
      const place = standing();
      if (!place) return;
      const all = entries();
      const at = positionOf(all, place.cursor);
      const times = new Set([...marks.values()].map(({ timeMs }) => timeMs));
      const isMarked = (entry: LogEntry) => times.has(entry.timeMs) && marks.has(markOf(entry));
      const next = all.findIndex((entry, position) => position > at && isMarked(entry));
      const target = next >= 0 ? next : all.findIndex(isMarked);
      if (target < 0) {
        say('idle', marks.size === 0 ? `No line is marked: ${keymap.keyOf('mark')} marks one.` : 'The marked lines are not among these.');
        return;
      }
      change(() => ({ at: withCursor(all, place, target, measured.logs) }));
    },
    copyText(withLead) {
      const { marks } = store.get().logs;
      const entry = cursorEntry();
      const chosen = marks.size > 0 ? inOrder([...marks.values()]) : entry ? [entry] : [];
      if (chosen.length === 0) {
        say('idle', 'There is no line to copy.');
        return;
      }
      const telling = tellingOf(whose()?.componentKeys ?? []);
      copy(chosen.map((each) => (withLead ? fullLine(each, telling) : each.text)).join('\n'));
      say('good', `Copied ${countText(chosen.length, marks.size > 0 ? 'marked line' : 'line')}`);
    },
    save() {
      const { marks } = store.get().logs;
      const look = whose();
      const chosen = marks.size > 0 ? inOrder([...marks.values()]) : entries();
      if (!look || chosen.length === 0) {
        say('idle', 'There is no line to save.');
        return;
      }
      const telling = tellingOf(look.componentKeys);
      startFlow(
        saveLogs({
          lines: chosen.map((entry) => fullLine(entry, telling)),
          what: marks.size > 0 ? `marked lines of ${look.title}` : `lines of ${look.title}`,
          name: look.name,
          nowMs: now(),
        }),
        telling === 'service' ? selected() : undefined,
      );
    },
  };
}

function inOrder(marked: readonly LogEntry[]): LogEntry[] {
  return marked.toSorted((one, other) => (one.timeMs ?? 0) - (other.timeMs ?? 0) || one.index - other.index);
}
