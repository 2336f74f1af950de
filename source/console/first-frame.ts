import type { ConsoleParts } from './context.ts';
import { asideOf } from './filter-text.ts';
import type { PositionedText } from './frame-output.ts';
import { layoutFor, type Size } from './layout.ts';
import { paneIds } from './panes.ts';
import { selectedComponent } from './selection.ts';
import { footerLine } from './widgets/footer-line.ts';
import { headerLine, tabsRow } from './widgets/header-line.ts';
import { bannerRows } from './widgets/notice-lines.ts';
import { paneEdges } from './widgets/pane-edges.ts';

/** Shown while Ink, Yoga and React's renderer are loaded, which takes as long as everything before. */
export function firstFrame(parts: ConsoleParts, size: Size): PositionedText[] {
  const { app, store, theme, screens, now } = parts;
  const state = store.get();
  const snapshot = app.fleet.snapshot();
  const nowMs = now();
  const { columns, rows } = size;
  const { focus, zoomed } = state;
  const banner = bannerRows(parts, state, { snapshot, columns, nowMs });
  const layout = layoutFor(size, { focus, zoomed, bannerRows: banner.length });
  if (layout.kind === 'small') return [];
  const component = selectedComponent(app, state);
  const above = [headerLine(parts, { snapshot, columns, nowMs }), ...banner];
  if (layout.kind === 'tabs') above.push(tabsRow(parts, focus, columns, layout.zoomed));
  const texts: PositionedText[] = above.map((text, y) => ({ x: 0, y, text }));
  for (const id of paneIds) {
    const rectangle = layout.panes[id];
    if (!rectangle) continue;
    const { x, y, width, height } = rectangle;
    const { screen, draw } = screens.of(id);
    const focused = id === focus;
    const drawn = draw?.({ theme, state, snapshot, nowMs, component, width, height, focused, previousTop: 0, step: 0 });
    if (!drawn) continue;
    const { upper, sides, lower } = paneEdges(theme, { ...drawn, aside: asideOf(theme, state, screen, drawn), width, focused });
    texts.push({ x, y, text: upper }, { x, y: y + height - 1, text: lower });
    for (let row = 0; row < height - 2; row++) {
      const text = drawn.rows[row];
      texts.push({ x, y: y + 1 + row, text: sides(1) });
      if (typeof text === 'string') texts.push({ x: x + 1, y: y + 1 + row, text });
      texts.push({ x: x + width - 1, y: y + 1 + row, text: sides(1) });
    }
  }
  texts.push({ x: 0, y: rows - 1, text: footerLine(parts, state, columns) });
  return texts.flatMap(({ text, ...at }) => (text === '' ? [] : { ...at, text: theme.finish(text) }));
}
