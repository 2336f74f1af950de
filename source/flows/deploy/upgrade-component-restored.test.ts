import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { answering } from '../../../test/doubles/practice-ground.ts';
import type { FlowOutcome } from '../flow.ts';

let outcome: FlowOutcome;
vi.mock(import('./update.ts'), () => ({ update: async () => outcome }));

let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
}, 60_000);
afterAll(() => fixture.close());

const upgrade = () =>
  fixture.run(
    'upgrade',
    '',
    { words: ['rss-reader'] },
    { operator: answering({ 'step-1': 'done', 'step-2': 'done', 'step-3': 'done', checklist: 'go' }) },
  );

test('an upgrade whose backup was restored is not complete, and not called up to date', { timeout: 60_000 }, async () => {
  const backups = { 'rss-reader': { stamp: '20261121T031500Z', where: '/srv/backups' } };
  outcome = { message: 'Restored rss-reader as of 2026-11-21T03:15:00Z.', data: { updated: [], current: [], backups } };
  expect(await upgrade()).toMatchObject({ message: outcome.message, exitCode: 1 });
});

test('an image that could not be checked is not called the newest', { timeout: 60_000 }, async () => {
  outcome = { message: 'Cannot determine whether rss-reader is up to date.', data: { updated: [], current: [] } };
  expect((await upgrade()).message).toBe(outcome.message);
});
