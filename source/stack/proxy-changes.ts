import { createHash } from 'node:crypto';
import type { Catalog, CatalogEntry, CatalogPort } from '../catalog/catalog.ts';
import { checkValue } from '../catalog/field-types.ts';
import { lacksLogin } from '../catalog/standing-checks.ts';
import type { Finding } from './finding.ts';
import type { Deployment, FileChange, Plan, PlannedPort } from './model.ts';
import { hostOf, valueInForce } from './networks.ts';
import { checkSiteName, type Portal, type Site, siteFileName, siteText, type Upstream } from './proxy-site.ts';

/** Catalog id of the component that terminates TLS in front of the others (R10). */
export const proxyId = 'reverse-proxy';

export interface ProxyRequest {
  entry: CatalogEntry;
  /** Name of its site; empty for none. */
  site: string;
  /** Behind the portal (R36)? Undefined: as it is now, and for a component without any login where there is a portal (R42). */
  protect?: boolean | undefined;
  /** As the plan publishes them: the proxy follows a remap (R89). */
  ports: readonly PlannedPort[];
  /** What is answered for this component: the portal's own address is in it. */
  values: Readonly<Record<string, string>>;
  /** Of the whole stack, this component's included. */
  deployments: readonly Deployment[];
  catalog: Catalog;
  /** Of the portal, where its probe has told. */
  portalVersion?: string;
  /** Replace a rule that was changed by hand. */
  fresh?: boolean;
}

export interface ProxyChanges {
  files: readonly FileChange[];
  after: Plan['after'];
  findings: readonly Finding[];
}

