import type { IncomingMessage, ServerResponse } from 'node:http';
import { MeshFault } from './mesh-fault.ts';
import { checkAuthId, type MeshState, type Node, type PreAuthKey, taggedDevices } from './mesh-state.ts';
import {
  apiKeySchema,
  encode,
  type Instant,
  keySchema,
  type Message,
  nodeSchema,
  protoJson,
  rfc3339,
  type Schema,
  type Style,
  userSchema,
} from './wire.ts';

const largestBodyBytes = 4 * 1024 * 1024;

export interface VersionInfo {
  version: string;
  commit: string;
  buildTime: string;
  go: { version: string; os: string; arch: string };
  dirty: boolean;
}

type Body = Record<string, unknown>;

interface Sent {
  status: number;
  type?: string;
  text: string;
  headers?: Record<string, string>;
}

/** One kind of thing in the words of this version, as the API and the command line tell it. */
export class Told {
  readonly state: MeshState;

  constructor(state: MeshState) {
    this.state = state;
  }

  tell(message: object, schema: Schema, style: Style): Body {
    return encode(message as Message, schema, style, this.state.minor);
  }

  user(user: object, style: Style = 'rest'): Body {
    return this.tell(user, userSchema, style);
  }

  /** From 0.28 on the secret part of a key is told once, at its creation. */
  key(key: PreAuthKey, style: Style = 'rest', whole = false): Body {
    const shown = whole || this.state.minor < 28 ? key.key : `${key.key.slice(0, 'hskey-auth-'.length + 12)}-***`;
    return this.tell({ ...key, key: shown, userName: key.user?.name ?? '' }, keySchema, style);
  }

  /** In lists a tagged node belongs to a user that is none. */
  node(node: Node, style: Style = 'rest', inList = false): Body {
    const user = inList && node.tags.length > 0 && this.state.minor >= 28 ? taggedDevices : node.user;
    const routes = this.state.routesOf(node);
    return this.tell({ ...node, user, subnetRoutes: routes, forcedTags: node.tags, validTags: [], invalidTags: [] }, nodeSchema, style);
  }

  apiKeys(style: Style = 'rest'): Body[] {
    const { apiKeys, minor } = this.state;
    return apiKeys.map((key) =>
      this.tell({ ...key, prefix: minor >= 28 ? `hskey-api-${key.prefix}-***` : key.prefix }, apiKeySchema, style),
    );
  }
}

/** The HTTP side of the control server: health, version and key for everybody, the API for who has a key. */
export class Rest {
  readonly #state: MeshState;
  readonly #told: Told;
  readonly #version: VersionInfo;
  readonly #publicKey: string;
  /** Set while the database is away. */
  unwell = false;

  constructor(state: MeshState, version: VersionInfo, publicKey: string) {
    this.#state = state;
    this.#told = new Told(state);
    this.#version = version;
    this.#publicKey = publicKey;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const began = performance.now();
    const pieces: Buffer[] = [];
    let sizeBytes = 0;
    for await (const piece of request) {
      sizeBytes += (piece as Buffer).length;
      if (sizeBytes <= largestBodyBytes) pieces.push(piece as Buffer);
    }
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', 'http://practice');
    const remote = request.socket.remotePort === undefined ? '' : `${request.socket.remoteAddress}:${request.socket.remotePort}`;
    const sent = this.#answer(method, url, { authorization: request.headers.authorization ?? '', remote, body: Buffer.concat(pieces) });
    response.statusCode = sent.status;
    if (sent.type) response.setHeader('Content-Type', sent.type);
    response.setHeader('Content-Security-Policy', "frame-ancestors 'none'");
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('X-Frame-Options', 'DENY');
    for (const [name, value] of Object.entries(sent.headers ?? {})) response.setHeader(name, value);
    response.end(sent.text);
    const facts = `method=${method} path=${url.pathname} proto=HTTP/1.1 remote=${remote} status=${sent.status}`;
    const elapsed = (performance.now() - began).toFixed(6);
    this.#state.log('INF', `http request bytes=${Buffer.byteLength(sent.text)} elapsed=${elapsed} ${facts}`);
  }

  #answer(method: string, url: URL, { authorization, remote, body }: { authorization: string; remote: string; body: Buffer }): Sent {
    if (/^\/api(?:\/|$)/.test(url.pathname)) return this.#guarded(method, url, authorization, remote, body);
    const known = openPaths[url.pathname];
    if (known && !known.includes(method)) return { status: 405, text: '', headers: { Allow: known.join(', ') } };
    switch (url.pathname) {
      case '/health':
        return {
          status: this.unwell ? 500 : 200,
          type: 'application/health+json; charset=utf-8',
          text: `{"status":"${this.unwell ? 'fail' : 'pass'}"}\n`,
        };
      case '/version':
        if (this.#state.minor < 26) break;
        return { status: 200, type: 'application/json', text: `${JSON.stringify(this.#version)}\n` };
      case '/ts2021':
        // What clients speak after an upgrade, which is not played here.
        return { status: 500, type: 'text/plain; charset=utf-8', text: 'Internal error\n' };
      case '/robots.txt':
        return { status: 200, type: 'text/plain', text: 'User-agent: *\nDisallow: /' };
      case '/key':
        return this.#key(url.searchParams.get('v') ?? '');
      case '/':
        return { status: 200, type: 'text/html; charset=utf-8', text: '<!DOCTYPE html><html lang="en"><head></head><body></body></html>' };
      default:
    }
    const page = /^\/(register|auth)\/([^/]+)$/.exec(url.pathname);
    if (page) return this.#logInPage(page[2] ?? '', page[1] === 'register');
    return notThere;
  }

