import ipaddr from 'ipaddr.js';
import type { Node } from 'jsonc-parser';
import { memberOf, membersOf, type PolicyText, partsOf, textOf } from './text.ts';

const protocols = new Set('icmp igmp ipv4 ip-in-ip tcp egp igp udp gre esp ah sctp fc ipv6-icmp'.split(' '));
const longestCheckHours = 168;

const members = {
  acls: ['action', 'proto', 'src', 'dst'],
  grants: ['src', 'dst', 'ip', 'app', 'via'],
  ssh: ['action', 'src', 'dst', 'users', 'checkPeriod', 'acceptEnv'],
} as const;

/** The connections that the rules allow, as far as needed to find users without any. */
export interface Reach {
  sources: Set<string>;
  destinations: Set<string>;
}

/** Invalid rules, and unknown members, are reported. */
function rulesOf(policy: PolicyText, kind: keyof typeof members): readonly Node[] {
  const list = memberOf(policy.root, kind);
  if (!list) return [];
  if (list.type !== 'array') {
    policy.wrong(list, `"${kind}" must be a list of rules in [ ].`);
    return [];
  }
  const known: readonly string[] = members[kind];
  return partsOf(list).filter((rule) => {
    if (rule.type !== 'object') {
      policy.wrong(rule, 'Expected a rule in { }.');
      return false;
    }
    for (const { name, key } of membersOf(rule))
      if (!known.includes(name) && !name.startsWith('#'))
        policy.wrong(key, `Unknown key "${name}" in a rule under "${kind}". Use one of: ${known.join(', ')}.`);
    return true;
  });
}

function listIn(policy: PolicyText, rule: Node, name: string, { needed = true } = {}): readonly Node[] {
  const list = memberOf(rule, name);
  if (list && list.type !== 'array') {
    policy.wrong(list, `"${name}" must be a list in [ ].`);
    return [];
  }
  const parts = partsOf(list);
  if (needed && parts.length === 0) policy.wrong(list ?? rule, `The rule has no "${name}", so it has no effect.`);
  return parts;
}

function checkNames(policy: PolicyText, nodes: readonly Node[], side: Side, names: PolicyNames, into?: Set<string>): void {
  for (const [node, name] of textsIn(policy, nodes)) {
    checkName(policy, node, name, side, names);
    into?.add(name);
  }
}

function checkAction(policy: PolicyText, rule: Node, allowed: readonly string[]): string | undefined {
  const node = memberOf(rule, 'action');
  const action = textOf(node);
  if (action === undefined || !allowed.includes(action))
    policy.wrong(node ?? rule, `"action" must be ${allowed.map((one) => `"${one}"`).join(' or ')}; everything else is denied.`);
  return action;
}

function checkProtocol(policy: PolicyText, node: Node | undefined): void {
  if (!node) return;
  const text = textOf(node) ?? String(node.value);
  const isNumber = /^(?:0|[1-9]\d{0,2})$/.test(text) && Number(text) <= 255;
  if (text !== '' && !isNumber && !protocols.has(text.toLowerCase()))
    policy.wrong(node, `Unknown protocol "${text}". Use a name such as tcp, udp or icmp, or a number up to 255.`);
}

export function checkAcls(policy: PolicyText, names: PolicyNames, reach: Reach): void {
  for (const rule of rulesOf(policy, 'acls')) {
    checkAction(policy, rule, ['accept']);
    checkProtocol(policy, memberOf(rule, 'proto'));
    checkNames(policy, listIn(policy, rule, 'src'), 'source', names, reach.sources);
    for (const [node, text] of textsIn(policy, listIn(policy, rule, 'dst'))) {
      const split = splitPorts(text);
      // Without ports, the last colon is part of the name.
      const isBare = !split || names.tags.has(text) || names.groups.has(text) || (isAddress(text) && !text.startsWith('['));
      const problem = split && portsProblem(split.ports);
      if (isBare) policy.wrong(node, `"${text}" has no ports: use "${text}:*" for all, or "${text}:443".`);
      else if (problem !== undefined) policy.wrong(node, problem);
      else {
        checkName(policy, node, split.name, 'destination', names);
        reach.destinations.add(split.name);
      }
    }
  }
}

