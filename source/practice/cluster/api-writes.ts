import { type ApiServer, type Ask, parseJson, type Target } from './api-request.ts';
import { pods } from './controllers.ts';
import { evict } from './eviction.ts';
import { badRequest, type Json, type JsonObject, type KubeObject, KubeRefusal } from './kube-object.ts';
import { jsonPatch, mergePatch, strategicPatch } from './patching.ts';
import { keyOf, resources } from './resources.ts';

/** A status is changed through its subresource alone, everything else without it. */
export function changed(api: ApiServer, { resource, sub }: Target, wanted: KubeObject, dryRun: boolean): KubeObject {
  const { store } = api;
  const before = store.get(resource, wanted.metadata.name, wanted.metadata.namespace);
  const apart = resource.sub?.includes('status') === true;
  const next = {
    ...(apart
      ? sub === 'status'
        ? { ...before, status: wanted.status, metadata: { ...before.metadata, resourceVersion: wanted.metadata.resourceVersion } }
        : { ...wanted, status: before.status }
      : wanted),
  } as KubeObject;
  next.apiVersion = before.apiVersion;
  next.kind = before.kind;
  if (JSON.stringify(next.spec) !== JSON.stringify(before.spec) && before.metadata.generation !== undefined) {
    next.metadata = { ...next.metadata, generation: before.metadata.generation + 1 };
  }
  return dryRun ? next : store.replace(resource, next);
}

/** The object as a JSON, merge, strategic or apply patch leaves it, not stored yet. */
export function patched(api: ApiServer, ask: Ask, { resource, namespace, name }: Target): KubeObject {
  const type = (ask.headers['content-type'] ?? '').split(';')[0]?.trim();
  const before = api.store.get(resource, name ?? '', namespace);
  const target = before as unknown as JsonObject;
  const patch = parseJson(ask.body);
  let after: Json;
  if (type === 'application/json-patch+json') after = jsonPatch(target, patch);
  else if (type === 'application/merge-patch+json' || type === 'application/apply-patch+yaml') after = mergePatch(target, patch);
  else if (type === 'application/strategic-merge-patch+json') after = strategicPatch(target, patch);
  else {
    const known =
      'application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml';
    throw new KubeRefusal(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${known}`,
      {},
    );
  }
  const sent = ((patch as JsonObject).metadata ?? {}) as JsonObject;
  const result = after as unknown as KubeObject;
  // Without a version of its own a patch applies to whatever is there.
  if (sent.resourceVersion === undefined) result.metadata = { ...result.metadata, resourceVersion: before.metadata.resourceVersion };
  return result;
}

/** Deletes an object and what it owned; a pod gets its grace period. */
export function removed(api: ApiServer, ask: Ask, { resource }: Target, object: KubeObject, dryRun: boolean): JsonObject {
  const options = ask.body === '' ? {} : (parseJson(ask.body) as JsonObject);
  const dry = dryRun || (Array.isArray(options.dryRun) && options.dryRun.includes('All'));
  const graceText = ask.query.get('gracePeriodSeconds');
  const grace =
    typeof options.gracePeriodSeconds === 'number' ? options.gracePeriodSeconds : graceText === null ? undefined : Number(graceText);
  if (keyOf(resource) === keyOf(pods)) return (dry ? object : api.controllers.terminate(object, grace)) as unknown as JsonObject;
  if (!dry) {
    api.store.remove(resource, object);
    // What it owned goes with it.
    const { uid, namespace } = object.metadata;
    for (const other of resources) {
      for (const child of api.store.list(other, namespace)) {
        if (!child.metadata.ownerReferences?.some((owner) => owner.uid === uid)) continue;
        if (other === pods) api.controllers.terminate(child);
        else removed(api, { ...ask, body: '', query: new URLSearchParams() }, { resource: other, version: other.version }, child, false);
      }
    }
  }
  const { name, uid } = object.metadata;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural, uid },
  };
}

/** The eviction subresource. */
export function evicted(api: ApiServer, ask: Ask, pod: KubeObject): JsonObject {
  if (ask.method !== 'POST')
    throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  const eviction = parseJson(ask.body) as JsonObject;
  if (eviction?.kind !== 'Eviction') throw badRequest('the object provided is unrecognized (must be of type Eviction)');
  const options = (eviction.deleteOptions ?? {}) as JsonObject;
  const dryRun = ask.query.get('dryRun') === 'All' || (Array.isArray(options.dryRun) && options.dryRun.includes('All'));
  const grace = typeof options.gracePeriodSeconds === 'number' ? options.gracePeriodSeconds : undefined;
  return evict(api.store, api.controllers, pod, grace, dryRun);
}

/** The scale subresource: how many are wanted, and nothing else of the object. */
export function scaled(api: ApiServer, ask: Ask, object: KubeObject, target: Target): JsonObject {
  const scaleOf = ({ metadata, spec, status }: KubeObject): JsonObject => {
    const { name, namespace = '', uid, resourceVersion, creationTimestamp } = metadata;
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: spec.replicas ?? 1 },
      status: { replicas: status?.replicas ?? 0 },
    };
  };
  if (ask.method === 'GET') return scaleOf(object);
  if (ask.method !== 'PATCH' && ask.method !== 'PUT') {
    throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  }
  const sent = parseJson(ask.body);
  const json = ask.headers['content-type']?.startsWith('application/json-patch+json') === true;
  const wanted = (json ? jsonPatch(scaleOf(object), sent) : mergePatch(scaleOf(object), sent)) as { spec?: { replicas?: number } };
  const { sub: _sub, ...whole } = target;
  const next = { ...object, spec: { ...object.spec, replicas: wanted.spec?.replicas ?? 0 } };
  return scaleOf(changed(api, whole, next, ask.query.get('dryRun') === 'All'));
}
