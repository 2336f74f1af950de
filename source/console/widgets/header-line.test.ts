import { expect, test } from 'vitest';
import type { FleetSnapshot } from '../../fleet/model.ts';
import { sampleNowMs, samplePlace, sampleSnapshot } from '../rig/sample-fleet.ts';
import { styledWidth, unstyled } from '../styled-text.ts';
import { createTheme } from '../theme.ts';
import { headerLine } from './header-line.ts';

const theme = createTheme({ depth: 'none', background: 'dark', ascii: true });

function header(columns: number, changed: Partial<Parameters<typeof headerLine>[0]> = {}): string {
  const line = headerLine({
    ...{
      theme,
      columns,
      snapshot: sampleSnapshot(),
      nowMs: sampleNowMs,
      readOnly: false,
      rehearsing: false,
      practice: false,
      problems: [],
    },
    ...changed,
  });
  expect(styledWidth(line)).toBe(columns);
  return unstyled(line);
}

test.each([60, 80, 120])('in %i columns the problems stand first, and none is left out', (columns) => {
  for (const marks of [{}, { practice: true }, { practice: true, readOnly: true }]) {
    const line = header(columns, marks);
    expect(line).toMatch(/(?:^| )\d+ failing {2}\d+ warnings?(?: |$)/);
    expect(line.includes(' PRACTICE ')).toBe('practice' in marks);
    expect(line).not.toMatch(/\+\d+(?: {2}|$)/);
  }
});

test('where there is room, the host stands before them; without it the host goes, then the clock, then the name of the program', () => {
  expect(header(120)).toMatch(/^ quarterdeck {2}nas \S+ docker 28\.5\.1 {2}\d+ failing .* \d\d:\d\d $/);
  expect(header(80)).toMatch(/^ quarterdeck {2}nas {2}\d+ failing .* \d\d:\d\d $/);
  expect(header(60)).toMatch(/^ \d+ failing .* \d+ up /);
  expect(header(40)).toMatch(/^ \d+ failing {2}\d+ warnings /);
});

test('where all of it fits, the counts say what each component says', () => {
  const line = header(260);
  expect(line).toMatch(/ 1 unhealthy .* 1 sealed .* \d+ up /);
  expect(line).not.toContain('failing');
});

test('of many hosts those that do not fit are counted', () => {
  const places = Array.from({ length: 12 }, (_, index) => ({ ...samplePlace, name: `host-${index}`, machine: `host-${index}` }));
  const snapshot: FleetSnapshot = { ...sampleSnapshot(), places };
  expect(header(120, { snapshot })).toMatch(/ host-0 .* \+\d+ hosts {2}\d+ failing/);
  expect(header(70, { snapshot })).toMatch(/ 12 hosts {2}\d+ failing| {2}\d+ failing/);
});
