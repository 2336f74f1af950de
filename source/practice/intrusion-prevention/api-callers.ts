import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Answer, type ApiSurroundings, type Ask, decodingFault, message, parseBody, unauthorised } from './api-call.ts';
import { logfmtValue, rfc3339 } from './go-words.ts';
import { type Bouncer, hashOfKey, type Machine } from './store.ts';

const tokenLifeMs = 3_600_000;

/** The machine whose token this is, or the refusal. */
export function machineOf(api: ApiSurroundings, ask: Ask): Machine | Answer {
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

/** `POST /v1/watchers/login`: a token for an hour. */
export function logIn(api: ApiSurroundings, ask: Ask): Answer {
  let sent: { machine_id?: unknown; password?: unknown };
  try {
    sent = JSON.parse(ask.body) as typeof sent;
  } catch {
    return unauthorised(`missing: ${decodingFault(ask.body)}`);
  }
  if (typeof sent?.machine_id !== 'string' || typeof sent.password !== 'string') {
    const missing = (['machine_id', 'password'] as const).filter((field) => typeof sent?.[field] !== 'string');
    const words = ['validation failure list:', ...missing.map((field) => `${field} in body is required`)].join('\n');
    return unauthorised(api.dialect === '1.4.6' ? 'input format error' : words);
  }
  const { store } = api;
  const login = sent.machine_id;
  const machine = store.machines.find((candidate) => candidate.login === login);
  if (machine === undefined) {
    api.log('info', `Error machine login for ${login} : ent: machine not found `);
    return unauthorised('ent: machine not found');
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

/** `POST /v1/watchers`: a machine that waits to be validated. */
export function register(api: ApiSurroundings, ask: Ask): Answer {
  const sent = parseBody(ask.body) as { machine_id?: unknown; password?: unknown };
  const missing = (['machine_id', 'password'] as const).filter((key) => typeof sent?.[key] !== 'string');
  if (missing.length > 0) return message(500, `validation failure list:\n${missing.map((key) => `${key} in body is required`).join('\n')}`);
  const login = String(sent.machine_id);
  if (api.store.machines.some((machine) => machine.login === login)) return message(403, `user '${login}': user already exist`);
  api.store.addMachine(login, String(sent.password), false, ask.address);
  return { status: 201 };
}

/** The bouncer whose key this is; what it calls itself is remembered. */
export function bouncerOf(api: ApiSurroundings, ask: Ask): Bouncer | undefined {
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
