import { describe, expect, it } from 'vitest';
import { type Measure, numberText, ratioText, resultTable } from './result-table.ts';

const columns = [
  { id: 'quarterdeck', title: 'quarterdeck', installed: true },
  { id: 'peer', title: 'peer', installed: true },
  { id: 'absent', title: 'absent', installed: false },
];

const rowsOf = (measures: Measure[]): string[] => resultTable(measures, columns).table.split('\n').slice(2);

describe('the table of a benchmark', () => {
  it('puts behind every number how many times ours it is, and names who is not installed', () => {
    expect(rowsOf([{ what: 'start', unit: 'ms', cells: { quarterdeck: { value: 50 }, peer: { value: 155 } } }])).toEqual([
      '| start | ms | **50** | 155 (×3.1) | not installed |  |',
    ]);
  });

  it('says whether an aim was met, and does not know without a number of ours', () => {
    const aim = { text: 'under 16 ms', met: (own: number) => own < 16 };
    const verdicts = [{ value: 15.9 }, { value: 16 }, { failed: 'it ended' }].map((quarterdeck) =>
      rowsOf([{ what: 'key', unit: 'ms', cells: { quarterdeck }, aim }])[0]
        ?.split(' | ')
        .at(-1),
    );
    expect(verdicts).toEqual(['under 16 ms: met |', 'under 16 ms: **missed** |', 'under 16 ms: ? |']);
  });

  it('numbers the reasons of failures, each once', () => {
    const failed = { peer: { failed: 'showed nothing' } };
    const { table, failures } = resultTable(
      [
        { what: 'p50', unit: 'ms', cells: failed },
        { what: 'p95', unit: 'ms', cells: failed },
        { what: 'memory', unit: 'MB', cells: { quarterdeck: { failed: 'took longer than 60 s' } } },
      ],
      columns,
    );
    expect(failures).toEqual(['peer: showed nothing', 'quarterdeck: took longer than 60 s']);
    expect([...table.matchAll(/failed \[(\d)\]/g)].map(([, number]) => number)).toEqual(['1', '1', '2']);
  });

  it('keeps a pipe in a name inside its cell', () => {
    expect(rowsOf([{ what: 'logs | wc', unit: 'ms', cells: {} }])[0]).toMatch(/^\| logs \\\| wc \| ms \|/);
  });

  it('shows three digits that count', () => {
    expect([0.5678, 8.126, 81.26, 812.6, 81_260, 0].map(numberText)).toEqual(['0.57', '8.13', '81.3', '813', '81,260', '0']);
  });

  it('shows no ratio that would mean nothing', () => {
    expect([ratioText(5, 0), ratioText(-3, 2), ratioText(0, 2), ratioText(5, Number.NaN)]).toEqual(['', '', '', '']);
    expect([ratioText(1, 8), ratioText(30, 2), ratioText(1, 1000)]).toEqual([' (×0.13)', ' (×15)', ' (×0.00)']);
  });
});
