import { join } from 'node:path';
import { watchOwnFile } from '../config/own-files.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Triaged } from '../products/vulnerabilities/triage.ts';
import type { Deck } from '../terminal/deck.ts';

/** One that was found, with what is asked of it for each row. */
export interface TriageRow {
  one: Triaged;
  /** The same one in the next report has the same. */
  id: string;
  isLate: boolean;
  isUndecided: boolean;
}

/** What scanners found and what was decided. Replaced as a whole, so that what is made of it can be kept with it. */
export interface TriageView {
  state: 'reading' | 'here' | 'failed';
  /** Was a report imported at all? */
  hasScans: boolean;
  /** The most urgent first. */
  all: readonly TriageRow[];
  /** What makes the list less than the truth, a sentence each. */
  remarks: readonly string[];
  trouble: { message: string; remedy: string } | undefined;
}

export interface TriageSource {
  read(): Promise<{ all: readonly Triaged[]; hasScans: boolean; remarks?: readonly string[] }>;
  /** Calls back when it may have changed. @returns ends it */
  watch(changed: () => void): () => void;
}

/** Reads while somebody looks, and not otherwise. */
export interface TriageWatch {
  view(): TriageView;
  /** @returns ends it */
  look(): () => void;
  subscribe(listener: () => void): () => void;
}

const everyMs = 1_000;

export function watchTriage(source: TriageSource | undefined): TriageWatch {
  const listeners = new Set<() => void>();
  let view: TriageView = { state: 'reading', hasScans: false, all: [], remarks: [], trouble: undefined };
  const change = (next: TriageView) => {
    view = next;
    for (const listener of [...listeners]) listener();
  };
  let reading = 0;

  async function read(): Promise<void> {
    const mine = ++reading;
    try {
      if (!source) throw new Fault({ code: 'refused.triage', message: 'There is no place for it here.', remedy: 'Start it as usual.' });
      const { all, hasScans, remarks = [] } = await source.read();
      // Nobody who does not look here waits for it.
      const [{ isLate, isUndecided }, { keyOf }] = await Promise.all([
        import('../products/vulnerabilities/triage.ts'),
        import('../products/vulnerabilities/vulnerability.ts'),
      ]);
      const rows = all.map((one): TriageRow => ({ one, id: keyOf(one), isLate: isLate(one), isUndecided: isUndecided(one) }));
      if (mine === reading) change({ state: 'here', all: rows, hasScans, remarks, trouble: undefined });
    } catch (thrown) {
      const trouble =
        thrown instanceof Fault ? { message: thrown.message, remedy: thrown.remedy } : { message: messageOf(thrown), remedy: '' };
      if (mine === reading) change({ ...view, state: 'failed', trouble });
    }
  }

  return {
    view: () => view,
    look() {
      void read();
      const stop = source?.watch(() => void read());
      return () => {
        reading++;
        stop?.();
      };
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The book that flows write. */
export function openTriage({ world }: Deck): TriageSource | undefined {
  const { dataFolder } = world;
  if (dataFolder === undefined) return undefined;
  const folder = join(dataFolder, 'vulnerabilities');
  return {
    async read() {
      const [{ TriageBook }, { scanRemarks }] = await Promise.all([
        import('../products/vulnerabilities/triage-book.ts'),
        import('../products/vulnerabilities/feed-state.ts'),
      ]);
      const nowMs = Date.now();
      const { all, scans } = await new TriageBook(folder).read(nowMs);
      return { all, hasScans: Object.keys(scans).length > 0, remarks: scanRemarks(scans, nowMs) };
    },
    watch(changed) {
      const stops = ['found.json', 'decisions.json'].map((name) => watchOwnFile(join(folder, name), everyMs, changed));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
