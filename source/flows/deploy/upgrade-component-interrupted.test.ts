import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { breakOffs } from '../../../test/doubles/break-offs.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { answering, onPractice } from '../../../test/doubles/practice-ground.ts';
import { readRuns } from '../../stack/apply/run-journal.ts';

const id = 'rss-reader';
const steps = ['step-1', 'step-2', 'step-3'];
const wayBack = /^Upgraded rss-reader\. .*quarterdeck restore rss-reader --snapshot/;
let fixture: PracticeFixture;

beforeAll(async () => {
  fixture = await PracticeFixture.open();
}, 60_000);
afterAll(() => fixture.close().catch(() => rm(fixture.home, { recursive: true, force: true, maxRetries: 5 })));

/** Returns the recorded changes to the stack on the host, and their results. */
const runs = async () =>
  (await readRuns(fixture.app.context.hostOf('practice'), fixture.stackFolder, AbortSignal.timeout(20_000))).map(
    ({ transaction, state }) => [transaction.run, state],
  );
const isNewest = async () => (await fixture.run('update', id, {}, { dryRun: true })).message;

/** Puts a newer image in the registry, and discards the checklist. */
const anew = async () => {
  await fixture.run('incident', 'calm', { words: ['newer-images'] });
  const { folder = '' } = (await fixture.app.context.checklists?.()) ?? {};
  await rm(join(folder, `component-practice-${id}.json`), { force: true });
};
const operator = () => answering({ ...Object.fromEntries(steps.map((step) => [step, 'done'])), checklist: 'go' });

test('the walk of a component, killed at each act: updated once, seen healthy, and the way back is told (R84)', async () => {
  let before: Awaited<ReturnType<typeof runs>> = [];
  const ground = onPractice(
    'upgrade',
    '',
    {
      words: [id],
      operator,
      first: async () => {
        await anew();
        before = await runs();
      },
      end: async () => {
        const since = (await runs()).slice(before.length);
        return [since.map(([, state]) => state), await isNewest()];
      },
    },
    () => fixture,
  );
  const { acts, tries } = await breakOffs(ground);
  expect(acts).toEqual(['apply RUN', 'verified RUN']);
  expect(tries.filter(({ problem }) => problem !== undefined)).toEqual([]);
  for (const { said } of tries) expect(said).toMatch(wayBack);
}, 200_000);
