import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../fleet/log-store.ts';
import { textWidth } from '../text/width.ts';
import { createLogMatches, matcherFor, rowsOf, visibleRows } from './log-view.ts';

function entry(index: number, text: string, rest: Partial<LogEntry> = {}): LogEntry {
  return { index, timeMs: index * 1000, service: 'web', stream: 'stdout', text, ...rest };
}

const row = { columns: 40, wrap: false, timestamps: false, serviceColumns: 0 };

describe('a filter', () => {
  test('has smart case', () => {
    expect(matcherFor('error')?.('An ERROR here')).toBe(true);
    expect(matcherFor('Error')?.('An ERROR here')).toBe(false);
    expect(matcherFor('')).toBeUndefined();
  });

  test('finds text through colours', () => {
    expect(matcherFor('sealed')?.('\x1b[31msea\x1b[0mled')).toBe(true);
  });

  test('that takes lines as they come answers what looking at all of them would', () => {
    const batches = fc.array(fc.array(fc.constantFrom('alpha', 'beta', 'Alpha beta', 'gamma', ''), { maxLength: 8 }), { maxLength: 12 });
    fc.assert(
      fc.property(
        batches,
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.constantFrom('a', 'alpha', 'Alpha', 'beta', ''), { minLength: 1, maxLength: 12 }),
        (arriving, keep, filters) => {
          const matches = createLogMatches();
          let ring: LogEntry[] = [];
          let next = 0;
          for (const [step, batch] of arriving.entries()) {
            ring = [...ring, ...batch.map((text) => entry(next++, text))].slice(-keep);
            // The filter changes now and then, as an operator types.
            const filter = filters[Math.floor(step / 3) % filters.length] ?? '';
            const window = matches.update(ring, filter);
            const expected = ring.filter(({ text }) => matcherFor(filter)?.(text) ?? true);
            expect(Array.from({ length: window.length }, (_, at) => window.at(at)?.index)).toEqual(expected.map(({ index }) => index));
            for (const { index } of ring)
              expect(window.positionOf(index)).toBe(expected.filter((other) => other.index <= index).length - 1);
          }
        },
      ),
    );
  });

  test('looks at each of many lines once, however often it is asked', () => {
    let looked = 0;
    const counted = (index: number): LogEntry => ({
      ...entry(index, ''),
      get text() {
        looked++;
        return `line ${index}`;
      },
    });
    const matches = createLogMatches();
    let ring = Array.from({ length: 100_000 }, (_, index) => counted(index));
    expect(matches.update(ring, '7').length).toBe(40_951);
    expect(looked).toBe(100_000);
    for (let step = 0; step < 10; step++) {
      ring = [...ring.slice(100), ...Array.from({ length: 100 }, (_, index) => counted(100_000 + step * 100 + index))];
      matches.update(ring, '7');
    }
    expect(looked).toBe(101_000);
  });
});

describe('rows', () => {
  test('are made for what is visible only', () => {
    let read = 0;
    const window = {
      length: 100_000,
      at(position: number) {
        read++;
        return entry(position, `line ${position}`);
      },
      positionOf: (index: number) => index,
    };
    const rows = visibleRows(window, 99_999, 30, row);
    expect(rows).toHaveLength(30);
    expect(rows.at(-1)?.text).toBe('line 99999');
    expect(read).toBe(30);
  });

  test('are cut, or wrapped without losing a character, and never wider than asked', () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b', ' ', '世', 'é', '-'), maxLength: 200 }),
      fc.string({ maxLength: 200 }).map((any) => any.replace(/[^\x20-\x7e]/g, '')),
    );
    fc.assert(
      fc.property(text, fc.integer({ min: 16, max: 80 }), fc.boolean(), (raw, columns, timestamps) => {
        for (const wrap of [true, false]) {
          const rows = rowsOf(entry(1, raw), { columns, wrap, timestamps, serviceColumns: 0 });
          for (const { lead, text: shown } of rows) expect(textWidth(lead + shown)).toBeLessThanOrEqual(columns);
          if (wrap && raw !== '') expect(rows.map(({ text: shown }) => shown).join('')).toBe(raw);
        }
      }),
    );
  });

  test('at the beginning of a log fill the pane from the top', () => {
    const entries = [entry(0, 'one'), entry(1, 'two'), entry(2, 'three')];
    const window = createLogMatches().update(entries, '');
    expect(visibleRows(window, 0, 3, row).map(({ text }) => text)).toEqual(['one', 'two', 'three']);
  });

  test('of stderr carry a mark', () => {
    expect(rowsOf(entry(0, 'x', { stream: 'stderr' }), row)[0]?.lead).toBe('! ');
  });
});
