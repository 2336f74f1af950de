import ipaddr from 'ipaddr.js';
import type { Policy, PolicyWorld } from './policy.ts';
import { liesIn, withPorts } from './policy-rules.ts';

type Member = PolicyWorld['nodes'][number];

/** Evaluates the `tests` of a policy over the users and nodes that there are. One line per expectation that is not met. */
export function failedTests(policy: Policy, world: PolicyWorld): string[] {
  const failed: string[] = [];
  for (const test of policy.tests) {
    for (const [list, wanted] of [
      [test.accept, true],
      [test.deny, false],
    ] as const) {
      for (const destination of list) {
        if (reaches(policy, world, test.src, destination) === wanted) continue;
        const [expected, got] = wanted ? ['ALLOWED', 'DENIED'] : ['DENIED', 'ALLOWED'];
        failed.push(`${test.src} -> ${destination}: expected ${expected}, got ${got}`);
      }
    }
  }
  return failed;
}

function reaches(policy: Policy, world: PolicyWorld, src: string, destination: string): boolean {
  if (policy.rules === undefined) return true;
  const { alias, ports } = withPorts(destination, '/tests');
  const port = ports[0]?.[0] ?? 0;
  const from = membersOf(src, policy, world);
  const to = membersOf(alias, policy, world);
  return policy.rules.some(
    (rule) =>
      rule.src.some((name) => covers(name, src, from, policy, world)) &&
      rule.dst.some(
        (each) => covers(each.alias, alias, to, policy, world) && each.ports.some(([first, last]) => port >= first && port <= last),
      ),
  );
}

/** Whether what a rule names takes in what a test names. */
function covers(rule: string, asked: string, members: readonly Member[], policy: Policy, world: PolicyWorld): boolean {
  if (rule === '*' || rule === asked) return true;
  const address = policy.hosts.get(asked) ?? asked;
  const range = policy.hosts.get(rule) ?? rule;
  if (isAddress(address) && isAddress(range)) return liesIn(address.split('/')[0] ?? '', range);
  const within = membersOf(rule, policy, world);
  return members.length > 0 && members.every((member) => within.includes(member));
}

function isAddress(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}

function membersOf(alias: string, policy: Policy, { users, nodes }: PolicyWorld): Member[] {
  const owned = nodes.filter((node) => node.tags.length === 0);
  const isUser = (text: string, name: string) => text === `${name}@` || users.some((user) => user.name === name && user.email === text);
  if (alias === '*') return [...nodes];
  if (alias.startsWith('tag:')) return nodes.filter((node) => node.tags.includes(alias));
  if (alias === 'autogroup:member') return owned;
  if (alias === 'autogroup:tagged') return nodes.filter((node) => node.tags.length > 0);
  const names = policy.groups.get(alias) ?? [alias];
  if (names.some((name) => name.includes('@'))) return owned.filter((node) => names.some((name) => isUser(name, node.user?.name ?? '')));
  const range = policy.hosts.get(alias) ?? alias;
  return isAddress(range) ? nodes.filter((node) => node.ipAddresses.some((address) => liesIn(address, range))) : [];
}
