import ipaddr from 'ipaddr.js';
import type { Policy, Raw } from './policy.ts';
import { invalid, jsonTypeOf, unfit } from './policy-faults.ts';

type Defined = Pick<Policy, 'groups' | 'hosts' | 'tagOwners'>;
type Rule = NonNullable<Policy['rules']>[number];

const protocols = new Set('icmp igmp ipv4 ip-in-ip tcp egp igp udp gre esp ah sctp fc ipv6-icmp'.split(' '));

export function checkGroups(raw: unknown): Policy['groups'] {
  const groups: Policy['groups'] = new Map();
  const wrong = (reason: string) => unfit('object', 'v2.Groups', '/groups', reason);
  for (const [name, members] of Object.entries((raw ?? {}) as Raw)) {
    if (!name.startsWith('group:')) throw wrong(`group must start with 'group:', got: "${name}"`);
    if (typeof members === 'string') throw wrong(`group value must be an array of users: group "${name}" got string: "${members}"`);
    if (!Array.isArray(members)) throw wrong(`group value must be an array of users: group "${name}" got ${goTypeOf(members)}`);
    for (const member of members as unknown[]) {
      if (typeof member !== 'string') throw wrong(`invalid group member type: group "${name}" expected string but got ${goTypeOf(member)}`);
      if (member.startsWith('group:')) throw wrong(`groups["${name}"]: "${member}": group members cannot be recursive`);
      if (!member.includes('@')) throw wrong(`username must contain @, got: "${member}"`);
    }
    groups.set(name, members as string[]);
  }
  return groups;
}

function goTypeOf(value: unknown): string {
  if (typeof value === 'number') return 'float64';
  return typeof value === 'boolean' ? 'bool' : 'map[string]interface {}';
}

export function checkHosts(raw: unknown): Policy['hosts'] {
  const hosts: Policy['hosts'] = new Map();
  for (const [name, address] of Object.entries((raw ?? {}) as Raw)) {
    const text = String(address);
    if (!ipaddr.isValid(text) && !ipaddr.isValidCIDR(text)) {
      const reason = `hostname contains invalid IP address: hostname "${name}" address "${text}"`;
      throw unfit('object', 'v2.Hosts', '/hosts', reason);
    }
    hosts.set(name, text);
  }
  return hosts;
}

export function checkTagOwners(raw: unknown): Policy['tagOwners'] {
  const tagOwners: Policy['tagOwners'] = new Map();
  for (const [tag, owners] of Object.entries((raw ?? {}) as Raw)) {
    const at = `/tagOwners/${tag}`;
    if (!tag.startsWith('tag:')) throw unfit('string', 'v2.Tag', at, `tag must start with 'tag:', got: "${tag}"`);
    if (!/^tag:[a-z]/i.test(tag)) throw unfit('string', 'v2.Tag', at, "tag names must start with a letter, after 'tag:'");
    if (!Array.isArray(owners)) throw unfit(jsonTypeOf(owners), '[]v2.OwnerEnc', at);
    for (const owner of owners as unknown[]) {
      const text = String(owner);
      if (!text.includes('@') && !/^(?:group|tag):/.test(text))
        throw unfit('string', 'v2.OwnerEnc', `${at}/0`, `invalid owner format: "${text}"`);
    }
    tagOwners.set(tag, owners as string[]);
  }
  return tagOwners;
}

/** What is wrong with a name in a rule, for where it stands. */
function aliasFault(alias: string, defined: Defined, side: 'src' | 'dst', of: 'ACL' | 'SSH'): string | undefined {
  if (alias === '*' || alias.includes('@')) return undefined;
  if (alias.startsWith('group:')) return defined.groups.has(alias) ? undefined : `group not defined in policy: "${alias}"`;
  if (alias.startsWith('tag:'))
    return defined.tagOwners.has(alias) ? undefined : `${of === 'ACL' && side === 'src' ? 'src=' : ''}tag not found: "${alias}"`;
  if (alias.startsWith('autogroup:')) return autogroupFault(alias, side, of);
  if (ipaddr.isValid(alias) || ipaddr.isValidCIDR(alias)) return undefined;
  return defined.hosts.has(alias) ? undefined : `host not defined in policy: "${alias}"`;
}

