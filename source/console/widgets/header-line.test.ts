import { expect, test } from 'vitest';
import { sampleEngine, sampleNowMs, sampleSnapshot } from '../../../test/doubles/console/sample-fleet.ts';
import type { QuarterdeckApp } from '../../app/app.ts';
import type { FleetSnapshot } from '../../fleet/model.ts';
import { styledWidth, unstyled } from '../styled-text.ts';
import { createTheme } from '../theme.ts';
import { headerLine } from './header-line.ts';

const theme = createTheme({ depth: 'none', background: 'dark', ascii: true });

interface Changed {
  snapshot?: FleetSnapshot;
  practice?: boolean;
  readOnly?: boolean;
}

function header(columns: number, { snapshot = sampleSnapshot(), practice = false, readOnly = false }: Changed = {}): string {
  const app = { options: { readOnly, practice, dryRun: false }, catalog: { problems: [] } } as unknown as QuarterdeckApp;
  const line = headerLine({ theme, app }, { snapshot, columns, nowMs: sampleNowMs });
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
  const engines = Array.from({ length: 12 }, (_, index) => ({ ...sampleEngine, name: `host-${index}`, machine: `host-${index}` }));
  const snapshot: FleetSnapshot = { ...sampleSnapshot(), engines };
  expect(header(120, { snapshot })).toMatch(/ host-0 .* \+\d+ hosts {2}\d+ failing/);
  expect(header(70, { snapshot })).toMatch(/ 12 hosts {2}\d+ failing| {2}\d+ failing/);
});
