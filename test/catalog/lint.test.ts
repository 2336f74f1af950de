import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { problemText, readWidePorts } from '../../source/catalog/compile.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

it("the built-in catalog lints clean, wide ports against the specification's annex (R1, R2, R3, R4, R6, R7, R8, R16, R18, R21, R28, R29, R82, R83)", {
  timeout: 120_000,
}, async () => {
  const widePorts = readWidePorts(readFileSync('test/spec/port-conflicts.md', 'utf8'));
  const { entries, problems } = await loadFolder('catalog', { own: false, widePorts });
  expect(problems.map(problemText)).toEqual([]);
  expect(entries.length).toBeGreaterThan(0);
});

it('what prepares an upgrade is to be confirmed before it (R84)', async () => {
  const { entries } = await wholeCatalog();
  const late = entries.flatMap(({ id, upgrade }) =>
    (upgrade?.steps ?? []).flatMap((step) =>
      typeof step !== 'string' && /\bfirst\b|^(?:Back up|Read (?:the|about)|Pull)\b/.test(step.after) ? [`${id}: ${step.after}`] : [],
    ),
  );
  expect(late).toEqual([]);
});
