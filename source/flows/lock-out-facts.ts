import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { openLocalHost } from '../hosts/local-host.ts';
import { parsePeers } from '../hosts/proc-net.ts';
import { parseIpv6Routes, parseRoutes, type Route } from '../hosts/route-tables.ts';
import { addressesOfName, sshWays } from '../hosts/ssh/ssh-ways.ts';
import type { Crowdsec } from '../products/crowdsec.ts';
import { bouncersOf, machinesOf } from '../products/crowdsec-lists.ts';
import { addressesIn, isPrivate, overlap, spanOf } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowWorld } from './flow.ts';
import { type Guarded, guarded } from './lock-out.ts';

const lookLimitMs = 15_000;
/** Each part of the answer has a heading. POSIX, and what busybox has. */
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

/** Addresses of a mesh that routes past the kernel's own table. */
const meshNetworks = ['100.64.0.0/10', 'fd7a:115c:a1e0::/48'];

/**
 * Everybody who must still come in to the machine of this place after a ban (design.md, "Guard rails"): the operator, as that machine sees them (where
 * neither SSH_CONNECTION nor a login has a connection that is open, each SSH connection may be theirs); the machine itself, its gateways and the private networks that it is in, those of containers and
 * of a mesh among them; every listed host and what ssh jumps over; bouncers and other machines of this CrowdSec. Throws `refused.unseen` where a machine over ssh
 * does not tell where the operator comes from.
 */
export async function guardsOf(
  world: FlowWorld,
  place: string,
  crowdsec: Crowdsec | undefined,
  signal: AbortSignal,
): Promise<readonly Guarded[]> {
  const found = await Promise.all([
    ownMachine(world, place, signal),
    containerNetworks(world, place, signal),
    otherHosts(world, place, signal),
    crowdsec ? readersOf(crowdsec, signal) : [],
  ]);
  const always = ['127.0.0.0/8', '::1'].flatMap((text) => guarded(text, 'the machine itself (loopback)') ?? []);
  return [...always, ...found.flat()];
}

async function ownMachine(world: FlowWorld, place: string, signal: AbortSignal): Promise<Guarded[]> {
  const host = world.hostOf(place);
  const name = cleanLine(place);
  const { addresses, env } = await host.facts(signal);
  const said = world.practice ? new Map<string, string[]>() : await lookAround(host, signal);
  const comes = [env['SSH_CONNECTION'] ?? '', ...(said.get('ssh') ?? [])].flatMap((line) => {
    const [client = '', , server = ''] = line.trim().split(/\s+/);
    return [
      guarded(client, `the address you come from, as ${name} sees it`, { operator: true }),
      guarded(server, `the address at which you reach ${name}`),
    ].flatMap((one) => one ?? []);
  });
  const sessions = (said.get('who') ?? [])
    .flatMap((line) => addressesIn(line))
    .flatMap(({ text }) => guarded(text, `where somebody is logged in to ${name} from`, { operator: true }) ?? []);
  const peers = parsePeers(lines(said, 'tcp')).flatMap(
    (text) => guarded(text, `has an SSH connection to ${name} open`, { maybe: true }) ?? [],
  );
  // In tmux SSH_CONNECTION is of an earlier login: only with a connection that is open does it tell which of the peers is the operator.
  const isSeen = [...comes, ...sessions].some(({ operator, span }) => operator && peers.some((peer) => overlap(peer.span, span)));
  const connections = isSeen ? [] : peers;
  if (host.link && comes.length + connections.length === 0) {
    throw new Fault({
      code: 'refused.unseen',
      message: `${name} does not tell where you come from, so nobody can see whether this locks you out.`,
      remedy: 'Its sshd sets no SSH_CONNECTION; do it with cscli on the machine, with another way in at hand.',
    });
  }
  const own = addresses.flatMap((text) => guarded(text, `an address of ${name} itself`) ?? []);
  const inMesh = meshNetworks.filter((text) => addresses.some((address) => isInside(address, text)));
  return [
    ...comes,
    ...sessions,
    ...connections,
    ...own,
    ...inMesh.flatMap((text) => guarded(text, `the mesh that ${name} belongs to`) ?? []),
    ...routesOf([...parseRoutes(lines(said, 'route')), ...parseIpv6Routes(lines(said, 'route6'))], name),
  ];
}

function routesOf(routes: readonly Route[], name: string): Guarded[] {
  return routes.flatMap(({ network, gateway, interface: card }) => {
    const span = spanOf(network);
    if (gateway !== undefined) return guarded(gateway, `a gateway of ${name}`) ?? [];
    // The neighbours of a server in a data centre are strangers; those at home and in a company are not.
    if (!span || !isPrivate(span)) return [];
    return guarded(network, `the network of ${name} on ${cleanLine(card)}`) ?? [];
  });
}

