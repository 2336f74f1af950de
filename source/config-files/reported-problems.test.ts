import { expect, it } from 'vitest';
import { reportedProblems } from './reported-problems.ts';

it("is refused in the product's own words, with the line that it names", () => {
  const output =
    '[NOTICE] config: haproxy 2.6\n[ALERT] (8) : config : parsing [/etc/haproxy.cfg:12] : unknown keyword \x1b[31mbinb\x1b[0m\n';
  expect(reportedProblems(output, String.raw`parsing \[[^:]+:(?P<line>\d+)\] : (?P<message>.*)`)).toEqual([
    { level: 'error', line: 12, column: 1, field: '', message: expect.stringMatching(/^unknown keyword .*binb/), remedy: '' },
  ]);
  expect(reportedProblems('nothing of it is understood\n', 'line (?P<line>\\d+)')).toEqual([
    { level: 'error', line: 1, column: 1, field: '', message: 'nothing of it is understood', remedy: '' },
  ]);
  expect(reportedProblems('', undefined)[0]?.message).toBe('The file was rejected without a message.');
});
