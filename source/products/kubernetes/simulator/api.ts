import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type Asked, listenerOf } from '../../../practice/answers.ts';
import type { Controllers } from './controllers.ts';
import type { Draft, KubeObject, Resource } from './kube-object.ts';
import { fullName, KubeRefusal, minorOf, pods, resources, statusOf, versionsOf } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';

/** Something that the operator may not do. `*` matches everything. */
export type Forbidden = Record<'verb' | 'group' | 'resource', string>;

export interface ApiServer {
  store: ObjectStore;
  controllers: Controllers;
  token: string;
  forbidden: readonly Forbidden[];
  /** API groups whose backend is unavailable: they are listed, and answer 503. */
  away: readonly string[];
  /** How long every answer takes, but for health and version. */
  delayMs: number;
  /** Requests since its start by group, version and resource: in memory only, so an empty answer proves nothing. */
  requests: Map<string, number>;
  version(): string;
}

interface Target {
  resource: Resource;
  version: string;
  namespace?: string | undefined;
  name?: string | undefined;
  sub?: string | undefined;
}

/** The HTTP side: JSON in and out, every failure a Status. */
export function apiListener(api: ApiServer): RequestListener {
  return listenerOf((asked) =>
    serve(api, asked).catch((error: unknown) => {
      const refusal = error instanceof KubeRefusal ? error : new KubeRefusal(500, 'InternalError', String(error));
      return { status: refusal.code, body: statusOf(refusal) };
    }),
  );
}

const checks = ['ping', 'log', 'etcd', 'informer-sync', 'poststarthook/rbac/bootstrap-roles', 'autoregister-completion'];

async function serve(api: ApiServer, asked: Asked): Promise<Answer> {
  const path = asked.path.split('/').filter(Boolean).map(decodeURIComponent);
  const [page = '', group = ''] = path;
  if (page === 'version') {
    const gitVersion = api.version();
    return { body: { major: '1', minor: String(minorOf(gitVersion)), gitVersion, platform: 'linux/amd64' } };
  }
  if (page === 'readyz' || page === 'livez') return { body: `${checks.map((name) => `[+]${name} ok\n`).join('')}${page} check passed\n` };
  if (asked.header('authorization') !== `Bearer ${api.token}`) throw new KubeRefusal(401, 'Unauthorized', 'Unauthorized');
  if (api.delayMs > 0) await delay(api.delayMs, undefined, { ref: false });
  if (page === 'apis' && path.length > 2 && api.away.includes(group)) return { status: 503, body: 'service unavailable\n' };
  if (page === 'metrics') return { body: metrics(api) };
  const body = asked.body.toString() || '{}';
  if (group === 'authorization.k8s.io' && path.length > 3) return { status: 201, body: reviewed(api, JSON.parse(body)) };
  if (page === 'apis' && path.length <= 3) return { body: discovered(api, group) };
  const target = targetOf(api, path);
  if (target === undefined) return { status: 404, body: '404 page not found\n' };
  return answer(api, asked, target, JSON.parse(body) as Body);
}

interface Body extends Partial<Draft> {
  gracePeriodSeconds?: number;
  deleteOptions?: { gracePeriodSeconds?: number; dryRun?: string[] };
}

function answer(api: ApiServer, { method, query }: Asked, target: Target, body: Body): Answer {
  const { store, controllers } = api;
  const { resource, version, namespace, name, sub } = target;
  const verb = { GET: name === undefined ? 'list' : 'get', PATCH: 'patch', DELETE: 'delete', POST: 'create' }[method] ?? method;
  permit(api, verb, target);
  const key = `${resource.group} ${version} ${resource.plural}`;
  api.requests.set(key, (api.requests.get(key) ?? 0) + 1);
  if (verb === 'list') return { body: listed(store, query, target) };
  if (verb === 'create' && name === undefined) return { status: 201, body: store.create(resource, body as Draft, namespace) };
  const object = store.get(resource, name ?? '', namespace);
  if (sub === 'eviction') {
    const { gracePeriodSeconds, dryRun } = body.deleteOptions ?? {};
    const isDry = query.get('dryRun') === 'All' || dryRun?.includes('All') === true;
    return { status: 201, body: controllers.evict(object, gracePeriodSeconds, isDry) };
  }
  if (verb === 'get') return { body: object };
  if (verb === 'patch') return { body: store.update(resource, object, (copy) => Object.assign(copy, mergePatch(copy, body))) ?? object };
  if (verb !== 'delete') throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  if (resource === pods) controllers.terminate(object, body.gracePeriodSeconds);
  else store.remove(resource, object);
  return { body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } };
}

