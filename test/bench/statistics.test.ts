import { describe, expect, it } from 'vitest';
import { median, quantile, spacings } from './statistics.ts';

describe('statistics of a benchmark', () => {
  it('takes the middle, and between two middles half way', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it('takes a quantile by nearest rank, whatever the order', () => {
    const values = Array.from({ length: 40 }, (_, index) => 40 - index);
    expect(quantile(values, 0.95)).toBe(38);
    expect(quantile(values, 0.5)).toBe(20);
    expect(quantile([7], 0.95)).toBe(7);
    expect(quantile([], 0.95)).toBeNaN();
  });

  it('sorts numbers as numbers', () => {
    expect(median([10, 9, 100])).toBe(10);
  });

  it('measures the time between neighbours', () => {
    expect(spacings([10, 12, 20])).toEqual([2, 8]);
    expect(spacings([10])).toEqual([]);
  });
});
