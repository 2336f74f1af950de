import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { allowlistingOf } from './allowlists.ts';
import { type Answer, type ApiSurroundings, type Ask, message, parseBody } from './api-call.ts';
import { bouncerOf, logIn, machineOf, register } from './api-callers.ts';
import { askedDecisions, stream } from './bouncer-answers.ts';
import { goDurationText, goJson } from './go-words.ts';
import { IntakeRefusal, takeAlerts } from './intake.ts';
import { alertFilter, deletionFilter, findAlerts, QueryRefusal } from './queries.ts';
import { alertShape, allowlistShape } from './shapes.ts';
import type { Bouncer, Machine } from './store.ts';

const bodyLimitBytes = 64 * 1024 * 1024;
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
        return { status: 200, json: reason === undefined ? {} : { allowlisted: true, reason } };
      }),
      HEAD: machine((_ask, value) => ({ status: allowlistingOf(store, value) === undefined ? 204 : 200 })),
    },
    '/v1/usage-metrics': { POST: machine(() => ({ status: 201 })) },
  };
}