function listed(store: ObjectStore, query: URLSearchParams, { resource, namespace, version }: Target): object {
  const labels = testOf(query.get('labelSelector'), (object, key) => object.metadata.labels?.[key]);
  const fields = testOf(query.get('fieldSelector'), (object, key) =>
    key.split('.').reduce((inner, part) => inner?.[part], object as KubeObject['spec']),
  );
  const all = store.list(resource, namespace).filter((object) => labels(object) && fields(object));
  const start = Number(query.get('continue') ?? 0);
  const limit = Number(query.get('limit') || all.length);
  const items = all.slice(start, start + limit);
  const left = all.length - start - items.length;
  return {
    kind: `${resource.kind}List`,
    apiVersion: resource.group === '' ? version : `${resource.group}/${version}`,
    metadata: {
      resourceVersion: String(store.version),
      ...(left > 0 && { continue: String(start + items.length), remainingItemCount: left }),
    },
    items,
  };
}

/** `app=web,phase!=Succeeded` */
function testOf(selector: string | null, read: (object: KubeObject, key: string) => unknown): (object: KubeObject) => boolean {
  const parts = [...(selector ?? '').matchAll(/([^,=!]+)(!?)=+([^,]*)/g)];
  return (object) => parts.every(([, key = '', not, value]) => (String(read(object, key) ?? '') === value) === (not === ''));
}

/** RFC 7386. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result = { ...(target as Record<string, unknown> | undefined) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** Throws the 403 that names user, verb and resource where something is not allowed. */
function permit(api: ApiServer, verb: string, { resource, namespace, name, sub }: Target): void {
  const asked = sub === undefined ? resource.plural : `${resource.plural}/${sub}`;
  if (!isForbidden(api, { verb, group: resource.group, resource: asked })) return;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const which = name === undefined ? '' : ` "${name}"`;
  const words = `${fullName(resource)}${which} is forbidden: User "practice" cannot ${verb} resource "${asked}" in API group "${resource.group}" ${where}`;
  throw new KubeRefusal(403, 'Forbidden', words, { kind: resource.plural });
}

/** As in a real role, `pods` does not include `pods/eviction`. A question about everything is a no where one thing of it is forbidden. */
function isForbidden({ forbidden }: ApiServer, asked: Forbidden): boolean {
  const same = (rule: string, word: string) => rule === '*' || word === '*' || rule === word;
  return forbidden.some((rule) => same(rule.verb, asked.verb) && same(rule.group, asked.group) && same(rule.resource, asked.resource));
}

function reviewed(api: ApiServer, review: { spec: { resourceAttributes: Record<string, string> } }): object {
  const { verb = '', group = '', resource = '', subresource } = review.spec.resourceAttributes;
  const allowed = !isForbidden(api, { verb, group, resource: subresource ? `${resource}/${subresource}` : resource });
  return { ...review, status: { allowed } };
}

function discovered(api: ApiServer, wanted: string): object {
  const served = resources.filter((resource) => versionsOf(resource, api.version()).length > 0);
  if (wanted !== '') {
    const own = served.filter(({ group }) => group === wanted);
    if (own.length === 0) throw new KubeRefusal(404, 'NotFound', 'the server could not find the requested resource');
    return { kind: 'APIResourceList', groupVersion: `${wanted}/v1`, resources: own.map(({ plural, kind }) => ({ name: plural, kind })) };
  }
  const names = new Set(served.map(({ group }) => group).filter((group) => group !== ''));
  const shape = (name: string) => ({ name, preferredVersion: { groupVersion: `${name}/v1`, version: 'v1' } });
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...names].map(shape) };
}

function targetOf(api: ApiServer, [root, ...path]: readonly string[]): Target | undefined {
  const group = root === 'apis' ? (path.shift() ?? '') : '';
  const version = path.shift() ?? '';
  const namespace = path[0] === 'namespaces' ? path.splice(0, 2)[1] : undefined;
  const [plural, name, sub] = path;
  const resource = resources.find((candidate) => candidate.group === group && candidate.plural === plural);
  if (!resource || (root !== 'api' && root !== 'apis') || !versionsOf(resource, api.version()).includes(version)) return undefined;
  return { resource, version, namespace, name, sub };
}

function metrics(api: ApiServer): string {
  return [...api.requests]
    .map(([key, count]) => {
      const [group, version, plural] = key.split(' ');
      const leaving = resources.find((one) => one.group === group && one.plural === plural && one.leaving?.version === version)?.leaving;
      const labels = `group="${group}",resource="${plural}",subresource="",version="${version}"`;
      const gone = leaving ? `apiserver_requested_deprecated_apis{removed_release="${leaving.removed}",${labels}} 1\n` : '';
      return `apiserver_request_total{code="200",${labels}} ${count}\n${gone}`;
    })
    .join('');
}
