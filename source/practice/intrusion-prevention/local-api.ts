import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { allowlistingOf } from './allowlists.ts';
import { goDurationText, goJson, logfmtValue, rfc3339 } from './go-words.ts';
import { IntakeRefusal, takeAlerts } from './intake.ts';
import type { RequestCounts } from './metrics.ts';
import { alertFilter, type Dialect, decisionFilter, deletionFilter, findAlerts, QueryRefusal } from './queries.ts';
import { alertShape, allowlistShape, decisionForBouncer } from './shapes.ts';
import { type Bouncer, type Decision, hashOfKey, type Machine, type Store } from './store.ts';

/** What the local API works on. `run` is what begins anew with every start. */
export interface ApiSurroundings {
  store: Store;
  dialect: Dialect;
  run(): { secret: Buffer; counts: RequestCounts } | undefined;
  log(level: string, message: string, fields?: Readonly<Record<string, string>>): void;
}

interface Ask {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
  address: string;
}

/** `json` undefined: an empty body. `text` is for HEAD, which gin answers as text. */
interface Answer {
  status: number;
  json?: unknown;
  text?: true;
  headers?: Readonly<Record<string, string>>;
}

const bodyLimitBytes = 64 * 1024 * 1024;
const tokenLifeMs = 3_600_000;
const message = (status: number, words: string): Answer => ({ status, json: { message: words } });
const unauthorised = (words: string): Answer => ({
  status: 401,
  json: { code: 401, message: words },
  headers: { 'Www-Authenticate': 'JWT realm=Crowdsec API local' },
});

/** The HTTP side, as gin serves it: unknown paths and methods have no body, errors one key. */
export function localApi(api: ApiSurroundings): RequestListener {
  return (request, response) => {
    const startedAt = process.hrtime.bigint();
    void readBody(request).then((body) => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      const ask: Ask = {
        method: request.method ?? 'GET',
        path: decodeURIComponent(url.pathname),
        query: url.searchParams,
        headers: request.headers,
        body,
        address: request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? '127.0.0.1',
      };
      const answer = answerTo(api, ask);
      if (ask.path !== '/metrics') api.run()?.counts.route(ask.path, ask.method);
      send(response, answer, ask.method);
      const took = goDurationText(Number(process.hrtime.bigint() - startedAt));
      const stamp = new Date(api.store.now()).toUTCString().replace('GMT', 'UTC');
      const line = `"${ask.method} ${request.url} HTTP/${request.httpVersion} ${answer.status} ${took} "${request.headers['user-agent'] ?? ''}" "`;
      api.log('info', `${ask.address} - [${stamp}] ${line}`);
    });
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= bodyLimitBytes) chunks.push(chunk);
    }
  } catch {
    // Whoever hangs up gets no answer anyway.
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, answer: Answer, method: string): void {
  const body = answer.text ? '' : answer.json === undefined ? '' : goJson(answer.json);
  response.writeHead(answer.status, {
    ...(answer.text
      ? { 'Content-Type': 'text/plain; charset=utf-8' }
      : answer.json === undefined
        ? {}
        : { 'Content-Type': 'application/json; charset=utf-8' }),
    ...answer.headers,
    ...(method === 'HEAD' ? {} : { 'Content-Length': Buffer.byteLength(body) }),
  });
  response.end(method === 'HEAD' ? undefined : body);
}

type Handler = (ask: Ask, id: string) => Answer;

function answerTo(api: ApiSurroundings, ask: Ask): Answer {
  const routes = routesOf(api);
  const one = /^(\/v1\/(?:alerts|decisions|allowlists|allowlists\/check))\/([^/]+)$/.exec(ask.path);
  const methods = routes[ask.path] ?? (one === null ? undefined : routes[`${one[1]}/:id`]);
  if (methods === undefined) return { status: 404 };
  const handler = methods[ask.method];
  if (handler === undefined) return { status: 405 };
  try {
    return handler(ask, one?.[2] ?? '');
  } catch (error) {
    if (error instanceof IntakeRefusal) return message(error.status, error.message);
    if (error instanceof QueryRefusal) return error.message === '' ? { status: 500 } : message(500, error.message);
    throw error;
  }
}

