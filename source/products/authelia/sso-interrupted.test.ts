import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { logInAtPortal } from '../../../test/doubles/ask-product.ts';
import { breakOffs, type Ground } from '../../../test/doubles/break-offs.ts';
import { answering } from '../../../test/doubles/cancelling-operator.ts';
import type { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';
import { onPractice } from '../../../test/doubles/practice-ground.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { readRuns } from '../../stack/apply/run-journal.ts';

const id = 'sso-portal';
const usersFile = 'sso-portal/files/users/users_database.yml';
const configurationFile = 'sso-portal/files/configuration.yml';
const secret = 'correct horse battery';

let fixture: PracticeFixture;

beforeAll(async () => {
  fixture = await PracticeFixture.open();
  // The first flow creates the files.
  await fixture.run('sso-users', id);
  first = await fixture.text(usersFile);
}, 60_000);
afterAll(() => fixture.close());

/** The original users file. */
let first = '';

interface Played {
  words?: readonly string[];
  options?: FlowInput['options'];
  answers?: OperatorDouble['answers'];
  /** Restores the state from before the run. */
  before: () => Promise<unknown>;
  end: () => Promise<unknown>;
}

/** Creates the portal of the practice stack and runs this flow in it. */
const ground =
  (flowId: string, { words = [], options = {}, answers = {}, before, end }: Played) =>
  async (): Promise<Ground> => {
    await before();
    const flow = fixture.app.flows.find((one) => one.id === flowId);
    if (!flow) throw new Error(`no flow ${flowId}`);
    return {
      flow,
      operator: () => answering(structuredClone(answers)),
      run: (watched, operator, left) =>
        fixture.run(
          flowId,
          id,
          { words: left?.words ?? words, options: left?.options ?? options },
          { operator: operator as OperatorDouble, as: () => watched, resume: left?.run },
        ),
      journal: fixture.journal,
      end,
      folders: [fixture.home, fixture.access.folder],
      belongs: [
        { file: /users_database\.yml/, why: 'the portal reads hashes there; what was there before is kept, for the operator alone' },
      ],
      close: async () => {},
    };
  };

/** Returns the users without their hashes, which are new each time. */
const users = async () => (await fixture.text(usersFile)).replaceAll(/\$argon2id\S+/g, 'hash');
/** A portal that restarts drops connections at first. */
const logIn = (name: string) => vi.waitFor(() => logInAtPortal(fixture, name, secret), { timeout: 60_000 });
/** Writes the original users file as an editor does, and waits until the portal has read it. */
const usersOfBefore = async () => {
  await writeFile(join(fixture.stackFolder, usersFile), first);
  await fixture.run('restart', id);
  await vi.waitUntil(async () => (await logInAtPortal(fixture, 'nobody', 'asked only').catch(() => 0)) === 401, { timeout: 60_000 });
};
const problems = (tries: Awaited<ReturnType<typeof breakOffs>>['tries']) => tries.filter(({ problem }) => problem !== undefined);

test('of two bans one is lifted, killed at each act: only that one', async () => {
  const banned = async () => {
    const { data } = await fixture.run('sso-unban', id, { words: ['unknown'] });
    return (data as { banned: { whom: string }[] }).banned.map(({ whom }) => whom);
  };
  const played = ground('sso-unban', {
    words: ['jonas'],
    before: async () => {
      // A portal that has just started drops connections, and knows no users yet.
      for (const name of ['jonas', 'mara'])
        await vi.waitUntil(
          async () => {
            await logInAtPortal(fixture, name, 'wrong').catch(() => 0);
            return (await banned()).includes(name);
          },
          { timeout: 60_000 },
        );
    },
    end: banned,
  });
  // Each ban has its own number, so that requests differ.
  const { tries } = await breakOffs(played, {
    'lift user 1/before': { says: /^Lifted 1 ban on jonas/, end: 'same' },
    'lift user 1/after': { says: /^jonas is not banned by sso-portal\. Currently banned: mara\./, end: 'same' },
  });
  expect(problems(tries)).toEqual([]);
}, 120_000);

test('a lost second factor of both kinds, killed at each act: both are forgotten in the end', async () => {
  const forget = { words: ['mara'], options: { which: 'both' } };
  const played = onPractice('sso-second-factor', id, {
    ...forget,
    end: async (fresh) => (await fresh.run('sso-second-factor', id, forget)).message,
  });
  const { acts, tries } = await breakOffs(played, {
    // The portal does not report who has codes; deleting them twice does no harm.
    'codes/after': { says: /^Deleted for mara: 2 security keys\./, end: 'same' },
  });
  const says: Readonly<Record<string, string>> = {
    'codes/before': 'Deleted for mara: the one-time codes and 2 security keys',
    'codes/after': 'Deleted for mara: 2 security keys',
    'keys/before': 'Deleted for mara: the one-time codes and 2 security keys',
    'keys/after': 'Deleted for mara: the one-time codes',
  };
  expect(tries.map(({ said }) => said.slice(0, said.indexOf('.')))).toEqual(tries.map(({ act, moment }) => says[`${act}/${moment}`]));
  expect(acts).toEqual(['codes', 'keys']);
  expect(problems(tries)).toEqual([]);
}, 200_000);

describe('at a portal that does not watch its file', () => {
  beforeAll(async () => {
    const text = await fixture.text(configurationFile);
    await fixture.run('edit', id, { words: ['files/configuration.yml'], stdin: Buffer.from(text.replace('watch: true', 'watch: false')) });
  }, 60_000);

  test('a password is reset: what broke off before the restart is restarted, once', async () => {
    const played = ground('sso-password', {
      words: ['mara'],
      answers: { password: [secret], 'password-again': [secret] },
      before: usersOfBefore,
      end: async () => [await users(), await logIn('mara')],
    });
    const { acts, tries } = await breakOffs(played);
    expect(acts).toEqual(['password mara', expect.stringMatching(/^restart /)]);
    expect(problems(tries)).toEqual([]);
  }, 120_000);

  test('somebody is disabled: who stands so in the file, and is not locked out yet, is locked out', async () => {
    const played = ground('sso-disable', { words: ['jonas'], before: usersOfBefore, end: users });
    const { acts, tries } = await breakOffs(played);
    expect(acts).toEqual(['disable jonas', expect.stringMatching(/^restart /)]);
    expect(problems(tries)).toEqual([]);
  }, 120_000);
});

test('a rule is added, killed at each act: gone on with, it is there, and there once', async () => {
  const before = await fixture.text(configurationFile);
  const played = ground('sso-rule-add', {
    words: ['public.home.example.org'],
    options: { policy: 'bypass', before: '1' },
    before: async () => {
      if ((await fixture.text(configurationFile)) !== before)
        await fixture.run('edit', id, { words: ['files/configuration.yml'], stdin: Buffer.from(before) });
    },
    end: async () => {
      const { data } = await fixture.run('sso-rules', id);
      return [(data as { rules: unknown[] }).rules, await lastState()];
    },
  });
  const added = /^Added rule 1: public\.home\.example\.org has the policy bypass/;
  const { acts, tries } = await breakOffs(played, {
    // The portal validates the configuration every time, which changes nothing.
    'validate/after': { says: added, end: 'same' },
    'apply RUN/before': { says: added, end: 'same' },
  });
  expect(acts).toEqual(['validate', 'apply RUN', 'verified RUN']);
  expect(problems(tries)).toEqual([]);
}, 400_000);
/** Returns the state in which the last change to the stack ended. */
const lastState = async () =>
  (await readRuns(fixture.app.context.hostOf('practice'), fixture.stackFolder, AbortSignal.timeout(20_000))).at(-1)?.state;
