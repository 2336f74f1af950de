import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { logInAtPortal } from '../../../test/doubles/ask-product.ts';
import { answering, Leaver } from '../../../test/doubles/cancelling-operator.ts';
import type { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { PracticeFixture } from '../../../test/doubles/practice-fixture.ts';

const id = 'sso-portal';
const usersFile = 'sso-portal/files/users/users_database.yml';
const secret = 'correct horse battery';
let fixture: PracticeFixture;

const logIn = (username: string, password: string) => logInAtPortal(fixture, username, password);

beforeAll(async () => {
  fixture = await PracticeFixture.open();
});
afterAll(() => fixture.close());

describe('users of the portal (R49)', () => {
  test('are listed with their groups, and without their hashes', async () => {
    const { message, data } = await fixture.run('sso-users', id);
    expect(message).toBe(`${id} has 3 users, 1 of them disabled.`);
    expect(JSON.stringify(data)).toContain('"groups":["admins","family"]');
    expect(JSON.stringify([data, fixture.operator.shown])).not.toMatch(/\$argon2/);
  });

  test('one is added: comments stay, the portal reads the file without a restart, and the password opens', async () => {
    const before = await fixture.containers(id);
    const asked = answering({
      user: ['ida'],
      name: ['Ida'],
      email: ['ida@example.org'],
      groups: ['family, kitchen'],
      password: [secret],
      'password-again': [secret],
    });
    const { message } = await fixture.run('sso-add', id, {}, { operator: asked });
    expect(message).toBe(`Added user ida to ${id}. The portal has read the file.`);
    const text = await fixture.text(usersFile);
    expect(text).toContain('# All users at home. Ask Mara before you add a user.');
    expect(text).toContain('# Gone for the winter.');
    expect(text).toMatch(
      /ida:\n {4}disabled: false\n {4}displayname: Ida\n {4}password: '\$argon2id\$v=19\$m=65536,t=3,p=4\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}'\n/,
    );
    expect(text).not.toContain(secret);
    expect(await logIn('ida', secret)).toBe(200);
    expect(await fixture.containers(id)).toEqual(before);
    expect(JSON.stringify(asked.shown)).not.toContain(secret);
  });

  test('the password is reset: made up where none is typed, shown once, and the old one is dead', async () => {
    const asked = answering({ password: [''] });
    const { message } = await fixture.run('sso-password', id, { words: ['ida'] }, { operator: asked });
    expect(message).toContain('Set the password of ida. The portal has read the file.');
    const shown = asked.shown.find(({ kind }) => kind === 'secret');
    if (shown?.kind !== 'secret') throw new Error('nothing was shown');
    expect(shown.value).toHaveLength(20);
    expect(await logIn('ida', secret)).toBe(401);
    expect(await logIn('ida', shown.value)).toBe(200);
  });

  test('one is disabled and enabled again; the last one who can log in is not disabled', async () => {
    await fixture.run('sso-password', id, { words: ['ida'] }, { operator: answering({ password: [secret], 'password-again': [secret] }) });
    await fixture.run('sso-disable', id, { words: ['ida'] });
    expect(await fixture.text(usersFile)).toMatch(/ida:\n {4}disabled: true/);
    expect(await logIn('ida', secret)).toBe(401);
    await fixture.run('sso-enable', id, { words: ['ida'] });
    expect(await logIn('ida', secret)).toBe(200);
    for (const name of ['mara', 'jonas']) await fixture.run('sso-disable', id, { words: [name] });
    await expect(fixture.run('sso-disable', id, { words: ['ida'] })).rejects.toMatchObject({ code: 'refused.lastUser' });
    for (const name of ['mara', 'jonas']) await fixture.run('sso-enable', id, { words: [name] });
  });
});

describe('changing users', () => {
  const newOne = () => ({
    user: ['noor'],
    name: ['Noor'],
    email: ['noor@example.org'],
    groups: [''],
    password: [secret],
    'password-again': [secret],
  });

  test.each(['user', 'name', 'email', 'groups', 'password', 'password-again'])('leaving at %s writes nothing', async (at) => {
    const before = await fixture.text(usersFile);
    await expect(fixture.run('sso-add', id, {}, { operator: new Leaver(at, newOne()) })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: expect.stringContaining('Nothing was written'),
    });
    expect(await fixture.text(usersFile)).toBe(before);
  });

  test.each<[string, OperatorDouble['answers']]>([
    ['a name with a blank', { user: ['no or'] }],
    ['no name at all', { user: [''] }],
    ['no mail address', { email: ['noor'] }],
    ['a short password', { password: ['short'] }],
    ['another password the second time', { 'password-again': ['something else'] }],
  ])('%s is refused where it is typed', async (_, wrong) => {
    const before = await fixture.text(usersFile);
    await expect(fixture.run('sso-add', id, {}, { operator: answering({ ...newOne(), ...wrong }) })).rejects.toMatchObject({
      code: 'usage.answer',
    });
    expect(await fixture.text(usersFile)).toBe(before);
  });

  test('unattended, with everything said in advance; the password comes from the answers alone', async () => {
    const options = { name: 'Noor', email: 'noor@example.org', group: ['family'] };
    const { message } = await fixture.run(
      'sso-add',
      id,
      { words: ['noor'], options },
      { operator: answering({ password: [secret] }, 'unattended') },
    );
    expect(message).toMatch(/^Added user noor to/);
    expect(await logIn('noor', secret)).toBe(200);
  });

  test('gone on with after the file was written: it is seen to be there already', async () => {
    const asked = answering({ user: ['noor'], password: [secret], 'password-again': [secret] });
    const { message } = await fixture.run('sso-add', id, {}, { operator: asked });
    expect(message).toMatch(/^User noor already exists in .*already in the file/);
    const other = answering({ user: ['noor'], password: ['quite another one'], 'password-again': ['quite another one'] });
    await expect(fixture.run('sso-add', id, {}, { operator: other })).rejects.toMatchObject({ code: 'usage.user' });
  });

  test('what was there before is kept, readable by the operator alone', async () => {
    const folder = join(fixture.stackFolder, '.quarterdeck', 'kept', id);
    const kept = await readdir(folder);
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThanOrEqual(10);
    for (const name of kept) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  });

  test('a file that somebody broke is told with its line, and left alone', async () => {
    const path = join(fixture.stackFolder, usersFile);
    const before = await fixture.text(usersFile);
    await writeFile(path, before.replace('displayname: Mara', 'displayname: [Mara'));
    await expect(fixture.run('sso-users', id)).rejects.toMatchObject({ code: 'config.users', where: { line: expect.any(Number) } });
    await writeFile(path, before);
  });
});

