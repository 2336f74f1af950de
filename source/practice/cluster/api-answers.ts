import { type ApiServer, type Ask, asVersion, parseJson, type Target, testsOf, verbOf } from './api-request.ts';
import { changed, evicted, patched, removed, scaled } from './api-writes.ts';
import { badRequest, type Draft, type Json, type JsonObject, type KubeObject, KubeRefusal, notFound } from './kube-object.ts';
import { type Resource, resources } from './resources.ts';

/** What an allowed request gets: status and body, an object or plain text. Throws the refusals of the API. */
export function answer(api: ApiServer, ask: Ask, target: Target): [number, Json | string] {
  const { store } = api;
  const { resource, namespace, name, sub } = target;
  const dryRun = ask.query.get('dryRun') === 'All';
  const shape = (object: KubeObject) => asVersion(object, target) as unknown as JsonObject;
  if (sub === 'eviction') return [201, evicted(api, ask, store.get(resource, name ?? '', namespace))];
  if (sub === 'scale') return [200, scaled(api, ask, store.get(resource, name ?? '', namespace), target)];
  if (sub === 'log') {
    const pod = store.get(resource, name ?? '', namespace);
    return [200, `${new Date(store.now()).toISOString()} ${pod.metadata.name} is listening\n`];
  }
  switch (verbOf(ask, target)) {
    case 'get':
      return [200, shape(store.get(resource, name ?? '', namespace))];
    case 'list':
      return [200, listed(api, ask, target)];
    case 'create': {
      const draft = parseJson(ask.body) as unknown as Draft;
      if (draft?.kind !== resource.kind) throw badRequest(`the object provided is unrecognized (must be of type ${resource.kind})`);
      if (name !== undefined || (resource.namespaced && namespace === undefined))
        throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
      if (namespace !== undefined && store.find(namespaces, namespace) === undefined) throw notFound('namespaces', '', namespace);
      const full: Draft = { ...draft, apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}` };
      if (resource.kind === 'Pod') full.status ??= { phase: 'Pending' };
      return [201, shape(dryRun ? store.drafted(resource, full, namespace) : store.create(resource, full, namespace))];
    }
    case 'update': {
      const sent = parseJson(ask.body) as unknown as KubeObject;
      if (sent?.metadata?.name !== name)
        throw badRequest(`the name of the object (${sent?.metadata?.name ?? ''}) does not match the name on the URL (${name})`);
      return [200, shape(changed(api, target, sent, dryRun))];
    }
    case 'patch':
      return [200, shape(changed(api, target, patched(api, ask, target), dryRun))];
    case 'delete':
      return [200, removed(api, ask, target, store.get(resource, name ?? '', namespace), dryRun)];
    case 'deletecollection': {
      const { labels, fields } = testsOf(ask, target);
      const own = store.list(resource, namespace).filter((object) => labels(object) && fields(object));
      for (const object of own) removed(api, ask, target, object, dryRun);
      return [
        200,
        {
          kind: `${resource.kind}List`,
          apiVersion: 'v1',
          metadata: { resourceVersion: String(store.version) },
          items: own as unknown as Json[],
        },
      ];
    }
    default:
      throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  }
}

const namespaces = resources.find(({ kind }) => kind === 'Namespace') as Resource;

export function listed(api: ApiServer, ask: Ask, target: Target): JsonObject {
  const { store } = api;
  const { resource, namespace, version } = target;
  const { labels, fields } = testsOf(ask, target);
  const selecting = ask.query.has('labelSelector') || ask.query.has('fieldSelector');
  let all = store.list(resource, namespace).filter((object) => labels(object) && fields(object));
  const limit = Number(ask.query.get('limit') ?? 0);
  const token = ask.query.get('continue');
  let listVersion = store.version;
  if (token) {
    const { rv, start } = continuationOf(token);
    listVersion = rv;
    all = all.filter(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}` > start);
  }
  const items = limit > 0 ? all.slice(0, limit) : all;
  const left = all.length - items.length;
  const last = items.at(-1)?.metadata;
  const metadata: JsonObject = { resourceVersion: String(listVersion) };
  if (left > 0 && last !== undefined) {
    metadata.continue = Buffer.from(
      JSON.stringify({ v: 'meta.k8s.io/v1', rv: listVersion, start: `${last.namespace ?? ''}/${last.name}` }),
    ).toString('base64url');
    if (!selecting) metadata.remainingItemCount = left;
  }
  return {
    kind: `${resource.kind}List`,
    apiVersion: resource.group === '' ? version : `${resource.group}/${version}`,
    metadata,
    // In a list objects do not say what they are.
    items: items.map(({ apiVersion: _version, kind: _kind, ...object }) => object) as unknown as Json[],
  };
}

function continuationOf(token: string): { rv: number; start: string } {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, 'base64url').toString('utf8')) as { v: string; rv: number; start: string };
    if (v === 'meta.k8s.io/v1' && typeof rv === 'number' && typeof start === 'string') return { rv, start };
  } catch {
    // Said below.
  }
  throw badRequest('continue key is not valid: invalid continue token');
}
