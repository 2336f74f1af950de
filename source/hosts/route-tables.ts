import { endianness } from 'node:os';
import ipaddr from 'ipaddr.js';

export interface Route {
  /** `192.168.1.0/24`, `0.0.0.0/0`, `fd00::/64`. */
  network: string;
  /** Missing for directly connected networks. */
  gateway?: string;
  interface: string;
}

/** Parses `/proc/net/route`: IPv4, in the machine's own byte order. Unreadable lines are skipped. */
export function parseRoutes(text: string): Route[] {
  const routes: Route[] = [];
  for (const line of text.split('\n').slice(1)) {
    const [name, destination, gateway, , , , , mask] = line.trim().split(/\s+/);
    if (!name || !isWord(destination) || !isWord(gateway) || !isWord(mask)) continue;
    const prefix = [...wordBytes(mask)].reduce((sum, byte) => sum + byte.toString(2).replace(/0/g, '').length, 0);
    const network = `${wordBytes(destination).join('.')}/${prefix}`;
    const through = wordBytes(gateway).join('.');
    routes.push({ network, interface: name, ...(through !== '0.0.0.0' && { gateway: through }) });
  }
  return routes;
}

/** Parses `/proc/net/ipv6_route`. Loopback and multicast routes are left out. */
export function parseIpv6Routes(text: string): Route[] {
  const routes: Route[] = [];
  for (const line of text.split('\n')) {
    const [destination, prefix, , , hop, , , , , name] = line.trim().split(/\s+/);
    if (!name || name === 'lo' || !isLong(destination) || !isLong(hop) || prefix === undefined || !/^[0-9a-f]{2}$/i.test(prefix)) continue;
    if (/^ff/i.test(destination)) continue;
    const through = long(hop);
    const network = `${long(destination)}/${Number.parseInt(prefix, 16)}`;
    routes.push({ network, interface: name, ...(through !== '::' && { gateway: through }) });
  }
  return routes;
}

const isWord = (text: string | undefined): text is string => text !== undefined && /^[0-9A-Fa-f]{8}$/.test(text);
const isLong = (text: string | undefined): text is string => text !== undefined && /^[0-9A-Fa-f]{32}$/.test(text);

function wordBytes(hex: string): number[] {
  const bytes = [...Buffer.from(hex, 'hex')];
  return endianness() === 'LE' ? bytes.reverse() : bytes;
}

function long(hex: string): string {
  return (ipaddr.fromByteArray([...Buffer.from(hex, 'hex')]) as ipaddr.IPv6).toRFC5952String();
}
