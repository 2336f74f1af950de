import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { Fault } from '../../faults/fault.ts';
import { saveLogs } from './save-logs.ts';

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

const flow = () =>
  saveLogs({ lines: ['one', 'two'], what: 'lines of media-server', name: 'media/../server', nowMs: Date.UTC(2026, 10, 20, 14, 3, 7) });
const here = (name: string) => join(fixture.folder, name);

test('saved log lines are a new file for the operator alone; the name says whose and when', async () => {
  fixture.operator.answers = { path: [here('out.log')] };
  const outcome = await fixture.run(flow(), undefined);
  expect(await readFile(here('out.log'), 'utf8')).toBe('one\ntwo\n');
  expect((await stat(here('out.log'))).mode & 0o777).toBe(0o600);
  expect(outcome.message).toBe(`Saved 2 lines, 8 B to ${here('out.log')}`);
  const [question] = fixture.operator.asked;
  expect(question?.label).toBe('File for 2 lines of media-server');
  expect(question && 'initial' in question && question.initial).toMatch(/^\.\/media-..-server-2026-11-20-\d{6}\.log$/);
  expect(fixture.operator.confirmations).toEqual([]);
  expect((await fixture.audited()).some((entry) => JSON.stringify(entry).includes('out.log'))).toBe(true);
});

test('a file that exists is replaced only when the operator says so', async () => {
  await writeFile(here('out.log'), 'precious');
  fixture.operator.answers = { path: [here('out.log'), here('out.log')] };
  fixture.operator.confirms = false;
  await expect(fixture.run(flow(), undefined)).rejects.toThrow(Fault);
  expect(await readFile(here('out.log'), 'utf8')).toBe('precious');
  expect(fixture.operator.confirmations[0]?.consequences).toEqual(['The current content (8 B) is lost.']);
  fixture.operator.confirms = true;
  await fixture.run(flow(), undefined);
  expect(await readFile(here('out.log'), 'utf8')).toBe('one\ntwo\n');
});

test('a folder is no file, a dry run writes nothing, read-only refuses (R32)', async () => {
  await mkdir(here('folder'));
  fixture.operator.answers = { path: [here('folder'), here('new.log'), here('new.log')] };
  await expect(fixture.run(flow(), undefined)).rejects.toThrow('is a folder');
  fixture.policy = { ...fixture.policy, dryRun: true };
  expect((await fixture.run(flow(), undefined)).message).toBe('Dry run: nothing was saved.');
  fixture.policy = { ...fixture.policy, dryRun: false, readOnly: true };
  await expect(fixture.run(flow(), undefined)).rejects.toMatchObject({ kind: 'refused' });
  await expect(stat(here('new.log'))).rejects.toThrow();
});
