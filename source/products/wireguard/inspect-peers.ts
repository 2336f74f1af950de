import ipaddr from 'ipaddr.js';
import { isAddress } from '../../text/address-span.ts';
import type { ConfigProblem } from '../config-problem.ts';
import { type ConfigEntry, type ConfigSection, partsOf, valuesOf } from './config-file.ts';
import { isDomain, isNetwork } from './network-words.ts';
import { keyProblem } from './wireguard-keys.ts';

type At = Pick<ConfigEntry, 'line' | 'column'>;

/** What is wrong with the other sides. `own` is this machine's public key, where its private one is good. */
export function peerProblems(peers: readonly ConfigSection[], own: string | undefined): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const add = (level: ConfigProblem['level'], { line, column }: At, field: string, message: string, remedy: string, rule?: string) =>
    problems.push({ level, line, column, field: `[Peer] ${field}`, message, remedy, ...(rule !== undefined && { rule }) });
  const keys = new Map<string, number>();
  const networks = new Map<string, number>();
  for (const peer of peers) {
    const begin = { line: peer.line, column: 1 };
    const [publicKey] = valuesOf(peer, 'PublicKey');
    const wrong = publicKey && keyProblem(publicKey.value);
    if (!publicKey)
      add('error', begin, 'PublicKey', 'The public key of the other side is missing.', 'Ask its operator for it: it is no secret.');
    else if (wrong !== undefined) add('error', publicKey, 'PublicKey', `The public key is none. ${wrong}`, 'Copy it again, whole.');
    else if (publicKey.value === own)
      add(
        'error',
        publicKey,
        'PublicKey',
        "It is this machine's own public key.",
        "Take that of the other side: each side has the other's.",
      );
    else {
      const before = keys.get(publicKey.value);
      if (before !== undefined)
        add('error', publicKey, 'PublicKey', `The [Peer] of line ${before} has the same key.`, 'Make one of the two.');
      keys.set(publicKey.value, peer.line);
    }
    for (const shared of valuesOf(peer, 'PresharedKey')) {
      const problem = keyProblem(shared.value);
      if (problem !== undefined) add('error', shared, 'PresharedKey', `The preshared key is none. ${problem}`, 'Copy it again, whole.');
    }
    networkProblems(peer, networks, add);
    for (const endpoint of valuesOf(peer, 'Endpoint')) {
      const problem = endpointProblem(endpoint.value);
      if (problem !== undefined) add('error', endpoint, 'Endpoint', problem, 'For example: Endpoint = vpn.example.net:51820');
    }
    for (const keepalive of valuesOf(peer, 'PersistentKeepalive'))
      if (!/^(?:off|\d{1,5})$/i.test(keepalive.value) || Number(keepalive.value) > 65_535)
        add('error', keepalive, 'PersistentKeepalive', 'It is a number of seconds, or off.', 'For example: PersistentKeepalive = 25');
  }
  return problems;
}

function networkProblems(
  peer: ConfigSection,
  seen: Map<string, number>,
  add: (level: ConfigProblem['level'], at: At, field: string, message: string, remedy: string, rule?: string) => void,
): void {
  const parts = partsOf(valuesOf(peer, 'AllowedIPs'));
  if (parts.length === 0)
    add(
      'error',
      { line: peer.line, column: 1 },
      'AllowedIPs',
      'Nothing is ever sent to this side.',
      'AllowedIPs = 0.0.0.0/0, ::/0 is everything.',
      'R24',
    );
  for (const part of parts) {
    if (!isNetwork(part.value)) {
      add(
        'error',
        part,
        'AllowedIPs',
        `"${part.value.slice(0, 45)}" is no network.`,
        'Write networks with commas: 10.8.0.0/24, fd00::/64',
        'R24',
      );
      continue;
    }
    const network = networkOf(part.value);
    if (part.value.includes('/') && network !== part.value.toLowerCase() && !part.value.includes(':'))
      add('warning', part, 'AllowedIPs', `It counts as ${network}.`, 'Write it so, to be sure that it is meant.');
    const before = seen.get(network);
    if (before !== undefined)
      add(
        'error',
        part,
        'AllowedIPs',
        `The [Peer] of line ${before} has ${network} too: only the last one gets it.`,
        'Give each network to one side.',
      );
    seen.set(network, peer.line);
  }
  const values = parts.map(({ value }) => value);
  const [first] = parts;
  if (first && values.includes('0.0.0.0/0') && !values.includes('::/0'))
    add('warning', first, 'AllowedIPs', 'IPv6 goes past the tunnel: only IPv4 is sent through it.', 'Add ::/0.');
}

function networkOf(text: string): string {
  if (text.includes(':')) {
    const [address, prefix] = text.includes('/') ? ipaddr.IPv6.parseCIDR(text) : [ipaddr.IPv6.parse(text), 128];
    const network = text.includes('/') ? ipaddr.IPv6.networkAddressFromCIDR(text) : address;
    return `${network.toString()}/${prefix}`;
  }
  if (!text.includes('/')) return `${text}/32`;
  return `${ipaddr.IPv4.networkAddressFromCIDR(text).toString()}/${text.split('/')[1]}`;
}

/** `name:port`, `192.0.2.1:port`, `[2001:db8::1]:port`. */
export function endpointProblem(text: string): string | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text.trim()) ?? [];
  if (port === undefined)
    return (text.match(/:/g)?.length ?? 0) > 1
      ? 'An IPv6 address wants brackets, and a port behind them.'
      : 'It is no name or address with a port behind it.';
  if (Number(port) < 1 || Number(port) > 65_535) return 'A port is a number from 1 to 65535.';
  if (bracketed !== undefined) return bracketed.includes(':') && isAddress(bracketed) ? undefined : 'Brackets are for IPv6 addresses.';
  return isAddress(plain ?? '') || isDomain(plain ?? '') ? undefined : 'It is no name or address with a port behind it.';
}
