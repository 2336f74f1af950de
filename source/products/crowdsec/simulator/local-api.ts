import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { rfc3339 } from './go-words.ts';
import { decisionsShape, listAlerts } from './shapes.ts';
import type { Dialect, Store } from './store.ts';

export interface ApiContext {
  store: Store;
  dialect: Dialect;
  /** Tokens and when they expire. They do not outlive a restart of the server. */
  tokens(): Map<string, number>;
  counted(method: string, route: string): void;
  log(message: string): void;
}

interface Answer {
  status: number;
  json?: unknown;
}

const tokenLifeMs = 3_600_000;
const unauthorised = (message: string): Answer => ({ status: 401, json: { code: 401, message } });

/** The local API over HTTP. Unknown paths and methods have no body, errors one key. */
export function localApi(api: ApiContext): RequestListener {
  return (request, response) => {
    void readText(request).then((body) => {
      const { method = 'GET', url = '/', socket, httpVersion } = request;
      const header = (name: string) => String(request.headers[name] ?? '');
      const { pathname, searchParams } = new URL(url, 'http://localhost');
      const { status, json } = answerTo(api, method, pathname, searchParams, { body, header });
      const address = socket.remoteAddress?.replace(/^::ffff:/, '') ?? '127.0.0.1';
      api.counted(method, pathname);
      api.log(`${address} - "${method} ${url} HTTP/${httpVersion} ${status} "${header('user-agent')}" "`);
      response.writeHead(status, json === undefined ? {} : { 'Content-Type': 'application/json; charset=utf-8' });
      response.end(json === undefined ? '' : JSON.stringify(json));
    });
  };
}

type Sent = { body: string; header(name: string): string };

function answerTo(api: ApiContext, method: string, path: string, query: URLSearchParams, sent: Sent): Answer {
  const routes: Readonly<Record<string, Record<string, () => Answer>>> = {
    '/health': { GET: () => ({ status: 200, json: { status: 'up' } }) },
    '/v1/watchers/login': { POST: () => logIn(api, sent.body, sent.header('user-agent')) },
    '/v1/alerts': { GET: () => alerts(api, query, sent.header('authorization')) },
    '/v1/decisions': { GET: () => decisions(api, sent.header('x-api-key'), sent.header('user-agent')) },
  };
  const route = routes[path];
  return route ? (route[method]?.() ?? { status: 405 }) : { status: 404 };
}

function logIn({ store, tokens }: ApiContext, body: string, agent: string): Answer {
  const { machine_id: login, password } = JSON.parse(body) as { machine_id?: string; password?: string };
  const machine = store.machines.find((candidate) => candidate.login === login);
  if (!machine) return unauthorised('ent: machine not found');
  if (!machine.validated) return unauthorised(`machine ${login} not validated`);
  if (machine.password !== password) return unauthorised('incorrect Username or Password');
  Object.assign(machine, { version: agent.split('/')[1] ?? '', lastHeartbeatMs: store.now() });
  const token = [16, 64, 32].map((size) => randomBytes(size).toString('base64url')).join('.');
  tokens().set(token, store.now() + tokenLifeMs);
  return { status: 200, json: { code: 200, expire: rfc3339(store.now() + tokenLifeMs), token } };
}

function alerts({ store, dialect, tokens }: ApiContext, query: URLSearchParams, authorization: string): Answer {
  const token = /^Bearer (.+)$/.exec(authorization)?.[1];
  if (token === undefined) return unauthorised('cookie token is empty');
  if ((tokens().get(token) ?? 0) <= store.now()) return unauthorised('signature is invalid');
  const found = listAlerts(
    store,
    {
      activeOnly: query.get('has_active_decision') === 'true',
      shared: query.get('include_capi') !== 'false',
      origin: query.get('origin') ?? undefined,
      value: query.get('value') ?? undefined,
      limit: Number(query.get('limit') ?? 100),
    },
    dialect,
  );
  return { status: 200, json: found.length === 0 ? null : found };
}

/** What a bouncer asks for; what it calls itself is remembered. */
function decisions({ store }: ApiContext, key: string, agent: string): Answer {
  const bouncer = store.bouncerWith(key);
  if (!bouncer) return { status: 403, json: { message: 'access forbidden' } };
  const [type = '', version = ''] = agent.split('/');
  Object.assign(bouncer, { type, version, lastPullMs: store.now() });
  const found = decisionsShape(store);
  return { status: 200, json: found.length === 0 ? null : found };
}
