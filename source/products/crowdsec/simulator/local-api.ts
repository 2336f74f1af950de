import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { type Answer, type Asked, listenerOf } from '../../../practice/answers.ts';
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

const tokenLifeMs = 3_600_000;
const unauthorised = (message: string): Answer => ({ status: 401, body: { code: 401, message } });

/** The local API over HTTP. Unknown paths and methods have no body, errors one key. */
export function localApi(api: ApiContext): RequestListener {
  return listenerOf((asked) => {
    const { method, path, query, header } = asked;
    const { status = 200, body } = answerTo(api, asked);
    api.counted(method, path);
    const url = `${path}${query.size > 0 ? `?${query}` : ''}`;
    api.log(`127.0.0.1 - "${method} ${url} HTTP/1.1 ${status} "${header('user-agent')}" "`);
    return { status, body, ...(body !== undefined && { headers: { 'Content-Type': 'application/json; charset=utf-8' } }) };
  });
}

function answerTo(api: ApiContext, asked: Asked): Answer {
  const routes: Readonly<Record<string, readonly [string, (api: ApiContext, asked: Asked) => Answer]>> = {
    '/health': ['GET', () => ({ body: { status: 'up' } })],
    '/v1/watchers/login': ['POST', logIn],
    '/v1/alerts': ['GET', alerts],
    '/v1/decisions': ['GET', decisions],
  };
  const [method, answer] = routes[asked.path] ?? [];
  if (!answer) return { status: 404 };
  return asked.method === method ? answer(api, asked) : { status: 405 };
}

function logIn({ store, tokens }: ApiContext, { body, header }: Asked): Answer {
  const { machine_id: login, password } = JSON.parse(body.toString()) as { machine_id?: string; password?: string };
  const machine = store.machines.find((candidate) => candidate.login === login);
  if (!machine) return unauthorised('ent: machine not found');
  if (!machine.validated) return unauthorised(`machine ${login} not validated`);
  if (machine.password !== password) return unauthorised('incorrect Username or Password');
  Object.assign(machine, { version: header('user-agent').split('/')[1] ?? '', lastHeartbeatMs: Date.now() });
  const token = [16, 64, 32].map((size) => randomBytes(size).toString('base64url')).join('.');
  tokens().set(token, Date.now() + tokenLifeMs);
  return { body: { code: 200, expire: rfc3339(Date.now() + tokenLifeMs), token } };
}

function alerts({ store, dialect, tokens }: ApiContext, { query, header }: Asked): Answer {
  const token = /^Bearer (.+)$/.exec(header('authorization'))?.[1];
  if (token === undefined) return unauthorised('cookie token is empty');
  if ((tokens().get(token) ?? 0) <= Date.now()) return unauthorised('signature is invalid');
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
  return { body: found.length === 0 ? null : found };
}

/** What a bouncer asks for; what it calls itself is remembered. */
function decisions({ store }: ApiContext, { header }: Asked): Answer {
  const bouncer = store.bouncerWith(header('x-api-key'));
  if (!bouncer) return { status: 403, body: { message: 'access forbidden' } };
  const [type = '', version = ''] = header('user-agent').split('/');
  Object.assign(bouncer, { type, version, lastPullMs: Date.now() });
  const found = decisionsShape(store);
  return { body: found.length === 0 ? null : found };
}
