import type { CatalogEntry, CatalogPort } from '../catalog/catalog.ts';
import { isLoopback } from '../catalog/draft.ts';
import { neverWide } from '../catalog/never-wide.ts';
import { lacksLogin } from '../catalog/standing-checks.ts';
import { cleanLine } from '../text/clean.ts';
import type { Finding, Remedy } from './finding.ts';
import type { PlannedPort } from './model.ts';
import { blocking, type PreflightCheck, type PreflightContext, warning } from './preflight-context.ts';
import { proxyId } from './proxy-changes.ts';
import { isPrivateName, siteFileName } from './proxy-site.ts';

/** Who can reach it, and whether they are asked who they are. */
export const exposureChecks: readonly PreflightCheck[] = [
  { id: 'exposure', what: 'Addresses that ports are published on', run: checkExposure },
  { id: 'https', what: 'HTTPS in front of it', run: checkHttps },
  { id: 'login', what: 'Login in front of it', run: checkLogin },
];

/** Components whose answers must not be read on the way (R9). */
export const needsHttps = (entry: CatalogEntry): boolean => entry.group === 'security' || entry.sensitive === true;

function checkExposure({ plan, entry }: PreflightContext): Finding[] {
  return plan.ports.flatMap((port): Finding[] => {
    if (isLoopback(port.address) || port.address === 'localhost') return [];
    const annotated = portOf(entry, port);
    if (annotated && annotated.exposure !== 'loopback') return [];
    const name = annotated?.name ?? `${port.container}/${port.protocol}`;
    const where = everywhere(port.address) ? 'all addresses of the host' : cleanLine(port.address);
    const remedy: Remedy | undefined = annotated && {
      kind: 'set',
      label: 'Publish it on 127.0.0.1',
      values: { [`${annotated.name.toUpperCase().replaceAll('-', '_')}_BIND`]: '127.0.0.1' },
    };
    const more = (rule: string) => ({ rule, ...(remedy && { remedy }) });
    const message = `The port "${name}" would be published on ${where}`;
    if (annotated?.host !== undefined && neverWide[entry.id] === annotated.host)
      return [
        blocking(`exposure:${name}`, `${message}; it is for administration and stays on loopback.`, 'Publish it on 127.0.0.1.', more('R8')),
      ];
    if (lacksLogin(entry))
      return [
        blocking(
          `exposure:${name}`,
          `${message}, and this component asks nobody who they are.`,
          'Publish it on 127.0.0.1, and put the reverse proxy with the sign-on portal in front (R42).',
          more('R42'),
        ),
      ];
    if (needsHttps(entry) && port.protocol === 'tcp' && !annotated?.tls)
      return [
        blocking(
          `exposure:${name}`,
          `${message} without TLS: passwords could be read on the way.`,
          'Publish it on 127.0.0.1, and let the reverse proxy stand in front (R9).',
          more('R9'),
        ),
      ];
    return [
      warning(
        `exposure:${name}`,
        `${message}; it is meant for loopback alone.`,
        'Rule R7: only what must be reached from the network is published wider. Keep it only where you know why.',
        more('R7'),
      ),
    ];
  });
}

function checkHttps({ plan, entry }: PreflightContext): Finding[] {
  if (!needsHttps(entry) || plan.site !== '') return [];
  return [
    warning(
      'no-https',
      `${entry.id} handles passwords or secrets, and no site of the reverse proxy gives it HTTPS.`,
      'Give it the name of a site, such as one that ends in .lan.',
      { rule: 'R9' },
    ),
  ];
}

function checkLogin(context: PreflightContext): Finding[] {
  const { plan, entry } = context;
  if (plan.site === '' || isPrivateName(plan.site) || !lacksLogin(entry) || isBehindPortal(context)) return [];
  return [
    warning(
      'no-login',
      `${entry.id} asks nobody who they are, and ${cleanLine(plan.site)} is a public name.`,
      'Put the site behind the sign-on portal, or give it a private name.',
      { rule: 'R42' },
    ),
  ];
}

/** As the plan leaves it. */
function isBehindPortal({ plan, deployments }: PreflightContext): boolean {
  const file = `files/sites/${siteFileName(plan.site)}`;
  const planned = plan.files.find(({ path }) => path === `${proxyId}/${file}`);
  const text = planned ? planned.after : deployments.find(({ component }) => component === proxyId)?.files[file];
  return /^\s*forward_auth\s/m.test(text ?? '');
}

/** Is the component reached from beyond the house, through a public name or a port of its own? */
export function isPublic({ plan, entry }: PreflightContext): boolean {
  if (plan.site !== '' && !isPrivateName(plan.site)) return true;
  return plan.ports.some((port) => !isLoopback(port.address) && port.address !== 'localhost' && (portOf(entry, port)?.web ?? false));
}

export function portOf(entry: CatalogEntry, port: PlannedPort): CatalogPort | undefined {
  return entry.ports.find(
    ({ name, service, container, protocol }) =>
      name === port.name ||
      (port.name === undefined && service === port.service && container === port.container && protocol === port.protocol),
  );
}

const everywhere = (address: string) => address === '' || address === '0.0.0.0' || address === '::' || address === '*';