function autogroupFault(alias: string, side: 'src' | 'dst', of: 'ACL' | 'SSH'): string | undefined {
  if (of === 'ACL' && side === 'src' && alias === 'autogroup:internet') return 'autogroup:internet can only be used in ACL destinations';
  if (side === 'src' && alias === 'autogroup:self') return '"autogroup:self" not valid on the src side of a rule';
  if (side === 'dst' && alias === 'autogroup:danger-all') return 'cannot use autogroup:danger-all as a dst';
  const allowed = {
    'ACL src': ['autogroup:member', 'autogroup:tagged', 'autogroup:danger-all'],
    'ACL dst': ['autogroup:internet', 'autogroup:member', 'autogroup:tagged', 'autogroup:self'],
    'SSH src': ['autogroup:member', 'autogroup:tagged'],
    'SSH dst': ['autogroup:member', 'autogroup:tagged', 'autogroup:self'],
  }[`${of} ${side}` as const];
  if (allowed.includes(alias)) return undefined;
  const which = `${of} ${side === 'src' ? 'sources' : 'destinations'}`;
  return `autogroup not supported for ${which}: "${alias}", can be [${allowed.join(' ')}]`;
}

function stringsAt(value: unknown, pointer: string): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw unfit(jsonTypeOf(value), 'v2.Aliases', pointer);
  return (value as unknown[]).map(String);
}

export function checkAcls(raw: Raw[] | undefined, defined: Defined, faults: string[]): Rule[] {
  return (raw ?? []).map((acl, index) => {
    const at = `/acls/${index}`;
    const { action, proto } = acl;
    if (action !== 'accept') throw unfit('string', 'v2.Action', `${at}/action`, `action="${action}" is not supported: invalid ACL action`);
    checkProtocol(proto, `${at}/proto`);
    const src = stringsAt(acl['src'], `${at}/src`);
    const dst = stringsAt(acl['dst'], `${at}/dst`).map((text, place) => withPorts(text, `${at}/dst/${place}`));
    for (const alias of src) pushSome(faults, aliasFault(alias, defined, 'src', 'ACL'));
    for (const { alias } of dst) pushSome(faults, aliasFault(alias, defined, 'dst', 'ACL'));
    return { src, dst };
  });
}

function pushSome(faults: string[], fault: string | undefined): void {
  if (fault !== undefined) faults.push(fault);
}

function checkProtocol(proto: unknown, pointer: string): void {
  if (proto === undefined || proto === '') return;
  const text = String(proto);
  const wrong = (reason: string) => unfit('string', 'v2.Protocol', pointer, reason);
  if (protocols.has(text.toLowerCase())) return;
  if (text === '*') throw wrong('proto name "*" not known; use protocol number 0-255 or protocol name (icmp, tcp, udp, etc.)');
  if (!/^\d+$/.test(text)) throw wrong(`invalid protocol number: "${text}" must be a known protocol name or valid protocol number 0-255`);
  if (/^0\d/.test(text)) throw wrong(`leading 0 not permitted in protocol number: "${text}"`);
  if (Number(text) > 255) throw wrong(`protocol number out of range (0-255): ${Number(text)}`);
}

/** `host:80,443`, `tag:x:*`, `[fd7a::1]:22`. */
export function withPorts(text: string, pointer: string): Rule['dst'][number] {
  const wrong = (reason: string) => unfit('string', 'v2.AliasWithPorts', pointer, reason);
  const at = text.lastIndexOf(':');
  if (at < 0) throw wrong('hostport must contain a colon');
  const portsText = text.slice(at + 1);
  const ports = portsText.split(',').map((range): [number, number] => {
    const fault = (reason: string) => wrong(`dst="${text}": port range "${range}": ${reason}`);
    if (range === '*') return [0, 65_535];
    const [first = '', last = first] = range.split('-');
    if (!/^\d+$/.test(first)) throw fault('invalid first integer');
    if (!/^\d+$/.test(last)) throw fault('invalid last integer');
    if (Number(first) > 65_535 || Number(last) > 65_535) throw fault('port number out of range');
    if (Number(first) === 0) throw fault("first port must be >0, or use '*' for wildcard");
    if (Number(last) < Number(first)) throw fault('first port must be less than or equal to last port');
    return [Number(first), Number(last)];
  });
  return { alias: text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), ports };
}

