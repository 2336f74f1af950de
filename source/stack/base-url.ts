import type { CatalogEntry, CatalogPort } from '../catalog/catalog.ts';
import { portVariable } from '../catalog/port-mapping.ts';
import type { Answers } from './model.ts';

/** The port that people reach it by, and that its site leads to. */
export function frontPort(entry: CatalogEntry): CatalogPort | undefined {
  const named = entry.site?.port;
  return (
    entry.ports.find(({ name }) => name === named) ??
    entry.ports.find(({ web }) => web) ??
    entry.ports.find(({ protocol, exposure }) => protocol === 'tcp' && exposure === 'loopback')
  );
}

/** Host port of a port with these values (R89). */
export function hostPortOf(port: CatalogPort, values: Readonly<Record<string, string>>): number | undefined {
  const set = Number(values[portVariable(port.name)]);
  return Number.isInteger(set) && set > 0 ? set : port.host;
}

/** Where people find it: its site over https, or its port on this machine (R2, R31). */
export function baseUrlOf(entry: CatalogEntry, { values, site }: Pick<Answers, 'values' | 'site'>): string | undefined {
  if (site !== '') return `https://${site}`;
  const front = frontPort(entry);
  const port = front && hostPortOf(front, values);
  return port === undefined ? undefined : `${front?.tls ? 'https' : 'http'}://localhost:${port}`;
}
