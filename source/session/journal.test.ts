import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openJournal, readRunJournals } from './journal.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-journal-'));
});
afterEach(() => rm(folder, { recursive: true }));
const open = (resume?: string) => openJournal({ folder, flow: 'upgrade', engineName: 'local', component: 'vault', resume });

describe('the journal of a run', () => {
  test('a run that tells nothing leaves nothing behind', async () => {
    await (await open()).end('done');
    expect(await readdir(folder)).toEqual([]);
  });

  test('is readable readable only by its owner', async () => {
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
    expect((await readRunJournals(folder)).open.map(({ acts }) => acts)).toEqual([['backup']]);
  });

  test('what was noted is there for every later run; words and flags too', async () => {
    const about = { folder, flow: 'upgrade', engineName: 'local', words: ['203.0.113.7'], options: { for: '24h', later: true } };
    const first = await openJournal(about);
    expect(first.noted('expires')).toEqual([]);
    await first.note('expires', '1');
    const second = await openJournal({ ...about, resume: first.run });
    await second.note('expires', '2');
    expect((await openJournal({ ...about, resume: first.run })).noted('expires')).toEqual(['1', '2']);
    expect((await readRunJournals(folder)).open).toMatchObject([{ words: ['203.0.113.7'], options: { for: '24h', later: true } }]);
  });

  test('a line that a crash cut off did not come to be', async () => {
    const first = await open();
    await first.answered('name', 'x');
    await appendFile(join(folder, `${first.run}.jsonl`), '{"kind":"answer","step":"name","val');
    const second = await open(first.run);
    expect([second.replay('name'), second.replay('name')]).toEqual(['x', undefined]);
  });

  test('what a resumed run writes is not lost in what a crash cut off before it', async () => {
    const first = await open();
    await first.answered('name', 'x');
    await appendFile(join(folder, `${first.run}.jsonl`), '{"kind":"answer","step":"name","val');
    await (await open(first.run)).answered('other', 'y\u2028z');
    expect((await open(first.run)).replay('other')).toBe('y\u2028z');
    expect(await readFile(join(folder, `${first.run}.jsonl.damaged`), 'utf8')).toBe('{"kind":"answer","step":"name","val\n');
  });

  test('a run about one of two instances is not settled by a run about the other', async () => {
    const about = { folder, flow: 'unseal', engineName: 'local', component: 'vault' };
    const left = await openJournal({ ...about, key: 'local/bao-a/vault' });
    await left.acted('share-1', 'done');
    const other = await openJournal({ ...about, key: 'local/bao-b/vault' });
    await other.acted('share-1', 'done');
    await other.end('done');
    expect((await readRunJournals(folder)).open).toMatchObject([{ run: left.run, key: 'local/bao-a/vault' }]);
  });

  test('runs that were not finished are listed, newest first; finished ones are not', async () => {
    const runs = [];
    for (const outcome of ['done', 'failed', 'cancelled'] as const) {
      const journal = await open();
      await journal.acted('a', 'done');
      await journal.end(outcome);
      runs.push(journal.run);
    }
    expect((await readRunJournals(folder)).open.map(({ run, acts }) => [run, acts])).toEqual(
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
    // A recorded answer is not prompted for again.
    await left.answered('name', 'x');
    await left.begins('keep');
    await left.end('failed');
    expect((await readRunJournals(folder)).open.map(({ run, acts }) => [run, acts]).sort()).toEqual(
      [
        [killed.run, []],
        [left.run, []],
      ].sort(),
    );
  });

  describe('left in the middle, and another run came to the end of the same', () => {
    const about = { flow: 'upgrade', engineName: 'local', words: ['vault'] };
    const broken = async (answers: Record<string, string> = {}, note?: string) => {
      const journal = await openJournal({ ...about, folder });
      await journal.begins('update');
      for (const [step, value] of Object.entries(answers)) await journal.answered(step, value);
      if (note !== undefined) await journal.note('made', note);
    };
    const finished = async (answers: Record<string, string> = {}, more: Partial<Parameters<typeof openJournal>[0]> = {}) => {
      // Distinguished by time, in milliseconds.
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
      expect((await readRunJournals(folder)).open).toEqual([]);
    });

    test.each([
      ['other words', {}, { words: ['other'] }],
      ['other flags', {}, { options: { check: true } }],
      ['another host', {}, { engineName: 'nas' }],
      ['another answer', { name: 'z' }, {}],
      ['no answer', {}, {}],
    ])('with %s it is not the same', async (_, answers, more) => {
      await broken({ name: 'x' });
      await finished(answers, more);
      expect((await readRunJournals(folder)).open).toHaveLength(1);
    });

    test('nor where that one was before, or where it noted what nobody else knows of', async () => {
      await finished();
      await broken();
      await broken({}, 'accessor of a token');
      await finished({ name: 'x' }, { words: ['other'] });
      expect((await readRunJournals(folder)).open).toHaveLength(2);
      await finished();
      expect((await readRunJournals(folder)).open).toHaveLength(1);
    });
  });

  test('a name that is no run, or a run of something else, is refused', async () => {
    const journal = await open();
    await journal.answered('name', 'x');
    await expect(open('../../etc/passwd')).rejects.toMatchObject({ code: 'usage.run' });
    const none = '20260101T000000000-abcdef';
    await expect(open(none)).rejects.toMatchObject({ code: 'usage.run', message: `Unknown run ${none}.` });
    await expect(openJournal({ folder, flow: 'ban', engineName: 'local', resume: journal.run })).rejects.toMatchObject({
      code: 'usage.run',
    });
  });

  test('only the last fifty are kept', async () => {
    for (let count = 0; count < 53; count++) await (await open()).answered('name', 'x');
    expect((await readdir(folder)).length).toBe(51);
  });
});

