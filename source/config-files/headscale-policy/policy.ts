import type { Node } from 'jsonc-parser';
import { positionAt } from '../../text/position.ts';
import type { PolicyNames, Reach } from './rules.ts';
import { checkAcls, checkAutoApprovers, checkGrants, checkName, checkSsh, checkUser, isAddress, objectIn, textsIn } from './rules.ts';
import { memberOf, membersOf, type PolicyFinding, PolicyText, partsOf, textOf } from './text.ts';

const topLevel = 'groups hosts tagOwners acls grants ssh autoApprovers nodeAttrs tests sshTests randomizeClientPort'.split(' ');
const since29: readonly string[] = ['grants', 'nodeAttrs', 'tests', 'sshTests'];

export interface PolicyUser {
  name: string;
  email: string;
}

export interface PolicySurroundings {
  minor: number;
  users: readonly PolicyUser[] | undefined;
}

/** Template of a new policy. Its comments contain what an operator has to know. */
export const policyTemplate = `// Without acls and grants, every node can reach every other node. With them, traffic that no rule accepts is denied.
// Headscale 0.26 and later require an @ in user names: "ann@". Comments and trailing commas are allowed.
{
  "groups": {
    // "group:family": ["ann@", "ben@"],
  },
  // Users and groups that can assign a tag to a node. Use tags for servers and other nodes without an owner.
  "tagOwners": {
    // "tag:server": ["group:family"],
  },
  "acls": [
    {"action": "accept", "src": ["*"], "dst": ["*:*"]},
    // {"action": "accept", "src": ["group:family"], "dst": ["tag:server:443"]},
  ],
  "ssh": [
    // {"action": "check", "src": ["group:family"], "dst": ["tag:server"], "users": ["autogroup:nonroot"]},
  ],
}
`;

/** Checks everything about a policy that does not need its server (R62), in the order of the text. Never throws. */
export function checkPolicy(text: string, { minor, users }: PolicySurroundings): readonly PolicyFinding[] {
  const policy = new PolicyText(text);
  if (policy.isReadable) checkShape(policy, { minor, users });
  return policy.findings.toSorted((one, other) => one.line - other.line || one.column - other.column);
}

