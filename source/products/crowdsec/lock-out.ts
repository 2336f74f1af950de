import { Fault } from '../../faults/fault.ts';
import { unlessFault } from '../../faults/unless-fault.ts';
import { limited } from '../../faults/waits.ts';
import type { FlowContext } from '../../flows/flow.ts';
import type { Host } from '../../hosts/host.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { parsePeers } from '../../hosts/proc-net.ts';
import { parseIpv6Routes, parseRoutes, type Route } from '../../hosts/route-tables.ts';
import { addressesOfName, jumpHosts } from '../../hosts/ssh/jump-hosts.ts';
import type { AddressSpan } from '../../text/address-span.ts';
import { addressesIn, isOneAddress, isPrivate, isWithin, overlap, spanOf, withNeighbours } from '../../text/address-span.ts';
import { cleanLine } from '../../text/clean.ts';
import { isLoopback } from '../../text/loopback.ts';
import type { BanTarget } from './client/ban-target.ts';
import type { Crowdsec } from './client/crowdsec.ts';
import { bouncersOf, machinesOf } from './client/crowdsec-lists.ts';

/** Addresses that must keep access, with a description: `the address you come from, as nas sees it`. */
export interface Guarded {
  span: AddressSpan;
  what: string;
  /** Address of the operator: a ban of a country could include it unnoticed. */
  operator?: true;
  /** Possibly the operator's address, or an attacker's who is trying to log in: a ban of it is confirmed, not refused. */
  maybe?: true;
}

/** Returns a guarded address. A single IPv6 address represents its /64. Returns an empty list if the text is not an address. */
export function guarded(text: string, what: string, more: Pick<Guarded, 'operator' | 'maybe'> = {}): Guarded[] {
  const span = spanOf(text.replace(/%.*$/, ''));
  return span ? [{ span: withNeighbours(span), what, ...more }] : [];
}

/** Returns why a ban would lock out a guarded address, by the narrowest of several reasons; undefined if it would not. */
export function lockOutReason(target: BanTarget, guards: readonly Guarded[]): string | undefined {
  if (target.scope === 'Country') return undefined;
  const { span } = target;
  const [hit] = guards
    .filter((guard) => !guard.maybe && overlap(guard.span, span))
    .sort((one, other) => Number(sizeOf(one.span) - sizeOf(other.span)));
  if (!hit) return undefined;
  const text = hit.span.text;
  if (isOneAddress(span) && isOneAddress(hit.span)) return `${span.text} is ${hit.what}.`;
  if (isWithin(span, hit.span)) return `${span.text} belongs to ${text} (${hit.what}).`;
  return `${span.text} includes ${text} (${hit.what}).`;
}

export function refuseLockOut(target: BanTarget, guards: readonly Guarded[]): void {
  const reason = lockOutReason(target, guards);
  if (reason === undefined || target.scope === 'Country') return;
  // No part of a guarded network can be banned.
  const isWhole = guards.some((guard) => !guard.maybe && isWithin(target.span, guard.span));
  const remedy = `${isWhole ? '' : 'Ban a smaller range. '}To ban ${target.shown} anyway, use cscli on the host, and keep another way to log in.`;
  throw new Fault('refused.lockOut', `The ban was refused, because it could lock you out: ${reason}`, remedy);
}

/** Returns why a ban could lock out the operator, although that is uncertain; an empty list if nothing suggests it. */
export function lockOutDoubts(target: BanTarget, guards: readonly Guarded[]): string[] {
  if (target.scope === 'Country') return [];
  const { span, shown } = target;
  const hits = guards.filter((guard) => guard.maybe && overlap(guard.span, span)).map((guard) => `${guard.span.text} ${guard.what}`);
  const doubts = [...new Set(hits)].slice(0, 5).map((hit) => `${cleanLine(hit)}. This may be your own address.`);
  if (isPrivate(span))
    doubts.push(
      `${shown} is ${isOneAddress(span) ? 'a private address' : 'in a private network'}. Check that it is not in one of your own networks.`,
    );
  return doubts;
}

/** Returns the public addresses that the operator connects from: their country cannot be determined here. */
export function publicAddresses(guards: readonly Guarded[]): readonly string[] {
  return guards.filter(({ operator, span }) => operator && !isPrivate(span)).map(({ span }) => cleanLine(span.text));
}

const sizeOf = ({ first, last }: AddressSpan) => last - first;

