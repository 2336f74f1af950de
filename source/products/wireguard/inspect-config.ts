import { isAddress } from '../../text/address-span.ts';
import type { ConfigProblem } from '../config-problem.ts';
import { type ConfigEntry, type ConfigSection, isCommand, partsOf, readConfig, valuesOf } from './config-file.ts';
import { peerProblems } from './inspect-peers.ts';
import { findKillSwitch, killSwitchProblems } from './kill-switch.ts';
import { isDomain, isNetwork } from './network-words.ts';
import { keyProblem, publicKeyOf } from './wireguard-keys.ts';

/** R77: 1500 of Ethernet less what the tunnel adds over IPv6, the larger of the two. */
export const tunnelMtu = 1420;
/** RFC 8200. */
const leastMtuIpv6 = 1280;

export interface Inspection {
  problems: readonly ConfigProblem[];
  /** What it does, a sentence each. Holds no key but public ones. */
  facts: readonly string[];
  /** Of the private key, so that the server's side can be compared. */
  publicKey: string | undefined;
}

/** Everything that is wrong with a configuration of wg-quick, and what it does. Never throws, and never repeats a key that is secret. */
export function inspectConfig(text: string): Inspection {
  const { sections, problems: syntax } = readConfig(text);
  const interfaces = sections.filter(({ kind }) => kind === 'Interface');
  const peers = sections.filter(({ kind }) => kind === 'Peer');
  const [own] = interfaces;
  const privateKey = valuesOf(own, 'PrivateKey')[0];
  const publicKey = privateKey && keyProblem(privateKey.value) === undefined ? publicKeyOf(privateKey.value.trim()) : undefined;
  const isFull = peers.some((peer) => partsOf(valuesOf(peer, 'AllowedIPs')).some(({ value }) => /\/0$/.test(value)));
  const problems = [
    ...syntax,
    ...sectionProblems(interfaces, peers),
    ...(own ? interfaceProblems(own, isFull) : []),
    ...peerProblems(peers, publicKey),
  ].sort((a, b) => a.line - b.line || a.column - b.column);
  return { problems, facts: own ? factsOf(own, peers, isFull) : [], publicKey };
}

function sectionProblems(interfaces: readonly ConfigSection[], peers: readonly ConfigSection[]): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const wrong = (line: number, message: string, remedy: string) =>
    problems.push({ level: 'error', line, column: 1, field: '', message, remedy });
  if (interfaces.length === 0) wrong(1, 'There is no [Interface].', 'Begin with [Interface], PrivateKey and Address.');
  for (const { line } of interfaces.slice(1)) wrong(line, 'There is a second [Interface].', 'Make a file for each tunnel.');
  if (peers.length === 0)
    wrong(
      interfaces[0]?.line ?? 1,
      'There is no [Peer]: nobody is on the other side.',
      'Add [Peer] with PublicKey, Endpoint and AllowedIPs.',
    );
  return problems;
}

function interfaceProblems(own: ConfigSection, isFull: boolean): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const add = (
    level: ConfigProblem['level'],
    at: Pick<ConfigEntry, 'line' | 'column'>,
    field: string,
    message: string,
    remedy: string,
    rule?: string,
  ) =>
    problems.push({
      level,
      line: at.line,
      column: at.column,
      field: `[Interface] ${field}`,
      message,
      remedy,
      ...(rule !== undefined && { rule }),
    });
  const begin = { line: own.line, column: 1 };

  const [privateKey] = valuesOf(own, 'PrivateKey');
  const keyWrong = privateKey ? keyProblem(privateKey.value) : undefined;
  if (!privateKey) add('error', begin, 'PrivateKey', 'The private key is missing.', 'Put it there, or have wg set it with PostUp.');
  else if (keyWrong !== undefined) add('error', privateKey, 'PrivateKey', `The private key is none. ${keyWrong}`, 'Copy it again, whole.');

  const addresses = partsOf(valuesOf(own, 'Address'));
  if (addresses.length === 0)
    add('error', begin, 'Address', 'The machine has no address in the tunnel.', 'For example: Address = 10.8.0.2/32');
  for (const address of addresses)
    if (!isNetwork(address.value))
      add('error', address, 'Address', `"${short(address.value)}" is no address.`, 'Write 10.8.0.2/32, or several with commas.');

  const dns = partsOf(valuesOf(own, 'DNS'));
  for (const one of dns)
    if (!isAddress(one.value) && !isDomain(one.value))
      add(
        'error',
        one,
        'DNS',
        `"${short(one.value)}" is neither an address nor a name.`,
        'Write the address of a server, or a name that is searched in.',
      );
  const servers = dns.filter(({ value }) => isAddress(value));
  if (dns.length > 0 && servers.length === 0)
    add(
      'error',
      dns[0] ?? begin,
      'DNS',
      'Names to search in are of no use without the address of a server.',
      'Put the address of the server in front.',
    );
  const ups = valuesOf(own, 'PostUp');
  const resolves = ups.some(({ value }) => /resolvectl|resolvconf|systemd-resolve/.test(value));
  if (isFull && servers.length === 0 && !resolves)
    add(
      'warning',
      begin,
      'DNS',
      'Everything goes through the tunnel, and names are still asked for outside of it.',
      'Add DNS with a server that is reached through the tunnel.',
    );

  problems.push(...mtuProblems(own, addresses));
  problems.push(...commandProblems(own, isFull));
  for (const port of valuesOf(own, 'ListenPort'))
    if (!/^\d{1,5}$/.test(port.value) || Number(port.value) > 65_535)
      add('error', port, 'ListenPort', 'A port is a number up to 65535.', 'For example: ListenPort = 51820');
  for (const table of valuesOf(own, 'Table'))
    if (isFull && /^off$/i.test(table.value))
      add(
        'warning',
        table,
        'Table',
        'No routes are made: nothing goes through the tunnel by itself.',
        'Take the line out, unless something else makes them.',
      );
  return problems;
}

