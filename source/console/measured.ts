import type { ChecklistRows } from './checklist-dialog.ts';
import type { LogGeometry } from './log-view.ts';
import type { ReviewRows } from './review-dialog.ts';

/** What the last frame showed of each scrolling part, for keys that move by pages. Written while drawing, read by keys. */
export interface Measured {
  /** The terminal is too small: what nobody can see is not done. */
  small: boolean;
  /** In frames that are replaced. A screen reader's output scrolls by, and holds no secrets. */
  drawn: boolean;
  /** The details are on the screen. */
  detailShown: boolean;
  list: number;
  ports: number;
  /** `cut`: a line goes on beyond the right edge; undefined before there was one. */
  logs: LogGeometry & { cut: boolean | undefined; whole: { height: number; total: number } };
  detail: { height: number; total: number; matches: readonly number[] };
  /** `total`: hosts and tunnels. */
  hosts: { height: number; total: number };
  prevention: { height: number; total: number };
  triage: { height: number; total: number };
  /** Of the list, or of what is read about one. */
  catalog: { height: number; total: number };
  help: { height: number; total: number };
  chain: { height: number; total: number };
  run: { height: number; total: number; base: number };
  /** Fields of a form on a page. */
  form: number;
  review: ReviewRows;
  checklist: ChecklistRows;
}

export function firstMeasures(): Measured {
  const none = { height: 1, total: 0 };
  return {
    small: false,
    drawn: true,
    detailShown: false,
    list: 1,
    ports: 1,
    logs: { height: 1, rowsOf: () => 1, cut: undefined, whole: none },
    detail: { ...none, matches: [] },
    hosts: none,
    prevention: none,
    triage: none,
    catalog: none,
    help: none,
    chain: none,
    run: { ...none, base: 0 },
    form: 1,
    review: { height: 1, rows: [], review: undefined },
    checklist: { height: 1, evidence: { height: 1, total: 0 }, question: undefined },
  };
}
