import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../../logs/store.ts';
import { textWidth } from '../../../text/width.ts';
import { unstyled } from '../../styled-text.ts';
import {
  type LogGeometry,
  type LogPosition,
  positionAround,
  positionAtEnd,
  positionedRows,
  positionOf,
  scrolled,
  stepped,
  withCursor,
} from './model.ts';
import { lineText, segmentsOf, shiftedPiece, styledSlice, wrappedHeight, wrappedPieces } from './text.ts';

function entry(index: number, text: string, rest: Partial<LogEntry> = {}): LogEntry {
  return { index, timeMs: index * 1000, component: 'nas/web/web', container: 'c', service: 'web', stream: 'stdout', text, ...rest };
}

/** Returns lines with these numbers of rows. */
function logOf(heights: readonly number[], firstIndex = 0): { entries: LogEntry[]; geometry: (height: number) => LogGeometry } {
  const entries = heights.map((_, at) => entry(firstIndex + at * 3, `line ${at}`));
  const rows = new Map(entries.map((each, at) => [each, heights[at] ?? 1]));
  return { entries, geometry: (height) => ({ height, rowsOf: (each) => rows.get(each) ?? 1 }) };
}

describe('rows', () => {
  test('are looked at for what is visible only, however long the log is', () => {
    const entries = Array.from({ length: 100_000 }, (_, index) => entry(index, `line ${index}`));
    let looked = 0;
    const geometry = {
      height: 30,
      rowsOf() {
        looked++;
        return 1;
      },
    };
    const rows = positionedRows(entries, undefined, geometry);
    expect(rows).toHaveLength(30);
    expect(rows.at(-1)).toEqual({ position: 99_999, row: 0 });
    scrolled(entries, positionAtEnd(entries), -29, geometry);
    expect(looked).toBeLessThan(500);
  });

  test('of a log that is shorter than the screen stand at its top, below what is said about older lines', () => {
    const { entries, geometry } = logOf([1, 1]);
    expect(positionedRows(entries, undefined, geometry(5)).map(({ position }) => position)).toEqual([-1, 0, 1]);
  });

  test('wherever keys lead: in order, without a gap, the screen full where there is enough, the cursor on it', () => {
    const keys = fc.array(fc.constantFrom('j', 'k', 'page-down', 'page-up', 'top', 'around', 'grow', 'shrink'), { maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 7 }),
        keys,
        (heights, height, pressed) => {
          const { entries: all, geometry } = logOf(heights, -20);
          const shape = geometry(height);
          let entries: readonly LogEntry[] = all;
          let current: LogPosition = positionAtEnd(entries);
          for (const key of pressed) {
            if (key === 'j') current = stepped(entries, current, 1, shape);
            else if (key === 'k') current = stepped(entries, current, -1, shape);
            else if (key === 'page-down') current = scrolled(entries, current, height, shape);
            else if (key === 'page-up') current = scrolled(entries, current, -height, shape);
            else if (key === 'top') current = withCursor(entries, current, 0, shape);
            else if (key === 'around') current = positionAround(entries, entries[entries.length >> 1]?.index ?? 0, shape);
            else if (key === 'shrink' && entries.length > 1) entries = entries.slice(1);
            else if (key === 'grow') entries = all;
            const rows = positionedRows(entries, current, shape);
            const total = entries.reduce((sum, each) => sum + shape.rowsOf(each), 0) + 1;
            expect(rows.length).toBe(Math.min(height, total));
            for (const [at, row] of rows.entries()) {
              const before = rows[at - 1];
              if (!before) continue;
              const next =
                row.position === before.position ? row.row === before.row + 1 : row.position === before.position + 1 && row.row === 0;
              expect(next).toBe(true);
            }
            if (key !== 'shrink' && key !== 'grow') {
              const cursor = positionOf(entries, current.cursor);
              expect(rows.some(({ position }) => position === cursor)).toBe(true);
            }
          }
        },
      ),
    );
  });

  test('j and k get to every row of a line that is taller than the screen', () => {
    const { entries, geometry } = logOf([1, 10, 1]);
    const shape = geometry(4);
    const walk = (step: 1 | -1, start: LogPosition) => {
      const seen = new Set<number>();
      let current = start;
      for (let press = 0; press < 30; press++) {
        current = stepped(entries, current, step, shape);
        for (const { position, row } of positionedRows(entries, current, shape)) if (position === 1) seen.add(row);
      }
      return seen.size;
    };
    expect(walk(1, withCursor(entries, positionAtEnd(entries), 0, shape))).toBe(10);
    expect(walk(-1, positionAtEnd(entries))).toBe(10);
  });
});