function routesOf(api: ApiSurroundings): Readonly<Record<string, Readonly<Record<string, Handler>>>> {
  const { store, dialect } = api;
  const machine = (handler: (ask: Ask, id: string, machine: Machine) => Answer): Handler => {
    return (ask, id) => {
      const known = machineOf(api, ask);
      if ('status' in known) return known;
      api.run()?.counts.machine(known.login, ask.path, ask.method);
      return handler(ask, id, known);
    };
  };
  const bouncer = (handler: (ask: Ask, bouncer: Bouncer) => Answer): Handler => {
    return (ask) => {
      const known = bouncerOf(api, ask);
      if (known === undefined) return message(403, 'access forbidden');
      api.run()?.counts.bouncer(known.name, ask.path, ask.method);
      return handler(ask, known);
    };
  };
  const health = { 'Cache-Control': 'no-cache', Expires: '-1', Pragma: 'no-cache' };
  const listAlerts = (ask: Ask): Answer => {
    const now = store.now();
    const found = findAlerts(store, ask.query, dialect);
    return { status: 200, json: found.length === 0 ? null : found.map((alert) => alertShape(alert, now, dialect)) };
  };
  const alertById = (id: string): Answer => {
    if (!/^[+-]?\d+$/.test(id)) return message(400, 'alert_id must be valid integer');
    const alert = store.alerts.find((candidate) => candidate.id === Number(id));
    return alert === undefined ? message(404, 'object not found') : { status: 200, json: alertShape(alert, store.now(), dialect) };
  };
  const head = (answer: Answer): Answer => (answer.status === 200 ? { status: 200, text: true } : answer);

  return {
    '/health': { GET: () => ({ status: 200, json: { status: 'up' }, headers: health }) },
    '/v1/watchers': { POST: (ask) => register(api, ask) },
    '/v1/watchers/login': { POST: (ask) => logIn(api, ask) },
    '/v1/heartbeat': {
      GET: machine((_ask, _id, known) => {
        known.lastHeartbeatMs = store.now();
        return { status: 200 };
      }),
      HEAD: machine(() => ({ status: 200 })),
    },
    '/v1/alerts': {
      GET: machine((ask) => listAlerts(ask)),
      HEAD: machine((ask) => head(listAlerts(ask))),
      POST: machine((ask, _id, known) => {
        const ids = takeAlerts(store, parseBody(ask.body), known.login, dialect, api.log);
        known.lastPushMs = store.now();
        return { status: 201, json: ids };
      }),
      DELETE: machine((ask) => {
        const matches = alertFilter(store, ask.query, dialect);
        return { status: 200, json: { nbDeleted: String(store.removeAlerts(new Set(store.alerts.filter(matches)))) } };
      }),
    },
    '/v1/alerts/:id': {
      GET: machine((_ask, id) => alertById(id)),
      HEAD: machine((_ask, id) => head(alertById(id))),
      DELETE: machine((_ask, id) => {
        if (!/^[+-]?\d+$/.test(id)) return message(400, 'alert_id must be valid integer');
        const alert = store.alerts.find((candidate) => candidate.id === Number(id));
        if (alert === undefined) return message(500, 'ent: alert not found');
        store.removeAlerts(new Set([alert]));
        return { status: 200, json: { nbDeleted: '1' } };
      }),
    },
    '/v1/decisions': {
      GET: bouncer((ask, known) => askedDecisions(api, ask, known)),
      HEAD: bouncer((ask, known) => head(askedDecisions(api, ask, known))),
      DELETE: machine((ask) => ({ status: 200, json: { nbDeleted: String(store.expire(deletionFilter(store, ask.query, dialect))) } })),
    },
    '/v1/decisions/stream': {
      GET: bouncer((ask, known) => stream(api, ask, known)),
      HEAD: bouncer((ask, known) => head(stream(api, ask, known))),
    },
    '/v1/decisions/:id': {
      DELETE: machine((_ask, id) => {
        if (!/^[+-]?\d+$/.test(id)) return message(400, 'decision_id must be valid integer');
        const known = [...store.decisions()].some((decision) => decision.id === Number(id));
        if (!known) return message(500, `decision with id '${id}' doesn't exist: unable to delete`);
        const now = store.now();
        for (const decision of store.decisions()) if (decision.id === Number(id)) decision.untilMs = now;
        // Counted whether or not it was over already.
        return { status: 200, json: { nbDeleted: '1' } };
      }),
    },
    ...(dialect === '1.4.6' ? {} : allowlistRoutes(api, machine)),
  };
}

