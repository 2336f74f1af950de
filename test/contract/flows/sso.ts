import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { vi } from 'vitest';
import { logInAtPortal } from '../../doubles/ask-product.ts';
import type { Family, FlowRow } from './flow.contract.ts';
import { Practice } from './practice.ts';

const id = 'sso-portal';
const usersFile = 'sso-portal/files/users/users_database.yml';
const secret = 'correct horse battery';
const passwords = { password: secret, 'password-again': secret };

let first = '';
async function open(): Promise<Practice> {
  const practice = await Practice.open();
  // Its files are written when they are first read.
  await practice.run('sso-users', id);
  first = await practice.fixture.text(usersFile);
  return practice;
}

/** The users without their hashes, which are new each time. */
const users = async ({ fixture }: Practice) => (await fixture.text(usersFile)).replaceAll(/\$argon2id\S+/g, 'hash');
/** The users file of the beginning, written as an editor does it, and read by the portal. */
async function usersOfBefore({ fixture }: Practice): Promise<void> {
  if ((await fixture.text(usersFile)) === first) return;
  await writeFile(join(fixture.stackFolder, usersFile), first);
  await restarted(fixture);
}
async function restarted(fixture: Practice['fixture']): Promise<void> {
  await fixture.run('restart', id);
  await vi.waitUntil(async () => (await logInAtPortal(fixture, 'nobody', 'asked only').catch(() => 0)) === 401, { timeout: 20_000 });
}

type Row = FlowRow<Practice>;
const reading = (flow: string, words: string[] = []): Row => ({ flow, words, acts: [] });
const ofUsers = (flow: string, act: string, more: Partial<Row> = {}): Row => ({
  ...{ flow, acts: [act], first: usersOfBefore, end: users },
  belongs: [{ file: /users_database\.yml/, why: 'the portal reads hashes there; what was there before is kept, for the operator alone' }],
  ...more,
});

export const ssoFlows: Family<Practice> = {
  name: 'the sign-on portal',
  component: id,
  open,
  shared: true,
  rows: [
    reading('sso-users'),
    ofUsers('sso-add', 'add ida', {
      dryRunShows: { text: /Would prompt for the password of ida, and add the user/ },
      answers: () => ({ user: 'ida', name: 'Ida', email: 'ida@example.org', groups: 'family, kitchen', ...passwords }),
      secrets: 1,
    }),
    ofUsers('sso-disable', 'disable jonas', { words: ['jonas'] }),
    ofUsers('sso-enable', 'enable jonas', {
      words: ['jonas'],
      first: async (practice) => {
        await usersOfBefore(practice);
        await practice.run('sso-disable', id, ['jonas']);
        // A portal that has just read the file may miss a change right after it, and the flow then writes it again.
        await restarted(practice.fixture);
      },
    }),
    ofUsers('sso-password', 'password mara', {
      words: ['mara'],
      answers: () => passwords,
      secrets: 1,
      dryRunShows: { text: /Would prompt for the new password of mara/ },
    }),
    reading('sso-rules'),
    reading('sso-test', ['https://public.home.example.org/', 'mara']),
    reading('sso-check', ['https://public.home.example.org/']),
  ],
};
