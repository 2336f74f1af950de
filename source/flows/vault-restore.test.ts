import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { breakOffs, type Ground, traces } from '../../test/doubles/break-offs.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Holders, VaultStage, walkAway } from '../../test/doubles/vault-stage.ts';
import type { FlowInput } from './flow.ts';
import { unseal } from './unseal.ts';
import { vaultRestore } from './vault-restore.ts';
import { vaultSnapshot } from './vault-snapshot.ts';

vi.setConfig({ testTimeout: 120_000 });

let stage: VaultStage;
let folder: string;
let file: string;
let before: string;

const value = async (on = stage) => ((await on.ask('GET', 'legacy/router'))['data'] as { password: string } | undefined)?.password;

/** With a snapshot taken, and something written after it. */
async function open(): Promise<VaultStage> {
  const opened = await VaultStage.open();
  await opened.unseal();
  await opened.ask('PUT', 'legacy/router', { password: 'of-the-snapshot' });
  await rm(file, { force: true });
  await opened.run(vaultSnapshot, new Holders({ token: opened.token }), { words: [file] });
  await opened.ask('PUT', 'legacy/router', { password: 'written-since-then' });
  return opened;
}
const run = (options: FlowInput['options'] = { before }, answers = {}, kind?: OperatorDouble['kind']) => {
  const holders = new Holders({ token: stage.token, ...answers }, kind);
  return { holders, done: stage.run(vaultRestore, holders, { words: [file], options }) };
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-restore-'));
  file = join(folder, 'taken.snap');
  before = join(folder, 'before.snap');
  stage = await open();
});
afterEach(async () => {
  await stage.close();
  await rm(folder, { recursive: true });
});

test('what was written since is gone, what was there is saved first, and it goes back again', async () => {
  const { holders, done } = run();
  expect((await done).message).toMatch(/is as it was in .*taken\.snap \(index \d+\)\. It is open\.$/);
  expect(holders.confirmations[0]?.consequences.join(' ')).toMatch(/lost: secrets, policies.*is in .*before\.snap/);
  expect(await value()).toBe('of-the-snapshot');
  expect((await stat(before)).mode & 0o777).toBe(0o600);
  const back = stage.run(vaultRestore, new Holders({ token: stage.token }), { words: [before], options: { 'without-before': true } });
  await back;
  expect(await value()).toBe('written-since-then');
});

test('unattended, with the file to save to said in advance', async () => {
  await run({ before }, {}, 'unattended').done;
  expect(await value()).toBe('of-the-snapshot');
  await expect(run({}, {}, 'unattended').done).rejects.toMatchObject({ code: 'usage.unanswered' });
});

test('one of other key shares is refused with the way on; forced, it opens with its own', async () => {
  const other = stage;
  const shares = [...stage.shares];
  stage = await VaultStage.open();
  await stage.unseal();
  await expect(run().done).rejects.toMatchObject({ code: 'refused.snapshotKeys', remedy: expect.stringContaining('--force') });
  await rm(before, { force: true });
  const { holders, done } = run({ before, force: true });
  expect((await done).message).toMatch(/It is sealed: 3 of the 5 key shares of the snapshot open it/);
  expect(holders.confirmations[0]?.consequences.join(' ')).toContain('opens with the key shares of the snapshot alone');
  expect((await stage.run(unseal, new Holders({ share: shares }), {}, 'sealed')).message).toBe('vault is unsealed.');
  stage.token = other.token;
  expect(await value()).toBe('of-the-snapshot');
  await other.close();
});

test.each<[string, () => Promise<unknown>, string]>([
  ['no snapshot', () => writeFile(file, '{"errors":["permission denied"]}'), 'failed.snapshot'],
  ['a damaged one', async () => writeFile(file, (await readFile(file)).subarray(0, 200)), 'failed.snapshot'],
  ['none at all', () => rm(file), 'usage.path'],
  ['a file to save to that is there', () => writeFile(before, 'x'), 'refused.fileThere'],
  ['a sealed server', () => stage.ask('PUT', 'sys/seal'), 'refused.sealed'],
])('%s changes nothing', async (_, spoil, code) => {
  await spoil();
  await expect(run().done).rejects.toMatchObject({ code });
  if (code !== 'refused.sealed') expect(await value()).toBe('written-since-then');
});

test('not confirmed, or left at a question: all is as it was', async () => {
  const no = new Holders({ token: stage.token });
  no.confirms = false;
  const words = [file];
  await expect(stage.run(vaultRestore, no, { words, options: { before } })).rejects.toMatchObject({ code: 'refused.notConfirmed' });
  await expect(stage.run(vaultRestore, new Holders({ token: stage.token, before: walkAway }), { words })).rejects.toMatchObject({
    kind: 'interrupted',
  });
  expect(await value()).toBe('written-since-then');
});

test('killed at each act and gone on with: saved once, put in place once, and no token is anywhere', async () => {
  const ground = async (): Promise<Ground> => {
    await rm(before, { force: true });
    const own = await open();
    return {
      flow: vaultRestore,
      operator: () => new Holders({ token: own.token }),
      run: (watched, operator, left) => {
        own.stage.resume = left?.run;
        return own.run(watched, operator as OperatorDouble, { words: left?.words ?? [file], options: left?.options ?? { before } });
      },
      journal: own.stage.journal,
      end: async () => [await value(own), (await stat(before)).mode & 0o777],
      folders: [own.stage.folder],
      close: () => own.close(),
    };
  };
  const { acts, tries } = await breakOffs(ground);
  expect([acts, tries.filter(({ problem }) => problem)]).toEqual([['save-before', 'restore'], []]);
  expect(await traces(ground)).toMatchObject({ secrets: 1, crashes: 4, found: [] });
});