function allowlistRoutes(
  { store }: ApiSurroundings,
  machine: (handler: (ask: Ask, id: string) => Answer) => Handler,
): Readonly<Record<string, Readonly<Record<string, Handler>>>> {
  return {
    '/v1/allowlists': {
      GET: machine((ask) => ({
        status: 200,
        json:
          store.allowlists.length === 0
            ? null
            : store.allowlists.map((list) => allowlistShape(list, store.now(), ask.query.get('with_content') === 'true')),
      })),
    },
    '/v1/allowlists/:id': {
      GET: machine((ask, name) => {
        const list = store.allowlists.find((candidate) => candidate.name === name);
        if (list === undefined) return message(500, `allowlist '${name}' not found`);
        return { status: 200, json: allowlistShape(list, store.now(), ask.query.get('with_content') === 'true') };
      }),
    },
    '/v1/allowlists/check/:id': {
      GET: machine((_ask, value) => {
        const reason = allowlistingOf(store, value);
        return { status: 200, json: reason === undefined ? { allowlisted: false } : { allowlisted: true, reason } };
      }),
      HEAD: machine((_ask, value) => ({ status: allowlistingOf(store, value) === undefined ? 204 : 200 })),
    },
    '/v1/usage-metrics': { POST: machine(() => ({ status: 201 })) },
  };
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new IntakeRefusal(400, decodingFault(body));
  }
}

