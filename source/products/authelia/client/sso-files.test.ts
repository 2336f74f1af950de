import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readPolicyCheck } from '../sso-check.ts';
import { problemsIn, readBans, SsoPortal } from './sso-portal.ts';
import { type NewRule, ruleDomainProblem, withoutTemplates, withRule } from './sso-rules.ts';
import { UsersFile, userNameProblem, usersProblems } from './sso-users.ts';

const catalog = new URL('../../../../catalog/security/sso-portal/files/', import.meta.url);
const digest = '$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$a2V5a2V5a2V5a2V5';
const rule: NewRule = { domain: 'wiki.lan', policy: 'one_factor', subjects: ['group:family'], resources: ["^/it's$"] };

test.each([
  [90, "cat: can't create '/tmp/quarterdeck-check.yml': Read-only file system"],
  [127, 'sh: not found'],
])('a configuration that could not be validated (%s) is not called rejected', async (exitCode, stderr) => {
  const exec = async () => ({ exitCode, stdout: new Uint8Array(), stderr: Buffer.from(stderr), cut: false });
  const portal = new SsoPortal({ writer: () => ({ exec }) } as never, { id: 'sso' } as never);
  await expect(portal.validate(undefined as never, 'rules')).rejects.toMatchObject({
    code: 'failed.portal',
    message: `The configuration was not validated: ${stderr}.`,
  });
});

describe('the users file', () => {
  test('the first person takes the place of the placeholder; what else the file says stays', async () => {
    const text = await readFile(new URL('users/users_database.yml', catalog), 'utf8');
    const users = new UsersFile(text, 'f');
    users.add({ name: 'mara', displayName: 'Mara', email: 'mara@lan.example', groups: [], digest });
    expect(users.text).toContain('# One entry per person.');
    expect(users.text).not.toMatch(/nobody|Nobody|user is disabled/);
    expect(Object.keys((parse(users.text) as { users: object }).users)).toEqual(['mara']);
  });

  test('comments, order, and keys that we do not know stay through every change', () => {
    const text = `# top\nusers: # all\n  ida:\n    displayname: Ida # her\n    password: '${digest}'\n    email: ida@lan.example\n    given_name: Ida\n    extra: {seat: 4}\n\n  # the cook\n  "4711":\n    displayname: x\n    password: '${digest}'\n`;
    const users = new UsersFile(text, 'f');
    users.setDisabled('ida', true);
    users.setDigest('4711', `${digest}b`);
    for (const kept of ['# top', '# all', '# her', 'given_name: Ida', 'seat: 4', '# the cook']) expect(users.text).toContain(kept);
    expect(users.users.map(({ name, disabled }) => [name, disabled])).toEqual([
      ['ida', true],
      ['4711', false],
    ]);
  });

  test('whoever is added is read back as they were added, whatever they are called', () => {
    const name = fc
      .string({ minLength: 1 })
      .filter((text) => userNameProblem(text, { caseInsensitive: false, byEmail: false }) === undefined);
    fc.assert(
      fc.property(name, fc.string({ minLength: 1 }), fc.array(fc.string({ minLength: 1 })), (user, displayName, groups) => {
        const users = new UsersFile('users:\n  ida:\n    displayname: Ida\n', 'f');
        users.add({ name: `x${user}`, displayName, email: 'a@b', groups, digest });
        expect(new UsersFile(users.text, 'f').user(`x${user}`)).toEqual({
          name: `x${user}`,
          displayName,
          email: 'a@b',
          groups,
          disabled: false,
          digest,
        });
      }),
    );
  });

  test.each([
    ['no YAML', 'users: [', 1],
    ['no users', 'people: {}', 1],
    ['a tab', 'users:\n\tida:\n', 2],
  ])('%s is told with its line', (_, text, line) => {
    expect(() => new UsersFile(text, 'f')).toThrow(expect.objectContaining({ code: 'config.users', where: { file: 'f', line } }));
  });

  test('what the portal would refuse is found before it is written', () => {
    const one = { displayName: 'x', groups: [], disabled: false, digest };
    const rules = { caseInsensitive: true, byEmail: true };
    expect(usersProblems([], rules)).toEqual(['The file has no users.']);
    expect(usersProblems([{ ...one, name: 'Ida', email: 'a@b' }], rules)).toEqual([
      'The name Ida must be lower case, because search.case_insensitive is true.',
    ]);
    const same = [
      { ...one, name: 'ida', email: 'A@b' },
      { ...one, name: 'noor', email: 'a@B' },
    ];
    expect(usersProblems(same, rules)).toEqual(['ida and noor have the same email address, which search.email does not allow.']);
    expect(usersProblems([{ ...one, name: 'ida', email: '', digest: 'secret' }], rules)).toEqual(['The password of ida is not a hash.']);
  });
});

