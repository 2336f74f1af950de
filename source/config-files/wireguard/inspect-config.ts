import { isAddress } from '../../text/address-span.ts';
import type { TextPosition } from '../../text/position.ts';
import { type ConfigEntry, type ConfigSection, type Findings, isCommand, partsOf, readConfig, reportTo, valuesOf } from './config-file.ts';
import { checkPeers } from './inspect-peers.ts';
import { checkKillSwitch, findKillSwitch } from './kill-switch.ts';
import { isDomain, isNetwork } from './network-words.ts';
import { keyProblem, publicKeyOf } from './wireguard-keys.ts';

/** R77: 1500 of Ethernet minus the tunnel's overhead over IPv6, the larger of the two. */
export const tunnelMtu = 1420;
/** RFC 8200. */
const leastMtuIpv6 = 1280;

/** Returns the problems of a wg-quick configuration, its effects, and the public key. Never throws, and never includes a secret key. */
export function inspectConfig(text: string) {
  const { sections, problems } = readConfig(text);
  const interfaces = sections.filter(({ kind }) => kind === 'Interface');
  const peers = sections.filter(({ kind }) => kind === 'Peer');
  const [own] = interfaces;
  const privateKey = valuesOf(own, 'PrivateKey')[0];
  const publicKey = privateKey && keyProblem(privateKey.value) === undefined ? publicKeyOf(privateKey.value.trim()) : undefined;
  const isFull = peers.some((peer) => partsOf(valuesOf(peer, 'AllowedIPs')).some(({ value }) => /\/0$/.test(value)));
  checkSections(interfaces, peers, reportTo(problems));
  if (own) checkInterface(own, isFull, reportTo(problems, 'Interface'));
  checkPeers(peers, publicKey, reportTo(problems, 'Peer'));
  problems.sort((a, b) => a.line - b.line || a.column - b.column);
  return { problems, facts: own ? factsOf(own, peers) : [], publicKey };
}

function checkSections(interfaces: readonly ConfigSection[], peers: readonly ConfigSection[], found: Findings): void {
  const at = (line: number) => ({ line, column: 1 });
  if (interfaces.length === 0) found.error(at(1), '', '[Interface] is missing.', 'Begin with [Interface], PrivateKey and Address.');
  for (const { line } of interfaces.slice(1)) found.error(at(line), '', '[Interface] is defined twice.', 'Use one file for each tunnel.');
  if (peers.length > 0) return;
  const message = 'The [Peer] section is missing: the tunnel has no remote end.';
  found.error(at(interfaces[0]?.line ?? 1), '', message, 'Add [Peer] with PublicKey, Endpoint and AllowedIPs.');
}

function checkInterface(own: ConfigSection, isFull: boolean, found: Findings): void {
  const begin = { line: own.line, column: 1 };
  const [privateKey] = valuesOf(own, 'PrivateKey');
  const keyWrong = privateKey ? keyProblem(privateKey.value) : undefined;
  const isSetLater = valuesOf(own, 'PostUp').some(({ value }) => /\bprivate-key\b/.test(value));
  const add = 'Add PrivateKey, or set the key with wg in PostUp.';
  if (!privateKey && !isSetLater) found.error(begin, 'PrivateKey', 'The private key is missing.', add);
  const again = `Invalid private key. ${keyWrong}`;
  if (privateKey && keyWrong !== undefined) found.error(privateKey, 'PrivateKey', again, 'Copy the whole key again.');

  const addresses = partsOf(valuesOf(own, 'Address'));
  if (addresses.length === 0)
    found.error(begin, 'Address', 'The tunnel address of this machine is missing.', 'For example: Address = 10.8.0.2/32');
  for (const address of addresses)
    if (!isNetwork(address.value))
      found.error(address, 'Address', `"${short(address.value)}" is not an address.`, 'For example: 10.8.0.2/32, fd00::2/128');

  checkNames(own, isFull, begin, found);
  checkMtu(own, addresses, begin, found);
  checkCommands(own, isFull, found);
  for (const port of valuesOf(own, 'ListenPort'))
    if (!/^\d{1,5}$/.test(port.value) || Number(port.value) > 65_535)
      found.error(port, 'ListenPort', 'The port must be a number from 0 to 65535.', 'For example: ListenPort = 51820');
  const remedy = 'Remove the line, unless another program adds the routes.';
  for (const table of valuesOf(own, 'Table'))
    if (isFull && /^off$/i.test(table.value))
      found.warning(table, 'Table', 'No routes are added, so no traffic goes through the tunnel by default.', remedy);
}

