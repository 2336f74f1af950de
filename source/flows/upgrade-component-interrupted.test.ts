import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { breakOffs } from '../../test/doubles/break-offs.ts';
import { answering, onPractice } from '../../test/doubles/practice-ground.ts';
import { PracticeStage } from '../../test/doubles/practice-stage.ts';
import { readRuns } from '../stack/run-journal.ts';

const id = 'rss-reader';
const steps = ['step-1', 'step-2', 'step-3'];
const wayBack = /^rss-reader is upgraded\. .*quarterdeck rollback rss-reader/;
let stage: PracticeStage;

beforeAll(async () => {
  stage = await PracticeStage.open();
}, 60_000);
afterAll(() => stage.close().catch(() => rm(stage.home, { recursive: true, force: true, maxRetries: 5 })));

/** Changes to the stack that the host has, and how each ended. */
const runs = async () =>
  (await readRuns(stage.deck.world.hostOf('practice'), stage.stackFolder, AbortSignal.timeout(20_000))).map(({ transaction, state }) => [
    transaction.run,
    state,
  ]);
const isNewest = async () => (await stage.run('update', id, {}, { rehearse: true })).message;

/** A newer image in the registry, and no walk that anybody began. */
const anew = async () => {
  await stage.run('incident', 'calm', { words: ['newer-images'] });
  const { folder = '' } = (await stage.deck.world.checklists?.()) ?? {};
  await rm(join(folder, `component-practice-${id}.json`), { force: true });
};
const operator = () => answering({ ...Object.fromEntries(steps.map((step) => [step, 'done'])), walk: 'go' });

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
    () => stage,
  );
  const { acts, tries } = await breakOffs(ground);
  expect(acts).toEqual(['apply RUN', 'verified RUN']);
  expect(tries.map(({ problem }) => problem)).toEqual([undefined, undefined, undefined, undefined]);
  for (const { said } of tries) expect(said).toMatch(wayBack);
}, 200_000);
