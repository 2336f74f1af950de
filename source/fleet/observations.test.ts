import { mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EngineEvent } from '../engine/engine.ts';
import { Observations } from './observations.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-observations-'));
  path = join(folder, 'observations.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const stop = (notedMs: number, atMs = notedMs) => ({ notedMs, atMs });
const event = (action: EngineEvent['action'], timeMs: number): EngineEvent => ({
  kind: 'container',
  action,
  id: 'a',
  timeMs,
  attributes: {},
});

async function opened(): Promise<Observations> {
  const observations = new Observations(path);
  await observations.ready();
  return observations;
}

test('what one process saw is known to the next, and nothing is lost between two (R5)', async () => {
  const [first, second] = [await opened(), await opened()];
  first.host('nas').noteOwnStop('a', stop(1_000));
  await first.flush();
  second.host('nas').noteOwnStop('b', stop(2_000));
  second.host('nas').noteOutage({ fromMs: 100, untilMs: 200 });
  second.host('nas').noteRemoved('news/db', 3_000);
  second.host('other').take(event('die', 4_000), 'docker', undefined);
  await second.flush();
  const third = await opened();
  const nas = third.host('nas');
  expect([nas.of('a').ownStop?.atMs, nas.of('b').ownStop?.atMs, nas.of('c').ownStop]).toEqual([1_000, 2_000, undefined]);
  expect([nas.outages, [...nas.removed]]).toEqual([[{ fromMs: 100, untilMs: 200 }], [['news/db', 3_000]]]);
  expect([third.host('other').of('a').diedMs, nas.of('a').diedMs]).toEqual([[4_000], []]);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  // A console that was open all the time reads it on its next refresh.
  await first.reload();
  expect(first.host('nas').of('b').ownStop?.atMs).toBe(2_000);
});

test('a stop that the engine refused is none, also for the next process', async () => {
  const first = await opened();
  first.host('nas').noteOwnStop('a', stop(1_000));
  await first.flush();
  first.host('nas').noteOwnStop('a', stop(1_001, 0));
  await first.flush();
  const next = await opened();
  expect([first.host('nas').of('a').ownStop, next.host('nas').of('a').ownStop]).toEqual([undefined, undefined]);
});

test('what an engine does to leftovers of a crash before it accepts requests is no request (R5)', async () => {
  const { host } = await opened().then((observations) => ({ host: observations.host('nas') }));
  host.take(event('kill', 900), 'docker', 1_000);
  host.take(event('stop', 990), 'docker', 1_000);
  expect(host.of('a').stopAskedMs).toBeUndefined();
  host.take(event('stop', 1_001), 'docker', 1_000);
  expect(host.of('a').stopAskedMs).toBe(1_001);
  // It reports nothing from the engine's previous run.
  expect(host.of('a').tidiedMs).toBeUndefined();
  host.take(event('die', 995), 'docker', 1_000);
  host.take(event('die', 1_002), 'docker', 1_000);
  expect(host.of('a').tidiedMs).toBe(995);
});

test('the file is bounded, and the newest stay', async () => {
  const first = await opened();
  for (let at = 1; at <= 700; at++) first.host('nas').noteOwnStop(`c${at}`, stop(at));
  for (let at = 1; at <= 60; at++) first.host('nas').noteOutage({ fromMs: at * 10_000, untilMs: at * 10_000 + 5_000 });
  await first.flush();
  const nas = (await opened()).host('nas');
  expect([nas.containers.size, nas.outages.length]).toEqual([500, 20]);
  expect([nas.of('c700').ownStop?.atMs, nas.of('c1').ownStop]).toEqual([700, undefined]);
});

test.each([
  ['cut off', '{"hosts": {"nas": '],
  ['of another shape', '{"hosts": {"nas": {"containers": {"a": {"stopMs": "x", "ownStop": 3}}, "outages": {}, "removed": [1]}}}'],
  ['a list', '[]'],
  ['no numbers', '{"hosts": {"nas": {"outages": [{"fromMs": null, "untilMs": 1}], "containers": []}}}'],
])('a damaged file is no reason not to stop: %s', async (_what, text) => {
  await writeFile(path, text);
  const first = await opened();
  expect(first.host('nas').of('a')).toEqual({ diedMs: [], stopAskedMs: undefined });
  first.host('nas').noteOwnStop('b', stop(2_000));
  await first.flush();
  expect((await opened()).host('nas').of('b').ownStop?.atMs).toBe(2_000);
});

test('nothing is written through a link, nor in read-only mode', async () => {
  const canary = join(folder, 'canary');
  await writeFile(canary, 'untouched');
  await symlink(canary, path);
  const linked = await opened();
  linked.host('nas').noteOwnStop('a', stop(1_000));
  await linked.flush();
  expect(await readFile(canary, 'utf8')).toBe('untouched');
  await rm(path);
  const reading = new Observations(path, { isWritable: false });
  reading.host('nas').noteOwnStop('a', stop(1_000));
  await reading.flush();
  await expect(readFile(path)).rejects.toThrow(/ENOENT/);
});