const lookLimitMs = 15_000;
/** Each part of the output has a heading. The script uses only POSIX and commands of busybox. */
const script = `echo "== ssh"; printf '%s\\n' "$SSH_CONNECTION"
echo "== who"; who --ips 2>/dev/null || who 2>/dev/null
echo "== tcp"
for port in 22 \${SSH_CONNECTION##* } $(sed -n 's/^[[:space:]]*[Pp][Oo][Rr][Tt][[:space:]=]*\\([0-9][0-9]*\\).*/\\1/p' /etc/ssh/sshd_config /etc/ssh/sshd_config.d/*.conf 2>/dev/null); do
  printf ':%04X\\n' "$port"
done | sort -u | while read -r end; do
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v end="$end" '$4 == "01" && substr($2, length($2) - 4) == end'
done
echo "== route"; cat /proc/net/route 2>/dev/null
echo "== route6"; cat /proc/net/ipv6_route 2>/dev/null
exit 0`;

/** Addresses of a mesh that bypasses the kernel's own routing table. */
const meshNetworks = ['100.64.0.0/10', 'fd7a:115c:a1e0::/48'];

/**
 * Returns every address that must still have access to the machine of this engine after a ban: the operator as that machine sees them (if
 * neither SSH_CONNECTION nor a login has an open connection, each SSH connection may be theirs); the machine itself, its gateways and its
 * private networks, including those of containers and of a mesh; every listed host and its ssh jump hosts; bouncers and other machines of
 * this CrowdSec. Throws `refused.unseen` if a machine over ssh does not report where the operator connects from.
 */
export async function guardsOf(context: FlowContext, engineName: string, crowdsec: Crowdsec | undefined, signal: AbortSignal) {
  const found = await Promise.all([
    ownMachine(context, engineName, signal),
    containerNetworks(context, engineName, signal),
    otherHosts(context, engineName, signal),
    crowdsec ? readersOf(crowdsec, signal) : [],
  ]);
  const always = ['127.0.0.0/8', '::1'].flatMap((text) => guarded(text, 'the machine itself (loopback)'));
  return [...always, ...found.flat()];
}

async function ownMachine(context: FlowContext, engineName: string, signal: AbortSignal): Promise<Guarded[]> {
  const host = context.hostOf(engineName);
  const name = cleanLine(engineName);
  const { addresses, env } = await host.facts(signal);
  const reported = context.practice ? undefined : await lookAround(host, signal);
  const part = (heading: string) => reported?.get(heading) ?? '';
  const comes = [env['SSH_CONNECTION'] ?? '', ...part('ssh').split('\n')].flatMap((line) => {
    const [client = '', , server = ''] = line.trim().split(/\s+/);
    return [
      ...guarded(client, `the address from which you connect to ${name}`, { operator: true }),
      ...guarded(server, `the address at which you reach ${name}`),
    ];
  });
  const sessions = addressesIn(part('who')).flatMap(({ text }) =>
    guarded(text, `an address from which a user is logged in to ${name}`, { operator: true }),
  );
  const peers = parsePeers(part('tcp')).flatMap((text) => guarded(text, `has an open SSH connection to ${name}`, { maybe: true }));
  // In tmux SSH_CONNECTION is from an earlier login: it identifies the operator among the peers only with an open connection.
  const isSeen = [...comes, ...sessions].some(({ operator, span }) => operator && peers.some((peer) => overlap(peer.span, span)));
  const connections = isSeen ? [] : peers;
  if (host.link && comes.length + connections.length === 0) {
    const remedy = 'The SSH server does not set SSH_CONNECTION. Use cscli on the host instead, and keep another way to log in.';
    throw new Fault('refused.unseen', `${name} does not show where you connect from, so this ban might lock you out.`, remedy);
  }
  const own = addresses.flatMap((text) => guarded(text, `an address of ${name} itself`));
  const meshes = meshNetworks.flatMap((text) => guarded(text, `the mesh network of ${name}`));
  return [
    ...comes,
    ...sessions,
    ...connections,
    ...own,
    ...meshes.filter((mesh) => own.some(({ span }) => isWithin(span, mesh.span))),
    ...routesOf([...parseRoutes(part('route')), ...parseIpv6Routes(part('route6'))], name),
  ];
}

function routesOf(routes: readonly Route[], name: string): Guarded[] {
  return routes.flatMap(({ network, gateway, interface: card }) => {
    const span = spanOf(network);
    if (gateway !== undefined) return guarded(gateway, `a gateway of ${name}`);
    // Neighbours of a server in a data centre are unknown machines; those at home and in a company are not.
    if (!span || !isPrivate(span)) return [];
    return guarded(network, `the network of ${name} on ${cleanLine(card)}`);
  });
}