/** What deploying a component changes at the reverse proxy: the file of its site, that of its former site, and what puts them in force. */
export function proxyChanges(request: ProxyRequest): ProxyChanges {
  const { entry, site, deployments, catalog } = request;
  const own = deployments.find(({ component }) => component === entry.id);
  const further = furtherNames(entry, request.values, site);
  const proxy = deployments.find(({ component }) => component === proxyId);
  const findings: Finding[] = [];
  for (const host of site === '' ? [] : [site, ...further.map(({ host }) => host)]) {
    const problem = checkSiteName(host);
    if (problem !== undefined)
      findings.push(blocking('site-name', `"${host}" cannot be the name of a site: ${problem}`, 'Give it another name, or none.'));
    const other = deployments.find((one) => one.component !== entry.id && sitesOf(one, catalog).includes(host));
    if (other)
      findings.push(blocking('site-taken', `The site ${host} belongs to ${other.component}.`, 'Give this component another name.'));
  }
  if (!proxy) {
    if (site !== '')
      findings.push({
        id: 'no-proxy',
        level: 'warning',
        message: `No reverse proxy is deployed on this host, so nothing will answer at ${site}.`,
        advice: `Deploy ${proxyId}; this component's site is set up when it is deployed again.`,
        rule: 'R10',
        remedy: { kind: 'deploy', label: `Deploy ${proxyId} first`, component: proxyId },
      });
    return { files: [], after: [], findings };
  }
  const files: FileChange[] = [];
  if (site !== '' && findings.length === 0) {
    const made = makeSite(request, proxy);
    if ('finding' in made) findings.push(made.finding);
    else {
      const { site: main } = made;
      files.push(...put(request, proxy, site, siteText(main), findings));
      for (const { host, port } of further) {
        const upstream = upstreamOf(port, request.ports);
        if (!upstream) continue;
        const portal = upstream.port === main.upstream.port ? main.portal : undefined;
        const text = siteText({ host, upstream, websocket: entry.websocket, ...(portal && { portal }) });
        files.push(...put(request, proxy, host, text, findings));
      }
    }
  }
  const now = new Set(site === '' ? [] : [site, ...further.map(({ host }) => host)]);
  for (const before of own ? sitesOf(own, catalog) : []) if (!now.has(before)) files.push(...take(proxy, before, deployments, findings));
  if (entry.site?.portal !== undefined) files.push(...followPortal(request, proxy));
  if (files.length > 0 && !/^\s*import\s+sites\//m.test(proxy.files['files/Caddyfile'] ?? ''))
    findings.push({
      id: 'proxy-imports-nothing',
      level: 'warning',
      message: 'The Caddyfile of the reverse proxy does not import sites/*.caddy, so the rule has no effect.',
      advice: 'Add the line "import sites/*.caddy" to its files/Caddyfile.',
      rule: 'R11',
    });
  return { files, after: files.length > 0 ? putInForce(catalog.get(proxyId)) : [], findings };
}

/** Names beside the site's own, as the values have them, and the port that each leads to. Without a site there are none. */
export function furtherNames(
  entry: CatalogEntry,
  values: Readonly<Record<string, string>>,
  site: string,
): { host: string; port: CatalogPort }[] {
  if (site === '') return [];
  return (entry.site?.names ?? []).flatMap(({ field, port: name }) => {
    const host = hostOf(valueInForce(entry, field, values).trim());
    const port = entry.ports.find((candidate) => candidate.name === name);
    return host === '' || host === site || !port ? [] : [{ host, port }];
  });
}

/** All names that a deployment has at the proxy. */
function sitesOf({ component, record, env }: Deployment, catalog: Catalog): string[] {
  const entry = catalog.get(component);
  if (!record?.site) return [];
  return [record.site, ...(entry ? furtherNames(entry, env, record.site).map(({ host }) => host) : [])];
}

/** Is this component's site behind the portal now? */
export function isProtected(proxy: Deployment | undefined, site: string): boolean {
  return site !== '' && /^\s*forward_auth\s/m.test(proxy?.files[`files/sites/${siteFileName(site)}`] ?? '');
}

function makeSite(request: ProxyRequest, proxy: Deployment): { site: Site } | { finding: Finding } {
  const { entry, site, deployments, catalog } = request;
  const shown =
    entry.ports.find(({ name }) => name === entry.site?.port) ??
    entry.ports.find(({ web }) => web) ??
    entry.ports.find(({ protocol }) => protocol === 'tcp');
  const upstream = shown && upstreamOf(shown, request.ports);
  if (!upstream)
    return {
      finding: blocking(
        'site-without-port',
        `${entry.id} publishes no port that a reverse proxy could serve.`,
        'Leave the name of the site empty.',
      ),
    };
  const routes = (entry.site?.routes ?? []).flatMap(({ path, port, otherwise }) => {
    const upstreams = [port, otherwise].flatMap((name) => {
      const found = entry.ports.find((candidate) => candidate.name === name);
      return (found && upstreamOf(found, request.ports)) ?? [];
    });
    return upstreams.length === 0 ? [] : [{ path, upstreams }];
  });
  const made: Site = { host: site, upstream, routes, websocket: entry.websocket };
  const portalEntry = catalog.entries.find((candidate) => candidate.site?.portal !== undefined);
  const deployed = portalEntry && deployments.find(({ component }) => component === portalEntry.id);
  const wanted =
    request.protect ??
    (isProtected(proxy, entry.id === portalEntry?.id ? '' : (formerSite(request) ?? site)) ||
      (lacksLogin(entry) && deployed !== undefined));
  if (!wanted || entry.id === portalEntry?.id) return { site: made };
  if (!portalEntry || !deployed)
    return {
      finding: {
        ...blocking(
          'no-portal',
          `${site} is to be behind the sign-on portal, and none is deployed on this host.`,
          'Deploy the portal first, or leave the site without it.',
        ),
        rule: 'R36',
        ...(portalEntry && { remedy: { kind: 'deploy' as const, label: `Deploy ${portalEntry.id} first`, component: portalEntry.id } }),
      },
    };
  const portal = portalOf(portalEntry, publishedBy(portalEntry, deployed.env), deployed.env, request.portalVersion);
  if (!portal)
    return {
      finding: {
        ...blocking(
          'no-portal',
          `${portalEntry.id} has no address that browsers find it at.`,
          `Set its field "${portalEntry.site?.portal}".`,
        ),
        rule: 'R36',
      },
    };
  return { site: { ...made, portal } };
}

const formerSite = ({ entry, deployments }: ProxyRequest): string | undefined =>
  deployments.find(({ component }) => component === entry.id)?.record?.site || undefined;

function portalOf(
  entry: CatalogEntry,
  ports: readonly PlannedPort[],
  values: Readonly<Record<string, string>>,
  version: string | undefined,
): Portal | undefined {
  const web = entry.ports.find(({ web }) => web);
  const upstream = web && upstreamOf(web, ports);
  const url = valueInForce(entry, entry.site?.portal ?? '', values);
  // It becomes a word of the proxy's language: nothing but an address goes there.
  if (!upstream || checkValue({ type: 'url' }, url) !== undefined || /[\s{}"'`\\]/.test(url)) return undefined;
  return { upstream, url, ...(version !== undefined && { version }) };
}

/** Where the host reaches a port: as planned, and as the catalog says for what is on the host's own network. */
function upstreamOf(port: CatalogPort, planned: readonly PlannedPort[]): Upstream | undefined {
  const found = planned.find(
    ({ name, service, container, protocol }) =>
      name === port.name || (name === undefined && service === port.service && container === port.container && protocol === port.protocol),
  );
  const number = found?.host ?? (port.exposure === 'host-network' || planned.length === 0 ? port.host : undefined);
  if (number === undefined) return undefined;
  return { host: reachedAt(found?.address ?? ''), port: number, ...(port.tls && { tls: true }) };
}

function reachedAt(address: string): string {
  return /^(?:|127\..*|0\.0\.0\.0|::|::1|\*|localhost)$/.test(address) ? 'localhost' : address;
}

/** The ports that a deployment publishes, from its .env and the defaults of the catalog. */
export function publishedBy(entry: CatalogEntry, env: Readonly<Record<string, string>>): PlannedPort[] {
  return entry.ports.flatMap(({ name, service, host, container, protocol, exposure, fixed }) => {
    const variable = name.toUpperCase().replaceAll('-', '_');
    const number = Number(env[`${variable}_PORT`] || host);
    if (!Number.isInteger(number)) return [];
    const address = env[`${variable}_BIND`] || (exposure === 'loopback' ? '127.0.0.1' : '0.0.0.0');
    return [{ name, service, address, host: number, container, protocol, fixed }];
  });
}

const pathOf = (site: string): string => `files/sites/${siteFileName(site)}`;
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Did we write this text? Any record may say so: a site's file is written for its component, and again when the portal moves. */
function isOurs(path: string, text: string, deployments: readonly Deployment[]): boolean {
  const hash = hashOf(text);
  return deployments.some(({ record }) => record?.files[path] === hash);
}

function put({ deployments, fresh }: ProxyRequest, proxy: Deployment, site: string, text: string, findings: Finding[]): FileChange[] {
  const path = `${proxyId}/${pathOf(site)}`;
  const before = proxy.files[pathOf(site)];
  if (before === text) return [];
  const touched = before !== undefined && !isOurs(path, before, deployments);
  if (touched && !fresh) {
    findings.push({
      id: 'site-by-hand',
      level: 'warning',
      message: `The rule of ${site} was written by hand (${path}) and is kept as it is.`,
      advice: 'Check that it still names the right port, or remove the file to have it written anew.',
      rule: 'R89',
    });
    return [];
  }
  return [{ path, before, after: text, mode: 0o644, touched }];
}

function take(proxy: Deployment, site: string, deployments: readonly Deployment[], findings: Finding[]): FileChange[] {
  const path = `${proxyId}/${pathOf(site)}`;
  const before = proxy.files[pathOf(site)];
  if (before === undefined) return [];
  if (isOurs(path, before, deployments)) return [{ path, before, after: undefined, mode: 0o644, touched: false }];
  findings.push({
    id: 'site-by-hand',
    level: 'warning',
    message: `The rule of ${site} was changed by hand (${path}) and is not deleted.`,
    advice: 'Remove the file yourself when nothing needs it, and reload the proxy.',
  });
  return [];
}

/** R89: the sites behind the portal ask it at its new port and send people to its new address. */
function followPortal(request: ProxyRequest, proxy: Deployment): FileChange[] {
  const portal = portalOf(request.entry, request.ports, request.values, request.portalVersion);
  if (!portal) return [];
  const sample = siteText({ host: 'a.lan', upstream: { host: 'localhost', port: 1 }, portal });
  const block = /forward_auth (\S+) \{\s+uri (\S+)/.exec(sample);
  return Object.entries(proxy.files).flatMap(([file, before]) => {
    if (!/^files\/sites\/[^/]+\.caddy$/.test(file)) return [];
    const path = `${proxyId}/${file}`;
    const after = before.replace(
      /(forward_auth )\S+( \{\s+uri )\S+/g,
      (_, head: string, uri: string) => `${head}${block?.[1]}${uri}${block?.[2]}`,
    );
    return after === before ? [] : [{ path, before, after, mode: 0o644, touched: !isOurs(path, before, request.deployments) }];
  });
}

/** The rules are read before they are put in force; where they are wrong the old ones stay. */
function putInForce(proxy: CatalogEntry | undefined): Plan['after'] {
  const step = (call: string, why: string) => {
    const exec = proxy?.calls[call]?.exec;
    return exec ? [{ component: proxyId, service: exec.service, argv: exec.argv, why }] : [];
  };
  return [
    ...step('validate', 'The reverse proxy reads the changed rules.'),
    ...step('reload', 'The reverse proxy puts them in force; connections stay.'),
  ];
}

function blocking(id: string, message: string, advice: string): Finding {
  return { id, level: 'blocking', message, advice };
}
