import { isAddress } from '../text/address-span.ts';
import { interpolate, readInterpolation, variablesIn } from './interpolation.ts';

export interface PortMapping {
  /** `web` of `${WEB_PORT:-8180}`; undefined if the host port is not a variable. */
  name: string | undefined;
  /** Undefined if the engine chooses one. */
  host: number | undefined;
  container: number;
  range: { first: number; last: number };
  protocol: 'tcp' | 'udp';
  /** Default address; empty means all. */
  address: string;
  variables: { address: readonly string[]; host: readonly string[]; container: readonly string[] };
}

const rangeLimit = 1024;

type ReadPorts = { ports: PortMapping[] } | { problem: string };

/** `[[address:]host:]container[/protocol]` or the long form, with the defaults of variables. A range becomes one mapping per port. */
export function readPort(entry: unknown): ReadPorts {
  if (typeof entry === 'number') return readShort(String(entry));
  if (typeof entry === 'string') return readShort(entry);
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) return { problem: 'it must be a string or a map' };
  const { target, published, protocol, host_ip: address } = entry as Record<string, unknown>;
  if (target === undefined) return { problem: 'the long form requires a target' };
  return combine(text(address), text(published), text(target), text(protocol) || 'tcp');
}

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

function readShort(entry: string): ReadPorts {
  const slash = entry.lastIndexOf('/');
  const protocol = slash < 0 ? 'tcp' : entry.slice(slash + 1);
  const parts = splitOutsideBraces(slash < 0 ? entry : entry.slice(0, slash));
  const container = parts.pop() ?? '';
  const host = parts.pop() ?? '';
  return combine(parts.join(':'), host, container, protocol);
}

function combine(addressText: string, hostText: string, containerText: string, protocolText: string): ReadPorts {
  const protocol = interpolate(protocolText);
  if (protocol !== 'tcp' && protocol !== 'udp') return { problem: `the protocol must be tcp or udp, not "${protocol}"` };
  const container = readRange(interpolate(containerText));
  if (!container) return { problem: `"${containerText}" is not a valid container port` };
  const host = interpolate(hostText) === '' ? undefined : readRange(interpolate(hostText));
  if (host === undefined && interpolate(hostText) !== '') return { problem: `"${hostText}" is not a valid host port` };
  if (host && host.length !== container.length && container.length !== 1) return { problem: 'the port ranges have different lengths' };
  const address = interpolate(addressText).replace(/^\[(.*)\]$/, '$1');
  if (address !== '' && !isAddress(address.replace(/%.*/, ''))) return { problem: `"${address}" is not a valid IP address` };
  const name = nameOf(hostText);
  const names = (text: string) => variablesIn(text).map((variable) => variable.name);
  const variables = { address: names(addressText), host: names(hostText), container: names(containerText) };
  const range = { first: container[0] ?? 0, last: container.at(-1) ?? 0 };
  return { ports: container.map((port, index) => ({ name, host: host?.[index], container: port, range, protocol, address, variables })) };
}

/** `web` becomes `WEB_PORT`, `sync-quic` becomes `SYNC_QUIC_PORT`. */
export const portVariable = (name: string): string => `${name.toUpperCase().replaceAll('-', '_')}_PORT`;

/** The reverse of `portVariable`. */
function nameOf(hostText: string): string | undefined {
  const variable = readInterpolation(hostText).parts.find((part) => typeof part !== 'string');
  if (typeof variable !== 'object') return undefined;
  return (
    variable.name
      .replace(/_?PORT$/i, '')
      .toLowerCase()
      .replaceAll('_', '-') || 'port'
  );
}

function readRange(written: string): number[] | undefined {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(written);
  if (!match) return undefined;
  const first = Number(match[1]);
  const last = Number(match[2] ?? match[1]);
  if (first < 1 || last > 65535 || last < first || last - first >= rangeLimit) return undefined;
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Colons inside `${...}` and inside the brackets of an IPv6 address are no separators. */
export function splitOutsideBraces(entry: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < entry.length; at++) {
    const sign = entry[at];
    if (sign === '{' || sign === '[') depth++;
    else if (sign === '}' || sign === ']') depth--;
    else if (sign === ':' && depth === 0) {
      parts.push(entry.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(entry.slice(start));
  return parts;
}