async function lookAround(host: Host, signal: AbortSignal): Promise<Map<string, string>> {
  const reported = host.exec(['sh', '-c', script], { signal, limitMs: lookLimitMs });
  // The remote machine must report the address; on this machine without a shell there is no remote operator.
  const outcome = await (host.link ? reported : unlessFault(signal, reported));
  const [, ...parts] = new TextDecoder().decode(outcome?.stdout).split(/^== (\w+)\n/m);
  return new Map(parts.flatMap((heading, at) => (at % 2 === 0 ? [[heading, parts[at + 1] ?? '']] : [])));
}

async function containerNetworks(context: FlowContext, engineName: string, signal: AbortSignal): Promise<Guarded[]> {
  const { engines } = context.fleet.snapshot();
  const machine = engines.find(({ name }) => name === engineName)?.machine;
  const names = engines
    .filter(({ name, machine: other, engine }) => engine.reachable && (name === engineName || other === machine))
    .map(({ name }) => name);
  const networks = await Promise.all(names.map((name) => context.engineOf(name).networks(signal)));
  return networks
    .flat()
    .flatMap(({ name, subnets }) => subnets.flatMap((subnet) => guarded(subnet, `the container network ${cleanLine(name)}`)));
}

async function otherHosts(context: FlowContext, engineName: string, signal: AbortSignal): Promise<Guarded[]> {
  const { engines } = context.fleet.snapshot();
  const machine = engines.find(({ name }) => name === engineName)?.machine;
  const connected = engines.filter((one) => one.machine !== machine && one.connection?.state === 'connected');
  const addresses = connected.map(async ({ name }) => {
    const facts = await limited(signal, lookLimitMs, (both) => context.hostOf(name).facts(both)).catch(() => undefined);
    signal.throwIfAborted();
    return notLoopback(facts?.addresses ?? [], `an address of your host ${cleanLine(name)}`);
  });
  return [
    ...(await Promise.all(addresses)).flat(),
    ...(await thisMachine(context, engineName, signal)),
    ...(await listedHosts(context, engineName, signal)),
  ];
}

/** Returns the addresses of this machine: other traffic from here to the remote machine may take another route than ssh. */
async function thisMachine(context: FlowContext, engineName: string, signal: AbortSignal): Promise<Guarded[]> {
  if (context.practice || !context.hostOf(engineName).link) return [];
  const { addresses } = await openLocalHost().facts(signal);
  return notLoopback(addresses, 'an address of the machine that you are using', { operator: true });
}

/** Names of hosts are resolved both here and on the remote machine, which may have different answers. */
async function listedHosts(context: FlowContext, engineName: string, signal: AbortSignal): Promise<Guarded[]> {
  const { hosts: book } = context;
  if (!book || context.practice) return [];
  const listed = Object.entries(await book.list());
  const found = listed.map(async ([name, { ssh }]) => {
    const hops = await jumpHosts({ program: book.program, env: book.env, destination: ssh }, signal).catch(() => []);
    signal.throwIfAborted();
    const each = hops.map(async (hop, at) => {
      const what = at === 0 ? `your host ${cleanLine(name)}` : `the jump host of your host ${cleanLine(name)}`;
      const addresses = spanOf(hop)
        ? [hop]
        : [...(await addressesOfName(hop, signal)), ...(await resolvedThere(context.hostOf(engineName), hop, signal))];
      return notLoopback(addresses, what);
    });
    return (await Promise.all(each)).flat();
  });
  return (await Promise.all(found)).flat();
}

async function resolvedThere(host: Host, name: string, signal: AbortSignal): Promise<string[]> {
  if (!host.link || !/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return [];
  const found = await unlessFault(signal, host.exec(['getent', 'ahosts', name], { signal, limitMs: lookLimitMs }));
  return addressesIn(new TextDecoder().decode(found?.stdout)).map(({ text }) => text);
}

/** A blocked bouncer receives no further decisions, and a blocked machine reports no further attacks. */
async function readersOf(crowdsec: Crowdsec, signal: AbortSignal): Promise<Guarded[]> {
  const [bouncers, machines] = await Promise.all([bouncersOf(crowdsec, signal), machinesOf(crowdsec, signal)]);
  return [
    ...bouncers.flatMap(({ name, address }) => guarded(address, `the address of the bouncer ${name}`)),
    ...machines.flatMap(({ name, address }) => guarded(address, `the address of the machine ${name}`)),
  ];
}

/** Skips loopback addresses, which belong to no other machine. */
function notLoopback(addresses: readonly string[], what: string, more: Pick<Guarded, 'operator'> = {}): Guarded[] {
  return addresses.filter((text) => !isLoopback(text)).flatMap((text) => guarded(text, what, more));
}
