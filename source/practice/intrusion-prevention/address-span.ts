import ipaddr from 'ipaddr.js';

/** The addresses from first to last, as numbers of their family. */
export interface AddressSpan {
  bytes: 4 | 16;
  first: bigint;
  last: bigint;
}

/** The span of an address or a range in CIDR form; undefined for anything else. */
export function spanOf(text: string): AddressSpan | undefined {
  const [host = '', prefix, ...more] = text.split('/');
  if (more.length > 0 || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) return undefined;
  const bytes = addressBytes(host);
  if (bytes === undefined) return undefined;
  const width = bytes.length * 8;
  const fixed = prefix === undefined ? width : Number(prefix);
  if (fixed > width) return undefined;
  const value = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const rest = BigInt(width - fixed);
  const first = (value >> rest) << rest;
  return { bytes: width === 32 ? 4 : 16, first, last: first | ((1n << rest) - 1n) };
}

function addressBytes(host: string): number[] | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(host)) return host.split('.').map(Number);
  return host.includes(':') && !host.includes('%') && ipaddr.IPv6.isValid(host) ? ipaddr.IPv6.parse(host).toByteArray() : undefined;
}

export const isAddress = (text: string): boolean => addressBytes(text) !== undefined;
export const isRange = (text: string): boolean => text.includes('/') && spanOf(text) !== undefined;

/** Whether all of `inner` lies in `outer`. */
export const spans = (outer: AddressSpan, inner: AddressSpan): boolean =>
  outer.bytes === inner.bytes && outer.first <= inner.first && outer.last >= inner.last;
