import type { CatalogEntry } from '../catalog/catalog.ts';
import { bringersOf } from '../catalog/where-it-runs.ts';

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
  const { services, volumes, auth, websocket, states, limits, cli, errors, events, firstRun, upgrade, dependsOn, notes, sources, folder } =
    entry;
  return {
    ...componentJson(entry),
    folder,
    broughtBy: bringersOf(entry, entries),
    services,
    volumes,
    auth,
    websocket,
    states,
    limits,
    cli,
    errors,
    events,
    firstRun,
    upgrade,
    dependsOn,
    notes,
    sources,
  };
}

/** The component's own HTTP interface, as its rows are written: with query and placeholders. */
export function endpointsOf(
  entry: CatalogEntry,
): { method: string; path: string; auth: string; title: string; response: string | undefined }[] {
  return Object.values(entry.calls).flatMap(({ http, endpoint, auth, title, response }) => {
    if (!http || !endpoint) return [];
    const query = Object.entries(http.query).map(([name, value]) => `${name}=${value}`);
    return [{ method: http.method, path: query.length > 0 ? `${http.path}?${query.join('&')}` : http.path, auth, title, response }];
  });
}
