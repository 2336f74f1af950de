import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StopMemory } from './stop-memory.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-stops-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a stop by one process is known to the next, and none is lost between two (R5)', async () => {
  const path = join(folder, 'stops.json');
  const first = new StopMemory(path);
  const second = new StopMemory(path);
  await Promise.all([first.ready(), second.ready()]);
  await first.note('a', 1_000);
  await second.note('b', 2_000);
  const third = new StopMemory(path);
  await third.ready();
  expect([third.at('a'), third.at('b'), third.at('c')]).toEqual([1_000, 2_000, undefined]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('a damaged or unwritable file is no reason not to stop', async () => {
  const path = join(folder, 'stops.json');
  await writeFile(path, '{"a": 1');
  const memory = new StopMemory(path);
  await memory.ready();
  await memory.note('b', 2_000);
  expect(memory.at('b')).toBe(2_000);
  const nowhere = new StopMemory(join(folder, 'stops.json', 'below-a-file'));
  await nowhere.note('c', 3_000);
  expect(nowhere.at('c')).toBe(3_000);
});

test('a stop that the engine refuses is none', async () => {
  const path = join(folder, 'stops.json');
  const memory = new StopMemory(path);
  await memory.ready();
  await memory.note('a', 1_000);
  const refused = new Error('refused');
  await expect(memory.around('a', () => Promise.reject(refused))).rejects.toBe(refused);
  await expect(memory.around('b', () => Promise.reject(refused))).rejects.toBe(refused);
  const next = new StopMemory(path);
  await next.ready();
  expect([memory.at('a'), next.at('a'), next.at('b')]).toEqual([1_000, 1_000, undefined]);
});
