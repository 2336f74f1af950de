import { MeshFault } from './mesh-fault.ts';
import { checkAuthId, type MeshState } from './mesh-state.ts';
import type { Told } from './told.ts';
import { type Instant, noTime, rfc3339 } from './wire.ts';

type Body = Record<string, unknown>;

export interface Asked {
  state: MeshState;
  told: Told;
  parts: string[];
  query: URLSearchParams;
  body: Body;
}

export interface Route {
  method: string;
  /** Parts below `/api/v1/`; `*` is any. */
  path: string;
  from?: number;
  until?: number;
  run: (asked: Asked) => Body;
}

/** Whether a route of this version has this form. */
export function fits(pattern: string, parts: readonly string[], minor: number, { from = 0, until = 99 }: Route): boolean {
  const wanted = pattern.split('/');
  return (
    minor >= from && minor <= until && wanted.length === parts.length && wanted.every((part, at) => part === '*' || part === parts[at])
  );
}

function idIn(text: string | undefined, parameter: string): number {
  if (!/^\d+$/.test(text ?? '')) {
    throw new MeshFault(
      3,
      `type mismatch, parameter: ${parameter}, error: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

function idQuery(query: URLSearchParams, name: string): number {
  const text = query.get(name);
  if (text === null || text === '') return 0;
  if (!/^\d+$/.test(text))
    throw new MeshFault(3, `parsing field "${name}": strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/** A number of 64 bits may come as text. The column is where a compact body would have it. */
function idField(body: Body, name: string): number {
  const value = body[name];
  if (value === undefined || value === null) return 0;
  if (!/^\d+$/.test(String(value))) {
    throw new MeshFault(3, `proto: (line 1:${columnOf(body, name)}): invalid value for uint64 field ${name}: ${JSON.stringify(value)}`);
  }
  return Number(value);
}

function columnOf(body: Body, name: string): number {
  return JSON.stringify(body).indexOf(`"${name}":`) + name.length + 4;
}

function textField(body: Body, name: string): string {
  const value = body[name] ?? '';
  if (typeof value === 'string') return value;
  throw new MeshFault(3, `proto: (line 1:${columnOf(body, name)}): invalid value for string field ${name}: ${JSON.stringify(value)}`);
}

function timeField(body: Body, name: string): Instant | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  const ms = Date.parse(String(value));
  if (Number.isNaN(ms) || !String(value).includes('T')) {
    throw new MeshFault(3, `proto: (line 1:${columnOf(body, name)}): invalid google.protobuf.Timestamp value ${JSON.stringify(value)}`);
  }
  return BigInt(ms) * 1_000_000n;
}

function listField(body: Body, name: string): string[] {
  const value = body[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** Up to 0.23 users go by name, from 0.24 on by number. */
function userIn(state: MeshState, text: string | undefined, parameter: string): number {
  return state.minor <= 23 ? state.userByName(text ?? '').id : idIn(text, parameter);
}

/** The API below `/api/v1/`, in all versions. */
export const routes: readonly Route[] = [
  {
    method: 'GET',
    path: 'user',
    run({ state, told, query }) {
      const [name, email, id] = [query.get('name') ?? '', query.get('email') ?? '', idQuery(query, 'id')];
      const wanted = state.users.filter((user) => (name ? user.name === name : email ? user.email === email : id ? user.id === id : true));
      return { users: wanted.map((user) => told.user(user)) };
    },
  },
  { method: 'GET', path: 'user/*', until: 23, run: ({ state, told, parts }) => ({ user: told.user(state.userByName(parts[1] ?? '')) }) },
  {
    method: 'POST',
    path: 'user',
    run({ state, told, body }) {
      const [name, displayName, email, pictureUrl] = ['name', 'displayName', 'email', 'pictureUrl'].map((field) => textField(body, field));
      return { user: told.user(state.createUser({ name, displayName, email, pictureUrl })) };
    },
  },
  {
    method: 'POST',
    path: 'user/*/rename/*',
    run: ({ state, told, parts }) => ({ user: told.user(state.renameUser(userIn(state, parts[1], 'old_id'), parts[3] ?? '')) }),
  },
  {
    method: 'DELETE',
    path: 'user/*',
    run({ state, parts }) {
      state.deleteUser(userIn(state, parts[1], 'id'));
      return {};
    },
  },
  {
    method: 'GET',
    path: 'preauthkey',
    run({ state, told, query }) {
      const wanted = state.minor >= 28 ? undefined : userOfQuery(state, query);
      const keys = state.preAuthKeys.filter((key) => wanted === undefined || key.user?.id === wanted);
      return { preAuthKeys: keys.map((key) => told.key(key)) };
    },
  },
  {
    method: 'POST',
    path: 'preauthkey',
    run({ state, told, body }) {
      const user = state.minor <= 25 ? state.userByName(textField(body, 'user')).id : idField(body, 'user');
      const expiration = timeField(body, 'expiration');
      const key = state.createPreAuthKey({
        user,
        reusable: body['reusable'] === true,
        ephemeral: body['ephemeral'] === true,
        aclTags: listField(body, 'aclTags'),
        ...(expiration === undefined ? {} : { expiration }),
      });
      return { preAuthKey: told.key(key, 'rest', true) };
    },
  },
  {
    method: 'POST',
    path: 'preauthkey/expire',
    run({ state, body }) {
      const key = state.preAuthKeys.find((each) => each.key === body['key']);
      state.expirePreAuthKey(state.minor >= 28 ? idField(body, 'id') : (key?.id ?? 0));
      return {};
    },
  },
  {
    method: 'DELETE',
    path: 'preauthkey',
    from: 28,
    run({ state, query }) {
      state.deletePreAuthKey(idQuery(query, 'id'));
      return {};
    },
  },
  {
    method: 'GET',
    path: 'node',
    run({ state, told, query }) {
      const name = query.get('user') ?? '';
      const user = name === '' ? undefined : state.userByName(name);
      const nodes = state.nodes.filter((node) => !user || node.user === user);
      return { nodes: nodes.map((node) => told.node(node, 'rest', true)) };
    },
  },
  {
    method: 'GET',
    path: 'node/*',
    run({ state, told, parts }) {
      const node = state.node(idIn(parts[1], 'node_id'));
      if (!node) throw new MeshFault(5, 'node not found');
      return { node: told.node(node) };
    },
  },
  {
    method: 'DELETE',
    path: 'node/*',
    run({ state, parts }) {
      state.deleteNode(idIn(parts[1], 'node_id'));
      return {};
    },
  },
  {
    method: 'POST',
    path: 'node/*/expire',
    run({ state, told, parts, query, body }) {
      // Up to 0.29 this call reads its query and ignores a body (seen on 0.29.2).
      const given: Body = state.minor >= 30 ? body : Object.fromEntries(query);
      const expiry = timeField(given, 'expiry');
      const disable = String(given['disableExpiry'] ?? given['disable_expiry']) === 'true';
      const id = idIn(parts[1], 'node_id');
      return { node: told.node(state.expireNode(id, { disable, ...(expiry === undefined ? {} : { expiry }) })) };
    },
  },
  {
    method: 'POST',
    path: 'node/*/tags',
    run: ({ state, told, parts, body }) => ({ node: told.node(state.setTags(idIn(parts[1], 'node_id'), listField(body, 'tags'))) }),
  },
  {
    method: 'POST',
    path: 'node/*/approve_routes',
    from: 26,
    run: ({ state, told, parts, body }) => ({ node: told.node(state.approveRoutes(idIn(parts[1], 'node_id'), listField(body, 'routes'))) }),
  },
  { method: 'GET', path: 'routes', until: 25, run: ({ state, told }) => ({ routes: state.nodeRoutes().map((one) => told.route(one)) }) },
  {
    method: 'GET',
    path: 'node/*/routes',
    until: 25,
    run({ state, told, parts }) {
      const node = state.node(idIn(parts[1], 'node_id'));
      if (!node) throw new MeshFault(2, 'record not found');
      return {
        routes: state
          .nodeRoutes()
          .filter((one) => one.node === node)
          .map((one) => told.route(one)),
      };
    },
  },
  { method: 'POST', path: 'routes/*/enable', until: 25, run: ({ state, parts }) => enabling(state, parts[1], true) },
  { method: 'POST', path: 'routes/*/disable', until: 25, run: ({ state, parts }) => enabling(state, parts[1], false) },
  {
    method: 'POST',
    path: 'node/*/rename/*',
    run: ({ state, told, parts }) => ({ node: told.node(state.renameNode(idIn(parts[1], 'node_id'), parts[3] ?? '')) }),
  },
  {
    method: 'POST',
    path: 'node/*/user',
    until: 27,
    run({ state, told, parts, body }) {
      const node = state.nodeToChange(idIn(parts[1], 'node_id'));
      node.user = state.minor >= 26 ? state.userById(idField(body, 'user')) : state.userByName(textField(body, 'user'));
      return { node: told.node(node) };
    },
  },
  {
    method: 'POST',
    path: 'node/register',
    run: ({ state, told, query }) => ({ node: told.node(state.register(query.get('key') ?? '', query.get('user') ?? '')) }),
  },
  {
    method: 'POST',
    path: 'node/backfillips',
    run({ query }) {
      if (query.get('confirmed') !== 'true') throw new MeshFault(2, 'not confirmed, aborting');
      return { changes: [] };
    },
  },
  {
    method: 'POST',
    path: 'debug/node',
    run({ state, told, body }) {
      const wanted = {
        user: textField(body, 'user'),
        key: textField(body, 'key'),
        name: textField(body, 'name'),
        routes: listField(body, 'routes'),
      };
      return { node: told.node(state.addPending(wanted)) };
    },
  },
  {
    method: 'POST',
    path: 'auth/register',
    from: 29,
    run: ({ state, told, body }) => ({ node: told.node(state.register(textField(body, 'authId'), textField(body, 'user'))) }),
  },
  { method: 'POST', path: 'auth/approve', from: 29, run: ({ state, body }) => settle(state, textField(body, 'authId')) },
  { method: 'POST', path: 'auth/reject', from: 29, run: ({ state, body }) => settle(state, textField(body, 'authId')) },
  { method: 'GET', path: 'apikey', run: ({ told }) => ({ apiKeys: told.apiKeys() }) },
  {
    method: 'POST',
    path: 'apikey',
    run: ({ state, body }) => ({ apiKey: state.createApiKey(timeField(body, 'expiration') ?? noTime) }),
  },
  {
    method: 'POST',
    path: 'apikey/expire',
    run({ state, body }) {
      state.findApiKey({ id: idField(body, 'id'), prefix: textField(body, 'prefix') }).expiration = state.time();
      return {};
    },
  },
  {
    method: 'DELETE',
    path: 'apikey/*',
    run({ state, parts, query }) {
      const key = state.findApiKey({ id: idQuery(query, 'id'), prefix: parts[1] ?? '' });
      state.apiKeys = state.apiKeys.filter((other) => other !== key);
      return {};
    },
  },
  { method: 'GET', path: 'policy', run: ({ state }) => policyTold(state.getPolicy()) },
  { method: 'PUT', path: 'policy', run: ({ state, body }) => policyTold(state.setPolicy(textField(body, 'policy'))) },
  {
    method: 'POST',
    path: 'policy/check',
    from: 29,
    run({ state, body }) {
      checkPolicy(state, textField(body, 'policy'));
      return {};
    },
  },
  { method: 'GET', path: 'health', from: 27, run: () => ({ databaseConnectivity: true }) },
];

function enabling(state: MeshState, id: string | undefined, enabled: boolean): Body {
  state.enableRoute(idIn(id, 'route_id'), enabled);
  return {};
}

/** A check is the caller's fault where setting is the server's. */
export function checkPolicy(state: MeshState, text: string): void {
  try {
    state.checkPolicy(text);
  } catch (error) {
    throw error instanceof MeshFault ? new MeshFault(3, error.message) : error;
  }
}

/** Lets a waiting log-in through, or not: either way it waits no longer. */
export function settle(state: MeshState, authId: string): Body {
  try {
    checkAuthId(authId);
  } catch (error) {
    throw new MeshFault(3, `invalid auth_id: ${(error as Error).message}`);
  }
  if (!state.pending.delete(authId)) throw new MeshFault(5, `no pending auth session for auth_id ${authId}`);
  return {};
}

function policyTold({ policy, updatedAt }: { policy: string; updatedAt: Instant }): Body {
  return { policy, updatedAt: rfc3339(updatedAt) };
}

function userOfQuery(state: MeshState, query: URLSearchParams): number | undefined {
  if (state.minor <= 25) return state.userByName(query.get('user') ?? '').id;
  return idQuery(query, 'user') || undefined;
}
