import { lacksLogin } from '../../catalog/built-in-checks.ts';
import type { Catalog, CatalogEntry, CatalogPort } from '../../catalog/catalog.ts';
import { checkValue } from '../../catalog/field-types.ts';
import { isOwnAddress } from '../../text/loopback.ts';
import { blocking, deployFirst, type Finding, warning } from '../finding.ts';
import type { Deployment, FileChange, Plan, PlannedPort, Values } from '../model.ts';
import { hashOf } from '../read-deployment.ts';
import { hostOf, valueInForce } from './networks.ts';
import { frontPort, isSamePort, publishedBy } from './ports.ts';
import { checkSiteName, type Portal, type Site, siteFileName, siteText, type Upstream } from './proxy-site.ts';

/** Catalog id of the component that terminates TLS in front of the others (R10). */
export const proxyId = 'reverse-proxy';

export interface ProxyRequest {
  entry: CatalogEntry;
  site: string;
  /** Whether it is behind the portal (R36). Undefined: unchanged; for a component without any login: yes if there is a portal (R42). */
  protect?: boolean | undefined;
  /** The ports as the plan publishes them: the proxy follows a remap (R89). */
  ports: readonly PlannedPort[];
  /** The answers for this component, which include the portal's own address. */
  values: Values;
  /** Deployments of the whole stack, including this component's. */
  deployments: readonly Deployment[];
  catalog: Catalog;
  fresh?: boolean;
}

export interface ProxyChanges {
  files: readonly FileChange[];
  after: Plan['after'];
  findings: readonly Finding[];
}

/** The file of the component's site, that of its former site, and the program that puts them into effect. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: findings and files depend on each other in this order
export function proxyChanges(request: ProxyRequest): ProxyChanges {
  const { entry, site, deployments, catalog } = request;
  const own = deployments.find(({ component }) => component === entry.id);
  const further = furtherNames(entry, request.values, site);
  const proxy = deployments.find(({ component }) => component === proxyId);
  const hosts = site === '' ? [] : [site, ...further.map(({ host }) => host)];
  const findings: Finding[] = [];
  for (const host of hosts) {
    const problem = checkSiteName(host);
    if (problem !== undefined)
      findings.push(blocking('site-name', `Invalid site name "${host}": ${problem}`, 'Choose another name, or leave the name empty.'));
    const other = deployments.find((one) => one.component !== entry.id && sitesOf(one, catalog).includes(host));
    if (other)
      findings.push(
        blocking('site-taken', `The site ${host} is already used by ${other.component}.`, 'Choose another name for this component.'),
      );
  }
  if (!proxy) {
    const message = `No reverse proxy is deployed on this host, so nothing will be served at ${site}.`;
    const advice = `Deploy ${proxyId}, then deploy this component again to set up its site.`;
    if (site !== '') findings.push(warning('no-proxy', message, advice, { rule: 'R10', remedy: deployFirst(proxyId) }));
    return { files: [], after: [], findings };
  }
  const files: FileChange[] = [];
  if (site !== '' && findings.length === 0) {
    const main = siteOf(request, proxy);
    if ('level' in main) findings.push(main);
    else {
      files.push(...put(request, proxy, site, siteText(main), findings));
      for (const { host, port } of further) {
        const upstream = upstreamOf(port, request.ports);
        if (!upstream) continue;
        const portal = upstream.port === main.upstream.port ? main.portal : undefined;
        files.push(...put(request, proxy, host, siteText({ host, upstream, websocket: entry.websocket, portal }), findings));
      }
    }
  }
  for (const before of own ? sitesOf(own, catalog) : [])
    if (!hosts.includes(before)) files.push(...take(proxy, before, deployments, findings));
  if (entry.site?.portal !== undefined) files.push(...followPortal(request, proxy));
  if (files.length > 0 && !/^\s*import\s+sites\//m.test(proxy.files['files/Caddyfile'] ?? '')) {
    const message = 'The Caddyfile of the reverse proxy does not import sites/*.caddy, so the rule has no effect.';
    const advice = 'Add the line "import sites/*.caddy" to files/Caddyfile of the reverse proxy.';
    findings.push(warning('proxy-imports-nothing', message, advice, { rule: 'R11' }));
  }
  return { files, after: files.length > 0 ? putInEffect(catalog.get(proxyId)) : [], findings };
}

export function furtherNames(entry: CatalogEntry, values: Values, site: string): { host: string; port: CatalogPort }[] {
  if (site === '') return [];
  return (entry.site?.names ?? []).flatMap(({ field, port: name }) => {
    const host = hostOf(valueInForce(entry, field, values).trim());
    const port = entry.ports.find((candidate) => candidate.name === name);
    return host === '' || host === site || !port ? [] : [{ host, port }];
  });
}

function sitesOf({ component, record, env }: Deployment, catalog: Catalog): string[] {
  const entry = catalog.get(component);
  if (!record?.site) return [];
  return [record.site, ...(entry ? furtherNames(entry, env, record.site).map(({ host }) => host) : [])];
}

export function isProtected(proxy: Pick<Deployment, 'files'> | undefined, site: string): boolean {
  return site !== '' && /^\s*forward_auth\s/m.test(proxy?.files[pathOf(site)] ?? '');
}

function siteOf(request: ProxyRequest, proxy: Deployment): Site | Finding {
  const { entry, site, deployments, catalog } = request;
  const upstreamsOf = (...names: readonly (string | undefined)[]) =>
    names.flatMap((name) => {
      const port = entry.ports.find((candidate) => candidate.name === name);
      return (port && upstreamOf(port, request.ports)) ?? [];
    });
  const [upstream] = upstreamsOf(frontPort(entry)?.name);
  if (!upstream) {
    const message = `${entry.id} does not publish a port that a reverse proxy could forward to.`;
    return blocking('site-without-port', message, 'Leave the host name in the reverse proxy empty.');
  }
  const routes = (entry.site?.routes ?? []).map(({ path, port, otherwise }) => ({ path, upstreams: upstreamsOf(port, otherwise) }));
  const open: Site = { host: site, upstream, routes: routes.filter(({ upstreams }) => upstreams.length > 0), websocket: entry.websocket };
  const portalEntry = catalog.entries.find((candidate) => candidate.site?.portal !== undefined);
  if (entry.id === portalEntry?.id) return open;
  const deployed = portalEntry && deployments.find(({ component }) => component === portalEntry.id);
  const former = deployments.find(({ component }) => component === entry.id)?.record?.site || site;
  const wanted = request.protect ?? (isProtected(proxy, former) || (lacksLogin(entry) && deployed !== undefined));
  if (!wanted) return open;
  if (!portalEntry || !deployed) {
    const message = `${site} requires the sign-on portal, but none is deployed on this host.`;
    const remedy = portalEntry && deployFirst(portalEntry.id);
    return blocking('no-portal', message, 'Deploy the portal first, or disable it for this site.', { rule: 'R36', remedy });
  }
  const portal = portalOf(portalEntry, publishedBy(portalEntry, deployed.env), deployed.env);
  if (portal) return { ...open, portal };
  const message = `${portalEntry.id} has no address that browsers can use.`;
  return blocking('no-portal', message, `Set the field "${portalEntry.site?.portal}" of ${portalEntry.id}.`, { rule: 'R36' });
}

function portalOf(entry: CatalogEntry, ports: readonly PlannedPort[], values: Values): Portal | undefined {
  const web = entry.ports.find((port) => port.web);
  const upstream = web && upstreamOf(web, ports);
  const url = valueInForce(entry, entry.site?.portal ?? '', values);
  // It becomes a word in the proxy's configuration: only an address is accepted there.
  if (!upstream || checkValue({ type: 'url' }, url) !== undefined || /[\s{}"'`\\]/.test(url)) return undefined;
  return { upstream, url };
}

/** Returns the host's address of a port: as planned, or as the catalog states for programs on the host's own network. */
function upstreamOf(port: CatalogPort, planned: readonly PlannedPort[]): Upstream | undefined {
  const found = planned.find((one) => isSamePort(port, one));
  const number = found?.host ?? (port.exposure === 'host-network' || planned.length === 0 ? port.host : undefined);
  if (number === undefined) return undefined;
  const address = found?.address ?? '';
  return { host: isOwnAddress(address) ? 'localhost' : address, port: number, tls: port.tls };
}

