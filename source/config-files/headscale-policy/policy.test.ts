import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MeshUser } from '../../products/headscale/client/headscale-records.ts';
import { checkPolicy, deniesAll, locateComplaint, namesUser, policyTemplate, tagsDefined } from './policy.ts';

const person = (name: string, email = ''): MeshUser => ({ id: '1', name, email, displayName: '', provider: '', createdMs: undefined });
const ann = person('ann', 'ann@example.com');
const ben = person('ben');
const users = [ann, ben];
const find = (text: string, minor = 29) => checkPolicy(text, { minor, users });
const errors = (text: string, minor = 29) => find(text, minor).filter(({ level }) => level === 'error');
/** With a mistake at the one `<here>` of the text. */
function at(marked: string): { text: string; line: number; column: number } {
  const offset = marked.indexOf('<here>');
  const before = marked.slice(0, offset).split('\n');
  return { text: marked.replace('<here>', ''), line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const good = `// Who reaches what.
{
  "groups": {"group:crew": ["ann@", "ben@"]},
  "hosts": {"printer": "192.168.1.9", "lan": "192.168.1.0/24"},
  "tagOwners": {"tag:server": ["group:crew"], "tag:media": ["ann@", "tag:server"]},
  "acls": [
    {"action": "accept", "src": ["group:crew"], "dst": ["tag:server:22,443", "tag:media:8000-8999", "lan:*", "autogroup:internet:*", "[fd7a::1]:80"]}, // all
    {"action": "accept", "proto": "udp", "src": ["ann@example.com"], "dst": ["printer:161"],},
  ],
  "ssh": [{"action": "check", "checkPeriod": "12h", "src": ["group:crew"], "dst": ["tag:server"], "users": ["autogroup:nonroot", "root"]}],
  "autoApprovers": {"routes": {"10.0.0.0/8": ["group:crew"]}, "exitNode": ["tag:server"]},
}
`;

describe('a policy in HuJSON (R62)', () => {
  test('with comments and trailing commas nothing is wrong with a good one, nor with the template', () => {
    expect(find(good)).toEqual([]);
    expect(errors(policyTemplate)).toEqual([]);
    expect(find(policyTemplate)).toEqual([]);
  });

  test.each([
    ['a comma is missing', '{\n  "acls": []\n  <here>"ssh": []\n}', /comma/],
    ['a brace is missing', '{"acls": []<here>', /closing }/],
    ['an unknown member', '{"acls": [],\n <here>"acl": []}', /Unknown section "acl"/],
    ['a member twice', '{"acls": [], <here>"acls": []}', /defined more than once/],
    ['a user without @', '{"acls": [{"action": "accept", "src": [<here>"ann"], "dst": ["*:*"]}]}', /must end with @: "ann@"/],
    ['a user that is not there', '{"acls": [{"action": "accept", "src": [<here>"eve@"], "dst": ["*:*"]}]}', /no user "eve@"/],
    [
      'a tag without owners',
      '{"acls": [{"action": "accept", "src": ["*"], "dst": [<here>"tag:web:80"]}]}',
      /"tag:web" is not defined under tagOwners/,
    ],
    ['no ports', '{"acls": [{"action": "accept", "src": ["*"], "dst": [<here>"ann@"]}]}', /has no ports/],
    [
      'a tag without ports',
      '{"tagOwners": {"tag:web": ["ann@"]},\n"acls": [{"action": "accept", "src": ["*"], "dst": [<here>"tag:web"]}]}',
      /has no ports: use "tag:web:\*"/,
    ],
    ['port 0', '{"acls": [{"action": "accept", "src": ["*"], "dst": [<here>"*:0"]}]}', /Ports must be .*, not "0"/],
    ['ports backwards', '{"acls": [{"action": "accept", "src": ["*"], "dst": [<here>"*:90-80"]}]}', /Ports must be .*, not "90-80"/],
    ['deny is no action', '{"acls": [{"action": <here>"deny", "src": ["*"], "dst": ["*:*"]}]}', /everything else is denied/],
    ['a protocol', '{"acls": [{"action": "accept", "proto": <here>"tpc", "src": ["*"], "dst": ["*:*"]}]}', /Unknown protocol "tpc"/],
    ['a group in a group', '{"groups": {"group:a": ["ann@"], "group:b": [<here>"group:a"]}, "acls": []}', /not other groups/],
    ['a group that is none', '{"groups": {<here>"crew": ["ann@"]}, "acls": []}', /must begin with "group:"/],
    ['a group as a text', '{"groups": {"group:a": <here>"ann@"}, "acls": []}', /list of users/],
    ['an owner', '{"tagOwners": {"tag:web": [<here>"*"]}, "acls": []}', /cannot own a tag/],
    ['a tag in capitals', '{"tagOwners": {<here>"tag:Web": ["ann@"]}, "acls": []}', /Tags must be lower case/],
    ['a host', '{"hosts": {"printer": <here>"here"}, "acls": []}', /must be an address/],
    [
      'ssh to everything',
      '{"acls": [], "ssh": [{"action": "accept", "src": ["ann@"], "dst": [<here>"*"], "users": ["root"]}]}',
      /cannot be an SSH destination/,
    ],
    ['ssh without users', '{"acls": [], "ssh": [<here>{"action": "accept", "src": ["ann@"], "dst": ["ann@"]}]}', /has no "users"/],
    [
      'a long check',
      '{"acls": [], "ssh": [{"action": "check", "checkPeriod": <here>"200h", "src": ["ann@"], "dst": ["ann@"], "users": ["root"]}]}',
      /168 hours/,
    ],
    ['an autogroup', '{"acls": [{"action": "accept", "src": [<here>"autogroup:internet"], "dst": ["*:*"]}]}', /is not allowed here/],
    ['a grant without ports', '{"grants": [<here>{"src": ["*"], "dst": ["*"]}]}', /ports under "ip"/],
    ['a grant with empty ports', '{"grants": [{"src": ["*"], "dst": ["*"], "ip": [<here>""]}]}', /Ports must be .*, not ""/],
    ['a route', '{"acls": [], "autoApprovers": {"routes": {<here>"10.0.0.1": ["ann@"]}}}', /must be address ranges .*, not "10\.0\.0\.1"/],
    ['no object', '<here>[]', /an object/],
  ])('%s: it is said, with line and column', (_, marked, why) => {
    const { text, line, column } = at(marked);
    expect(errors(text)[0]).toMatchObject({ message: expect.stringMatching(why), line, column });
  });

  test('before 0.26 users have no @, before 0.29 there are no grants, and who is missing is only without effect', () => {
    expect(errors('{"acls": [{"action": "accept", "src": ["ann"], "dst": ["*:*"]}]}', 25)).toEqual([]);
    expect(errors('{"grants": [{"src": ["*"], "dst": ["*"], "ip": ["*"]}]}', 28)[0]?.message).toMatch(/requires Headscale 0\.29/);
    const foreign = '{"acls": [{"action": "accept", "src": ["*", "eve@"], "dst": ["*:*"]}]}';
    expect(find(foreign, 28)).toMatchObject([{ level: 'warning', message: expect.stringMatching(/has no user/) }]);
  });

  test('what nobody wrote down is said: everybody, nobody, and who is left out (implicit deny)', () => {
    expect(find('{"groups": {}}')).toMatchObject([
      { level: 'warning', message: expect.stringMatching(/every node can reach every other/) },
    ]);
    expect(find('{"acls": []}')).toMatchObject([{ level: 'warning', message: expect.stringMatching(/no node can reach any other/) }]);
    const onlyAnn =
      '{"tagOwners": {"tag:web": ["ann@"], "tag:db": ["ann@"]}, "acls": [{"action": "accept", "src": ["ann@"], "dst": ["tag:web:443"]}]}';
    expect(find(onlyAnn).map(({ message }) => message)).toEqual([
      expect.stringMatching(/No rule has tag:db as a destination/),
      expect.stringMatching(/No rule has ben as a source, so their nodes cannot reach any other/),
    ]);
    const byAddress = onlyAnn.replace('"ann@"], "dst": ["tag:web:443"', '"ann@", "100.64.0.0/10"], "dst": ["tag:web:443", "100.64.0.2:22"');
    expect(find(byAddress).map(({ message }) => message)).toEqual([
      expect.stringMatching(/cannot be reached, unless a rule contains their addresses\.$/),
      expect.stringMatching(/cannot reach any other, unless a rule contains their addresses\.$/),
    ]);
    expect([deniesAll('{"acls": []}'), deniesAll('{}'), deniesAll(good), deniesAll('{"acls"')]).toEqual([true, false, false, false]);
  });

  test('a complaint of the server gets the place of what it quotes', () => {
    const text = '{\n  "acls": [{"action": "accept", "src": ["tag:x"], "dst": ["*:*"]}]\n}';
    expect(locateComplaint(text, 'parsing policy: src=tag not found: "tag:x"')).toMatchObject({ line: 2, column: 41 });
    expect(locateComplaint(text, 'hujson: line 7, column 3: invalid character')).toMatchObject({ line: 7, column: 3 });
    expect(locateComplaint(text.replace('"*:*"', '"tag:y:80"'), 'tag not found: "tag:y"')).toMatchObject({ line: 2, column: 59 });
    expect(locateComplaint(text, 'something else')).toMatchObject({ line: 1, column: 1 });
  });

  test('who is named, other than in a comment', () => {
    expect(namesUser(good, ann)).toBe(true);
    expect(namesUser(good, person('eve'))).toBe(false);
    expect(namesUser('{"acls": [{"dst": ["eve@:22"]}]} // ben@', person('eve'))).toBe(true);
    expect(namesUser('{"acls": [{"dst": ["eve@:22"]}]} // ben@', ben)).toBe(false);
    expect(tagsDefined(good)).toEqual(['tag:server', 'tag:media']);
  });

  test('whatever is written, nothing is thrown, and every place lies in the text', () => {
    const noise = fc.oneof(
      fc.string(),
      fc.json(),
      // A valid policy with a change in the middle of it.
      fc
        .tuple(fc.nat(good.length), fc.string({ maxLength: 6 }))
        .map(([cut, text]) => good.slice(0, cut) + text + good.slice(cut + text.length)),
      fc.nat(good.length).map((cut) => good.slice(0, cut)),
    );
    fc.assert(
      fc.property(noise, fc.integer({ min: 23, max: 30 }), (text, minor) => {
        const lines = text.split('\n');
        for (const { line, column } of checkPolicy(text, { minor, users })) {
          expect(line >= 1 && line <= lines.length).toBe(true);
          expect(column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1).toBe(true);
        }
        namesUser(text, ann);
        deniesAll(text);
      }),
      { numRuns: 400 },
    );
  });

  test('members of any type are told, and never thrown', () => {
    const anything = fc.jsonValue();
    const names = ['groups', 'hosts', 'tagOwners', 'acls', 'grants', 'ssh', 'autoApprovers'];
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names), anything),
        fc.dictionary(fc.constantFrom('src', 'dst', 'action', 'users', 'ip', 'proto', 'via'), anything),
        (policy, rule) => {
          checkPolicy(JSON.stringify(policy), { minor: 29, users });
          checkPolicy(JSON.stringify({ acls: [rule], ssh: [rule], grants: [rule] }), { minor: 29, users });
        },
      ),
    );
  });
});

test('a comment that begins with # is told once, and not word by word', () => {
  expect(find(`# Who reaches what, and why\n# in two lines\n${good}`)).toEqual([
    { level: 'error', line: 1, column: 1, message: 'Comments must begin with //, not #.' },
  ]);
  expect(find(good.replace('// Who', '/*\n# in it\n*/ // Who'))).toEqual(find(good).map((one) => ({ ...one, line: one.line + 2 })));
});
