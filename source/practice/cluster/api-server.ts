import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { answer } from './api-answers.ts';
import { type ApiServer, type Ask, parseJson, type Target, testsOf, verbOf } from './api-request.ts';
import { isForbidden, permit, userOf } from './api-rights.ts';
import { healthPage } from './health.ts';
import { type Json, type JsonObject, KubeRefusal, statusOf } from './kube-object.ts';
import { tallyText } from './request-tally.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions, minorOf, resources, versionsOf } from './resources.ts';
import { openWatch } from './watching.ts';

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
  if (api.delayMs > 0) await delay(api.delayMs, undefined, { ref: false });
  if (path[0] === 'apis' && path.length > 2 && api.away.includes(path[1] ?? '')) {
    response.writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' });
    response.end('service unavailable\n');
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
    const { verb = '', resource = '', subresource } = asked;
    const wanted = { verb, group: asked.group ?? '', resource, ...(subresource ? { sub: subresource } : {}) };
    const allowed = user !== 'system:anonymous' && !isForbidden(api, wanted);
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
