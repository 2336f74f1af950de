import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openLocalHost } from '../../hosts/local-host.ts';
import { refuseDuringRestore } from '../backup/restore.ts';
import { listRestores } from '../backup/restore-journal.ts';
import { listHalted } from '../backup/stopped-containers.ts';
import { findDamagedJournals, readRuns } from './run-journal.ts';

const signal = AbortSignal.timeout(60_000);
const host = openLocalHost();
let stack: string;
const own = (...parts: string[]) => join(stack, '.quarterdeck', ...parts);
const restoreRun = '20260101T000000Z-notes';
const record = {
  ...{ schema: 1, run: restoreRun, component: 'notes', project: 'notes', backup: '20251231T000000Z', where: '/srv', by: 'ada@nas' },
  ...{ startedAt: '2026-01-01T00:00:00.000Z', state: 'replacing', dumps: [], halted: [] },
  volumes: [{ volume: 'data', source: 'notes_data', isFile: false, kept: [], images: [] }],
};
const writeRestore = async (run: string, content: object) => {
  await mkdir(own('restores', run), { recursive: true });
  await writeFile(own('restores', run, 'restore.json'), JSON.stringify(content));
};

beforeEach(async () => {
  stack = await mkdtemp(join(tmpdir(), 'quarterdeck-stack-'));
  await mkdir(own('halted'), { recursive: true });
  await mkdir(own('runs', '20260101T000000000-abcdef'), { recursive: true });
  await writeRestore(restoreRun, record);
});
afterEach(() => rm(stack, { recursive: true, force: true }));

const engines: Record<string, () => { path: string; named: string }> = {
  'a halted record': () => ({ path: own('halted', 'backup-x.json'), named: own('halted', 'backup-x.json') }),
  'a restore record': () => ({
    path: own('restores', '20260102T000000Z-chat', 'restore.json'),
    named: own('restores', '20260102T000000Z-chat'),
  }),
  'the journal of a change': () => ({
    path: own('runs', '20260101T000000000-abcdef', 'journal'),
    named: own('runs', '20260101T000000000-abcdef'),
  }),
};

test.each(Object.keys(engines).flatMap((engineName) => ['mkfifo', 'mkdir'].map((program) => [engineName, program] as const)))(
  'in the place of %s, %s: it is named, and the others are still read',
  async (engineName, program) => {
    const { path, named } = engines[engineName]?.() ?? { path: '', named: '' };
    await mkdir(join(path, '..'), { recursive: true });
    execFileSync(program, [path]);
    expect(await findDamagedJournals(host, stack, signal)).toEqual([named]);
    expect(await listRestores(host, stack, signal)).toMatchObject([{ run: restoreRun }]);
    expect(await listHalted(host, stack, signal)).toEqual([]);
    expect(await readRuns(host, stack, signal)).toEqual([]);
  },
);

test.each<[string, object]>([
  ['a volume that is none', { volumes: [null] }],
  ['a volume without its source', { volumes: [{ volume: 'data', isFile: false, kept: [], images: [] }] }],
  ['a volume with the wrong paths', { volumes: [{ ...record.volumes[0], kept: [1] }] }],
  ['a dump that is none', { dumps: [7] }],
  ['a container that is none', { halted: [[]] }],
])('a restore record with %s is damaged', async (_, changes) => {
  await writeRestore(restoreRun, { ...record, ...changes });
  expect(await findDamagedJournals(host, stack, signal)).toEqual([own('restores', restoreRun)]);
});

test('a component with a damaged restore record is neither started nor backed up; others are', async () => {
  await writeRestore(restoreRun, {});
  const open = (component: string) => refuseDuringRestore(host, stack, { component, project: component }, signal);
  await expect(open('notes')).rejects.toMatchObject({
    code: 'refused.unfinished',
    message: `A restore of notes was interrupted, and its journal is damaged: ${own('restores', restoreRun)}.`,
  });
  await open('chat');
});

test.each([
  ['replacing', 'Restore the previous data, or run the restore again: quarterdeck recover'],
  ['replaced', 'Finish the restore: quarterdeck recover'],
])('a restore that was interrupted while %s gets the remedy that is still possible', async (state, remedy) => {
  await writeRestore(restoreRun, { ...record, state });
  const refused = refuseDuringRestore(host, stack, { component: 'notes', project: 'notes' }, signal);
  await expect(refused).rejects.toMatchObject({ code: 'refused.unfinished', remedy });
});
