import type { CatalogEntry } from '../catalog/catalog.ts';
import { bringersOf } from '../catalog/where-it-runs.ts';

type Call = CatalogEntry['calls'][string];

/** One component of `catalog list --json`. A documented shape: additions only. */
export function componentJson(entry: CatalogEntry) {
  return {
    id: entry.id,
    group: entry.group,
    kind: entry.kind,
    product: entry.product.name,
    deploy: entry.deploy,
    image: entry.image,
    own: entry.own,
    ports: entry.ports.map(({ name, service, host, container, protocol, exposure, role }) => ({
      name,
      service,
      host: host ?? null,
      container,
      protocol,
      exposure,
      role,
    })),
    fields: entry.fields.map(({ name, type, secret, required, default: preset, generator }) => ({
      name,
      type,
      secret,
      required,
      ...(preset !== undefined && { default: preset }),
      ...(generator !== undefined && { generator }),
    })),
    endpoints: endpointsOf(entry).map(({ method, path }) => ({ method, path })),
    operations: entry.operations.map(({ id, title, right }) => ({ id, title, right })),
    checks: entry.checks.map(({ id, level, rule }) => ({ id, level, ...(rule && { rule }) })),
  };
}

/** `catalog show ID --json`: the same, and everything else that the catalog knows. */
export function componentDetailJson(entry: CatalogEntry, entries: readonly CatalogEntry[]) {
  const { ports, fields, operations, checks, product } = entry;
  return {
    ...entry,
    ...componentJson(entry),
    // What a list says of them in short.
    productDetails: product,
    ports: ports.map((port) => ({ ...port, host: port.host ?? null })),
    fields,
    operations,
    checks,
    broughtBy: bringersOf(entry, entries),
  };
}

/** The component's own HTTP interface, as its rows are written: with query and placeholders. */
export function endpointsOf(
  entry: CatalogEntry,
): (Pick<Call, 'auth' | 'title' | 'response' | 'note' | 'inputs'> & { method: string; path: string })[] {
  return Object.values(entry.calls).flatMap(({ http, endpoint, auth, title, response, note, inputs }) => {
    if (!http || !endpoint) return [];
    return [{ method: http.method, path: pathOf(http), auth, title, response, note, inputs }];
  });
}

/** What a call does, in a line. */
export function callText({ http, exec, tcp, file, engine }: Call): string {
  if (http) return `${http.method} ${pathOf(http)} on port ${http.port}`;
  if (exec) return `runs ${exec.argv.join(' ')} in ${exec.service}`;
  if (tcp) return `connects to port ${tcp.port}`;
  if (file) return `reads ${file.path} in ${file.service}`;
  return `asks the engine about ${engine?.service ?? ''}`;
}

function pathOf({ path, query }: NonNullable<Call['http']>): string {
  const written = Object.entries(query).map(([name, value]) => `${name}=${value}`);
  return written.length > 0 ? `${path}?${written.join('&')}` : path;
}