/** R77. */
function mtuProblems(own: ConfigSection, addresses: readonly ConfigEntry[]): ConfigProblem[] {
  const [mtu] = valuesOf(own, 'MTU');
  const clamps = valuesOf(own, 'PostUp').some(({ value }) => /TCPMSS|maxseg|clamp-mss/i.test(value));
  const field = '[Interface] MTU';
  if (!mtu)
    return clamps
      ? []
      : [
          {
            level: 'warning',
            line: own.line,
            column: 1,
            field,
            message: 'There is no MTU: where the way is narrower than it looks, large packets get lost.',
            remedy: `Add MTU = ${tunnelMtu}.`,
            rule: 'R77',
          },
        ];
  const at = { line: mtu.line, column: mtu.column, field, rule: 'R77' };
  const value = Number(mtu.value);
  if (!/^\d{1,5}$/.test(mtu.value) || value < 576 || value > 65_535)
    return [{ level: 'error', ...at, message: `"${short(mtu.value)}" is no MTU.`, remedy: `Write MTU = ${tunnelMtu}.` }];
  if (value > tunnelMtu && !clamps)
    return [
      {
        level: 'warning',
        ...at,
        message: `An MTU of ${value} leaves too little room for what the tunnel adds (60 bytes, 80 over IPv6): large packets are split or lost.`,
        remedy: `Write MTU = ${tunnelMtu}, or clamp the MSS.`,
      },
    ];
  if (value < leastMtuIpv6 && addresses.some(({ value: address }) => address.includes(':')))
    return [
      {
        level: 'error',
        ...at,
        message: `IPv6 wants ${leastMtuIpv6} at least, and the tunnel has an IPv6 address.`,
        remedy: `Write MTU = ${leastMtuIpv6} or more.`,
      },
    ];
  return [];
}

function commandProblems(own: ConfigSection, isFull: boolean): ConfigProblem[] {
  const ups = valuesOf(own, 'PostUp');
  const downs = [...valuesOf(own, 'PreDown'), ...valuesOf(own, 'PostDown')];
  const problems: ConfigProblem[] = [];
  for (const entry of own.entries)
    if (isCommand(entry.name) && entry.value === '')
      problems.push({
        level: 'error',
        line: entry.line,
        column: entry.column,
        field: `[Interface] ${entry.name}`,
        message: 'The command is empty.',
        remedy: 'Take the line out.',
      });
  const [up] = ups;
  const [down] = downs;
  if (up && !down)
    problems.push({
      level: 'error',
      line: up.line,
      column: up.column,
      field: '[Interface] PostUp',
      message: 'What PostUp sets up is never taken away again.',
      remedy: 'Add a PreDown that undoes it.',
    });
  if (down && !up && valuesOf(own, 'PreUp').length === 0)
    problems.push({
      level: 'error',
      line: down.line,
      column: down.column,
      field: `[Interface] ${down.name}`,
      message: `${down.name} undoes what no PostUp has done.`,
      remedy: 'Take it out, or add the PostUp that belongs to it.',
    });
  const found = findKillSwitch(ups);
  if (found) problems.push(...killSwitchProblems(found, downs, isFull));
  return problems;
}

function factsOf(own: ConfigSection, peers: readonly ConfigSection[], isFull: boolean): string[] {
  const list = (name: string) =>
    partsOf(valuesOf(own, name))
      .map(({ value }) => short(value))
      .filter(Boolean);
  const networks = peers.flatMap((peer) => partsOf(valuesOf(peer, 'AllowedIPs')).map(({ value }) => short(value))).filter(Boolean);
  const endpoints = peers.flatMap((peer) => valuesOf(peer, 'Endpoint').map(({ value }) => short(value)));
  const commands = own.entries.filter(({ name }) => isCommand(name));
  const dns = list('DNS');
  return [
    `Address in the tunnel: ${list('Address').join(', ') || 'none'}.`,
    isFull ? 'Everything goes through the tunnel.' : `Through the tunnel goes ${networks.join(', ') || 'nothing'}.`,
    `Names are asked ${dns.length === 0 ? 'outside of it, unless a command says otherwise' : `of ${dns.join(', ')}`}.`,
    findKillSwitch(valuesOf(own, 'PostUp')) ? 'It has a kill switch.' : 'It has no kill switch of its own.',
    `The other side: ${endpoints.join(', ') || 'comes to us by itself'}.`,
    ...(commands.length > 0
      ? [
          `It runs ${commands.length === 1 ? 'a command' : `${commands.length} commands`} as root: look at ${commands.length === 1 ? 'it' : 'them'} where the file came from somebody else.`,
        ]
      : []),
  ];
}

/** A value from a file for a sentence: what looks like a key is none of our business. */
function short(text: string): string {
  if (/[A-Za-z0-9+/]{40,}/.test(text)) return '...';
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