describe('a second factor', () => {
  test('the codes are forgotten after a confirmation that says what it means; the keys stay', async () => {
    const asked = answering({ which: ['codes'] });
    const { message } = await fixture.run('sso-second-factor', id, { words: ['mara'] }, { operator: asked });
    expect(message).toMatch(/^Deleted for mara: the one-time codes\./);
    expect(asked.confirmations.map(({ request }) => request)).toEqual(['authelia storage user totp delete mara']);
    const again = await fixture.run('sso-second-factor', id, { words: ['mara'] }, { operator: answering({ which: ['codes'] }) });
    expect(again.message).toBe('mara has no second factor of this kind.');
    const keys = await fixture.run('sso-second-factor', id, { words: ['mara'], options: { which: 'keys' } });
    expect(keys.message).toMatch(/2 security keys/);
    expect(fixture.operator.confirmations[0]?.consequences[0]).toBe('These security keys are deleted: Yubikey, Phone.');
  });

  test('is not forgotten without a confirmation, and for nobody who is not there', async () => {
    const no = answering({});
    no.confirms = false;
    const options = { which: 'both' };
    await expect(fixture.run('sso-second-factor', id, { words: ['jonas'], options }, { operator: no })).rejects.toMatchObject({
      code: 'refused.notConfirmed',
    });
    await expect(fixture.run('sso-second-factor', id, { words: ['nobody'], options })).rejects.toMatchObject({ code: 'usage.user' });
  });
});

describe('a ban', () => {
  test('is listed with its end, and lifted', async () => {
    const none = await fixture.run('sso-unban', id);
    expect(none.message).toBe(`${id} has no bans.`);
    for (let time = 0; time < 3; time++) await logIn('jonas', 'wrong');
    const asked = answering({ whom: ['user:jonas'] });
    const { message } = await fixture.run('sso-unban', id, {}, { operator: asked });
    expect(message).toBe(`Lifted 1 ban on jonas in ${id}.`);
    const [question] = asked.asked;
    expect(question && 'choices' in question && question.choices[0]).toMatchObject({
      label: 'jonas',
      detail: expect.stringMatching(/^user · until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/),
    });
    expect((await fixture.run('sso-unban', id)).message).toBe(`${id} has no bans.`);
  });
});