const pathOf = (site: string): string => `files/sites/${siteFileName(site)}`;

/** Any component's record may list the text: a site's file is written for its component, and again when the portal moves. */
function isOurs(path: string, text: string, deployments: readonly Deployment[]): boolean {
  const hash = hashOf(text);
  return deployments.some(({ record }) => record?.files[path] === hash);
}

function put({ deployments, fresh }: ProxyRequest, proxy: Deployment, site: string, text: string, findings: Finding[]): FileChange[] {
  const path = `${proxyId}/${pathOf(site)}`;
  const before = proxy.files[pathOf(site)];
  if (before === text) return [];
  const touched = before !== undefined && !isOurs(path, before, deployments);
  if (!touched || fresh) return [{ path, before, after: text, mode: 0o644, touched }];
  const message = `The rule for ${site} was written by hand (${path}) and is not changed.`;
  const advice = 'Check that the rule has the right port, or delete the file to recreate it.';
  findings.push(warning('site-by-hand', message, advice, { rule: 'R89' }));
  return [];
}

function take(proxy: Deployment, site: string, deployments: readonly Deployment[], findings: Finding[]): FileChange[] {
  const path = `${proxyId}/${pathOf(site)}`;
  const before = proxy.files[pathOf(site)];
  if (before === undefined) return [];
  if (isOurs(path, before, deployments)) return [{ path, before, after: undefined, mode: 0o644, touched: false }];
  const message = `The rule for ${site} was changed by hand (${path}) and is not deleted.`;
  findings.push(warning('site-by-hand', message, 'Delete the file when it is no longer needed, then reload the proxy.'));
  return [];
}

/** R89: the sites behind the portal query it at its new port and redirect users to its new address. */
function followPortal(request: ProxyRequest, proxy: Deployment): FileChange[] {
  const portal = portalOf(request.entry, request.ports, request.values);
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

/** The rules are validated before they are put into effect; if they are invalid the old ones stay. */
function putInEffect(proxy: CatalogEntry | undefined): Plan['after'] {
  const step = (call: string, why: string) => {
    const exec = proxy?.calls[call]?.exec;
    return exec ? [{ component: proxyId, service: exec.service, argv: exec.argv, why }] : [];
  };
  return [
    ...step('validate', 'validates the changed rules before they are loaded'),
    ...step('reload', 'loads the changed rules; WebSocket connections are closed'),
  ];
}