function checkNames(own: ConfigSection, isFull: boolean, begin: TextPosition, found: Findings): void {
  const dns = partsOf(valuesOf(own, 'DNS'));
  const neither = 'Use the address of a DNS server, or a search domain.';
  for (const one of dns)
    if (!isAddress(one.value) && !isDomain(one.value))
      found.error(one, 'DNS', `"${short(one.value)}" is neither an address nor a domain.`, neither);
  if (dns.some(({ value }) => isAddress(value))) return;
  const useless = 'Search domains have no effect without the address of a DNS server.';
  if (dns[0]) found.error(dns[0], 'DNS', useless, 'Put the address of a DNS server first.');
  const isResolved = valuesOf(own, 'PostUp').some(({ value }) => /resolvectl|resolvconf|systemd-resolve/.test(value));
  const outside = 'All traffic goes through the tunnel, but without DNS, names may be resolved outside of it.';
  if (isFull && !isResolved) found.warning(begin, 'DNS', outside, 'Add DNS with a server that is reachable through the tunnel.');
}

/** Checks the MTU (R77). */
function checkMtu(own: ConfigSection, addresses: readonly ConfigEntry[], begin: TextPosition, found: Findings): void {
  const [mtu] = valuesOf(own, 'MTU');
  const clamps = valuesOf(own, 'PostUp').some(({ value }) => /TCPMSS|maxseg|clamp-mss/i.test(value));
  const usual = `MTU = ${tunnelMtu}`;
  if (!mtu) {
    const message = 'MTU is not set: large packets can be lost on a path with a small MTU.';
    if (!clamps) found.warning(begin, 'MTU', message, `Add ${usual}.`, 'R77');
    return;
  }
  const value = Number(mtu.value);
  if (!/^\d{1,5}$/.test(mtu.value) || value < 576 || value > 65_535)
    found.error(mtu, 'MTU', `"${short(mtu.value)}" is not a valid MTU.`, `Set ${usual}.`, 'R77');
  else if (value > tunnelMtu && !clamps) {
    const overhead = value > 1440 ? 'the tunnel overhead (60 bytes, or 80 over IPv6)' : 'the overhead of a tunnel over IPv6 (80 bytes)';
    const message = `An MTU of ${value} leaves too little space for ${overhead}, so large packets can be fragmented or lost.`;
    found.warning(mtu, 'MTU', message, `Set ${usual}, or clamp the MSS.`, 'R77');
  } else if (value < leastMtuIpv6 && addresses.some(({ value: address }) => address.includes(':'))) {
    const message = `The tunnel has an IPv6 address, which requires an MTU of at least ${leastMtuIpv6}.`;
    found.error(mtu, 'MTU', message, `Set MTU = ${leastMtuIpv6} or more.`, 'R77');
  }
}

function checkCommands(own: ConfigSection, isFull: boolean, found: Findings): void {
  const ups = valuesOf(own, 'PostUp');
  const downs = [...valuesOf(own, 'PreDown'), ...valuesOf(own, 'PostDown')];
  for (const entry of own.entries)
    if (isCommand(entry.name) && entry.value === '') found.error(entry, entry.name, 'The command is empty.', 'Remove the line.');
  const [[up], [down]] = [ups, downs];
  if (up && !down) found.error(up, 'PostUp', 'The changes made by PostUp are never undone.', 'Add a PreDown that undoes the changes.');
  if (down && !up && valuesOf(own, 'PreUp').length === 0)
    found.error(down, down.name, `${down.name} has no matching PostUp.`, `Remove ${down.name}, or add the matching PostUp.`);
  const killSwitch = findKillSwitch(ups);
  if (killSwitch) checkKillSwitch(killSwitch, downs, isFull, found);
}

function factsOf(own: ConfigSection, peers: readonly ConfigSection[]): string[] {
  const list = (name: string) =>
    partsOf(valuesOf(own, name))
      .map(({ value }) => short(value))
      .filter(Boolean);
  const networks = peers.flatMap((peer) => partsOf(valuesOf(peer, 'AllowedIPs')).map(({ value }) => short(value))).filter(Boolean);
  const endpoints = peers.flatMap((peer) => valuesOf(peer, 'Endpoint').map(({ value }) => short(value)));
  const commands = own.entries.filter(({ name }) => isCommand(name));
  const isAll = ['0.0.0.0/0', '::/0'].every((all) => networks.includes(all));
  const dns = list('DNS');
  const [programs, them] = commands.length === 1 ? ['a command', 'it'] : [`${commands.length} commands`, 'them'];
  const warning = `The file runs ${programs} as root. If you did not write the file, check ${them}.`;
  return [
    `Tunnel address: ${list('Address').join(', ') || 'none'}.`,
    isAll ? 'All traffic goes through the tunnel.' : `Traffic through the tunnel: ${networks.join(', ') || 'none'}.`,
    `DNS: ${dns.length === 0 ? 'outside the tunnel, unless a command changes it' : dns.join(', ')}.`,
    findKillSwitch(valuesOf(own, 'PostUp')) ? 'Kill switch: yes.' : 'Kill switch: none.',
    `Endpoint: ${endpoints.join(', ') || 'none (the peer connects to us)'}.`,
    ...(commands.length > 0 ? [warning] : []),
  ];
}

/** Formats a value from a file for a message: text that looks like a key is hidden. */
function short(text: string): string {
  if (/[A-Za-z0-9+/]{40,}/.test(text)) return '...';
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
