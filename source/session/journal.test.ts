import { appendFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openJournal, openRuns } from './journal.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-journal-'));
});
afterEach(() => rm(folder, { recursive: true }));
const open = (resume?: string) => openJournal({ folder, flow: 'upgrade', place: 'local', component: 'vault', resume });

describe('the journal of a run', () => {
  test('a run that tells nothing leaves nothing behind', async () => {
    await (await open()).end('done');
    expect(await readdir(folder)).toEqual([]);
  });

  test('is readable for its owner alone', async () => {
    const journal = await open();
    await journal.answered('name', 'a');
    expect((await stat(join(folder, `${journal.run}.jsonl`))).mode & 0o777).toBe(0o600);
  });

  test('what was answered and done is there for the next run, in order', async () => {
    const first = await open();
    await first.answered('share', ['a', 'b']);
    await first.answered('name', 'x');
    await first.answered('name', 'y');
    await first.acted('backup', 'done');
    const second = await open(first.run);
    expect([second.replay('name'), second.replay('name'), second.replay('name')]).toEqual(['x', 'y', undefined]);
    expect(second.replay('share')).toEqual(['a', 'b']);
    expect([second.finished('backup'), second.finished('migrate')]).toEqual([true, false]);
  });

  test('what was noted is there for every later run; words and flags too', async () => {
    const about = { folder, flow: 'upgrade', place: 'local', words: ['203.0.113.7'], options: { for: '24h', later: true } };
    const first = await openJournal(about);
    expect(first.noted('expires')).toEqual([]);
    await first.note('expires', '1');
    const second = await openJournal({ ...about, resume: first.run });
    await second.note('expires', '2');
    expect((await openJournal({ ...about, resume: first.run })).noted('expires')).toEqual(['1', '2']);
    expect(await openRuns(folder)).toMatchObject([{ words: ['203.0.113.7'], options: { for: '24h', later: true } }]);
  });

  test('a line that a crash cut off did not come to be', async () => {
    const first = await open();
    await first.answered('name', 'x');
    await appendFile(join(folder, `${first.run}.jsonl`), '{"kind":"answer","step":"name","val');
    const second = await open(first.run);
    expect([second.replay('name'), second.replay('name')]).toEqual(['x', undefined]);
  });

  test('runs that were not finished are listed, newest first; finished ones are not', async () => {
    const runs = [];
    for (const outcome of ['done', 'failed', 'cancelled'] as const) {
      const journal = await open();
      await journal.acted('a', 'done');
      await journal.end(outcome);
      runs.push(journal.run);
    }
    expect((await openRuns(folder)).map(({ run, acts }) => [run, acts])).toEqual(
      [
        [runs[2], ['a']],
        [runs[1], ['a']],
      ].sort((one, other) => (String(one[0]) < String(other[0]) ? 1 : -1)),
    );
  });

  test('one that was killed in its first act is listed; one that said that it failed there is not', async () => {
    const [killed, failed, left] = [await open(), await open(), await open()];
    await killed.begins('keep');
    await failed.begins('keep');
    await failed.end('failed');
    // What was asked need not be asked again.
    await left.answered('name', 'x');
    await left.begins('keep');
    await left.end('failed');
    expect((await openRuns(folder)).map(({ run, acts }) => [run, acts]).sort()).toEqual(
      [
        [killed.run, []],
        [left.run, []],
      ].sort(),
    );
    expect((await open(killed.run)).finished('keep')).toBe(false);
  });

  describe('left in the middle, and another run came to the end of the same', () => {
    const about = { flow: 'upgrade', place: 'local', words: ['vault'] };
    const broken = async (answers: Record<string, string> = {}, note?: string) => {
      const journal = await openJournal({ ...about, folder });
      await journal.begins('update');
      for (const [step, value] of Object.entries(answers)) await journal.answered(step, value);
      if (note !== undefined) await journal.note('made', note);
    };
    const finished = async (answers: Record<string, string> = {}, more: Partial<Parameters<typeof openJournal>[0]> = {}) => {
      // Told apart by time, which goes in milliseconds.
      const now = Date.now();
      await vi.waitUntil(() => Date.now() > now + 1, { interval: 1 });
      const journal = await openJournal({ ...about, folder, ...more });
      await journal.begins('update');
      for (const [step, value] of Object.entries(answers)) await journal.answered(step, value);
      await journal.end('done');
    };

    test('it is needless', async () => {
      await broken({ name: 'x' });
      await finished({ name: 'x', also: 'y' });
      expect(await openRuns(folder)).toEqual([]);
    });

    test.each([
      ['other words', {}, { words: ['other'] }],
      ['other flags', {}, { options: { check: true } }],
      ['another host', {}, { place: 'nas' }],
      ['another answer', { name: 'z' }, {}],
      ['no answer', {}, {}],
    ])('with %s it is not the same', async (_, answers, more) => {
      await broken({ name: 'x' });
      await finished(answers, more);
      expect(await openRuns(folder)).toHaveLength(1);
    });

    test('nor where that one was before, or where it noted what nobody else knows of', async () => {
      await finished();
      await broken();
      await broken({}, 'accessor of a token');
      await finished({ name: 'x' }, { words: ['other'] });
      expect(await openRuns(folder)).toHaveLength(2);
      await finished();
      expect(await openRuns(folder)).toHaveLength(1);
    });
  });

  test('a name that is no run, or a run of something else, is refused', async () => {
    const journal = await open();
    await journal.answered('name', 'x');
    await expect(open('../../etc/passwd')).rejects.toMatchObject({ code: 'usage.run' });
    await expect(openJournal({ folder, flow: 'ban', place: 'local', resume: journal.run })).rejects.toMatchObject({ code: 'usage.run' });
  });

  test('only the last fifty are kept', async () => {
    for (let count = 0; count < 53; count++) await (await open()).answered('name', 'x');
    expect((await readdir(folder)).length).toBe(51);
  });
});