describe('rules of access control', () => {
  test('are listed in their order, with what holds where none matches', async () => {
    const { message, data } = await fixture.run('sso-rules', id);
    expect(message).toMatch(/1 rule; the first match applies. Default policy: deny/);
    expect(data).toMatchObject({ rules: [{ domains: ['*.home.example.org'], policy: 'two_factor' }], defaultPolicy: 'deny' });
  });

  test('which one is taken is said by the portal itself: first match', async () => {
    const { message, data } = await fixture.run('sso-test', id, { words: ['https://media.home.example.org/', 'mara'] });
    expect(message).toBe(`${id}: The policy 'two_factor' from rule #1 will be applied to this request.`);
    expect(data).toMatchObject({ groups: ['admins', 'family'], rows: [{ number: 1, mark: '*' }] });
    const elsewhere = await fixture.run('sso-test', id, { words: ['https://elsewhere.org/', 'mara'] });
    expect(elsewhere.message).toMatch(/'deny' from the default policy/);
  });

  test('one that the portal would refuse is not written', async () => {
    const before = await fixture.text('sso-portal/files/configuration.yml');
    const options = { policy: 'bypass', subject: ['user:mara'] };
    await expect(fixture.run('sso-rule-add', id, { words: ['public.home.example.org'], options })).rejects.toMatchObject({
      code: 'usage.rule',
    });
    expect(await fixture.text('sso-portal/files/configuration.yml')).toBe(before);
  });

  test('one is added before the others, templates and comments of the file stay, and it is taken', async () => {
    const asked = answering({ policy: ['bypass'], before: ['1'] });
    const { message } = await fixture.run('sso-rule-add', id, { words: ['public.home.example.org'] }, { operator: asked });
    expect(message).toMatch(/^Added rule 1: public\.home\.example\.org has the policy bypass/);
    const text = await fixture.text('sso-portal/files/configuration.yml');
    expect(text).toContain('# The first matching rule applies; without a match, the default policy applies.');
    expect(text).toContain(
      `    - domain: 'public.home.example.org'\n      policy: 'bypass'\n    - domain: '{{ env "ACCESS_DOMAIN" | default (printf "*.%s" (mustEnv "SESSION_DOMAIN"))`,
    );
    const tested = await fixture.run(
      'sso-test',
      id,
      { words: ['https://public.home.example.org/'] },
      { operator: answering({ user: [''] }) },
    );
    expect(tested.message).toMatch(/'bypass' from rule #1/);
  });
});

describe('how a name is protected (R36)', () => {
  test.each([
    ['https://media.home.example.org/', /protected: users are redirected to the portal/, [302, 401]],
    ['https://public.home.example.org/', /anyone is allowed without a login/, [200, 200]],
    ['https://elsewhere.org/', /is not configured for this domain/, [400, 400]],
    ['http://media.home.example.org/', /does not protect plain HTTP/, [400, 400]],
  ])('%s', async (url, why, statuses) => {
    const { message, data } = await fixture.run('sso-check', id, { words: [url] });
    expect(message).toMatch(why);
    expect((data as { answers: { status: number }[] }).answers.map(({ status }) => status)).toEqual(statuses);
  });
});

describe('a portal that does not take the file', () => {
  test('refuses it: what was there before is put back, and its own words are told', async () => {
    const path = join(fixture.stackFolder, usersFile);
    const before = await fixture.text(usersFile);
    // The text begins like a hash, so that only the portal detects the error.
    const odd = `${before.trimEnd()}\n  old:\n    displayname: Old\n    password: '$argon2id$v=19$m=65536$x'\n    email: old@example.org\n`;
    await writeFile(path, odd);
    await expect(fixture.run('sso-disable', id, { words: ['noor'] })).rejects.toMatchObject({
      code: 'failed.users',
      message: expect.stringMatching(/rejected the file.*password hash for 'old'/),
    });
    expect(await fixture.text(usersFile)).toBe(odd);
    await writeFile(path, before);
  });

  test('does not watch it: the portal is restarted, once the file is written', async () => {
    const text = await fixture.text('sso-portal/files/configuration.yml');
    await fixture.run('edit', id, { words: ['files/configuration.yml'], stdin: Buffer.from(text.replace('watch: true', 'watch: false')) });
    const { message } = await fixture.run('sso-enable', id, { words: ['selim'] });
    expect(message).toMatch(/^Enabled selim\. The portal was restarted/);
    const { message: again } = await fixture.run(
      'sso-password',
      id,
      { words: ['selim'] },
      { operator: answering({ password: [secret], 'password-again': [secret] }) },
    );
    expect(again).toMatch(/The portal was restarted/);
    expect(await logIn('selim', secret)).toBe(200);
  });
});