export function checkGrants(policy: PolicyText, names: PolicyNames, reach: Reach): void {
  for (const rule of rulesOf(policy, 'grants')) {
    checkNames(policy, listIn(policy, rule, 'src'), 'source', names, reach.sources);
    checkNames(policy, listIn(policy, rule, 'dst'), 'destination', names, reach.destinations);
    for (const [node, tag] of textsIn(policy, listIn(policy, rule, 'via', { needed: false }))) {
      if (!tag.startsWith('tag:')) policy.wrong(node, `"via" accepts only tags, not "${tag}".`);
      else checkName(policy, node, tag, 'source', names);
    }
    const ports = listIn(policy, rule, 'ip', { needed: false });
    if (ports.length === 0 && !memberOf(rule, 'app')) policy.wrong(rule, 'A grant requires ports under "ip", or a capability under "app".');
    for (const [node, text] of textsIn(policy, ports)) {
      const problem = portsProblem(splitPorts(text)?.ports ?? text);
      if (problem !== undefined) policy.wrong(node, problem);
    }
  }
}

export function checkSsh(policy: PolicyText, names: PolicyNames): void {
  for (const rule of rulesOf(policy, 'ssh')) {
    const action = checkAction(policy, rule, ['accept', 'check']);
    checkNames(policy, listIn(policy, rule, 'src'), 'ssh source', names);
    checkNames(policy, listIn(policy, rule, 'dst'), 'ssh destination', names);
    textsIn(policy, listIn(policy, rule, 'users'));
    const period = memberOf(rule, 'checkPeriod');
    if (!period) continue;
    if (action !== 'check') policy.wrong(period, '"checkPeriod" is only valid with the action "check".');
    const hours = Number(/^(\d{1,6})h(?:0m0s)?$/.exec(textOf(period) ?? '')?.[1] ?? 0);
    if (hours > longestCheckHours) policy.wrong(period, `"checkPeriod" must be at most ${longestCheckHours} hours (a week).`);
  }
}

export function checkAutoApprovers(policy: PolicyText, names: PolicyNames): void {
  const node = objectIn(policy, 'autoApprovers');
  for (const { name, key, value } of membersOf(node)) {
    if (name === 'exitNode') checkNames(policy, partsOf(value), 'owner', names);
    else if (name !== 'routes') policy.wrong(key, `Unknown key "${name}" in autoApprovers. Use routes or exitNode.`);
  }
  for (const { name, key, value } of membersOf(memberOf(node, 'routes'))) {
    if (!isAddress(name) || !name.includes('/')) policy.wrong(key, `Routes must be address ranges such as 192.168.1.0/24, not "${name}".`);
    checkNames(policy, partsOf(value), 'owner', names);
  }
}

export interface PolicyNames {
  groups: ReadonlyMap<string, readonly string[]>;
  hosts: ReadonlySet<string>;
  tags: ReadonlySet<string>;
  /** Names and mail addresses; undefined if the server was not queried. */
  users: ReadonlySet<string> | undefined;
  /** From 0.26 on, users are written with an @. */
  usersHaveAt: boolean;
  /** From 0.29 on, a missing user is refused, not only ignored. */
  usersMustBeThere: boolean;
}

/** Position of a name, which decides the allowed autogroups. */
type Side = 'source' | 'destination' | 'ssh source' | 'ssh destination' | 'owner';

const autogroups: Readonly<Record<Exclude<Side, 'owner'>, readonly string[]>> = {
  source: ['autogroup:member', 'autogroup:tagged', 'autogroup:danger-all'],
  destination: ['autogroup:internet', 'autogroup:member', 'autogroup:tagged', 'autogroup:self'],
  'ssh source': ['autogroup:member', 'autogroup:tagged'],
  'ssh destination': ['autogroup:member', 'autogroup:tagged', 'autogroup:self'],
};

export function isAddress(text: string): boolean {
  return text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text);
}

