import type { Node } from 'jsonc-parser';
import { checkName, isAddress, type PolicyNames, portsProblem, type Side, splitPorts, textIn } from './mesh-policy-names.ts';
import { memberOf, membersOf, type PolicyText, partsOf, textOf } from './mesh-policy-text.ts';

const protocols = new Set('icmp igmp ipv4 ip-in-ip tcp egp igp udp gre esp ah sctp fc ipv6-icmp'.split(' '));
const longestCheckHours = 168;

const members = {
  acls: ['action', 'proto', 'src', 'dst'],
  grants: ['src', 'dst', 'ip', 'app', 'via'],
  ssh: ['action', 'src', 'dst', 'users', 'checkPeriod', 'acceptEnv'],
} as const;

/** Who is let where by the rules, as far as it is needed to tell whom they leave out. */
export interface Reach {
  sources: Set<string>;
  destinations: Set<string>;
}

type RuleKind = keyof typeof members;

/** Each rule of a kind; what is no rule, and members that no rule has, are reported. */
function rulesOf(policy: PolicyText, kind: RuleKind): readonly Node[] {
  const list = memberOf(policy.root, kind);
  if (!list) return [];
  if (list.type !== 'array') {
    policy.wrong(list, `"${kind}" is a list of rules in [ ].`);
    return [];
  }
  const known: readonly string[] = members[kind];
  return partsOf(list).filter((rule) => {
    if (rule.type !== 'object') {
      policy.wrong(rule, 'A rule in { } is expected here.');
      return false;
    }
    for (const { name, key } of membersOf(rule))
      if (!known.includes(name) && !name.startsWith('#'))
        policy.wrong(key, `"${name}" is nothing that a rule under "${kind}" has: ${known.join(', ')}.`);
    return true;
  });
}

function listIn(policy: PolicyText, rule: Node, name: string, { needed }: { needed: boolean }): readonly Node[] {
  const list = memberOf(rule, name);
  if (list && list.type !== 'array') {
    policy.wrong(list, `"${name}" is a list in [ ].`);
    return [];
  }
  const parts = partsOf(list);
  if (needed && parts.length === 0) policy.wrong(list ?? rule, `The rule has nothing under "${name}", so that it is about nobody.`);
  return parts;
}

function checkNames(policy: PolicyText, nodes: readonly Node[], side: Side, names: PolicyNames, into?: Set<string>): void {
  for (const node of nodes) {
    const name = textIn(policy, node);
    if (name === undefined) continue;
    checkName(policy, node, name, side, names);
    into?.add(name);
  }
}

function checkAction(policy: PolicyText, rule: Node, allowed: readonly string[]): string | undefined {
  const node = memberOf(rule, 'action');
  const action = textOf(node);
  if (action === undefined || !allowed.includes(action))
    policy.wrong(node ?? rule, `"action" is ${allowed.map((one) => `"${one}"`).join(' or ')}: what no rule accepts is denied.`);
  return action;
}

function checkProtocol(policy: PolicyText, node: Node | undefined): void {
  if (!node) return;
  const text = textOf(node) ?? String(node.value);
  const isNumber = /^(?:0|[1-9]\d{0,2})$/.test(text) && Number(text) <= 255;
  if (text !== '' && !isNumber && !protocols.has(text.toLowerCase()))
    policy.wrong(node, `"${text}" is no protocol: tcp, udp, icmp and so on, or a number up to 255.`);
}

export function checkAcls(policy: PolicyText, names: PolicyNames, reach: Reach): void {
  for (const rule of rulesOf(policy, 'acls')) {
    checkAction(policy, rule, ['accept']);
    checkProtocol(policy, memberOf(rule, 'proto'));
    checkNames(policy, listIn(policy, rule, 'src', { needed: true }), 'source', names, reach.sources);
    for (const node of listIn(policy, rule, 'dst', { needed: true })) {
      const text = textIn(policy, node);
      if (text === undefined) continue;
      const split = splitPorts(text);
      // Without ports the last colon is one of the name's own.
      const isBare = !split || names.tags.has(text) || names.groups.has(text) || (isAddress(text) && !text.startsWith('['));
      const problem = split && portsProblem(split.ports);
      if (isBare) policy.wrong(node, `"${text}" says no ports: write "${text}:*" for all, or "${text}:443".`);
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
    checkNames(policy, listIn(policy, rule, 'src', { needed: true }), 'source', names, reach.sources);
    checkNames(policy, listIn(policy, rule, 'dst', { needed: true }), 'destination', names, reach.destinations);
    for (const node of listIn(policy, rule, 'via', { needed: false })) {
      const tag = textIn(policy, node);
      if (tag === undefined) continue;
      if (!tag.startsWith('tag:')) policy.wrong(node, `"${tag}": a way is led through tags alone.`);
      else checkName(policy, node, tag, 'source', names);
    }
    const ports = listIn(policy, rule, 'ip', { needed: false });
    if (ports.length === 0 && !memberOf(rule, 'app')) policy.wrong(rule, 'A grant has ports under "ip", or something under "app".');
    for (const node of ports) {
      const text = textIn(policy, node);
      if (text === undefined) continue;
      const split = splitPorts(text) ?? { name: '', ports: text };
      const problem = portsProblem(split.ports);
      if (problem !== undefined) policy.wrong(node, problem);
    }
  }
}

export function checkSsh(policy: PolicyText, names: PolicyNames): void {
  for (const rule of rulesOf(policy, 'ssh')) {
    const action = checkAction(policy, rule, ['accept', 'check']);
    checkNames(policy, listIn(policy, rule, 'src', { needed: true }), 'ssh source', names);
    checkNames(policy, listIn(policy, rule, 'dst', { needed: true }), 'ssh destination', names);
    for (const node of listIn(policy, rule, 'users', { needed: true })) textIn(policy, node);
    const period = memberOf(rule, 'checkPeriod');
    if (!period) continue;
    if (action !== 'check') policy.wrong(period, '"checkPeriod" goes with the action "check" alone.');
    const hours = Number(/^(\d{1,6})h(?:0m0s)?$/.exec(textOf(period) ?? '')?.[1] ?? 0);
    if (hours > longestCheckHours) policy.wrong(period, `A check lasts for ${longestCheckHours} hours (a week) at most.`);
  }
}

export function checkAutoApprovers(policy: PolicyText, names: PolicyNames): void {
  const node = memberOf(policy.root, 'autoApprovers');
  if (!node) return;
  if (node.type !== 'object') {
    policy.wrong(node, '"autoApprovers" is an object in { }.');
    return;
  }
  for (const { name, key, value } of membersOf(node)) {
    if (name === 'exitNode') checkNames(policy, partsOf(value), 'owner', names);
    else if (name !== 'routes') policy.wrong(key, `"${name}" is nothing that autoApprovers has: routes, exitNode.`);
  }
  for (const { name, key, value } of membersOf(memberOf(node, 'routes'))) {
    if (!isAddress(name) || !name.includes('/')) policy.wrong(key, `"${name}" is no range of addresses: 192.168.1.0/24.`);
    checkNames(policy, partsOf(value), 'owner', names);
  }
}
