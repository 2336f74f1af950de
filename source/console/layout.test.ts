import fc from 'fast-check';
import { expect, test } from 'vitest';
import { layoutFor, leastSize, windowStart } from './layout.ts';
import { paneIds } from './panes.ts';

test('panes tile the screen: no cell twice, none left, one row for header and footer', () => {
  const size = fc.record({
    columns: fc.integer({ min: leastSize.columns, max: 320 }),
    rows: fc.integer({ min: leastSize.rows, max: 120 }),
  });
  fc.assert(
    fc.property(size, fc.constantFrom(...paneIds), fc.boolean(), fc.nat(3), (screen, focus, zoomed, bannerRows) => {
      const layout = layoutFor(screen, { focus, zoomed, bannerRows });
      const panes = Object.values(layout.panes);
      const area = panes.reduce((sum, { width, height }) => sum + width * height, 0);
      const top = 1 + bannerRows + (layout.kind === 'tabs' ? 1 : 0);
      expect(area).toBe(screen.columns * (screen.rows - top - 1));
      for (const [index, pane] of panes.entries()) {
        expect(pane.x).toBeGreaterThanOrEqual(0);
        expect(pane.x + pane.width).toBeLessThanOrEqual(screen.columns);
        expect(pane.y).toBeGreaterThanOrEqual(top);
        expect(pane.y + pane.height).toBeLessThanOrEqual(screen.rows - 1);
        expect(pane.height).toBeGreaterThanOrEqual(4);
        for (const other of panes.slice(index + 1)) {
          const apart =
            pane.x + pane.width <= other.x ||
            other.x + other.width <= pane.x ||
            pane.y + pane.height <= other.y ||
            other.y + other.height <= pane.y;
          expect(apart).toBe(true);
        }
      }
    }),
  );
});

test('80x24 shows one pane, 120x36 all four, 40x10 none', () => {
  const options = { focus: 'ports', zoomed: false, bannerRows: 0 } as const;
  expect(Object.keys(layoutFor({ columns: 80, rows: 24 }, options).panes)).toEqual(['ports']);
  expect(Object.keys(layoutFor({ columns: 120, rows: 36 }, options).panes)).toEqual(['components', 'detail', 'ports', 'logs']);
  expect(layoutFor({ columns: 40, rows: 10 }, options).kind).toBe('small');
});

test('a window always holds the selected row and never leaves the list', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 200 }),
      fc.nat(199),
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 200 }),
      (previous, wanted, height, total) => {
        const selected = wanted % total;
        const start = windowStart({ previous, selected, height, total });
        expect(start).toBeGreaterThanOrEqual(0);
        expect(selected).toBeGreaterThanOrEqual(start);
        expect(selected).toBeLessThan(start + height);
        if (total >= height) expect(start + height).toBeLessThanOrEqual(total);
      },
    ),
  );
});

test('a window stands still while the selection moves inside of it', () => {
  expect(windowStart({ previous: 10, selected: 15, height: 20, total: 100 })).toBe(10);
});
