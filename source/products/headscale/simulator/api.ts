import type { RequestListener } from 'node:http';
import { type Answer, type Asked, listenerOf } from '../../../practice/answers.ts';
import { mapOf, parsedJson } from '../../../text/json-value.ts';
import { exitRoutes, MeshFault, type MeshState, type Node, type NodeRoute, newAuthId, noTime, type PreAuthKey } from './mesh-state.ts';
import { checkPolicy } from './policy.ts';

type Body = Record<string, unknown>;

/* Users, nodes and keys in the form of the server's version. */

export function userJson({ minor }: MeshState, { id, name, createdAt, ...rest }: MeshState['users'][number]): Body {
  return { id, name, createdAt, ...(minor >= 24 && rest) };
}

/** From 0.28 on the secret part of a key is shown only at its creation. */
export function keyJson(state: MeshState, key: PreAuthKey, whole = false): Body {
  const user = state.minor <= 25 ? (key.user?.name ?? '') : key.user && userJson(state, key.user);
  return { ...key, user, key: whole || state.minor < 28 ? key.key : `${key.key.slice(0, 'hskey-auth-'.length + 12)}-***` };
}

/** In lists a tagged node has a user that does not exist. */
export function nodeJson(state: MeshState, node: Node, inList = false): Body {
  const { minor } = state;
  const { user, preAuthKey, tags, approvedRoutes, availableRoutes, ...rest } = node;
  const isTagged = inList && tags.length > 0 && minor >= 28;
  return {
    ...rest,
    ...(node.online && { lastSeen: state.time() }),
    user: isTagged ? { id: '2147455555', name: 'tagged-devices', createdAt: noTime } : user && userJson(state, user),
    preAuthKey: preAuthKey && keyJson(state, preAuthKey),
    ...(minor >= 26 && { approvedRoutes, availableRoutes, subnetRoutes: state.routesOf(node) }),
    ...(minor >= 28 ? { tags } : { forcedTags: tags, validTags: [], invalidTags: [] }),
  };
}

/** A route, in the form of versions up to 0.25. */
function routeJson(state: MeshState, { id, node, prefix }: NodeRoute): Body {
  const [enabled, advertised] = [node.approvedRoutes.includes(prefix), node.availableRoutes.includes(prefix)];
  const isPrimary = state.routesOf(node).includes(prefix) && !exitRoutes.includes(prefix);
  return { id, node: nodeJson(state, node), prefix, advertised, enabled, isPrimary };
}

export function apiKeysJson({ apiKeys, minor }: MeshState): Body[] {
  return apiKeys.map(({ key: _, prefix, ...rest }) => ({ ...rest, prefix: minor >= 28 ? `hskey-api-${prefix}-***` : prefix }));
}

interface Call {
  state: MeshState;
  /** Parts of the path below `/api/v1/`. */
  parts: string[];
  query: URLSearchParams;
  body: Body;
}

