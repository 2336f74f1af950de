import { join } from 'node:path';
import type { QuarterdeckApp } from '../../../app/app.ts';
import { watchOwnFile } from '../../../config/own-files.ts';
import { createListeners } from '../../../faults/listeners.ts';
import type { Triaged } from '../../../products/vulnerabilities/client/triage.ts';
import { type Trouble, troubleFrom } from '../../trouble.ts';

export interface TriageRow {
  one: Triaged;
  /** Stable across reports. */
  id: string;
  isLate: boolean;
  isUndecided: boolean;
}

/** The findings of scanners and the decisions about them. Replaced as a whole, so that derived values can be cached with it. */
export interface TriageView {
  state: 'reading' | 'here' | 'failed';
  hasScans: boolean;
  all: readonly TriageRow[];
  /** Reasons why the list may be incomplete, one sentence each. */
  remarks: readonly string[];
  trouble: Trouble | undefined;
}

export interface TriageSource {
  read(): Promise<{ all: readonly Triaged[]; hasScans: boolean; remarks?: readonly string[] }>;
  /** Calls back when the findings may have changed. @returns ends it */
  watch(changed: () => void): () => void;
}

const everyMs = 1_000;

export function watchTriage(source: TriageSource) {
  const { subscribe, notify } = createListeners();
  let view: TriageView = { state: 'reading', hasScans: false, all: [], remarks: [], trouble: undefined };
  const change = (next: TriageView) => {
    view = next;
    notify();
  };
  let reading = 0;

  async function read(): Promise<void> {
    const mine = ++reading;
    try {
      const { all, hasScans, remarks = [] } = await source.read();
      // Loaded only for operators who open this screen.
      const [{ isLate, isUndecided }, { keyOf }] = await Promise.all([
        import('../../../products/vulnerabilities/client/triage.ts'),
        import('../../../products/vulnerabilities/client/vulnerability.ts'),
      ]);
      const rows = all.map((one): TriageRow => ({ one, id: keyOf(one), isLate: isLate(one), isUndecided: isUndecided(one) }));
      if (mine === reading) change({ state: 'here', all: rows, hasScans, remarks, trouble: undefined });
    } catch (thrown) {
      const trouble = troubleFrom(thrown, 'Cannot read the reports', '');
      if (mine === reading) change({ ...view, state: 'failed', trouble });
    }
  }

  return {
    view: () => view,
    look() {
      void read();
      const stop = source.watch(() => void read());
      return () => {
        reading++;
        stop();
      };
    },
    subscribe,
  };
}

export function openTriage({ context }: QuarterdeckApp): TriageSource {
  const folder = join(context.dataFolder, 'vulnerabilities');
  return {
    async read() {
      const [{ TriageBook }, { scanRemarks }] = await Promise.all([
        import('../../../products/vulnerabilities/client/triage-book.ts'),
        import('../../../products/vulnerabilities/client/feed-state.ts'),
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
