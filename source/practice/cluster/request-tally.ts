import type { ObjectStore } from './object-store.ts';
import { keyOf, type Resource, resources, versionsOf } from './resources.ts';

/** What one API server counted since it started: in memory only, so an empty answer proves nothing. */
export class RequestTally {
  readonly #deprecated = new Map<string, Resource>();
  readonly #requests = new Map<string, number>();

  /** Somebody used the version of this resource that is leaving. */
  deprecated(resource: Resource): void {
    this.#deprecated.set(keyOf(resource), resource);
  }

  count(
    verb: string,
    { resource, version, namespace, sub }: { resource: Resource; version: string; namespace?: string; sub?: string },
    code: number,
  ): void {
    const scope = namespace === undefined ? (resource.namespaced ? 'cluster' : 'resource') : 'namespace';
    const name = verb === 'create' ? 'POST' : verb === 'update' ? 'PUT' : verb.toUpperCase();
    const labels = `code="${code}",component="apiserver",dry_run="",group="${resource.group}",resource="${resource.plural}",scope="${scope}",subresource="${sub ?? ''}",verb="${name}",version="${version}"`;
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
  }

  get requests(): ReadonlyMap<string, number> {
    return this.#requests;
  }

  get leaving(): Iterable<Resource> {
    return this.#deprecated.values();
  }
}

/** `GET /metrics`. */
export function tallyText(tally: RequestTally, store: ObjectStore, apiServer: string): string {
  const deprecated = [...tally.leaving].flatMap((resource) => {
    const { leaving, group, plural } = resource;
    if (leaving === undefined || !versionsOf(resource, apiServer).includes(leaving.version)) return [];
    return `apiserver_requested_deprecated_apis{group="${group}",removed_release="${leaving.removed}",resource="${plural}",subresource="",version="${leaving.version}"} 1`;
  });
  const family = (name: string, kind: string, help: string, rows: readonly string[]) =>
    rows.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...rows];
  const stored = resources.map(
    (resource) =>
      `apiserver_storage_objects{resource="${resource.plural}${resource.group === '' ? '' : `.${resource.group}`}"} ${store.list(resource).length}`,
  );
  return `${[
    ...family(
      'apiserver_request_total',
      'counter',
      '[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
      [...tally.requests].map(([labels, count]) => `apiserver_request_total{${labels}} ${count}`),
    ),
    ...family(
      'apiserver_requested_deprecated_apis',
      'gauge',
      '[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
      deprecated,
    ),
    ...family(
      'apiserver_storage_objects',
      'gauge',
      '[STABLE] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.',
      stored,
    ),
  ].join('\n')}\n`;
}