async function lookAround(host: Host, signal: AbortSignal): Promise<Map<string, string[]>> {
  const said = new Map<string, string[]>();
  let part: string[] = [];
  try {
    const { stdout } = await host.exec(['sh', '-c', script], { signal, limitMs: lookLimitMs });
    for (const line of new TextDecoder().decode(stdout).split('\n')) {
      const heading = /^== (\w+)$/.exec(line)?.[1];
      if (heading === undefined) part.push(line);
      else {
        part = [];
        said.set(heading, part);
      }
    }
  } catch (thrown) {
    signal.throwIfAborted();
    // The machine over there has to tell; here, without a shell, nobody came from anywhere.
    if (host.link || !(thrown instanceof Fault)) throw thrown;
  }
  return said;
}

/** Of every engine on that machine. */
async function containerNetworks(world: FlowWorld, place: string, signal: AbortSignal): Promise<Guarded[]> {
  const { places } = world.fleet.snapshot();
  const machine = places.find(({ name }) => name === place)?.machine;
  const names = places
    .filter(({ name, machine: other, engine }) => engine.reachable && (name === place || other === machine))
    .map(({ name }) => name);
  const networks = await Promise.all(names.map((name) => world.engineOf(name).networks(signal)));
  return networks
    .flat()
    .flatMap(({ name, subnets }) => subnets.flatMap((subnet) => guarded(subnet, `the network of containers ${cleanLine(name)}`) ?? []));
}

async function otherHosts(world: FlowWorld, place: string, signal: AbortSignal): Promise<Guarded[]> {
  const { places } = world.fleet.snapshot();
  const machine = places.find(({ name }) => name === place)?.machine;
  const connected = places.filter((one) => one.machine !== machine && one.way?.state === 'connected');
  const addresses = connected.map(async ({ name }) => {
    const facts = await limited(signal, lookLimitMs, (both) => world.hostOf(name).facts(both)).catch(() => undefined);
    signal.throwIfAborted();
    return (facts?.addresses ?? []).flatMap((text) =>
      isLoopback(text) ? [] : (guarded(text, `an address of your host ${cleanLine(name)}`) ?? []),
    );
  });
  return [
    ...(await Promise.all(addresses)).flat(),
    ...(await thisMachine(world, place, signal)),
    ...(await listedHosts(world, place, signal)),
  ];
}

/** Where the operator sits: what else goes from here to a far machine may take another way than ssh. */
async function thisMachine(world: FlowWorld, place: string, signal: AbortSignal): Promise<Guarded[]> {
  if (world.practice || !world.hostOf(place).link) return [];
  const { addresses } = await openLocalHost().facts(signal);
  return addresses.flatMap((text) =>
    isLoopback(text) ? [] : (guarded(text, 'an address of this machine, where you sit', { operator: true }) ?? []),
  );
}

/** As they are written down: the names are resolved here and over there, for both may see others. */
async function listedHosts(world: FlowWorld, place: string, signal: AbortSignal): Promise<Guarded[]> {
  const { hosts: book } = world;
  if (!book || world.practice) return [];
  const listed = Object.entries(await book.list());
  const found = listed.map(async ([name, { ssh }]) => {
    const ways = await sshWays({ program: book.program, env: book.env, destination: ssh }, signal).catch(() => []);
    signal.throwIfAborted();
    const each = ways.map(async (way, at) => {
      const what = at === 0 ? `your host ${cleanLine(name)}` : `what ssh jumps over to your host ${cleanLine(name)}`;
      const addresses = spanOf(way)
        ? [way]
        : [...(await addressesOfName(way, signal)), ...(await resolvedThere(world.hostOf(place), way, signal))];
      return addresses.flatMap((text) => (isLoopback(text) ? [] : (guarded(text, what) ?? [])));
    });
    return (await Promise.all(each)).flat();
  });
  return (await Promise.all(found)).flat();
}

async function resolvedThere(host: Host, name: string, signal: AbortSignal): Promise<string[]> {
  if (!host.link || !/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return [];
  try {
    const { stdout } = await host.exec(['getent', 'ahosts', name], { signal, limitMs: lookLimitMs });
    return addressesIn(new TextDecoder().decode(stdout)).map(({ text }) => text);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

/** A bouncer that is shut out learns of no further decision, and a machine tells of no further attack. */
async function readersOf(crowdsec: Crowdsec, signal: AbortSignal): Promise<Guarded[]> {
  const [bouncers, machines] = await Promise.all([bouncersOf(crowdsec, signal), machinesOf(crowdsec, signal)]);
  return [
    ...bouncers.flatMap(({ name, address }) => guarded(address, `where the bouncer ${name} comes from`) ?? []),
    ...machines.flatMap(({ name, address }) => guarded(address, `where the machine ${name} reports from`) ?? []),
  ];
}

function lines(said: ReadonlyMap<string, readonly string[]>, heading: string): string {
  return (said.get(heading) ?? []).join('\n');
}

function isInside(address: string, network: string): boolean {
  const [inner, outer] = [spanOf(address.replace(/%.*$/, '')), spanOf(network)];
  return (
    inner !== undefined && outer !== undefined && inner.family === outer.family && inner.first >= outer.first && inner.last <= outer.last
  );
}

const isLoopback = (text: string): boolean => /^127\.|^::1$/.test(text);
