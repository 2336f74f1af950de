import type { CatalogEntry } from '../catalog/catalog.ts';
import { requestPath } from '../catalog/placeholders.ts';
import { bringersOf } from '../catalog/run-location.ts';
import { pick } from './pick.ts';

type Call = CatalogEntry['calls'][string];

/** Returns one component of `catalog list --json`. This is a documented format: fields are only added. */
export function componentJson(entry: CatalogEntry) {
  return {
    ...pick(entry, 'id', 'group', 'kind'),
    product: entry.product.name,
    ...pick(entry, 'deploy', 'image', 'own'),
    ports: entry.ports.map((port) => ({
      ...pick(port, 'name', 'service'),
      host: port.host ?? null,
      ...pick(port, 'container', 'protocol', 'exposure', 'role'),
    })),
    fields: entry.fields.map((field) => pick(field, 'name', 'type', 'secret', 'required', 'default', 'generator')),
    endpoints: endpointsOf(entry).map((call) => pick(call, 'method', 'path')),
    operations: entry.operations.map((operation) => pick(operation, 'id', 'title', 'right')),
    checks: entry.checks.map((check) => pick(check, 'id', 'level')),
  };
}

export function componentDetailJson(entry: CatalogEntry, entries: readonly CatalogEntry[]) {
  const all: Partial<CatalogEntry> = {};
  // A spread would leave out what a compiled entry reads when it is first accessed.
  for (const key in entry) Object.assign(all, { [key]: entry[key as keyof CatalogEntry] });
  return {
    ...all,
    ...componentJson(entry),
    // The list has the short form of these.
    productDetails: entry.product,
    ports: entry.ports.map((port) => ({ ...port, host: port.host ?? null })),
    ...pick(entry, 'fields', 'operations', 'checks'),
    broughtBy: bringersOf(entry, entries),
  };
}

export function endpointsOf(entry: CatalogEntry) {
  return Object.values(entry.calls).flatMap((call) =>
    call.http && call.endpoint ? [{ ...call, method: call.http.method, path: requestPath(call.http) }] : [],
  );
}

export function callText({ http, exec, tcp, file, engine }: Call): string {
  if (http) return `${http.method} ${requestPath(http)} on port ${http.port}`;
  if (exec) return `runs ${exec.argv.join(' ')} in ${exec.service}`;
  if (tcp) return `connects to port ${tcp.port}`;
  if (file) return `reads ${file.path} in ${file.service}`;
  return `queries the engine about ${engine?.service ?? 'the container'}`;
}
