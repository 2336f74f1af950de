import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Checklist, type ChecklistOptions, checklistReport } from './checklist.ts';
import type { Session, Shown } from './session.ts';

let folder: string;
let file: string;
const shown: Shown[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-checklist-'));
  file = join(folder, 'walk.json');
  shown.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const session = (dryRun = false) =>
  ({
    dryRun,
    show: (one: Shown) => shown.push(one),
    withoutSecrets: (text: string) => text.replaceAll('hunter22', '(secret)'),
  }) as unknown as Session;
const open = (who = 'ada@desk', more: Partial<ChecklistOptions> = {}) =>
  Checklist.open({
    file,
    title: 'Upgrade of home',
    facts: { to: 'v1.32.4' },
    isSame: ({ to }) => to === 'v1.32.4',
    who,
    session: session(),
    now: () => Date.UTC(2026, 10, 22, 9, 0),
    ...more,
  });
const webhooks = {
  section: 'Health',
  title: 'Webhooks',
  state: 'blocked',
  summary: 'nobody answers',
  advice: 'Bring it back.',
} as const;

describe('a checklist', () => {
  test('what was skipped stays so on another day for somebody else, with name and reason', async () => {
    const mine = await open();
    await mine.set('webhooks', webhooks);
    expect(mine.blocked.map(({ id }) => id)).toEqual(['webhooks']);
    await mine.skip('webhooks', 'off for the night');
    expect(mine.blocked).toEqual([]);
    const theirs = await open('grace@desk');
    expect(theirs.started).toEqual({ by: 'ada@desk', at: '2026-11-22T09:00:00.000Z' });
    await theirs.set('webhooks', webhooks);
    expect(theirs.item('webhooks')).toMatchObject({ state: 'skipped', reason: 'off for the night', by: 'ada@desk' });
    // An item that is now OK counts as OK, even if it was skipped before.
    await theirs.set('webhooks', { state: 'ok', summary: 'somebody answers' });
    expect(theirs.item('webhooks')).toMatchObject({ state: 'ok', by: 'grace@desk' });
    expect(theirs.item('webhooks')).not.toHaveProperty('reason');
    expect(shown.at(-1)).toEqual({ kind: 'item', id: 'webhooks', title: 'Webhooks', state: 'ok', evidence: 'somebody answers' });
  });

  test('two consoles at once lose nothing of each other', async () => {
    const [mine, theirs] = [await open(), await open('grace@desk')];
    await Promise.all([
      ...Array.from({ length: 8 }, (_, index) => mine.keep(`mine ${index}`, { kind: 'done' })),
      ...Array.from({ length: 8 }, (_, index) => theirs.keep(`theirs ${index}`, { kind: 'done' })),
    ]);
    const stored = JSON.parse(await readFile(file, 'utf8'));
    expect(Object.keys(stored.notes)).toHaveLength(16);
  });

  test('is readable only by its owner, and holds no secret', async () => {
    const mine = await open();
    await mine.set('nodes', { ...webhooks, summary: 'said hunter22', evidence: ['hunter22 too'] });
    await mine.skip('nodes', 'because of hunter22');
    await mine.keepSeen();
    expect(await readFile(file, 'utf8')).not.toContain('hunter22');
    expect(JSON.stringify(shown[0])).not.toContain('hunter22');
    expect((await stat(file)).mode & 0o077).toBe(0);
  });

  test('a dry run and a read-only session write nothing', async () => {
    for (const more of [{ session: session(true) }, { kept: false }]) {
      const mine = await open('ada@desk', more);
      await mine.set('webhooks', webhooks);
      await mine.skip('webhooks', 'off for the night');
      await mine.keepSeen();
      expect(mine.item('webhooks')?.state).toBe('skipped');
      await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
    }
  });

  test('one that came to its end is history: the next begins anew', async () => {
    const mine = await open();
    await mine.skip('webhooks', 'off for the night');
    await mine.end();
    const next = await open('grace@desk', { now: () => Date.UTC(2026, 11, 1) });
    expect(next.started).toEqual({ by: 'grace@desk', at: '2026-12-01T00:00:00.000Z' });
    await next.set('webhooks', webhooks);
    expect(next.item('webhooks')?.state).toBe('blocked');
    await next.keep('other', { kind: 'done' });
    expect(Object.keys(JSON.parse(await readFile(file, 'utf8')).notes)).toEqual(['other']);
  });

  test('one of something else is refused: what it belongs to is named, and it stays as it is', async () => {
    await (await open()).skip('webhooks', 'off for the night');
    const text = await readFile(file, 'utf8');
    await expect(open('grace@desk', { isSame: ({ to }) => to === 'v1.33.0' })).rejects.toMatchObject({
      code: 'refused.checklist',
      message: `${file} belongs to another checklist: "Upgrade of home", started by ada@desk (to: v1.32.4).`,
      remedy: expect.stringContaining('--checklist'),
    });
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  test.each(['{', '[]', '{"schema":2,"notes":{}}', 'null'])('a file that is none is not written over: %s', async (text) => {
    await writeFile(file, text);
    await expect(open()).rejects.toMatchObject({ code: 'config.checklist', where: { file } });
    expect(await readFile(file, 'utf8')).toBe(text);
  });
});

test('the report is Markdown that nothing from outside can break out of', async () => {
  const mine = await open();
  await mine.set('nodes', { section: 'Health', title: 'Nodes', state: 'ok', summary: '4 nodes ready', evidence: ['cp-1  v1.31.6'] });
  await mine.set('evil', {
    section: 'Health',
    title: '# x](http://evil) <b>',
    state: 'warning',
    summary: '*bold* `code`',
    evidence: ['``` end', '\x1b[31mred'],
    advice: 'Mind it.',
  });
  await mine.set('webhooks', webhooks);
  await mine.skip('webhooks', 'off for the night');
  expect(checklistReport(mine, { nowMs: Date.UTC(2026, 10, 22, 10, 0), outcome: 'Not finished.' })).toBe(`# Upgrade of home

Started by ada@desk on 2026-11-22 09:00 UTC; as of 2026-11-22 10:00 UTC.

Not finished.

- to: v1.32.4
- 1 ok, 1 warning, 1 skipped

## Health

- [x] **Nodes**: ok. 4 nodes ready (ada@desk, 2026-11-22 09:00 UTC)

  \`\`\`
  cp-1  v1.31.6
  \`\`\`

- [x] **\\# x\\](http://evil) \\<b\\>**: warning. \\*bold\\* \\\`code\\\` (ada@desk, 2026-11-22 09:00 UTC)
  - Mind it.

  \`\`\`
  ''' end
  red
  \`\`\`

- [-] **Webhooks**: skipped. nobody answers (ada@desk, 2026-11-22 09:00 UTC)
  - Reason for skipping: off for the night
  - Bring it back.
`);
});
