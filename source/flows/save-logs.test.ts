import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import { Fault } from '../faults/fault.ts';
import { saveLogs } from './save-logs.ts';

let stage: FlowStage;
beforeEach(async () => {
  stage = await FlowStage.open();
});
afterEach(() => stage.close());

const flow = () =>
  saveLogs({ lines: ['one', 'two'], what: 'lines of media-server', name: 'media/../server', nowMs: Date.UTC(2026, 10, 20, 14, 3, 7) });
const here = (name: string) => join(stage.folder, name);

test('saved log lines are a new file for the operator alone; the name says whose and when', async () => {
  stage.operator.answers = { path: [here('out.log')] };
  const outcome = await stage.run(flow(), undefined);
  expect(await readFile(here('out.log'), 'utf8')).toBe('one\ntwo\n');
  expect((await stat(here('out.log'))).mode & 0o777).toBe(0o600);
  expect(outcome.message).toBe(`Saved 2 lines, 8 B to ${here('out.log')}`);
  const [question] = stage.operator.asked;
  expect(question?.label).toBe('Save 2 lines of media-server to which file?');
  expect(question && 'initial' in question && question.initial).toMatch(/^\.\/media-..-server-2026-11-20-\d{6}\.log$/);
  expect(stage.operator.confirmations).toEqual([]);
  expect((await stage.audited()).some((entry) => JSON.stringify(entry).includes('out.log'))).toBe(true);
});

test('a file that exists is replaced only when the operator says so', async () => {
  await writeFile(here('out.log'), 'precious');
  stage.operator.answers = { path: [here('out.log'), here('out.log')] };
  stage.operator.confirms = false;
  await expect(stage.run(flow(), undefined)).rejects.toThrow(Fault);
  expect(await readFile(here('out.log'), 'utf8')).toBe('precious');
  expect(stage.operator.confirmations[0]?.consequences).toEqual(['What is in it now is lost: 8 B.']);
  stage.operator.confirms = true;
  await stage.run(flow(), undefined);
  expect(await readFile(here('out.log'), 'utf8')).toBe('one\ntwo\n');
});

test('a folder is no file, a rehearsal writes nothing, read-only refuses (R32)', async () => {
  await mkdir(here('folder'));
  stage.operator.answers = { path: [here('folder'), here('new.log'), here('new.log')] };
  await expect(stage.run(flow(), undefined)).rejects.toThrow('is a folder');
  stage.policy = { ...stage.policy, rehearsing: true };
  expect((await stage.run(flow(), undefined)).message).toBe('Rehearsed: nothing was saved.');
  stage.policy = { ...stage.policy, rehearsing: false, readOnly: true };
  await expect(stage.run(flow(), undefined)).rejects.toMatchObject({ kind: 'refused' });
  await expect(stat(here('new.log'))).rejects.toThrow();
});