export function checkGrants(raw: Raw[] | undefined, defined: Defined, faults: string[]): Rule[] {
  return (raw ?? []).map((grant, index) => {
    const at = `/grants/${index}`;
    const src = stringsAt(grant['src'], `${at}/src`);
    const dst = stringsAt(grant['dst'], `${at}/dst`);
    const ip = stringsAt(grant['ip'], `${at}/ip`);
    if (ip.length === 0 && grant['app'] === undefined) faults.push('ip and app can not both be empty');
    for (const alias of src) pushSome(faults, aliasFault(alias, defined, 'src', 'ACL'));
    for (const alias of dst) pushSome(faults, aliasFault(alias, defined, 'dst', 'ACL'));
    for (const via of stringsAt(grant['via'], `${at}/via`)) {
      if (!via.startsWith('tag:')) faults.push('via can only be a tag');
      else if (!defined.tagOwners.has(via)) faults.push(`tag "${via}" not found`);
    }
    const ports = ip.flatMap((text) => withPorts(`x:${text.slice(text.lastIndexOf(':') + 1)}`, `${at}/ip`).ports);
    return { src, dst: dst.map((alias) => ({ alias, ports })) };
  });
}

export function checkSsh(raw: Raw[] | undefined, defined: Defined, faults: string[]): void {
  for (const [index, rule] of (raw ?? []).entries()) {
    const at = `/ssh/${index}`;
    const action = rule['action'];
    if (action !== 'accept' && action !== 'check')
      throw unfit('string', 'v2.SSHAction', `${at}/action`, `"${action}" is not a valid action`);
    const dst = stringsAt(rule['dst'], `${at}/dst`);
    if (dst.includes('*')) {
      const reason =
        "wildcard (*) is not supported as SSH destination; use 'autogroup:member' for user-owned devices, " +
        "'autogroup:tagged' for tagged devices, or specific tags/users";
      throw unfit('array', 'v2.SSHDstAliases', `${at}/dst`, reason);
    }
    if (stringsAt(rule['users'], `${at}/users`).length === 0) faults.push('users must be specified');
    const period = rule['checkPeriod'];
    const hours = typeof period === 'string' ? Number(/^(\d+)h$/.exec(period)?.[1] ?? 0) : 0;
    if (hours > 168) faults.push(`checkPeriod ${hours}h0m0s is above the max (168h)`);
    if (period !== undefined && action !== 'check') faults.push('checkPeriod is only valid with action "check"');
    for (const alias of stringsAt(rule['src'], `${at}/src`)) pushSome(faults, aliasFault(alias, defined, 'src', 'SSH'));
    for (const alias of dst) {
      if (defined.hosts.has(alias)) faults.push(`invalid dst "${alias}"`);
      else pushSome(faults, aliasFault(alias, defined, 'dst', 'SSH'));
    }
  }
}

export function checkAutoApprovers(raw: Raw | undefined, defined: Defined, faults: string[]): void {
  const routes = (raw?.['routes'] ?? {}) as Record<string, unknown>;
  const strange = Object.keys(raw ?? {}).find((name) => name !== 'routes' && name !== 'exitNode');
  if (strange !== undefined) throw invalid(`unknown field: "${strange}"`);
  for (const [prefix, approvers] of [...Object.entries(routes), ['', raw?.['exitNode']] as const]) {
    if (prefix !== '' && !ipaddr.isValidCIDR(prefix))
      throw unfit('string', 'netip.Prefix', `/autoApprovers/routes/${prefix}`, 'invalid prefix');
    for (const approver of stringsAt(approvers, '/autoApprovers')) {
      if (approver.startsWith('tag:') && !defined.tagOwners.has(approver)) faults.push(`tag not found: "${approver}"`);
      if (approver.startsWith('group:') && !defined.groups.has(approver)) faults.push(`group not defined in policy: "${approver}"`);
    }
  }
}

export function checkNodeAttrs(raw: Raw[] | undefined, faults: string[]): void {
  for (const entry of raw ?? []) {
    if (!stringsAt(entry['attr'], '/nodeAttrs').includes('funnel')) continue;
    faults.push(
      'nodeAttrs uses a feature headscale does not yet support: "funnel" tracked in https://github.com/juanfont/headscale/issues/2527',
    );
  }
}

/** Whether an address lies in an address or a range. */
export function liesIn(address: string, range: string): boolean {
  const parsed = ipaddr.parse(address);
  const [base, bits] = ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range) : [ipaddr.parse(range), parsed.kind() === 'ipv4' ? 32 : 128];
  return parsed.kind() === base.kind() && parsed.match(base, bits);
}