describe('a damaged journal (truncated, garbage, of another kind) is reported and kept', () => {
  const at = '2026-01-02T03:04:05.000Z';
  const first = JSON.stringify({ kind: 'run', at, flow: 'upgrade', engineName: 'local' });
  const answer = JSON.stringify({ kind: 'answer', at, step: 'name', value: 'x' });
  const run = '20260102T030405000-abcdef';
  const file = () => join(folder, `${run}.jsonl`);

  test.each<[string, string | Buffer, string]>([
    ['null', 'null\n', 'Line 1'],
    ['null among others', `${first}\nnull\n${answer}\n`, 'Line 2'],
    ['garbage', Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x0a]), 'Line 1'],
    ['NUL bytes, as a disk leaves them after a power cut', `${first}\n${'\0'.repeat(200)}\n`, 'Line 2'],
    ['a byte order mark', `\ufeff${first}\n`, 'Line 1'],
    ['a beginning that was cut off', first.slice(0, 40), 'Line 1'],
    ['a first line that is missing', `${answer}\n`, 'Line 1'],
    ['deep nesting', `${first}\n${'['.repeat(300_000)}\n`, 'Line 2'],
    ['a list', `[${first}]\n`, 'Line 1'],
    ['words that are no list', `${JSON.stringify({ kind: 'run', at, flow: 'upgrade', engineName: 'local', words: 'x' })}\n`, 'Line 1'],
    ['options that are null', `${JSON.stringify({ kind: 'run', at, flow: 'upgrade', engineName: 'local', options: null })}\n`, 'Line 1'],
    ['a value of another kind', `${first}\n${JSON.stringify({ kind: 'note', at, step: 'made', value: 7 })}\n`, 'Line 2'],
    ['a kind that is not known', `${first}\n${JSON.stringify({ kind: 'constructor', at })}\n`, 'Line 2'],
  ])('%s', async (_, content, line) => {
    await writeFile(file(), content);
    const { open: resumable, damaged } = await readRunJournals(folder);
    expect(resumable).toEqual([]);
    expect(damaged).toMatchObject([{ run, file: file(), reason: `${line} of the journal ${file()} is damaged.` }]);
    await expect(open(run)).rejects.toMatchObject({ code: 'failed.journal', where: { file: file() } });
    expect(await readFile(file())).toEqual(Buffer.from(content));
  });

  test('an empty one, and a folder in its place', async () => {
    await writeFile(file(), '');
    expect((await readRunJournals(folder)).damaged).toMatchObject([{ run, reason: `The journal ${file()} is empty.` }]);
    await rm(file());
    await mkdir(file());
    expect((await readRunJournals(folder)).damaged).toMatchObject([{ run, reason: expect.stringContaining('it is a folder') }]);
  });

  test('it hides no other run, and is not swept away with old ones', async () => {
    await writeFile(file(), 'null\n');
    for (let count = 0; count < 55; count++) await (await open()).answered('name', String(count));
    const { open: resumable, damaged } = await readRunJournals(folder);
    expect(damaged.map((one) => one.run)).toEqual([run]);
    expect(resumable.length).toBeGreaterThan(45);
  });

  test('one that says that its run was done is no matter', async () => {
    await writeFile(file(), `${first}\nnull\n${JSON.stringify({ kind: 'end', at, outcome: 'done' })}\n`);
    expect(await readRunJournals(folder)).toEqual({ open: [], damaged: [] });
  });
});
