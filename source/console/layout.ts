import type { PaneId } from './panes.ts';

export interface Size {
  columns: number;
  rows: number;
}

interface Rectangle {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const leastSize: Size = { columns: 60, rows: 15 };

export const leastFormSize: Size = { columns: 40, rows: 12 };

export const fits = (size: Size, least: Size): boolean => size.columns >= least.columns && size.rows >= least.rows;

const roomForAll: Size = { columns: 100, rows: 28 };

export interface Layout {
  kind: 'small' | 'tabs' | 'all';
  /** One pane fills the screen although all of them would fit. */
  zoomed: boolean;
  size: Size;
  panes: Partial<Record<PaneId, Rectangle>>;
}

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

/** Returns the first row of a window of `height` rows that shows `selected` and scrolls as little as possible. */
export function windowStart({ previous, selected, height, total }: Record<'previous' | 'selected' | 'height' | 'total', number>): number {
  const last = Math.max(0, total - height);
  if (selected < 0) return Math.min(Math.max(0, previous), last);
  const margin = Math.min(2, Math.floor((height - 1) / 2));
  let start = previous;
  if (selected < start + margin) start = selected - margin;
  if (selected > start + height - 1 - margin) start = selected - height + 1 + margin;
  return Math.min(Math.max(0, start), last);
}
