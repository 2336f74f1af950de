import ipaddr from 'ipaddr.js';

/** Where the proxy sends what it gets: `localhost:8180`, always the side of the host (R89). */
export interface Upstream {
  /** `localhost`, or the one address that the port is published on. */
  host: string;
  port: number;
  /** The component speaks TLS there itself, with a certificate of its own making. */
  tls?: boolean;
}

/** Who decides who may pass (R36). */
export interface Portal {
  upstream: Upstream;
  /** Where browsers find it: `https://auth.lan`. */
  url: string;
  /** As far as it is known: `4.39.20`. From 5 on the portal has another path for the same question. */
  version?: string;
}

/** All that goes into the rule of one site. */
export interface Site {
  host: string;
  upstream: Upstream;
  /** Paths that go elsewhere (R51), to the first of these that answers. */
  routes?: readonly { path: string; upstreams: readonly Upstream[] }[];
  portal?: Portal;
  /** Does the component use websockets (R54)? */
  websocket?: boolean;
}

/** What a portal tells about who passed; nothing else is copied (R36). */
export const portalHeaders = ['Remote-User', 'Remote-Groups', 'Remote-Name', 'Remote-Email'] as const;

const privateEnds = ['.lan', '.local', '.internal', '.home.arpa', '.localhost'];

/** A name that no public authority gives a certificate for (R10): of the house, or an address of a private network. */
export function isPrivateName(host: string): boolean {
  const name = host.toLowerCase();
  if (ipaddr.isValid(name)) return ipaddr.process(name).range() !== 'unicast';
  return !name.includes('.') || privateEnds.some((end) => name.endsWith(end));
}

/** What is wrong with the name of a site, as one sentence; undefined when it will do. */
export function checkSiteName(name: string): string | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(name) || (name.includes(':') && ipaddr.IPv6.isValid(name) && !name.includes('%')))
    return undefined;
  if (name === '') return 'A site needs a name.';
  if (/[^\u0000-\u007f]/.test(name)) return 'Write the name in its ASCII form, which begins with xn--.';
  if (/[A-Z]/.test(name)) return 'Write the name in lower case.';
  if (/^[a-z]+:\/\//.test(name)) return 'Write the name alone, without https:// in front.';
  if (/[:/]/.test(name)) return 'Write the name alone, without a port or a path.';
  if (name.includes('*')) return 'A wildcard names no single site.';
  if (name.length > 253) return 'A host name has 253 characters at most.';
  for (const label of name.split('.')) {
    if (label === '') return 'A host name has no empty part between its dots.';
    if (label.length > 63) return 'Each part of a host name has 63 characters at most.';
    if (!/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label))
      return 'The parts of a host name hold letters, digits and dashes; a dash is neither first nor last.';
  }
  if (/(?:^|\.)\d+$/.test(name)) return 'The last part of a host name is not a number.';
  // The proxy would read it as a word of its own language.
  if (name === 'import') return 'The proxy keeps the name "import" for itself.';
  return undefined;
}

/** Name of the site's file. A host name has no underscores, so no two sites share one. */
export function siteFileName(host: string): string {
  return `${host.replaceAll(':', '_')}.caddy`;
}

/** The rule of one site: exactly `{host} { tls internal; reverse_proxy localhost:<port> }` where nothing more is asked for (R11). */
export function siteText({ host, upstream, routes = [], portal, websocket = false }: Site): string {
  const lines: string[] = [];
  if (isPrivateName(host)) lines.push('tls internal');
  if (websocket) lines.push('# Websockets: the proxy passes the Upgrade header by itself; no rule may remove it.');
  const proxied = [...routes.flatMap(({ path, upstreams }) => reverseProxy(upstreams, path)), ...reverseProxy([upstream])];
  if (portal) {
    // Inside `route` the order is as written: what a client says it is goes first, then the portal is asked.
    lines.push(
      'route {',
      ...portalHeaders.map((header) => `\trequest_header -${header}`),
      ...indented(forwardAuth(portal)),
      ...indented(proxied),
      '}',
    );
  } else lines.push(...proxied);
  return `${host.includes(':') ? `[${host}]` : host} {\n${indented(lines).join('\n')}\n}\n`;
}

function forwardAuth({ upstream, url, version }: Portal): string[] {
  const address = url.replace(/\/+$/, '');
  const uri = Number.parseInt(version ?? '', 10) >= 5 ? `/api/authz/forward-auth?authelia_url=${address}` : `/api/verify?rd=${address}`;
  const block = [`\turi ${uri}`, `\tcopy_headers ${portalHeaders.join(' ')}`];
  if (upstream.tls) block.push(...indented(ownCertificate));
  return [`forward_auth ${addressOf(upstream)} {`, ...block, '}'];
}

const ownCertificate = ['transport http {', '\ttls_insecure_skip_verify', '}'];

function reverseProxy(upstreams: readonly Upstream[], path?: string): string[] {
  const block: string[] = [];
  // The first that answers: one that did not is left out for a while.
  if (upstreams.length > 1) block.push('lb_policy first', 'lb_try_duration 2s', 'fail_duration 30s');
  if (upstreams.some(({ tls }) => tls)) block.push(...ownCertificate);
  const head = ['reverse_proxy', ...(path === undefined ? [] : [path]), ...upstreams.map(addressOf)].join(' ');
  return block.length === 0 ? [head] : [`${head} {`, ...indented(block), '}'];
}

function addressOf({ host, port, tls }: Upstream): string {
  return `${tls ? 'https://' : ''}${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `\t${line}`);
