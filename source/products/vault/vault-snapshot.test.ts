import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { Holders, VaultFixture } from '../../../test/doubles/vault-fixture.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { localFiles } from '../../hosts/local-files.ts';
import { readRunJournals } from '../../session/journal.ts';

vi.setConfig({ testTimeout: 120_000 });

let fixture: VaultFixture;
let folder: string;
let file: string;
let before: string;

const value = async (on = fixture) => ((await on.ask('GET', 'legacy/router'))['data'] as { password: string } | undefined)?.password;

/** Opens a fixture with a snapshot and a later write. */
async function open(): Promise<VaultFixture> {
  const opened = await VaultFixture.open();
  await opened.unseal();
  await opened.ask('PUT', 'legacy/router', { password: 'of-the-snapshot' });
  await rm(file, { force: true });
  await opened.run('vault-snapshot', new Holders({ token: opened.token }), { words: [file] });
  await opened.ask('PUT', 'legacy/router', { password: 'written-since-then' });
  return opened;
}
const run = (options: FlowInput['options'] = { before }, answers = {}, kind?: OperatorDouble['kind']) => {
  const holders = new Holders({ token: fixture.token, ...answers }, kind);
  return { holders, done: fixture.run('vault-restore', holders, { words: [file], options }) };
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-restore-'));
  file = join(folder, 'taken.snap');
  before = join(folder, 'before.snap');
  fixture = await open();
});
afterEach(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

test('what was written since is gone, what was there is saved first, and it goes back again', async () => {
  const { holders, done } = run();
  expect((await done).message).toMatch(/Restored vault from .*taken\.snap \(index \d+\)\. The server is unsealed\.$/);
  expect(holders.confirmations[0]?.consequences.join(' ')).toMatch(/lost: secrets, policies.*is in .*before\.snap/);
  expect(await value()).toBe('of-the-snapshot');
  expect((await stat(before)).mode & 0o777).toBe(0o600);
  const back = fixture.run('vault-restore', new Holders({ token: fixture.token }), {
    words: [before],
    options: { 'without-before': true },
  });
  await back;
  expect(await value()).toBe('written-since-then');
});

test('one of other key shares is refused with the way on; forced, it opens with its own', async () => {
  const other = fixture;
  const shares = [...fixture.shares];
  fixture = await VaultFixture.open();
  await fixture.unseal();
  await expect(run().done).rejects.toMatchObject({ code: 'refused.snapshotKeys', remedy: expect.stringContaining('--force') });
  await rm(before, { force: true });
  const { holders, done } = run({ before, force: true });
  expect((await done).message).toMatch(/The server is sealed: unseal it with the key shares of the snapshot/);
  expect(holders.confirmations[0]?.consequences.join(' ')).toContain('only the key shares of the snapshot unseal it');
  expect((await fixture.run('unseal', new Holders({ share: shares }), {}, 'sealed')).message).toBe('vault is unsealed.');
  fixture.token = other.token;
  expect(await value()).toBe('of-the-snapshot');
  await other.close();
});

test('a dry run says what it would do with the options that were passed', async () => {
  fixture.fixture.policy = { ...fixture.fixture.policy, dryRun: true };
  const { holders, done } = run({ 'without-before': true, force: true });
  await done;
  expect(holders.texts().at(-1)).toMatch(/^Would prompt for a token, and send POST \/v1\/sys\/storage\/raft\/snapshot-force with /);
});

test.each<[string, () => Promise<unknown>, string]>([
  ['no snapshot', () => writeFile(file, '{"errors":["permission denied"]}'), 'failed.snapshot'],
  ['a damaged one', async () => writeFile(file, (await readFile(file)).subarray(0, 200)), 'failed.snapshot'],
  ['none at all', () => rm(file), 'usage.path'],
  ['a file to save to that is there', () => writeFile(before, 'x'), 'refused.fileThere'],
  ['a sealed server', () => fixture.ask('PUT', 'sys/seal'), 'refused.sealed'],
])('%s changes nothing', async (_, spoil, code) => {
  await spoil();
  await expect(run().done).rejects.toMatchObject({ code });
  if (code !== 'refused.sealed') expect(await value()).toBe('written-since-then');
});

/** The file at this path is shorter than what was written, once it is there. */
const cutShort = (path: string) => {
  const facts = localFiles.facts.bind(localFiles);
  return vi.spyOn(localFiles, 'facts').mockImplementation(async (asked, signal) => {
    const found = await facts(asked, signal);
    return found && (asked === path ? { ...found, sizeBytes: 1 } : found);
  });
};

test('a snapshot that was not written whole is no longer unfinished once another one is', async () => {
  await rm(file);
  const snapshot = () => fixture.run('vault-snapshot', new Holders({ token: fixture.token }), { words: [file] });
  const cut = cutShort(file);
  await expect(snapshot()).rejects.toMatchObject({ code: 'failed.snapshot' });
  cut.mockRestore();
  await snapshot();
  expect((await readRunJournals(fixture.fixture.journal)).open).toEqual([]);
});

test('nothing is replaced where what was there before was not saved whole, and not when that is resumed', async () => {
  const cut = cutShort(before);
  await expect(run().done).rejects.toMatchObject({ code: 'failed.snapshot' });
  cut.mockRestore();
  fixture.fixture.resume = (await readdir(fixture.fixture.journal)).sort().at(-1)?.replace('.jsonl', '');
  await expect(run().done).rejects.toMatchObject({ code: 'refused.fileThere' });
  expect(await value()).toBe('written-since-then');
});
