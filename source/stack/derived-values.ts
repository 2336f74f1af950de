import type { CatalogEntry } from '../catalog/catalog.ts';
import { frontPort, hostPortOf } from './base-url.ts';
import { isPrivateName } from './proxy-site.ts';
import type { ComponentVariable } from './variables.ts';

/** Does this variable tell people's browsers where the component is: its whole `address`, or its `host` alone (R31)? */
export function follows({ kind, field }: ComponentVariable): 'address' | 'host' | undefined {
  if (kind !== 'setting' || (field?.reach !== 'browser' && field?.reach !== 'internet')) return undefined;
  if (field.type === 'url') return 'address';
  return field.type === 'hostname' || field.type === 'domain' ? 'host' : undefined;
}

/**
 * What such a variable says as long as nobody chose otherwise: the site's address, or the default with the port that the component really has (R89).
 * Undefined for variables that follow nothing.
 */
export function derivedValue(
  entry: CatalogEntry,
  variable: ComponentVariable,
  values: Readonly<Record<string, string>>,
  site: string,
): string | undefined {
  const what = follows(variable);
  if (what === undefined) return undefined;
  const further = entry.site?.names.find(({ field }) => field === variable.field?.name);
  if (further) return site === '' || further.suggest === undefined ? variable.default : `${further.suggest}.${site}`;
  // A name of this network means nothing to whoever looks for it from the internet.
  if (what === 'host') return site === '' || (variable.field?.reach === 'internet' && isPrivateName(site)) ? variable.default : site;
  const written = URL.parse(variable.default);
  if (written === null) return site === '' ? variable.default : `https://${site}`;
  const named = Number(written.port);
  const port = entry.ports.find((candidate) => candidate.host === named && candidate.protocol === 'tcp');
  if (port === undefined) return variable.default;
  if (site !== '' && port.name === frontPort(entry)?.name) return `https://${site}`;
  const effective = hostPortOf(port, values);
  return effective === undefined || effective === named ? variable.default : variable.default.replace(`:${named}`, `:${effective}`);
}
