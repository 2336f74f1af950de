import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { parse } from 'yaml';
import { type Controllers, pods } from './controllers.ts';
import { evict } from './eviction.ts';
import { type ApiHealth, healthPage } from './health.ts';
import { badRequest, type Draft, type Json, type JsonObject, type KubeObject, KubeRefusal, notFound, statusOf } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';
import { jsonPatch, mergePatch, strategicPatch } from './patching.ts';
import { type RequestTally, tallyText } from './request-tally.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions, keyOf, minorOf, type Resource, resources, versionsOf } from './resources.ts';
import { fieldTest, labelTest } from './selectors.ts';
import { openWatch } from './watching.ts';

/** Something that the operator may not do. `*` matches everything. */
export interface Forbidden {
  verb: string;
  group: string;
  resource: string;
}

export interface ApiServer {
  store: ObjectStore;
  controllers: Controllers;
  health: ApiHealth;
  tally: RequestTally;
  token: string;
  /** Lets everybody in, as the insecure port of old did. */
  open: boolean;
  forbidden: readonly Forbidden[];
  bookmarkMs: number;
  signal(): AbortSignal;
  /** `v1.31.6`, as it runs now. */
  version(): string;
}

interface Ask {
  method: string;
  path: readonly string[];
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
  user: string;
}

interface Target {
  resource: Resource;
  /** Under which version it was asked for. */
  version: string;
  namespace?: string;
  name?: string;
  sub?: string;
}

const bodyLimitBytes = 3 * 1024 * 1024;

/** The API server's HTTP side: JSON in and out, every failure a Status. */
export function apiListener(api: ApiServer): RequestListener {
  return (request, response) => {
    void serve(api, request, response).catch((error: unknown) => {
      const refusal =
        error instanceof KubeRefusal
          ? error
          : new KubeRefusal(500, 'InternalError', `Internal error occurred: ${error instanceof Error ? error.message : error}`);
      if (response.headersSent) response.destroy();
      else sendJson(response, refusal.code, statusOf(refusal));
    });
  };
}