/** First and last minor version of the calls that not all have. */
const minors: Readonly<Record<string, readonly [from: number, until: number]>> = {
  'GET routes': [0, 25],
  'POST routes/*/*': [0, 25],
  'POST node/*/approve_routes': [26, 99],
  'POST auth/register': [29, 99],
  'POST policy/check': [29, 99],
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** In a path users have their name up to 0.23, from 0.24 on their id. */
const userIn = (state: MeshState, part: string | undefined) => state.user(state.minor <= 23 ? 'name' : 'id', part);
/** In bodies and queries they have their name up to 0.25. */
const userNamed = (state: MeshState, value: unknown) => state.user(state.minor <= 25 ? 'name' : 'id', value);

/** The calls of our client, by method and path below `/api/v1/`; `*` matches any part. */
const routes: Readonly<Record<string, (call: Call) => Body>> = {
  'GET user': ({ state }) => ({ users: state.users.map((user) => userJson(state, user)) }),
  'POST user': ({ state, body }) => {
    const wanted = { name: text(body['name']), displayName: text(body['displayName']), email: text(body['email']) };
    return { user: userJson(state, state.createUser(wanted)) };
  },
  'POST user/*/rename/*': ({ state, parts: [, user, , name = ''] }) => ({
    user: userJson(state, state.renameUser(userIn(state, user), name)),
  }),
  'DELETE user/*': ({ state, parts }) => {
    state.deleteUser(userIn(state, parts[1]));
    return {};
  },
  'GET preauthkey': ({ state, query }) => {
    const user = state.minor >= 28 ? undefined : userNamed(state, query.get('user'));
    return { preAuthKeys: state.preAuthKeys.filter((key) => !user || key.user === user).map((key) => keyJson(state, key)) };
  },
  'POST preauthkey': ({ state, body }) => {
    const key = state.createPreAuthKey({
      user: text(body['user']) === '' ? null : userNamed(state, body['user']),
      reusable: body['reusable'] === true,
      ephemeral: body['ephemeral'] === true,
      aclTags: texts(body['aclTags']),
      expiration: text(body['expiration']) || noTime,
    });
    return { preAuthKey: keyJson(state, key, true) };
  },
  'POST preauthkey/expire': ({ state, body }) => {
    const key = state.preAuthKeys.find(({ id, key }) => (state.minor >= 28 ? id === body['id'] : key === body['key']));
    // Up to 0.29 one that does not exist expires as well.
    if (!key && state.minor >= 30) throw new MeshFault(5, 'auth-key not found: record not found');
    if (key) key.expiration = state.time();
    return {};
  },
  'GET node': ({ state }) => ({ nodes: state.nodes.map((node) => nodeJson(state, node, true)) }),
  'DELETE node/*': ({ state, parts }) => {
    state.deleteNode(parts[1]);
    return {};
  },
  'POST node/*/expire': ({ state, parts, query, body }) => {
    // Up to 0.29 this call reads its query and ignores a body (seen on 0.29.2).
    const given: Body = state.minor >= 30 ? body : Object.fromEntries(query);
    const expiry = String(given['disableExpiry']) === 'true' ? null : text(given['expiry']) || undefined;
    return { node: nodeJson(state, state.expireNode(state.node(parts[1]), expiry)) };
  },
  'POST node/*/tags': ({ state, parts, body }) => ({ node: nodeJson(state, state.setTags(state.node(parts[1], 5), texts(body['tags']))) }),
  'POST node/*/approve_routes': ({ state, parts, body }) => ({
    node: nodeJson(state, state.approveRoutes(state.node(parts[1], 3), texts(body['routes']))),
  }),
  'GET routes': ({ state }) => ({ routes: state.nodeRoutes().map((one) => routeJson(state, one)) }),
  'POST routes/*/*': enableRoute,
  'POST node/*/rename/*': ({ state, parts }) => ({ node: nodeJson(state, state.renameNode(state.node(parts[1]), parts[3] ?? '')) }),
  'POST node/register': ({ state, query }) => ({ node: nodeJson(state, state.register(text(query.get('key')), text(query.get('user')))) }),
  'POST auth/register': ({ state, body }) => ({ node: nodeJson(state, state.register(text(body['authId']), text(body['user']))) }),
  // A node that asks to come in, without a client.
  'POST debug/node': ({ state, body }) => {
    state.pending.set(text(body['key']) || newAuthId(), text(body['name']));
    return { node: { id: '0', name: body['name'], registerMethod: 'REGISTER_METHOD_UNSPECIFIED', lastSeen: noTime } };
  },
  'GET apikey': ({ state }) => ({ apiKeys: apiKeysJson(state) }),
  'POST apikey': ({ state, body }) => ({ apiKey: state.createApiKey(text(body['expiration']) || noTime) }),
  'POST apikey/expire': ({ state, body }) => {
    const key = state.apiKeys.find(({ id, prefix }) => (state.minor >= 28 ? id === body['id'] : prefix === body['prefix']));
    if (!key) throw new MeshFault(2, 'record not found');
    key.expiration = state.time();
    return {};
  },
  'GET policy': ({ state }) => state.currentPolicy(),
  'PUT policy': ({ state, body }) => {
    state.setPolicy(text(body['policy']));
    return { ...state.policy };
  },
  // A check is the caller's fault where setting is the server's.
  'POST policy/check': ({ body }) => {
    const fault = checkPolicy(text(body['policy']));
    if (fault !== undefined) throw new MeshFault(3, fault);
    return {};
  },
};

function enableRoute({ state, parts: [, id, word] }: Call): Body {
  const route = state.nodeRoutes().find((each) => each.id === id);
  if (!route) throw new MeshFault(2, 'record not found');
  const { node, prefix } = route;
  const both = exitRoutes.includes(prefix) ? exitRoutes : [prefix];
  const others = node.approvedRoutes.filter((one) => !both.includes(one));
  node.approvedRoutes = word === 'enable' ? [...others, ...both] : others;
  return {};
}

/** The HTTP API: health and version for everyone, the rest with a key. */
export function meshApi(state: MeshState): RequestListener {
  return listenerOf((asked) => {
    const answer = answerTo(state, asked);
    const { status = 200, body } = answer;
    const bytes = Buffer.byteLength(typeof body === 'string' ? body : JSON.stringify(body));
    state.log(`http request bytes=${bytes} method=${asked.method} path=${asked.path} proto=HTTP/1.1 status=${status}`);
    return answer;
  });
}

function answerTo(state: MeshState, { method, path, query, body, header }: Asked): Answer {
  if (path === '/health') {
    const seen = state.unwell ? { status: 500, body: { status: 'fail' } } : { body: { status: 'pass' } };
    return { ...seen, headers: { 'Content-Type': 'application/health+json; charset=utf-8' } };
  }
  if (path === '/version' && state.minor >= 26) return { body: state.version };
  if (!path.startsWith('/api/v1/')) return { status: 404, body: '404 page not found\n' };
  if (!state.isApiKey(/^Bearer (.+)$/.exec(header('authorization'))?.[1] ?? ''))
    return state.minor >= 30 ? problem(401, 'Unauthorized') : { status: 401, body: 'Unauthorized' };
  try {
    const parts = path.slice('/api/v1/'.length).split('/').map(decodeURIComponent);
    const on = Object.keys(routes).find((each) => isServed(each, state) && isAt(each, method, parts)) ?? '';
    const run = routes[on];
    if (!run) throw new MeshFault(5, 'Not Found');
    return { body: run({ state, parts, query, body: mapOf(parsedJson(body.toString())) }) };
  } catch (error) {
    if (!(error instanceof MeshFault)) throw error;
    const { code, message } = error;
    if (state.minor >= 30) return problem(meaningOf(error), message);
    return { status: statuses[code], body: { code, message, details: [] } };
  }
}

function problem(status: number, detail: string): Answer {
  const body = { title: titles[status] ?? 'Internal Server Error', status, detail, errors: [{ message: detail }] };
  return { status, body, headers: { 'Content-Type': 'application/problem+json' } };
}

function isServed(on: string, { minor }: MeshState): boolean {
  const [from, until] = minors[on] ?? [0, 99];
  return minor >= from && minor <= until;
}

function isAt(on: string, method: string, parts: readonly string[]): boolean {
  const [wanted, path = ''] = on.split(' ');
  const pattern = path.split('/');
  return wanted === method && pattern.length === parts.length && pattern.every((part, at) => part === '*' || part === parts[at]);
}

const statuses = { 2: 500, 3: 400, 5: 404, 12: 501, 13: 500 } as const;
const titles: Readonly<Record<number, string>> = { 400: 'Bad Request', 401: 'Unauthorized', 404: 'Not Found', 409: 'Conflict' };

/** Returns the status of a fault from 0.30 on; before, almost every fault is a 500. */
function meaningOf({ code, message }: MeshFault): number {
  if (code !== 2 && code !== 13) return statuses[code];
  if (/not found|no longer exists/.test(message)) return 404;
  return /UNIQUE constraint/.test(message) ? 409 : /not unique|not empty|must |policy/.test(message) ? 400 : 500;
}
