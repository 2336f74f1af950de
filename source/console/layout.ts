import type { PaneId } from './interface-store.ts';

export interface Size {
  columns: number;
  rows: number;
}

export interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The least that the panes need to be read. */
export const leastSize: Size = { columns: 60, rows: 15 };

/** The least that a form or a review needs, which has the screen for itself. */
export const leastFormSize: Size = { columns: 40, rows: 12 };

export function fits(size: Size, least: Size): boolean {
  return size.columns >= least.columns && size.rows >= least.rows;
}

/** From here on all panes stand side by side. */
const roomForAll: Size = { columns: 100, rows: 28 };

export interface Layout {
  kind: 'small' | 'tabs' | 'all';
  /** One pane has the screen although there is room for all of them. */
  zoomed: boolean;
  size: Size;
  /** Panes that are on the screen. */
  panes: Partial<Record<PaneId, Rectangle>>;
}

/** Where everything is. One row for the header, one for the footer, `bannerRows` for what must be said above the panes. */
export function layoutFor(size: Size, options: { focus: PaneId; zoomed: boolean; bannerRows: number }): Layout {
  if (!fits(size, leastSize)) return { kind: 'small', zoomed: false, size, panes: {} };
  const top = 1 + options.bannerRows;
  const height = size.rows - top - 1;
  const wide = size.columns >= roomForAll.columns && size.rows - options.bannerRows >= roomForAll.rows;
  if (!wide || options.zoomed) {
    return {
      kind: 'tabs',
      zoomed: wide,
      size,
      panes: { [options.focus]: { x: 0, y: top + 1, width: size.columns, height: height - 1 } },
    };
  }
  const left = Math.min(96, Math.max(48, Math.round(size.columns * 0.45)));
  const right = size.columns - left;
  const upper = Math.round(height * 0.62);
  const lower = height - upper;
  const panes: Record<PaneId, Rectangle> = {
    components: { x: 0, y: top, width: left, height: upper },
    detail: { x: left, y: top, width: right, height: upper },
    ports: { x: 0, y: top + upper, width: left, height: lower },
    logs: { x: left, y: top + upper, width: right, height: lower },
  };
  return { kind: 'all', zoomed: false, size, panes };
}

/** The first row of a window of `height` rows that shows `selected` and moves as little as possible. */
export function windowStart(options: { previous: number; selected: number; height: number; total: number }): number {
  const { previous, selected, height, total } = options;
  const last = Math.max(0, total - height);
  if (selected < 0) return Math.min(Math.max(0, previous), last);
  const margin = Math.min(2, Math.floor((height - 1) / 2));
  let start = previous;
  if (selected < start + margin) start = selected - margin;
  if (selected > start + height - 1 - margin) start = selected - height + 1 + margin;
  return Math.min(Math.max(0, start), last);
}
