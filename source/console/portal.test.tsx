import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { logInAtPortal } from '../../test/doubles/ask-product.ts';
import { type Harness, misfits } from '../../test/doubles/console/harness.tsx';
import { findFlow, openOnPractice } from '../../test/doubles/console/practice-harness.ts';
import { PracticeFixture } from '../../test/doubles/practice-fixture.ts';
import { tracesBelow } from '../../test/doubles/secret-traces.ts';

const users = 'sso-portal/files/users/users_database.yml';
const secret = 'correct horse battery';
const sizes = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
];
type Size = (typeof sizes)[number];

let fixture: PracticeFixture;
// The tests draw many screens each, possibly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
beforeAll(async () => {
  fixture = await PracticeFixture.open();
  // Loads all modules and writes the files, so that no test of the screen waits for that.
  await fixture.run('sso-users', 'sso-portal');
}, 60_000);
afterAll(() => fixture.close());

const open = (size: Size, component: string) => openOnPractice(fixture, { size, component });

/** Waits until the portal has read its file, which may take ten seconds. */
async function read(screen: Harness, words: string): Promise<void> {
  await vi.waitUntil(() => screen.frame().includes(words), { timeout: 60_000 });
}

test.each(sizes)('a user is added at $columns x $rows, with a password that is made up and seen this once (R49)', async (size) => {
  const screen = await open(size, 'sso-portal');
  const name = `ida${size.columns}`;
  await findFlow(screen, 'add user portal', 'Add a user to the portal');
  await screen.sees('Login name', 'Users: mara', 'quarterdeck sso add sso-portal --practice');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.type('no or');
  await screen.press('enter');
  await screen.sees('Use only letters, digits and . _ @ + -');
  await screen.press('ctrl+u');
  await screen.type(name);
  await screen.press('enter');
  await screen.sees('Display name');
  await screen.press('enter');
  await screen.sees('Email address');
  await screen.type(`${name}@example.org`);
  await screen.press('enter');
  await screen.sees('Groups, separated by commas', 'Existing groups: admins, family');
  await screen.type('family');
  await screen.press('enter');
  await screen.sees(`Password of ${name}`, /\bhash\b/, 'users_database.yml');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('enter');
  await read(screen, `Added user ${name} to sso-portal`);
  await screen.sees('Password of', 'register a second factor');
  expect(misfits(screen.frame(), size)).toEqual([]);
  const made = /\b[A-Za-z2-9]{20}\b/.exec(screen.frame())?.[0] ?? '';
  expect(await logInAtPortal(fixture, name, made)).toBe(200);
  await screen.press('esc');
  await screen.misses(made);
  expect(await tracesBelow([fixture.home, fixture.access.folder], [made])).toEqual([]);
});

test('Esc at each question of a new user says that nothing was written', async () => {
  const before = await fixture.text(users);
  const screen = await open({ columns: 80, rows: 24 }, 'sso-portal');
  const answers: [sees: string, typed: string][] = [
    ['Login name', 'noor'],
    ['Display name', ''],
    ['Email address', 'noor@example.org'],
    ['Groups, separated by commas', ''],
    ['Password of noor', secret],
    ['Repeat the password', ''],
  ];
  for (const [at] of answers.entries()) {
    await findFlow(screen, 'add user portal', 'Add a user to the portal');
    for (const [sees, typed] of answers.slice(0, at)) {
      await screen.sees(sees);
      await screen.type(typed);
      await screen.press('enter');
    }
    await screen.sees(answers[at]?.[0] ?? '');
    expect(screen.frame()).not.toContain(secret);
    await screen.press('esc');
    await screen.sees('Nothing was written. The users of sso-portal were not changed.');
    await screen.press('esc');
  }
  expect(await fixture.text(users)).toBe(before);
});

test('a password is reset: masked, typed twice, and the old one is dead', async () => {
  const size = { columns: 80, rows: 24 };
  const screen = await open(size, 'sso-portal');
  await findFlow(screen, 'reset password portal', 'Reset a password in the portal');
  await screen.sees('Who?', 'mara', 'Mara', 'admins, family');
  await screen.press('enter');
  await screen.sees('New password of mara');
  await screen.type(secret);
  await screen.press('enter');
  await screen.sees('Repeat the password');
  await screen.type('something else');
  await screen.press('enter');
  await screen.sees('The passwords do not match');
  await screen.press('ctrl+u');
  await screen.type(secret);
  expect(screen.frame()).not.toContain(secret);
  await screen.press('enter');
  await read(screen, 'Set the password of mara. The portal has read the file.');
  expect(await logInAtPortal(fixture, 'mara', secret)).toBe(200);
  expect(await tracesBelow([fixture.home, fixture.access.folder], [secret])).toEqual([]);
});

test.each(sizes)('a lost second factor at $columns x $rows: what it means is confirmed, and a no leaves it', async (size) => {
  const screen = await open(size, 'sso-portal');
  const start = async () => {
    await findFlow(screen, 'lost second factor', 'Reset a lost second factor');
    await screen.sees('Who?');
    // Jonas is the second user.
    await screen.press('down', 'enter');
    await screen.sees('Second factor of jonas to delete', 'One-time codes (authenticator app)');
    await screen.press('enter');
    await screen.sees('Delete the one-time codes of jonas', 'authelia storage user totp delete jonas', 'register a new authenticator');
  };
  await start();
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('n');
  await screen.sees('Cancelled, because it was not confirmed');
  await screen.press('esc');
  await start();
  await screen.press('y');
  await screen.sees(size.columns === 80 ? 'Deleted for jonas: the one-time codes' : 'jonas has no second factor of this kind');
  expect(misfits(screen.frame(), size)).toEqual([]);
});

