import ipaddr from 'ipaddr.js';
import { authority, urlHost } from '../../text/authority.ts';

/** The proxy's target: `localhost:8180`, always the host's side of the port (R89). */
export interface Upstream {
  /** `localhost`, or the one address that the port is published on. */
  host: string;
  port: number;
  /** The component uses TLS there itself, with a self-signed certificate. */
  tls?: boolean;
}

export interface Portal {
  upstream: Upstream;
  url: string;
}

export interface Site {
  host: string;
  upstream: Upstream;
  /** Paths with other targets (R51): the first one that answers is used. */
  routes?: readonly { path: string; upstreams: readonly Upstream[] }[];
  portal?: Portal;
  websocket?: boolean;
}

/** The portal's headers about the signed-in user; no other headers are copied (R36). */
const portalHeaders = ['Remote-User', 'Remote-Groups', 'Remote-Name', 'Remote-Email'] as const;

const privateEnds = ['.lan', '.local', '.internal', '.home.arpa', '.localhost'];

/** Returns whether no public authority issues a certificate for this name (R10): a local name, or an address of a private network. */
export function isPrivateName(host: string): boolean {
  const name = host.toLowerCase();
  if (ipaddr.isValid(name)) return ipaddr.process(name).range() !== 'unicast';
  return !name.includes('.') || privateEnds.some((end) => name.endsWith(end));
}

export function checkSiteName(name: string): string | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(name) || (name.includes(':') && ipaddr.IPv6.isValid(name) && !name.includes('%')))
    return undefined;
  // The proxy would parse it as a keyword of its configuration.
  if (name === 'import') return 'The name "import" is reserved by the proxy.';
  const hasParts = name.split('.').every((part) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(part));
  if (hasParts && name.length <= 253 && !/(?:^|\.)\d+$/.test(name)) return undefined;
  if (/[^\u0000-\u007f]/.test(name)) return 'Use the ASCII form of the name, which starts with xn--.';
  if (/[A-Z:/*]/.test(name)) return 'Use only the host name, in lower case, without https://, a port, a path or a wildcard.';
  return 'Each part of a host name must have 1 to 63 letters, digits and dashes and must not start or end with a dash. The last part must not be a number, and the whole name has at most 253 characters.';
}

/** Host names contain no underscores, so two sites never share a file. */
export const siteFileName = (host: string): string => `${host.replaceAll(':', '_')}.caddy`;

/** Returns the rule of one site: exactly `{host} { tls internal; reverse_proxy localhost:<port> }` if nothing more is required (R11). */
export function siteText({ host, upstream, routes = [], portal, websocket = false }: Site): string {
  const lines: string[] = [];
  if (isPrivateName(host)) lines.push('tls internal');
  if (websocket) lines.push('# WebSockets need no directive here. Do not remove the Upgrade header.');
  const proxied = [...routes.flatMap(({ path, upstreams }) => reverseProxy(upstreams, path)), ...reverseProxy([upstream])];
  // Inside `route` the order is as written: identity headers of the client are removed first, then the portal is queried.
  const removed = portalHeaders.map((header) => `request_header -${header}`);
  lines.push(...(portal ? ['route {', ...indented([...removed, ...forwardAuth(portal), ...proxied]), '}'] : proxied));
  return `${urlHost(host)} {\n${indented(lines).join('\n')}\n}\n`;
}

function forwardAuth({ upstream, url }: Portal): string[] {
  const block = [`\turi /api/verify?rd=${url.replace(/\/+$/, '')}`, `\tcopy_headers ${portalHeaders.join(' ')}`];
  if (upstream.tls) block.push(...indented(ownCertificate));
  return [`forward_auth ${addressOf(upstream)} {`, ...block, '}'];
}

const ownCertificate = ['transport http {', '\ttls_insecure_skip_verify', '}'];

function reverseProxy(upstreams: readonly Upstream[], path?: string): string[] {
  const block: string[] = [];
  // Uses the first that answers: one that did not is skipped for a while.
  if (upstreams.length > 1) block.push('lb_policy first', 'lb_try_duration 2s', 'fail_duration 30s');
  if (upstreams.some(({ tls }) => tls)) block.push(...ownCertificate);
  const head = ['reverse_proxy', ...(path === undefined ? [] : [path]), ...upstreams.map(addressOf)].join(' ');
  return block.length === 0 ? [head] : [`${head} {`, ...indented(block), '}'];
}

const addressOf = ({ host, port, tls }: Upstream): string => `${tls ? 'https://' : ''}${authority({ host, port })}`;

const indented = (lines: readonly string[]): string[] => lines.map((line) => `\t${line}`);