/** What Go's decoder says about a body that is no JSON. */
function decodingFault(body: string): string {
  const trimmed = body.trim();
  if (trimmed === '') return 'EOF';
  const sign = /^[^\s[{"\dtfn-]/.exec(trimmed)?.[0];
  return sign === undefined ? 'unexpected EOF' : `invalid character '${sign}' looking for beginning of value`;
}

// ---- who asks

function machineOf(api: ApiSurroundings, ask: Ask): Machine | Answer {
  const token = /^Bearer (.+)$/.exec(ask.headers.authorization ?? '')?.[1];
  if (token === undefined) return unauthorised('cookie token is empty');
  const words = api.dialect === '1.4.6' ? '' : 'token is malformed: ';
  const [head = '', payload = '', signature, ...more] = token.split('.');
  if (signature === undefined || more.length > 0) return unauthorised(`${words}token contains an invalid number of segments`);
  const secret = api.run()?.secret ?? Buffer.alloc(32);
  const wanted = createHmac('sha256', secret).update(`${head}.${payload}`).digest();
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    return unauthorised(api.dialect === '1.4.6' ? 'signature is invalid' : 'token signature is invalid: signature is invalid');
  }
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { exp: number; id: string };
  if (claims.exp * 1000 <= api.store.now())
    return unauthorised(api.dialect === '1.4.6' ? 'Token is expired' : 'token has invalid claims: token is expired');
  const machine = api.store.machines.find((candidate) => candidate.login === claims.id);
  return machine ?? { status: 403, json: { code: 403, message: "you don't have permission to access this resource" } };
}

function logIn(api: ApiSurroundings, ask: Ask): Answer {
  let sent: { machine_id?: unknown; password?: unknown };
  try {
    sent = JSON.parse(ask.body) as typeof sent;
  } catch {
    return unauthorised(`missing: ${decodingFault(ask.body)}`);
  }
  if (typeof sent?.machine_id !== 'string' || typeof sent.password !== 'string') return unauthorised('input format error');
  const { store } = api;
  const login = sent.machine_id;
  const machine = store.machines.find((candidate) => candidate.login === login);
  if (machine === undefined) {
    api.log('info', `Error machine login for ${login} : ent: machine not found `);
    return unauthorised(api.dialect === '1.4.6' ? 'ent: machine not found' : 'incorrect Username or Password');
  }
  if (!machine.validated) return unauthorised(`machine ${login} not validated`);
  if (machine.password !== sent.password) return unauthorised('incorrect Username or Password');
  const now = store.now();
  const [, version] = (ask.headers['user-agent'] ?? '').split('/');
  machine.updatedMs = now;
  machine.address = ask.address;
  if (version !== undefined) machine.version = version;
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const seconds = Math.floor(now / 1000);
  const signed = `${base64({ alg: 'HS256', typ: 'JWT' })}.${base64({ exp: seconds + tokenLifeMs / 1000, id: login, orig_iat: seconds })}`;
  const signature = createHmac('sha256', api.run()?.secret ?? Buffer.alloc(32))
    .update(signed)
    .digest('base64url');
  return { status: 200, json: { code: 200, expire: rfc3339(now + tokenLifeMs), token: `${signed}.${signature}` } };
}

function register(api: ApiSurroundings, ask: Ask): Answer {
  const sent = parseBody(ask.body) as { machine_id?: unknown; password?: unknown };
  const missing = (['machine_id', 'password'] as const).filter((key) => typeof sent?.[key] !== 'string');
  if (missing.length > 0) return message(500, `validation failure list:\n${missing.map((key) => `${key} in body is required`).join('\n')}`);
  const login = String(sent.machine_id);
  if (api.store.machines.some((machine) => machine.login === login)) return message(403, `user '${login}': user already exist`);
  api.store.addMachine(login, String(sent.password), false, ask.address);
  return { status: 201 };
}

function bouncerOf(api: ApiSurroundings, ask: Ask): Bouncer | undefined {
  const key = ask.headers['x-api-key'];
  if (typeof key !== 'string') {
    api.log('error', 'API key not found', { ip: ask.address });
    return undefined;
  }
  const hash = hashOfKey(key);
  const bouncer = api.store.bouncers.find((candidate) => candidate.keyHash === hash);
  if (bouncer === undefined) {
    api.log('error', 'while fetching bouncer info: select bouncer: ent: bouncer not found: unable to query', { ip: ask.address });
    return undefined;
  }
  bouncer.address = ask.address;
  const agent = ask.headers['user-agent'] ?? '';
  const parts = agent.split('/');
  if (parts.length !== 2) api.log('warning', `bad user agent '${agent}'`, { ip: ask.address, name: logfmtValue(bouncer.name) });
  [bouncer.type, bouncer.version] = parts.length === 2 ? [parts[0] ?? '', parts[1] ?? ''] : [agent, 'N/A'];
  return bouncer;
}

// ---- what bouncers ask

function askedDecisions(api: ApiSurroundings, ask: Ask, bouncer: Bouncer): Answer {
  const { store, dialect } = api;
  const now = store.now();
  const matches = decisionFilter(store, ask.query, dialect);
  const found = [...store.decisions()].filter((decision) => decision.untilMs >= now && matches(decision));
  api.run()?.counts.answered(bouncer.name, found.length > 0);
  return { status: 200, json: found.length === 0 ? null : found.map((decision) => decisionForBouncer(decision, now, dialect)) };
}

/** Remembers how far this bouncer has come, which is why nobody else may ask with its key. */
function stream(api: ApiSurroundings, ask: Ask, bouncer: Bouncer): Answer {
  const { store, dialect } = api;
  const now = store.now();
  const query = new URLSearchParams(ask.query);
  if (!query.has('scopes')) query.set('scopes', 'ip,range');
  const matches = decisionFilter(store, query, dialect);
  const startup = query.get('startup') === 'true';
  const since = bouncer.lastPullMs ?? bouncer.createdMs;
  const fresh: Decision[] = [];
  const over: Decision[] = [];
  for (const decision of store.decisions()) {
    if (!matches(decision)) continue;
    if (decision.untilMs > now) {
      if (startup || decision.createdMs > since) fresh.push(decision);
    } else if (startup || decision.untilMs > since - 2000) over.push(decision);
  }
  const shape = (decisions: readonly Decision[]) => {
    const kept = query.get('dedup') === 'false' ? decisions : longest(decisions);
    return kept.length === 0 ? null : kept.map((decision) => decisionForBouncer(decision, now, dialect));
  };
  const json = { deleted: shape(over), new: shape(fresh) };
  bouncer.lastPullMs = now;
  bouncer.updatedMs = now;
  return { status: 200, json };
}

/** Of several decisions of one type about one value, the one that lasts longest. */
function longest(decisions: readonly Decision[]): Decision[] {
  const kept = new Map<string, Decision>();
  for (const decision of decisions) {
    const key = `${decision.type}:${decision.scope}:${decision.value}`;
    const other = kept.get(key);
    if (other === undefined || other.untilMs < decision.untilMs) kept.set(key, decision);
  }
  return [...kept.values()];
}