test('a ban is seen with its end and lifted; Esc says that it expires', async () => {
  const size = { columns: 80, rows: 24 };
  const screen = await open(size, 'sso-portal');
  const start = () => findFlow(screen, 'ban portal', 'Lift a ban in the portal');
  await start();
  await screen.sees('sso-portal has no bans.');
  await screen.press('esc');
  for (let time = 0; time < 3; time++) await logInAtPortal(fixture, 'jonas', 'wrong');
  await start();
  await screen.sees('Ban to lift', /jonas +user · until \d{4}-/);
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('No ban was lifted.');
  await screen.press('esc');
  await start();
  await screen.sees('Ban to lift');
  await screen.press('enter');
  await screen.sees('Lifted 1 ban on jonas in sso-portal.');
});

test.each(sizes)('rules, which one is taken, and how a name is protected, at $columns x $rows (R36)', async (size) => {
  const screen = await open(size, 'sso-portal');
  await findFlow(screen, 'list access rules', 'List the access rules of the portal');
  await screen.sees('*.home.example.org', 'two_factor', 'everything else', 'deny');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await findFlow(screen, 'which access rule', 'Test which access rule applies');
  await screen.sees('Address', 'https://media.home.example.org/');
  await screen.press('enter');
  await screen.sees('User');
  await screen.press('enter');
  await screen.sees("The policy 'two_factor' from rule #1 will be applied", 'without a login');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await findFlow(screen, 'how name protected', 'Check how a host name is protected');
  await screen.sees('Address');
  await screen.press('enter');
  await screen.sees('A browser without a login', 'A program without a login');
  await screen.sees(/media\.home\.example\.org: protected: users are redirected to the +┃.*\n.*┃ +portal to log in\./);
  expect(misfits(screen.frame(), size)).toEqual([]);
});

test.each(sizes)('a rule is asked for and looked at as any other change at $columns x $rows; Esc leaves the rules', async (size) => {
  const screen = await open(size, 'sso-portal');
  await findFlow(screen, 'add access rule', 'Add an access rule to the portal');
  await screen.sees('Host name', /Domains of(?: +┃.*\n.*┃)? +the portal: home\.example\.org\./);
  await screen.type('public.home.example.org');
  await screen.press('enter');
  await screen.sees('Policy', 'Users who log in with a second factor', 'without any login');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('down', 'down', 'enter');
  await screen.sees('Insert before rule', 'The first matching rule applies.');
  await screen.press('enter');
  await screen.sees('Writes 1 file');
  await screen.press('end');
  await screen.sees("domain: 'public.home.example.org'");
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('No rule was added to sso-portal.');
});

test.each(sizes)('the users are listed at $columns x $rows: who may log in, and with what kind of hash', async (size) => {
  const screen = await open(size, 'sso-portal');
  await findFlow(screen, 'list users portal', 'List the users of the portal');
  await screen.sees(/selim +Selim +selim@example\.org +family +disabled +/, /mara .* enabled +(?:weak )?argon2/, '1 of them disabled.');
  await screen.sees('quarterdeck sso users sso-portal --practice');
  expect(misfits(screen.frame(), size)).toEqual([]);
});

test.each(sizes)('a user is disabled and enabled again at $columns x $rows; Esc leaves all as they are', async (size) => {
  const before = await fixture.text(users);
  const screen = await open(size, 'sso-portal');
  const disable = () => findFlow(screen, 'disable user portal', 'Disable a user of the portal');
  await disable();
  await screen.sees('Who?', 'mara', 'jonas', 'quarterdeck sso disable sso-portal --practice');
  // A user who is disabled already is not listed.
  expect(screen.frame()).not.toContain('selim');
  expect(misfits(screen.frame(), size)).toEqual([]);
  await screen.press('esc');
  await screen.sees('No user was changed.');
  await screen.press('esc');
  expect(await fixture.text(users)).toBe(before);
  await disable();
  await screen.sees('Who?');
  await screen.press('down', 'enter');
  await read(screen, 'Disabled jonas. The portal has read the file.');
  await screen.sees('Open sessions stay');
  expect(misfits(screen.frame(), size)).toEqual([]);
  // The comments of the file's owner are kept.
  expect(await fixture.text(users)).toContain('# Gone for the winter.');
  await screen.press('esc');
  await findFlow(screen, 'enable user portal', 'Enable a user of the portal');
  await screen.sees('Who?', 'jonas', 'selim', 'quarterdeck sso enable sso-portal --practice');
  expect(screen.frame()).not.toMatch(/mara +Mara/);
  await screen.press('enter');
  await read(screen, 'Enabled jonas. The portal has read the file.');
  expect(misfits(screen.frame(), size)).toEqual([]);
});

test('the last one who can log in is not disabled, with the reason', async () => {
  const others = [...(await fixture.text(users)).matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name ?? '').filter((name) => name !== 'mara');
  for (const name of others) await fixture.run('sso-disable', 'sso-portal', { words: [name] }).catch(() => undefined);
  const screen = await open({ columns: 80, rows: 24 }, 'sso-portal');
  await findFlow(screen, 'disable user portal', 'Disable a user of the portal');
  await screen.sees('Who?');
  await screen.press('enter');
  await screen.sees('mara is the last user who can log in', 'quarterdeck sso add sso-portal');
  await screen.press('esc');
  await fixture.run('sso-enable', 'sso-portal', { words: ['jonas'] });
});
