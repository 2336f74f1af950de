import { describe, expect, it } from 'vitest';
import { type Growth, growthPlot, leftOut } from './growth-plot.ts';

const growth = (values: readonly (number | string)[]): Growth => ({
  what: 'memory <beyond> start',
  unit: 'MB',
  points: [20, 200, 2_000, 20_000].slice(0, values.length).map((containers, index) => {
    const value = values[index] ?? '';
    return { containers, cell: typeof value === 'number' ? { value } : { failed: value } };
  }),
});

const line = (svg: string): [x: number, y: number][] =>
  (/<polyline points="([^"]*)"/.exec(svg)?.[1] ?? '')
    .split(' ')
    .filter(Boolean)
    .map((pair) => pair.split(',').map(Number) as [number, number]);

describe('the plot of a growth', () => {
  it('draws tenfold growth with tenfold containers as a straight line, upwards', () => {
    const [first = [0, 0], second = [0, 0], third = [0, 0]] = line(growthPlot([growth([1, 10, 100])]));
    expect(second[0] - first[0]).toBeCloseTo(third[0] - second[0], 0);
    expect(first[1] - second[1]).toBeCloseTo(second[1] - third[1], 0);
    expect(second[1]).toBeLessThan(first[1]);
  });

  it('labels measure, unit, numbers of containers and values', () => {
    const svg = growthPlot([growth([1.5, 12, 130, 1_234])]);
    for (const text of ['memory &lt;beyond&gt; start, MB', 'containers', '20,000', '1.5', '1,234'])
      expect(svg).toContain(`>${text}</text>`);
  });

  it('leaves out what failed and what has no position, and names both with the reason', () => {
    const growths = [growth([0, 12, 'took longer than 60 s'])];
    const svg = growthPlot(growths);
    expect(line(svg)).toHaveLength(1);
    expect(svg).toContain('not drawn: 20; 2,000');
    expect(leftOut(growths)).toEqual([
      'Not drawn: memory <beyond> start, 20 containers: 0 has no position on a logarithmic axis.',
      'Not drawn: memory <beyond> start, 2,000 containers: took longer than 60 s.',
    ]);
  });

  it('draws no line where nothing was measured', () => {
    const svg = growthPlot([growth(['x', 'x', 'x', 'x'])]);
    expect(line(svg)).toEqual([]);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });

  it('has both axes in one panel for each measure', () => {
    expect(growthPlot([growth([1]), growth([2]), growth([3]), growth([4])]).match(/<g transform/g)).toHaveLength(4);
  });
});