describe('a rule', () => {
  test('is written into a file with templates, where it was meant to go, and nothing else is changed', async () => {
    const text = await readFile(new URL('configuration.yml', catalog), 'utf8');
    for (const position of [1, 2]) {
      const after = withRule(text, rule, position);
      const lines = after.split('\n').filter((line) => !text.split('\n').includes(line));
      expect(lines).toEqual([
        "    - domain: 'wiki.lan'",
        "      policy: 'one_factor'",
        '      subject:',
        "        - 'group:family'",
        '      resources:',
        "        - '^/it''s$'",
      ]);
      const read = parse(withoutTemplates(after)) as { access_control: { rules: { domain: string }[] } };
      expect(read.access_control.rules[position - 1]).toEqual({
        domain: 'wiki.lan',
        policy: 'one_factor',
        subject: ['group:family'],
        resources: ["^/it's$"],
      });
      expect(read.access_control.rules).toHaveLength(2);
    }
  });

  test('goes behind the last one, with a comment or without an end of line behind that', () => {
    for (const end of ['', '\n', '\n\n# the end\n', '\n      # about it\nlog: {}\n']) {
      const after = withRule(`access_control:\n  rules:\n  - domain: a.lan\n    policy: deny${end}`, rule, 2);
      const read = parse(after) as { access_control: { rules: { domain: string }[] } };
      expect(read.access_control.rules.map(({ domain }) => domain)).toEqual(['a.lan', 'wiki.lan']);
    }
  });

  test.each(['', 'access_control: {default_policy: deny}', 'access_control:\n  rules: [{domain: a, policy: deny}]', 'access_control: ['])(
    'is not guessed into "%s"',
    (text) => {
      expect(() => withRule(text, rule, 1)).toThrow(expect.objectContaining({ code: 'config.portal' }));
    },
  );

  test.each(['', '*lan', 'https://a.lan', 'a.lan:443', 'a lan', "a'lan", '{user}lan'])('"%s" is no domain of a rule', (domain) => {
    expect(ruleDomainProblem(domain)).toBeTypeOf('string');
  });
  test.each(['a.lan', '*.lan', '{user}.lan', 'wiki'])('"%s" is one', (domain) => {
    expect(ruleDomainProblem(domain)).toBeUndefined();
  });
});

describe('what the portal prints', () => {
  test('bans, with blanks in dates and names', () => {
    const table =
      'ID Username Expires             Source     Reason\n12 a b      2026-11-22 10:00:00 regulation Exceeding Maximum Retries\n';
    expect(readBans(table, 'user')).toEqual([
      { id: '12', kind: 'user', whom: 'a b', expires: '2026-11-22 10:00:00', source: 'regulation', reason: 'Exceeding Maximum Retries' },
    ]);
    for (const text of ['No results.\n', '', '\u001b[2J', 'ID']) expect(readBans(text, 'ip')).toEqual([]);
  });

  test('errors that go on in further lines, and warnings that are none', () => {
    const output =
      "Configuration parsed and loaded with errors:\n\n\t - access_control: rule #1: wrong\n\t - error occurred: decoding failed due to the following error(s):\n\n'rules[0]' could not decode\n\nConfiguration parsed and loaded with warnings:\n\n\t - old key\n\n";
    expect(problemsIn(output)).toEqual([
      'access_control: rule #1: wrong',
      "error occurred: decoding failed due to the following error(s): 'rules[0]' could not decode",
    ]);
    expect(problemsIn('rubbish')).toEqual([]);
  });

  test('rubbish instead of a policy check is no rule', () => {
    fc.assert(fc.property(fc.string(), (text) => void readPolicyCheck(text)));
    expect(readPolicyCheck('').rows).toEqual([]);
  });
});
