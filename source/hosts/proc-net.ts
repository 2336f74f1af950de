import { endianness } from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Listener } from './host.ts';

export const procFiles = ['tcp', 'tcp6', 'udp', 'udp6'] as const;
export type ProcNetFile = (typeof procFiles)[number];

/** A socket that accepts traffic, as the kernel lists it. */
export interface KernelSocket extends Omit<Listener, 'process'> {
  /** Identifies the socket for its whole life. */
  inode: string;
}

const listening = '0A';
const established = '01';
const unconnected = '07';

/**
 * Returns the listening sockets in `/proc/net/{tcp,tcp6,udp,udp6}`. UDP has no listening state: every socket with a port of its own that
 * is not connected counts, which excludes clients that called `connect`. Unreadable lines are skipped.
 */
export function parseProcNet(text: string, file: ProcNetFile): KernelSocket[] {
  const protocol = file.startsWith('udp') ? 'udp' : 'tcp';
  const sockets: KernelSocket[] = [];
  for (const line of text.split('\n')) {
    const [slot, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
    if (!slot?.endsWith(':') || !local || !remote || !inode) continue;
    if (state !== (protocol === 'tcp' ? listening : unconnected)) continue;
    const port = portOf(local);
    if (!port || portOf(remote) !== 0) continue;
    const address = addressOf(local.slice(0, local.indexOf(':')));
    if (address === undefined) continue;
    sockets.push({ address, port, protocol, inode });
  }
  return sockets;
}

/** Returns the remote ends of the connections in rows of `/proc/net/tcp` and `tcp6`. Unreadable lines are skipped. */
export function parsePeers(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [slot, , remote = '', state] = line.trim().split(/\s+/);
    if (!slot?.endsWith(':') || state !== established) return [];
    return addressOf(remote.slice(0, remote.indexOf(':'))) ?? [];
  });
}

function portOf(endpoint: string): number | undefined {
  const hex = endpoint.slice(endpoint.indexOf(':') + 1);
  return /^[0-9A-Fa-f]{4}$/.test(hex) ? Number.parseInt(hex, 16) : undefined;
}

/** Addresses are 32-bit words in the machine's own byte order. */
function addressOf(hex: string): string | undefined {
  if (!/^(?:[0-9A-Fa-f]{8}|[0-9A-Fa-f]{32})$/.test(hex)) return undefined;
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  const address = ipaddr.fromByteArray([...bytes]);
  // Bound to `::ffff:127.0.0.1`, the socket accepts IPv4 only.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}