  #key(version: string): Sent {
    const refused = (text: string): Sent => {
      this.#state.log('ERR', `user msg: ${text} code=400`);
      return { status: 400, type: 'text/plain; charset=utf-8', text: `${text}\n` };
    };
    if (version === '') return refused('capability version must be set');
    if (!/^[+-]?\d+$/.test(version)) return refused('invalid capability version');
    if (Number(version) < 39) return { status: 200, text: '' };
    const keys = { legacyPublicKey: `mkey:${'0'.repeat(64)}`, publicKey: this.#publicKey };
    return { status: 200, type: 'application/json', text: `${JSON.stringify(keys)}\n` };
  }

  /** What a browser shows to whom a node was told to log in. */
  #logInPage(authId: string, isNew: boolean): Sent {
    try {
      checkAuthId(authId);
    } catch {
      return { status: 400, type: 'text/plain; charset=utf-8', text: 'invalid auth id\n' };
    }
    const command = isNew ? `headscale auth register --auth-id ${authId} --user USERNAME` : `headscale auth approve --auth-id ${authId}`;
    return { status: 200, type: 'text/html; charset=utf-8', text: `<!DOCTYPE html><html><body><code>${command}</code></body></html>` };
  }

  #guarded(method: string, url: URL, authorization: string, remote: string, body: Buffer): Sent {
    const unauthorised = (): Sent =>
      this.#state.minor >= 30 ? problem(401, 'Unauthorized') : { status: 401, type: 'text/plain; charset=utf-8', text: 'Unauthorized' };
    if (!authorization.startsWith('Bearer ')) {
      this.#state.log('ERR', `missing "Bearer " prefix in "Authorization" header client_address=${remote}`);
      return unauthorised();
    }
    const refusal = this.#state.refusalOf(authorization.slice('Bearer '.length));
    if (refusal !== undefined) {
      this.#state.log('INF', `failed to validate token error=${JSON.stringify(refusal)} client_address=${remote}`);
      return unauthorised();
    }
    if (!url.pathname.startsWith('/api/v1/')) return notThere;
    try {
      const answer = this.#api(method, url.pathname.slice('/api/v1/'.length), url.searchParams, bodyOf(body));
      const text = this.#state.minor >= 30 ? JSON.stringify(answer) : protoJson(answer);
      const headers = this.#state.minor >= 30 ? undefined : { 'Grpc-Metadata-Content-Type': 'application/grpc' };
      return { status: 200, type: 'application/json', text, ...(headers ? { headers } : {}) };
    } catch (error) {
      if (error instanceof URIError) return { status: 400, type: 'text/plain', text: '400 Bad Request' };
      const fault = error instanceof MeshFault ? error : new MeshFault(13, 'internal error');
      if (this.#state.minor >= 30) return problem(fault.meaning, fault.message);
      return { status: fault.status, type: 'application/json', text: protoJson({ code: fault.code, message: fault.message, details: [] }) };
    }
  }

  #api(method: string, path: string, query: URLSearchParams, body: Body): Body {
    const parts = path.split('/').map(decodeURIComponent);
    const [what = ''] = parts;
    const found = routes.find((route) => route.method === method && fits(route.path, parts, this.#state.minor, route));
    if (!found) {
      const known = routes.some((route) => fits(route.path, parts, this.#state.minor, route));
      // A path of one more part under a name that takes ids answers as a wrong method does.
      const near = known || (parts.length === 2 && ['user', 'node', 'apikey'].includes(what));
      throw near ? new MeshFault(12, 'Method Not Allowed') : new MeshFault(5, 'Not Found');
    }
    return found.run({ state: this.#state, told: this.#told, parts, query, body });
  }
}

const openPaths: Record<string, string[]> = {
  '/health': ['GET'],
  '/version': ['GET'],
  '/key': ['GET'],
  '/robots.txt': ['GET'],
  '/verify': ['POST'],
};

const notThere: Sent = { status: 404, type: 'text/plain; charset=utf-8', text: '404 page not found\n' };

function problem(status: number, detail: string): Sent {
  const titles: Record<number, string> = {
    400: 'Bad Request',
    401: 'Unauthorized',
    404: 'Not Found',
    409: 'Conflict',
    500: 'Internal Server Error',
    501: 'Not Implemented',
  };
  const body = { title: titles[status] ?? '', status, detail, errors: [{ message: detail }] };
  return { status, type: 'application/problem+json', text: `${JSON.stringify(body)}\n` };
}

interface Asked {
  state: MeshState;
  told: Told;
  parts: string[];
  query: URLSearchParams;
  body: Body;
}

interface Route {
  method: string;
  /** Parts below `/api/v1/`; `*` is any. */
  path: string;
  from?: number;
  until?: number;
  run: (asked: Asked) => Body;
}

function fits(pattern: string, parts: readonly string[], minor: number, { from = 0, until = 99 }: Route): boolean {
  const wanted = pattern.split('/');
  return (
    minor >= from && minor <= until && wanted.length === parts.length && wanted.every((part, at) => part === '*' || part === parts[at])
  );
}

function bodyOf(bytes: Buffer): Body {
  const text = bytes.toString().trim();
  if (text === '') return {};
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  } catch {
    // Told below.
  }
  throw new MeshFault(3, 'unexpected EOF');
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

const routes: readonly Route[] = [
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
    run: ({ state, body }) => ({ apiKey: state.createApiKey(timeField(body, 'expiration') ?? -62_135_596_800_000_000_000n) }),
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
