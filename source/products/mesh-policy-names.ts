import ipaddr from 'ipaddr.js';
import type { Node } from 'jsonc-parser';
import type { PolicyText } from './mesh-policy-text.ts';
import { textOf } from './mesh-policy-text.ts';

/** What the policy defines, and who is known to the server. */
export interface PolicyNames {
  groups: ReadonlyMap<string, readonly string[]>;
  hosts: ReadonlySet<string>;
  tags: ReadonlySet<string>;
  /** Names and mail addresses; undefined where nobody asked the server. */
  users: ReadonlySet<string> | undefined;
  /** From 0.26 on users are written with an @. */
  usersHaveAt: boolean;
  /** From 0.29 on a user that is not there is refused, not only without effect. */
  usersMustBeThere: boolean;
}

/** Where a name stands; which autogroups can stand there. */
export type Side = 'source' | 'destination' | 'ssh source' | 'ssh destination' | 'owner';

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
    policy.wrong(node, `"${name}": a user is written with an @ behind the name: "${name}@".`);
    return;
  }
  if (!users || users.has(name) || users.has(name.replace(/@$/, ''))) return;
  const message = `"${name}" is no user of this control server.`;
  if (usersMustBeThere) policy.wrong(node, message);
  else policy.warn(node, message);
}

/** Checks a name in a rule. `name` is what stands before the ports. */
export function checkName(policy: PolicyText, node: Node, name: string, side: Side, names: PolicyNames): void {
  if (name === '*') {
    if (side === 'ssh destination')
      policy.wrong(node, '"*" cannot be where ssh leads to: name tags, users, autogroup:member or autogroup:tagged.');
    else if (side === 'owner') policy.wrong(node, '"*" cannot own a tag: name users, groups or tags.');
    return;
  }
  if (name.startsWith('group:')) {
    if (!names.groups.has(name)) policy.wrong(node, `"${name}" is not among the groups.`);
  } else if (name.startsWith('tag:')) {
    if (!names.tags.has(name)) policy.wrong(node, `"${name}" is not under tagOwners: nobody may give that tag to a node.`);
  } else if (name.startsWith('autogroup:')) checkAutogroup(policy, node, name, side);
  else if (name.includes('@')) checkUser(policy, node, name, names);
  else if (side === 'owner')
    policy.wrong(
      node,
      names.usersHaveAt ? `"${name}" can own no tag: name a user ("${name}@"), a group or a tag.` : `"${name}" can own no tag.`,
    );
  else if (isAddress(name)) {
    if (side === 'ssh destination') policy.wrong(node, `"${name}": ssh leads to users, tags and autogroups, not to addresses.`);
  } else if (names.hosts.has(name)) {
    if (side === 'ssh destination') policy.wrong(node, `"${name}": ssh leads to users, tags and autogroups, not to hosts.`);
  } else if (names.usersHaveAt)
    policy.wrong(node, `"${name}" is none of the hosts; a user is written with an @ behind the name: "${name}@".`);
  else checkUser(policy, node, name, names);
}

function checkAutogroup(policy: PolicyText, node: Node, name: string, side: Side): void {
  if (side === 'owner') policy.wrong(node, `"${name}" cannot own a tag.`);
  else if (!autogroups[side].includes(name)) policy.wrong(node, `"${name}" cannot stand here; what can: ${autogroups[side].join(', ')}.`);
}

/** What `host:ports` says, the ports being what stands behind the last colon. */
export function splitPorts(text: string): { name: string; ports: string } | undefined {
  const at = text.lastIndexOf(':');
  return at < 0 ? undefined : { name: text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), ports: text.slice(at + 1) };
}

/** Undefined where it is `*`, or ports and ranges of them: `80,443,8000-8999`. */
export function portsProblem(ports: string): string | undefined {
  if (ports === '*') return undefined;
  for (const range of ports.split(',')) {
    const found = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range);
    const first = Number(found?.[1]);
    const last = Number(found?.[2] ?? found?.[1]);
    if (!found || first < 1 || last > 65_535 || last < first)
      return `"${range}" are no ports: * or numbers from 1 to 65535, as 80,443 or 8000-8999.`;
  }
  return undefined;
}

/** A part of a list that has to be a text; what is none is reported. */
export function textIn(policy: PolicyText, node: Node): string | undefined {
  const text = textOf(node);
  if (text === undefined) policy.wrong(node, 'A text in double quotes is expected here.');
  return text;
}
