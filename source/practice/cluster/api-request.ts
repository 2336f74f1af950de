import type { IncomingMessage } from 'node:http';
import { parse } from 'yaml';
import type { Controllers } from './controllers.ts';
import type { ApiHealth } from './health.ts';
import { badRequest, type Json, type KubeObject, KubeRefusal } from './kube-object.ts';
import type { ObjectStore } from './object-store.ts';
import type { RequestTally } from './request-tally.ts';
import type { Resource } from './resources.ts';
import { fieldTest, labelTest } from './selectors.ts';

/** Something that the operator may not do. `*` matches everything. */
export interface Forbidden {
  verb: string;
  group: string;
  resource: string;
}

/** What the HTTP side works on. */
export interface ApiServer {
  store: ObjectStore;
  controllers: Controllers;
  health: ApiHealth;
  tally: RequestTally;
  token: string;
  /** Lets everybody in, as the insecure port of old did. */
  open: boolean;
  forbidden: readonly Forbidden[];
  away: readonly string[];
  delayMs: number;
  bookmarkMs: number;
  signal(): AbortSignal;
  /** `v1.31.6`, as it runs now. */
  version(): string;
}

/** A request, read whole. */
export interface Ask {
  method: string;
  path: readonly string[];
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
  user: string;
}

/** What a path is about. */
export interface Target {
  resource: Resource;
  /** Under which version it was asked for. */
  version: string;
  namespace?: string;
  name?: string;
  sub?: string;
}

/** The verb in the words of the API's rights. */
export const verbOf = ({ method }: Ask, { name }: Target): string => {
  if (method === 'GET' || method === 'HEAD') return name === undefined ? 'list' : 'get';
  if (method === 'DELETE') return name === undefined ? 'deletecollection' : 'delete';
  const verb = ({ POST: 'create', PUT: 'update', PATCH: 'patch' } as const)[method];
  if (verb === undefined)
    throw new KubeRefusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  return verb;
};

/** The object under the version that it was asked for. */
export const asVersion = (object: KubeObject, { resource, version }: Target): KubeObject =>
  version === resource.version ? object : { ...object, apiVersion: `${resource.group}/${version}` };

/** What the selectors of a request let through. */
export function testsOf({ query }: Ask, { resource }: Target) {
  return { labels: labelTest(query.get('labelSelector') ?? ''), fields: fieldTest(query.get('fieldSelector') ?? '', resource.kind) };
}

/** A body, JSON or (of a server-side apply) YAML. */
export function parseJson(body: string): Json {
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
