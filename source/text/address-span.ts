import ipaddr from 'ipaddr.js';

export function isAddress(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
}

export interface AddressSpan {
  family: 4 | 6;
  first: bigint;
  last: bigint;
  /** `192.0.2.7`, `192.0.2.0/24`, `2001:db8::7`. */
  text: string;
}

const widths = { 4: 32, 6: 128 } as const;

/**
 * An address or CIDR range. Bits beyond a prefix are dropped, IPv4 inside IPv6 (`::ffff:192.0.2.7`) is IPv4, a range of one address is that
 * address. Shortened and octal forms are refused: tools disagree about them.
 */
export function spanOf(text: string): AddressSpan | undefined {
  const [host = '', prefix, ...more] = text.trim().split('/');
  if (more.length > 0 || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) return undefined;
  const bytes = bytesOf(host);
  if (!bytes) return undefined;
  const width = bytes.length * 8;
  const fixed = prefix === undefined ? width : Number(prefix);
  if (fixed > width) return undefined;
  const mapped = width === 128 && fixed >= 96 && new ipaddr.IPv6(bytes).isIPv4MappedAddress();
  const own = mapped ? bytes.slice(12) : bytes;
  return spanFrom(own.length === 4 ? 4 : 6, numberOf(own), mapped ? fixed - 96 : fixed);
}

function spanFrom(family: 4 | 6, value: bigint, fixed: number): AddressSpan {
  const width = widths[family];
  const rest = BigInt(width - fixed);
  const first = (value >> rest) << rest;
  const last = first | ((1n << rest) - 1n);
  return { family, first, last, text: `${textOf(family, first)}${fixed === width ? '' : `/${fixed}`}` };
}

export function overlap(one: AddressSpan, other: AddressSpan): boolean {
  return one.family === other.family && one.first <= other.last && other.first <= one.last;
}

export function isWithin(inner: AddressSpan, outer: AddressSpan): boolean {
  return inner.family === outer.family && inner.first >= outer.first && inner.last <= outer.last;
}

export function isOneAddress({ first, last }: AddressSpan): boolean {
  return first === last;
}

/** The owner of an IPv6 address can use any address of its /64. Loopback and link-local addresses stay unchanged. */
export function withNeighbours(span: AddressSpan): AddressSpan {
  if (span.family === 4 || !isOneAddress(span)) return span;
  const top = span.first >> 118n;
  if (span.first <= 1n || top === 0x3fan) return span;
  return spanFrom(6, span.first, 64);
}

/** Ranges that are not routed on the internet: home and company networks, carrier-grade NAT, this machine. */
export function isPrivate(span: AddressSpan): boolean {
  return privateSpans.some((wide) => isWithin(span, wide));
}

const privateSpans = '10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 ::1 fc00::/7 fe80::/10'
  .split(' ')
  .flatMap((text) => spanOf(text) ?? []);

const v4 = /(?<![\d.:])(?:\d{1,3}\.){3}\d{1,3}(?:\/\d{1,2})?(?![\d.])/g;
const v6 = /(?<![0-9A-Fa-f:.])(?:[0-9A-Fa-f]{0,4}:){2,8}(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4})(?:\/\d{1,3})?(?![0-9A-Fa-f:])/g;

/** Each once, in order, without the ports after them. A time of day is not an address. */
export function addressesIn(line: string): AddressSpan[] {
  const found = new Map<string, AddressSpan>();
  const positions = [...line.matchAll(v4), ...line.matchAll(v6)].sort((one, other) => one.index - other.index);
  for (const [text] of positions) {
    if (/^[:\d]*$/.test(text) && !text.includes('::') && text.split(':').length < 8) continue;
    const span = spanOf(text);
    if (span && span.text !== '::') found.set(span.text, span);
  }
  return [...found.values()];
}

function bytesOf(host: string): number[] | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(host)) return host.split('.').map(Number);
  return host.includes(':') && !host.includes('%') && ipaddr.IPv6.isValid(host) ? ipaddr.IPv6.parse(host).toByteArray() : undefined;
}

function numberOf(bytes: readonly number[]): bigint {
  return bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

function textOf(family: 4 | 6, value: bigint): string {
  const bytes = Array.from({ length: widths[family] / 8 }, (_, at) => Number((value >> BigInt(widths[family] - 8 * (at + 1))) & 0xffn));
  return family === 4 ? bytes.join('.') : new ipaddr.IPv6(bytes).toRFC5952String();
}