async function serve(api: ApiServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const path = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
  const user = userOf(api, request.headers.authorization);
  if (user === undefined) throw new KubeRefusal(401, 'Unauthorized', 'Unauthorized');
  const page = openPage(api, path, url.searchParams);
  if (page !== undefined) {
    response.writeHead(page.code, { 'Content-Type': page.type, 'X-Content-Type-Options': 'nosniff' });
    response.end(page.text);
    return;
  }
  const ask: Ask = {
    method: request.method ?? 'GET',
    path,
    query: url.searchParams,
    headers: request.headers,
    body: await readBody(request),
    user,
  };
  const shape = fixedShape(api, ask);
  if (shape !== undefined) {
    sendJson(response, ask.method === 'POST' ? 201 : 200, shape as Json);
    return;
  }
  if (path[0] === 'metrics') {
    permit(api, user, ask.method.toLowerCase(), undefined, '/metrics');
    response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores' });
    response.end(tallyText(api.tally, api.store, api.version()));
    return;
  }
  const target = targetOf(api, path);
  if (target === undefined) {
    response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
    response.end('404 page not found\n');
    return;
  }
  const watching = ask.method === 'GET' && /^(?:true|1)$/.test(ask.query.get('watch') ?? '');
  const verb = watching ? 'watch' : verbOf(ask, target);
  permit(api, user, verb, target);
  const warning = noteDeprecated(api, target);
  if (warning !== undefined) response.setHeader('Warning', warning);
  api.tally.count(verb, target, 200);
  if (watching) {
    const { labels, fields } = testsOf(ask, target);
    openWatch(
      api,
      ask.query,
      target,
      (object) => labels(object) && fields(object) && (target.name === undefined || object.metadata.name === target.name),
      response,
    );
    return;
  }
  const [code, body] = answer(api, ask, target);
  if (typeof body === 'string') {
    response.writeHead(code, { 'Content-Type': 'text/plain' });
    response.end(body);
  } else sendJson(response, code, body);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimitBytes) throw new KubeRefusal(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bodyLimitBytes}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, code: number, body: Json): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(code, {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-cache, private',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

// ---- who asks, and for what

function userOf(api: ApiServer, header: string | undefined): string | undefined {
  if (header === `Bearer ${api.token}`) return 'practice';
  if (header !== undefined) return undefined;
  return api.open ? 'practice' : 'system:anonymous';
}

function permit(api: ApiServer, user: string, verb: string, target: Target | undefined, path = ''): void {
  const { resource, namespace, sub, name } = target ?? {};
  const denied =
    user === 'system:anonymous' ||
    (resource !== undefined &&
      api.forbidden.some(
        (rule) =>
          (rule.verb === '*' || rule.verb === verb) &&
          (rule.group === '*' || rule.group === resource.group) &&
          (rule.resource === '*' || rule.resource === resource.plural || rule.resource === `${resource.plural}/${sub}`),
      ));
  if (!denied) return;
  if (resource === undefined)
    throw new KubeRefusal(403, 'Forbidden', `forbidden: User ${JSON.stringify(user)} cannot ${verb} path ${JSON.stringify(path)}`, {});
  const full = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const asked = sub === undefined ? resource.plural : `${resource.plural}/${sub}`;
  const which = name === undefined ? '' : ` ${JSON.stringify(name)}`;
  throw new KubeRefusal(
    403,
    'Forbidden',
    `${full}${which} is forbidden: User ${JSON.stringify(user)} cannot ${verb} resource ${JSON.stringify(asked)} in API group ${JSON.stringify(resource.group)} ${where}`,
    { ...(name === undefined ? {} : { name }), ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural },
  );
}

const verbOf = ({ method }: Ask, { name }: Target): string => {
  if (method === 'GET' || method === 'HEAD') return name === undefined ? 'list' : 'get';
  if (method === 'DELETE') return name === undefined ? 'deletecollection' : 'delete';
  const verb = ({ POST: 'create', PUT: 'update', PATCH: 'patch' } as const)[method];
  if (verb === undefined)
    throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  return verb;
};

/** What everybody may read: health and version. */
function openPage(
  api: ApiServer,
  path: readonly string[],
  query: URLSearchParams,
): { code: number; type: string; text: string } | undefined {
  const [first = ''] = path;
  if (first === 'version' && path.length === 1)
    return { code: 200, type: 'application/json', text: JSON.stringify(versionShape(api.version()), undefined, 2) };
  return healthPage(api.health, path, query);
}

const versionShape = (gitVersion: string) => ({
  major: '1',
  minor: String(minorOf(gitVersion)),
  gitVersion,
  gitCommit: '0000000000000000000000000000000000000000',
  gitTreeState: 'clean',
  buildDate: '2025-02-12T21:26:09Z',
  goVersion: 'go1.22.12',
  compiler: 'gc',
  platform: 'linux/amd64',
});

/** Discovery, and the question what one may do. */
function fixedShape(api: ApiServer, { path, method, body, user }: Ask): unknown {
  const [root, group = '', version] = path;
  const known = root === 'api' || root === 'apis';
  if (known && path.length <= (root === 'api' ? 2 : 3)) {
    if (user === 'system:anonymous') permit(api, user, method.toLowerCase(), undefined, `/${path.join('/')}`);
    if (root === 'api') return path.length === 1 ? apiVersions : apiResourceList('', group, api.version());
    if (path.length === 1) return apiGroupList(api.version());
    if (path.length === 2) return apiGroup(group, api.version());
    return apiResourceList(group, version ?? '', api.version());
  }
  if (method === 'POST' && path.join('/') === 'apis/authorization.k8s.io/v1/selfsubjectaccessreviews') {
    const review = parseJson(body) as JsonObject;
    const spec = (review.spec ?? {}) as JsonObject;
    const asked = (spec.resourceAttributes ?? {}) as Record<string, string>;
    const allowed =
      user !== 'system:anonymous' &&
      !api.forbidden.some(
        (rule) =>
          (rule.verb === '*' || rule.verb === asked.verb) &&
          (rule.group === '*' || rule.group === (asked.group ?? '')) &&
          (rule.resource === '*' || rule.resource === asked.resource || rule.resource === `${asked.resource}/${asked.subresource}`),
      );
    return { ...review, metadata: { creationTimestamp: null }, status: { allowed } };
  }
  return undefined;
}

function targetOf(api: ApiServer, path: readonly string[]): Target | undefined {
  const named = path[0] === 'apis';
  if (!named && path[0] !== 'api') return undefined;
  const group = named ? (path[1] ?? '') : '';
  const version = path[named ? 2 : 1] ?? '';
  let rest = path.slice(named ? 3 : 2);
  let namespace: string | undefined;
  if (rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize') {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  const [plural, name, sub, ...more] = rest;
  const resource = resources.find((candidate) => candidate.group === group && candidate.plural === plural);
  if (resource === undefined || more.length > 0 || !versionsOf(resource, api.version()).includes(version)) return undefined;
  if (resource.namespaced !== (namespace !== undefined) && (name !== undefined || namespace !== undefined)) return undefined;
  if (sub !== undefined && !resource.sub?.includes(sub)) return undefined;
  return {
    resource,
    version,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(sub === undefined ? {} : { sub }),
  };
}

/** Counts the use of a version that is leaving, and gives the warning that goes with the answer. */
function noteDeprecated(api: ApiServer, { resource, version }: Target): string | undefined {
  const { leaving } = resource;
  if (leaving === undefined || version !== leaving.version) return undefined;
  api.tally.deprecated(resource);
  return `299 - "${resource.group}/${version} ${resource.kind} is deprecated in v${leaving.deprecated}+, unavailable in v${leaving.removed}+; use ${leaving.replacement} ${resource.kind}"`;
}

// ---- what is done

const asVersion = (object: KubeObject, { resource, version }: Target): KubeObject =>
  version === resource.version ? object : { ...object, apiVersion: `${resource.group}/${version}` };

function testsOf({ query }: Ask, { resource }: Target) {
  return { labels: labelTest(query.get('labelSelector') ?? ''), fields: fieldTest(query.get('fieldSelector') ?? '', resource.kind) };
}

function answer(api: ApiServer, ask: Ask, target: Target): [number, Json | string] {
  const { store } = api;
  const { resource, namespace, name, sub } = target;
  const dryRun = ask.query.get('dryRun') === 'All';
  const shape = (object: KubeObject) => asVersion(object, target) as unknown as JsonObject;
  if (sub === 'eviction') return [201, evicted(api, ask, store.get(resource, name ?? '', namespace))];
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

function parseJson(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch {
    // A server-side apply comes as YAML.
    try {
      const value = parse(body) as Json;
      if (typeof value === 'object') return value;
    } catch {
      // Neither the one nor the other.
    }
    throw badRequest("the object provided is unrecognized (must be of type Object): couldn't get version/kind; json parse error");
  }
}

/** A status is changed through its subresource alone, everything else without it. */
function changed(api: ApiServer, { resource, sub }: Target, wanted: KubeObject, dryRun: boolean): KubeObject {
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

function patched(api: ApiServer, ask: Ask, { resource, namespace, name }: Target): KubeObject {
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

function removed(api: ApiServer, ask: Ask, { resource }: Target, object: KubeObject, dryRun: boolean): JsonObject {
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

function evicted(api: ApiServer, ask: Ask, pod: KubeObject): JsonObject {
  if (ask.method !== 'POST')
    throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  const eviction = parseJson(ask.body) as JsonObject;
  if (eviction?.kind !== 'Eviction') throw badRequest('the object provided is unrecognized (must be of type Eviction)');
  const options = (eviction.deleteOptions ?? {}) as JsonObject;
  const dryRun = ask.query.get('dryRun') === 'All' || (Array.isArray(options.dryRun) && options.dryRun.includes('All'));
  const grace = typeof options.gracePeriodSeconds === 'number' ? options.gracePeriodSeconds : undefined;
  return evict(api.store, api.controllers, pod, grace, dryRun);
}

function listed(api: ApiServer, ask: Ask, target: Target): JsonObject {
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
