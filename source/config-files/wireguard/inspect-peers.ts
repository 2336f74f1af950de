import ipaddr from 'ipaddr.js';
import { isAddress } from '../../text/address-span.ts';
import { type ConfigSection, type Findings, partsOf, valuesOf } from './config-file.ts';
import { isDomain, isNetwork } from './network-words.ts';
import { keyProblem } from './wireguard-keys.ts';

/** Returns the problems of the peers. `own` is this machine's public key, if its private key is valid. */
export function checkPeers(peers: readonly ConfigSection[], own: string | undefined, found: Findings): void {
  const keys = new Map<string, number>();
  const networks = new Map<string, number>();
  for (const peer of peers) {
    checkKeys(peer, own, keys, found);
    checkNetworks(peer, networks, found);
    for (const endpoint of valuesOf(peer, 'Endpoint')) {
      const problem = endpointProblem(endpoint.value);
      if (problem !== undefined) found.error(endpoint, 'Endpoint', problem, 'For example: Endpoint = vpn.example.net:51820');
    }
    for (const keepalive of valuesOf(peer, 'PersistentKeepalive'))
      if (!/^(?:off|\d{1,5})$/i.test(keepalive.value) || Number(keepalive.value) > 65_535)
        found.error(keepalive, 'PersistentKeepalive', 'The value must be 0 to 65535 s, or off.', 'For example: PersistentKeepalive = 25');
  }
}

function checkKeys(peer: ConfigSection, own: string | undefined, seen: Map<string, number>, found: Findings): void {
  const again = 'Copy the whole key again.';
  const [publicKey] = valuesOf(peer, 'PublicKey');
  const wrong = publicKey && keyProblem(publicKey.value);
  if (!publicKey) {
    const message = 'The public key of the peer is missing.';
    found.error({ line: peer.line, column: 1 }, 'PublicKey', message, 'Get the key from the operator of the peer; it is not secret.');
  } else if (wrong !== undefined) found.error(publicKey, 'PublicKey', `The public key is invalid. ${wrong}`, again);
  else if (publicKey.value === own)
    found.error(publicKey, 'PublicKey', 'This is the public key of this machine.', 'Use the public key of the peer.');
  else {
    const before = seen.get(publicKey.value);
    if (before !== undefined) found.error(publicKey, 'PublicKey', `The [Peer] on line ${before} has the same key.`, 'Merge both sections.');
    seen.set(publicKey.value, peer.line);
  }
  for (const shared of valuesOf(peer, 'PresharedKey')) {
    const problem = keyProblem(shared.value);
    if (problem !== undefined) found.error(shared, 'PresharedKey', `The preshared key is invalid. ${problem}`, again);
  }
}

function checkNetworks(peer: ConfigSection, seen: Map<string, number>, found: Findings): void {
  const parts = partsOf(valuesOf(peer, 'AllowedIPs'));
  const [name, everything] = ['AllowedIPs', 'For all traffic: AllowedIPs = 0.0.0.0/0, ::/0'];
  if (parts.length === 0) found.error({ line: peer.line, column: 1 }, name, 'AllowedIPs is missing or empty.', everything, 'R24');
  for (const part of parts) {
    if (!isNetwork(part.value)) {
      const message = `"${part.value.slice(0, 45)}" is not a network.`;
      found.error(part, name, message, 'Separate networks with commas: 10.8.0.0/24, fd00::/64', 'R24');
      continue;
    }
    const network = networkOf(part.value);
    if (part.value.includes('/') && network !== part.value.toLowerCase() && !part.value.includes(':'))
      found.warning(part, name, `The network is read as ${network}.`, 'Use this form to avoid ambiguity.');
    const before = seen.get(network);
    const twice = `The [Peer] on line ${before} also has ${network}, and only the last peer receives its traffic.`;
    if (before !== undefined && before !== peer.line) found.error(part, name, twice, 'Assign each network to one peer.');
    seen.set(network, peer.line);
  }
  const values = parts.map(({ value }) => value);
  if (parts[0] && values.includes('0.0.0.0/0') && !values.includes('::/0'))
    found.warning(parts[0], name, 'IPv6 traffic can bypass the tunnel, because ::/0 is missing.', 'Add ::/0.');
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

export function endpointProblem(text: string): string | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text.trim()) ?? [];
  if (port === undefined)
    return (text.match(/:/g)?.length ?? 0) > 1
      ? 'An IPv6 address must be in brackets and followed by a port.'
      : 'The endpoint must be a name or address followed by a port.';
  if (Number(port) < 1 || Number(port) > 65_535) return 'The port must be a number from 1 to 65535.';
  if (bracketed !== undefined) return bracketed.includes(':') && isAddress(bracketed) ? undefined : 'Brackets are only for IPv6 addresses.';
  return isAddress(plain ?? '') || isDomain(plain ?? '') ? undefined : 'The endpoint must be a name or address followed by a port.';
}