const anyText = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', ' ', '世', 'e\u0301', '👩‍👩‍👧', '-'), maxLength: 200 }),
  fc.string({ maxLength: 200 }).map((any) => any.replace(/[^\x20-\x7e]/g, '')),
);

describe('a line', () => {
  test('wraps without losing a character, and is never wider than asked', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 80 }), (text, columns) => {
        const line = lineText(entry(1, text), true);
        const pieces = wrappedPieces(line, columns);
        expect(pieces.map(({ start, end }) => text.slice(start, end)).join('')).toBe(text);
        for (const { start, end } of pieces) expect(textWidth(text.slice(start, end))).toBeLessThanOrEqual(columns);
        expect(wrappedHeight(line, columns)).toBe(pieces.length);
      }),
    );
  });

  test('leaves out a wide character that does not fit beside the mark', () => {
    expect(shiftedPiece(lineText(entry(1, '👩‍👩‍👧a'), true), 0, 2)).toEqual({ start: 0, end: 0, cut: true });
  });

  test('is cut to the side, wherever it has been scrolled to', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 80 }), fc.integer({ min: 0, max: 300 }), (text, columns, shift) => {
        const { start, end, cut } = shiftedPiece(lineText(entry(1, text), true), shift, columns);
        expect(textWidth(text.slice(start, end)) + (cut ? 1 : 0)).toBeLessThanOrEqual(columns);
        if (!cut && start < text.length) expect(end).toBe(text.length);
      }),
    );
  });

  test('of 16,000 wide characters is wrapped within the limit of a test', () => {
    const line = lineText(entry(1, '世'.repeat(16_000)), true);
    expect(wrappedPieces(line, 80)).toHaveLength(400);
  });

  test('keeps the colours of what is seen of it, and closes them', () => {
    const styled = 'a\x1b[31mbcd\x1b[0mef';
    expect(styledSlice(styled, 0, 2)).toBe('a\x1b[31mb\x1b[0m');
    expect(styledSlice(styled, 2, 6)).toBe('\x1b[31mcd\x1b[0mef');
    expect(styledSlice(styled, 4, 6)).toBe('ef');
    fc.assert(
      fc.property(fc.nat(8), fc.nat(8), (start, length) => {
        expect(unstyled(styledSlice(styled, start, start + length))).toBe('abcdef'.slice(start, start + length));
      }),
    );
  });

  test('shows matches where they are, also when they begin before the row and end after it', () => {
    const filter = {
      typed: 'x',
      passes: () => true,
      ranges: () =>
        [
          [0, 2],
          [4, 9],
        ] as const,
    };
    const line = lineText(entry(1, '0123456789'), true);
    expect(segmentsOf(line, { start: 1, end: 7 }, filter, true)).toEqual([
      { text: '1', match: true },
      { text: '23', match: false },
      { text: '456', match: true },
    ]);
  });

  test('of JSON is made readable once; as written it stays what it is, and what its strings spell out is cleaned', () => {
    const json = entry(1, '{"level":"error","msg":"disk \\u001b[2Jfull","path":"/data"}');
    expect(lineText(json, false).text).toMatch(/ERROR.*disk .*full.*path=\/data/);
    expect(lineText(json, false).text).not.toContain('\x1b');
    expect(lineText(json, false)).toBe(lineText(json, false));
    expect(lineText(json, true).text).toBe(json.text);
    expect(lineText(json, false).level).toBe('error');
  });
});