/** Checks a user as it is written: `ann@`, `ann@example.com`. */
export function checkUser(policy: PolicyText, node: Node, name: string, { users, usersHaveAt, usersMustBeThere }: PolicyNames): void {
  if (usersHaveAt && !name.includes('@')) {
    policy.wrong(node, `User names must end with @: use "${name}@".`);
    return;
  }
  if (!users || users.has(name) || users.has(name.replace(/@$/, ''))) return;
  const message = `The control server has no user "${name}".`;
  if (usersMustBeThere) policy.wrong(node, message);
  else policy.warn(node, message);
}

/** Checks a name in a rule. `name` is the part before the ports. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one branch for each kind of name, in the order of the server
export function checkName(policy: PolicyText, node: Node, name: string, side: Side, names: PolicyNames): void {
  if (name === '*') {
    if (side === 'ssh destination')
      policy.wrong(node, '"*" cannot be an SSH destination: use tags, users, autogroup:member or autogroup:tagged.');
    else if (side === 'owner') policy.wrong(node, '"*" cannot own a tag or approve routes: use users, groups or tags.');
    return;
  }
  if (name.startsWith('group:')) {
    if (!names.groups.has(name)) policy.wrong(node, `"${name}" is not defined under groups.`);
  } else if (name.startsWith('tag:')) {
    if (!names.tags.has(name)) policy.wrong(node, `"${name}" is not defined under tagOwners: no user can assign it to a node.`);
  } else if (name.startsWith('autogroup:')) checkAutogroup(policy, node, name, side);
  else if (name.includes('@')) checkUser(policy, node, name, names);
  else if (side === 'owner')
    policy.wrong(
      node,
      names.usersHaveAt
        ? `"${name}" cannot own a tag or approve routes. Use a user ("${name}@"), a group or a tag.`
        : `"${name}" cannot own a tag or approve routes.`,
    );
  else if (isAddress(name) || names.hosts.has(name)) {
    const kind = isAddress(name) ? 'addresses' : 'names from hosts';
    if (side === 'ssh destination') policy.wrong(node, `SSH destinations must be users, tags or autogroups, not ${kind}: "${name}".`);
  } else if (names.usersHaveAt) policy.wrong(node, `"${name}" is not defined under hosts. User names must end with @: "${name}@".`);
  else checkUser(policy, node, name, names);
}

function checkAutogroup(policy: PolicyText, node: Node, name: string, side: Side): void {
  if (side === 'owner') policy.wrong(node, `"${name}" cannot own a tag or approve routes.`);
  else if (!autogroups[side].includes(name)) policy.wrong(node, `"${name}" is not allowed here. Use: ${autogroups[side].join(', ')}.`);
}

/** Parses `host:ports`, where the ports are the part after the last colon. */
function splitPorts(text: string): { name: string; ports: string } | undefined {
  const at = text.lastIndexOf(':');
  return at < 0 ? undefined : { name: text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), ports: text.slice(at + 1) };
}

/** Returns undefined for `*`, or ports and ranges of them: `80,443,8000-8999`. */
function portsProblem(ports: string): string | undefined {
  if (ports === '*') return undefined;
  for (const range of ports.split(',')) {
    const found = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range);
    const first = Number(found?.[1]);
    const last = Number(found?.[2] ?? found?.[1]);
    if (!found || first < 1 || last > 65_535 || last < first)
      return `Ports must be * or numbers from 1 to 65535, such as 80,443 or 8000-8999, not "${range}".`;
  }
  return undefined;
}

/** Returns a part of the policy that must be an object; any other value is reported. */
export function objectIn(policy: PolicyText, name: string): Node | undefined {
  const node = memberOf(policy.root, name);
  if (node && node.type !== 'object') policy.wrong(node, `"${name}" must be an object in { }.`);
  return node;
}

/** Returns the parts of a list that are texts; any other value is reported. */
export function textsIn(policy: PolicyText, nodes: readonly Node[]): readonly (readonly [node: Node, text: string])[] {
  for (const node of nodes) if (textOf(node) === undefined) policy.wrong(node, 'Expected a string in double quotes.');
  return nodes.flatMap((node) => [textOf(node) ?? []].flat().map((text) => [node, text] as const));
}
