import type { CatalogEntry, CatalogPort } from '../../catalog/catalog.ts';
import { portVariable } from '../../catalog/port-mapping.ts';
import type { Answers, PlannedPort } from '../model.ts';

type Values = Readonly<Record<string, string>>;

/** Returns the port that users open, and that the component's site forwards to. */
export function frontPort(entry: CatalogEntry): CatalogPort | undefined {
  return (
    entry.ports.find(({ name }) => name === entry.site?.port) ??
    entry.ports.find(({ web }) => web) ??
    entry.ports.find(({ protocol, exposure }) => protocol === 'tcp' && exposure === 'loopback')
  );
}

export const bindVariable = (name: string): string => portVariable(name).replace(/PORT$/, 'BIND');

export function hostPortOf(port: CatalogPort, values: Values): number | undefined {
  const set = Number(values[portVariable(port.name)]);
  return Number.isInteger(set) && set > 0 ? set : port.host;
}

export function publishedBy(entry: CatalogEntry, values: Values): PlannedPort[] {
  return entry.ports.flatMap((port): PlannedPort[] => {
    const { service, name, container, protocol, fixed } = port;
    const host = hostPortOf(port, values);
    const address = values[bindVariable(name)] || (port.exposure === 'loopback' ? '127.0.0.1' : '0.0.0.0');
    return host === undefined ? [] : [{ service, name, address, host, container, protocol, fixed }];
  });
}

export function isSamePort(port: CatalogPort, { name, service, container, protocol }: PlannedPort): boolean {
  if (name !== undefined) return name === port.name;
  return service === port.service && container === port.container && protocol === port.protocol;
}

/** Returns the public URL: its site over HTTPS, or its port on this machine (R2, R31). */
export function baseUrlOf(entry: CatalogEntry, { values, site }: Pick<Answers, 'values' | 'site'>): string | undefined {
  if (site !== '') return `https://${site}`;
  const front = frontPort(entry);
  const port = front && hostPortOf(front, values);
  return port === undefined ? undefined : `${front?.tls ? 'https' : 'http'}://localhost:${port}`;
}
