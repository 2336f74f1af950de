import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { askProduct } from '../../../test/doubles/ask-product.ts';
import { breakOffs, momentsOf } from '../../../test/doubles/break-offs.ts';
import type { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { answering, onPractice } from '../../../test/doubles/practice-ground.ts';
import { tracesBelow } from '../../../test/doubles/secret-traces.ts';
import { readRuns } from '../../stack/apply/run-journal.ts';

const id = 'password-vault';
let fixture: PracticeFixture;
beforeAll(async () => {
  fixture = await PracticeFixture.open();
}, 60_000);
afterAll(() => fixture.close().catch(() => rm(fixture.home, { recursive: true, force: true, maxRetries: 5 })));

const problems = (tries: Awaited<ReturnType<typeof breakOffs>>['tries']) => tries.filter(({ problem }) => problem !== undefined);
/** Returns the state in which the last change to the stack ended. */
const lastState = async () =>
  (await readRuns(fixture.app.context.hostOf('practice'), fixture.stackFolder, AbortSignal.timeout(20_000))).at(-1)?.state;

test('signups are closed, killed at each act: closed once, and seen through (R20)', async () => {
  // The first change creates its files.
  await fixture.run('close-signups', id, {}, { operator: answering({ account: 'yes' }) });
  const { acts, tries } = await breakOffs(
    onPractice(
      'close-signups',
      id,
      {
        operator: () => answering({ account: 'yes' }),
        first: async () => {
          const open = (await fixture.text(`${id}/.env`)).replace(/^SIGNUPS_ALLOWED=.*$/m, 'SIGNUPS_ALLOWED=true');
          await fixture.run('edit', id, { words: ['.env'], stdin: Buffer.from(open) });
        },
        end: async () => {
          const { text } = await vi.waitFor(() => askProduct(fixture, id, { method: 'GET', path: '/api/config' }), { timeout: 20_000 });
          return [(JSON.parse(text) as { settings: unknown }).settings, await lastState()];
        },
      },
      () => fixture,
    ),
  );
  expect(acts).toEqual(['apply RUN', 'verified RUN']);
  expect(problems(tries)).toEqual([]);
}, 200_000);

test('the admin token is replaced, killed at each act: gone on with, another is handed out, and it alone opens (R19)', async () => {
  const body = (token: string) => new URLSearchParams({ token }).toString();
  // A server that restarts drops connections at first.
  const logIn = (token: string) =>
    vi.waitFor(async () => (await askProduct(fixture, id, { method: 'POST', path: '/admin', body: body(token) })).status, {
      timeout: 20_000,
    });
  let operators: OperatorDouble[] = [];
  const shown = () =>
    operators.flatMap(({ asked }) => asked.flatMap(({ id: step, reveals }) => (step === 'kept' && reveals ? [reveals.value] : [])));
  const acts = ['keep', 'apply RUN', 'forget rotation-RUN', 'verified RUN', `prove ${id} ADMIN_TOKEN`];
  const { acts: seen, tries } = await breakOffs(
    onPractice(
      'admin-token',
      id,
      {
        operator: () => {
          const operator = answering({ 'old-token': '', kept: 'yes' });
          operators.push(operator);
          return operator;
        },
        first: async () => {
          operators = [];
        },
        end: async () => {
          const tokens = shown();
          const opens = await Promise.all(tokens.map(logIn));
          expect(await tracesBelow([fixture.home, fixture.access.folder], tokens)).toEqual([]);
          return [opens.at(-1), opens.slice(0, -1).every((status) => status === 401), await lastState()];
        },
      },
      () => fixture,
    ),
    // It is unknown whether the first token was really stored, and a hash cannot show it: each run creates its own.
    Object.fromEntries(
      acts.flatMap((act, at) =>
        momentsOf(at).map((moment) => [
          `${act}/${moment}`,
          { says: /^Replaced the admin token of password-vault; only its hash is stored/, end: 'same' },
        ]),
      ),
    ),
  );
  expect(seen).toEqual(acts);
  expect(problems(tries)).toEqual([]);
}, 300_000);
