import { lacksLogin } from '../../catalog/built-in-checks.ts';
import type { CatalogEntry, CatalogPort } from '../../catalog/catalog.ts';
import { neverWide } from '../../catalog/never-wide.ts';
import { cleanLine } from '../../text/clean.ts';
import { isLoopback, isOwnAddress } from '../../text/loopback.ts';
import { blocking, type Finding, setTo, warning } from '../finding.ts';
import type { PlannedPort } from '../model.ts';
import { bindVariable, isSamePort } from '../plan/ports.ts';
import { isProtected, proxyId } from '../plan/proxy-changes.ts';
import { isPrivateName, siteFileName } from '../plan/proxy-site.ts';
import type { PreflightContext } from './context.ts';

/** Components whose traffic must not be readable in transit (R9). */
const needsHttps = (entry: CatalogEntry): boolean => entry.group === 'security' || entry.sensitive === true;

export function* checkExposure({ plan, entry }: PreflightContext): Iterable<Finding> {
  for (const port of plan.ports) {
    const annotated = portOf(entry, port);
    if (isLoopback(port.address) || (annotated && annotated.exposure !== 'loopback')) continue;
    const name = annotated?.name ?? `${port.container}/${port.protocol}`;
    const id = `exposure:${name}`;
    const message = `The port "${name}" would be published on ${isOwnAddress(port.address) ? 'all addresses of the host' : cleanLine(port.address)}`;
    const remedy = setTo(annotated && bindVariable(annotated.name), '127.0.0.1', 'Publish on 127.0.0.1');
    if (annotated?.host !== undefined && neverWide[entry.id] === annotated.host)
      yield blocking(id, `${message}; administration ports must stay on loopback.`, 'Publish the port on 127.0.0.1.', {
        rule: 'R8',
        remedy,
      });
    else if (lacksLogin(entry)) {
      const advice = 'Publish the port on 127.0.0.1, behind the reverse proxy with the sign-on portal.';
      yield blocking(id, `${message}, and this component has no login.`, advice, { rule: 'R42', remedy });
    } else if (needsHttps(entry) && port.protocol === 'tcp' && !annotated?.tls) {
      const advice = 'Publish the port on 127.0.0.1, behind the reverse proxy.';
      yield blocking(id, `${message} without TLS, so passwords could be read in transit.`, advice, { rule: 'R9', remedy });
    } else {
      const advice = 'Publish a port only if it must be reachable from the network.';
      yield warning(id, `${message}${whyNarrow(annotated)}.`, advice, { rule: 'R7', remedy });
    }
  }
}

const whyNarrow = (listed: CatalogPort | undefined) => (listed ? '; it is meant for loopback only' : ', and the catalog does not list it');

export function* checkHttps({ plan, entry }: PreflightContext): Iterable<Finding> {
  if (!needsHttps(entry) || plan.site !== '') return;
  const message = `${entry.id} handles passwords or secrets, but has no HTTPS site at the reverse proxy.`;
  yield warning('no-https', message, 'Set a host name for the site, for example one that ends in .lan.', { rule: 'R9' });
}

export function* checkLogin({ plan, entry, deployments }: PreflightContext): Iterable<Finding> {
  if (plan.site === '' || isPrivateName(plan.site) || !lacksLogin(entry)) return;
  const file = `files/sites/${siteFileName(plan.site)}`;
  const planned = plan.files.find(({ path }) => path === `${proxyId}/${file}`);
  const proxy = deployments.find(({ component }) => component === proxyId);
  if (isProtected(planned ? { files: { [file]: planned.after ?? '' } } : proxy, plan.site)) return;
  const message = `${entry.id} has no login, and ${cleanLine(plan.site)} is a public name.`;
  yield warning('no-login', message, 'Put the site behind the sign-on portal, or use a private name.', { rule: 'R42' });
}

/** The component can be reached from outside, through a public name or a port of its own. */
export function isPublic({ plan, entry }: PreflightContext): boolean {
  if (plan.site !== '' && !isPrivateName(plan.site)) return true;
  return plan.ports.some((port) => !isLoopback(port.address) && (portOf(entry, port)?.web ?? false));
}

const portOf = (entry: CatalogEntry, port: PlannedPort): CatalogPort | undefined =>
  entry.ports.find((annotated) => isSamePort(annotated, port));