/** Returns an error message of the server, with the position of the text that it quotes: the server reports positions only for syntax. */
export function locateComplaint(text: string, line: string): PolicyFinding {
  const syntax = /line (\d+), column (\d+)/.exec(line);
  if (syntax) return { level: 'error', message: line, line: Number(syntax[1]), column: Number(syntax[2]) };
  // A destination is quoted without its ports.
  const written = [...line.matchAll(/"([^"]{1,200})"/g)].flatMap(([, word = '']) => [`"${word}"`, `"${word}:`]);
  const quoted = written.map((one) => text.indexOf(one)).find((offset) => offset >= 0);
  return { level: 'error', message: line, ...positionAt(text, quoted ?? 0) };
}

export function deniesAll(text: string): boolean {
  const { root, isReadable } = new PolicyText(text);
  const lists = ['acls', 'grants'].map((name) => memberOf(root, name));
  return isReadable && lists.some((list) => list !== undefined) && lists.every((list) => partsOf(list).length === 0);
}

export function tagsDefined(text: string): readonly string[] {
  return membersOf(memberOf(new PolicyText(text).root, 'tagOwners')).map(({ name }) => name);
}

/** Checks whether the policy names this user outside of comments. */
export function namesUser(text: string, { name, email }: PolicyUser): boolean {
  const words = [name, `${name}@`, ...(email === '' ? [] : [email])];
  const holds = (node: Node | undefined): boolean => {
    const word = textOf(node);
    // In the rules, a name may be followed by ports.
    if (word !== undefined) return words.some((one) => word === one || word.startsWith(`${one}:`));
    return (node?.children ?? []).some(holds);
  };
  return holds(new PolicyText(text).root);
}

function checkShape(policy: PolicyText, { minor, users }: PolicySurroundings): void {
  const { root } = policy;
  if (root?.type !== 'object') {
    if (policy.text.trim() === '') policy.warn(root, everybody);
    else policy.report('error', root?.offset ?? 0, 'A policy must be an object in { }.');
    return;
  }
  const seen = new Set<string>();
  for (const { name, key } of membersOf(root)) {
    if (!topLevel.includes(name)) policy.wrong(key, `Unknown section "${name}". Use one of: ${topLevel.join(', ')}.`);
    else if (minor < 29 && since29.includes(name)) policy.wrong(key, `"${name}" requires Headscale 0.29 or later.`);
    if (seen.has(name)) policy.wrong(key, `"${name}" is defined more than once. Merge the definitions.`);
    seen.add(name);
  }
  const names = namesOf(policy, { minor, users });
  checkTagOwners(policy, names);
  const reach: Reach = { sources: new Set(), destinations: new Set() };
  checkAcls(policy, names, reach);
  checkGrants(policy, names, reach);
  checkSsh(policy, names);
  checkAutoApprovers(policy, names);
  if (policy.isReadable) tellImplicitDeny(policy, names, reach, users ?? []);
}

function namesOf(policy: PolicyText, { minor, users }: PolicySurroundings): PolicyNames {
  const groups = new Map<string, readonly string[]>();
  const tags = membersOf(memberOf(policy.root, 'tagOwners')).map(({ name }) => name);
  const names: PolicyNames = {
    groups,
    hosts: new Set(hostsOf(policy)),
    tags: new Set(tags),
    users: users && new Set(users.flatMap(({ name, email }) => [name, email].filter((one) => one !== ''))),
    usersHaveAt: minor >= 26,
    usersMustBeThere: minor >= 29,
  };
  for (const { name, key, value } of membersOf(objectIn(policy, 'groups'))) {
    if (!name.startsWith('group:')) policy.wrong(key, `Group names must begin with "group:", not "${name}".`);
    if (value.type !== 'array') policy.wrong(value, `"${name}" must be a list of users in [ ].`);
    const members = textsIn(policy, partsOf(value));
    for (const [node, member] of members)
      if (member.startsWith('group:')) policy.wrong(node, `Groups can contain only users, not other groups such as "${member}".`);
      else checkUser(policy, node, member, names);
    groups.set(
      name,
      members.map(([, member]) => member),
    );
  }
  return names;
}

function hostsOf(policy: PolicyText): readonly string[] {
  return membersOf(objectIn(policy, 'hosts')).map(({ name, value }) => {
    const address = textOf(value);
    if (address === undefined || !isAddress(address)) policy.wrong(value, `"${name}" must be an address, or a range such as 10.0.0.0/24.`);
    return name;
  });
}

function checkTagOwners(policy: PolicyText, names: PolicyNames): void {
  for (const { name, key, value } of membersOf(objectIn(policy, 'tagOwners'))) {
    if (!/^tag:[a-z]\S*$/.test(name) || name !== name.toLowerCase())
      policy.wrong(key, `Tags must be lower case and begin with "tag:" and a letter, not "${name}".`);
    if (value.type !== 'array') policy.wrong(value, `The owners of "${name}" must be a list in [ ].`);
    for (const [node, owner] of textsIn(policy, partsOf(value))) checkName(policy, node, owner, 'owner', names);
  }
}

const everybody = 'Without acls or grants, every node can reach every other. Once a rule exists, traffic that no rule accepts is denied.';

function tellImplicitDeny(policy: PolicyText, names: PolicyNames, { sources, destinations }: Reach, users: readonly PolicyUser[]): void {
  const lists = ['acls', 'grants'].flatMap((name) => memberOf(policy.root, name) ?? []);
  if (lists.length === 0) {
    policy.warn(policy.root, everybody);
    return;
  }
  if (lists.every((list) => partsOf(list).length === 0)) {
    policy.warn(lists[0], 'The list of rules is empty, so no node can reach any other.');
    return;
  }
  const isOpen = ['*', 'autogroup:danger-all', 'autogroup:member'].some((name) => sources.has(name));
  const named = new Set([...sources].flatMap((name) => names.groups.get(name) ?? [name]));
  const left = users.filter(({ name, email }) => !['', '@'].some((end) => named.has(name + end)) && !(email !== '' && named.has(email)));
  const unless = (side: ReadonlySet<string>) =>
    [...side].some((name) => isAddress(name) || names.hosts.has(name)) ? ', unless a rule contains their addresses' : '';
  const who = left.map(({ name }) => name).join(' or ');
  if (!isOpen && left.length > 0)
    policy.warn(lists[0], `No rule has ${who} as a source, so their nodes cannot reach any other${unless(sources)}.`);
  if (destinations.has('*') || destinations.has('autogroup:tagged')) return;
  for (const { name, key } of membersOf(memberOf(policy.root, 'tagOwners')))
    if (!destinations.has(name))
      policy.warn(key, `No rule has ${name} as a destination, so nodes with this tag cannot be reached${unless(destinations)}.`);
}
