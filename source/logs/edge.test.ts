import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogLine } from '../engine/engine.ts';
import { EdgeFinder, type HistoryEdge } from './edge.ts';
import type { KeptEntry } from './entry.ts';

const line = (text: string, timeMs = 1): LogLine => ({ timeMs, stamp: '', stream: 'stdout', text });
const kept = (text: string, timeMs = 1): KeptEntry => ({
  index: 0,
  timeMs,
  component: 'key',
  container: 'one',
  service: 'app',
  stream: 'stdout',
  text,
  ordinal: undefined,
});
const edge = (known: readonly KeptEntry[], timeMs?: number): HistoryEdge => ({ known, timeMs, linesToEnd: undefined });

function positionOf(finder: EdgeFinder, lines: readonly LogLine[]): number | undefined {
  for (const one of lines) finder.check(one);
  return finder.position;
}

/** Tries every position. */
function bestPosition(lines: readonly string[], known: readonly string[]): number | undefined {
  let best: number | undefined;
  let longest = 1;
  for (let at = 0; at < lines.length; at++) {
    let length = 0;
    while (length < known.length && at + length < lines.length && lines[at + length] === known[length]) length++;
    if (length < longest) continue;
    longest = length;
    best = at;
  }
  return best;
}

describe('the edge of what is known, in a log that is read from its start', () => {
  const words = (maxLength: number) => fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength });

  test('is where most of the known lines agree, or the last such place, also among equal lines', () => {
    fc.assert(
      fc.property(words(60), words(12), (lines, known) => {
        let wanted: number | undefined;
        // A line that was reported differently is skipped.
        for (let skipped = 0; skipped <= 3 && wanted === undefined && skipped < known.length; skipped++) {
          const position = bestPosition(lines, known.slice(skipped));
          wanted = position === undefined ? undefined : Math.max(0, position - skipped);
        }
        const finder = new EdgeFinder(edge(known.map((text) => kept(text))));
        expect(
          positionOf(
            finder,
            lines.map((text) => line(text)),
          ),
        ).toBe(wanted);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is sure when all known lines were met, and not among a flood of equal ones', () => {
    const finder = new EdgeFinder(edge(['tick', 'tick', 'tock'].map((text) => kept(text))));
    positionOf(
      finder,
      Array.from({ length: 5_000 }, () => line('tick')),
    );
    expect(finder.isFinal).toBe(false);
    positionOf(finder, [line('tock')]);
    expect(finder.isFinal).toBe(false);
    expect(
      positionOf(
        finder,
        Array.from({ length: 1_500 }, () => line('later')),
      ),
    ).toBe(4_998);
    expect(finder.isFinal).toBe(true);
  });

  test('of a container of which no line is known it is a time, whatever its clock did', () => {
    expect(positionOf(new EdgeFinder(edge([], 3)), [line('a', 1), line('b', 9), line('c', 3), line('d', 4)])).toBe(3);
    expect(positionOf(new EdgeFinder(edge([])), [line('a', 1), line('b', 9)])).toBe(2);
  });
});
