import { randomBytes } from 'node:crypto';
import type { ComponentCall } from '../catalog/schema.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { orAborted } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import { parsedJson } from '../text/json-value.ts';
import { durationMs } from '../text/quantities.ts';
import { asSentence } from '../text/sentence.ts';
import type { CallAnswer, CallRequest, CallTarget, WholeCallAnswer } from './call.ts';
import { findAddress, isForwarded } from './find-address.ts';
import { bodyLimitBytes, httpEndpointOf, requirePrivate } from './http-client.ts';
import { collect, exchange, type HttpAnswer, type HttpRequest, userAgent } from './http-exchange.ts';
import { Inputs } from './inputs.ts';

type Answer = Omit<WholeCallAnswer, 'tookMs'>;
type HttpDeclaration = NonNullable<ComponentCall['http']>;

interface Making {
  target: CallTarget;
  call: ComponentCall;
  inputs: Inputs;
  signal: AbortSignal;
  grant: Grant | undefined;
  limitBytes: number;
  heard: CallRequest['heard'];
  /** Receives a function that returns the data that has arrived, for the case that the rest does not arrive in time. */
  arrived(soFar: () => HttpAnswer): void;
}

/**
 * Problems of the component (not running, not published, silent, slow, invalid response) are a response with `ok` false and a message.
 * Rejects with `usage.input`, `refused.grant`, `refused.clear` (a login or secret over plain HTTP to another machine), the signal's reason.
 */
export async function runCall(target: CallTarget, { call, inputs = {}, signal, grant, limitBytes = bodyLimitBytes, heard }: CallRequest) {
  signal.throwIfAborted();
  if (!call.reads && grant === undefined)
    throw new Fault('refused.grant', `"${call.title}" requires a grant.`, 'This is a bug in Quarterdeck. Please report it.');
  const checked = await Inputs.check(call, inputs);
  const limitMs = durationMs(call.limit);
  const clock = AbortSignal.timeout(limitMs);
  const all = AbortSignal.any([signal, clock, ...(grant ? [grant.signal] : [])]);
  const begin = performance.now();
  let arrival: (() => HttpAnswer) | undefined;
  const finish = (answer: Answer): WholeCallAnswer => ({ ...answer, tookMs: Math.round(performance.now() - begin) });
  try {
    const making: Making = { target, call, inputs: checked, signal: all, grant, limitBytes, heard, arrived: (soFar) => (arrival = soFar) };
    return finish(await orAborted(make(making), all));
  } catch (thrown) {
    signal.throwIfAborted();
    grant?.signal.throwIfAborted();
    const isLate = clock.aborted;
    if (!isLate && thrown instanceof Fault && (thrown.kind === 'usage' || thrown.kind === 'refused')) throw thrown;
    const isNotForwarded = thrown instanceof Fault && thrown.kind === 'unreachable' && isForwarded(target.entry);
    const failure = isLate
      ? `${arrival ? 'The response was incomplete' : 'No response'} after ${limitMs / 1000} s.`
      : isNotForwarded
        ? 'Unreachable. Components in a cluster can be reached only through a forwarded port.'
        : asSentence(messageOf(thrown));
    return finish(arrival ? { ...httpAnswer(arrival(), call), ok: false, failure } : failed(failure));
  }
}

/** 401 and 403 mean that it is up, 429 and 503 that it is busy (R34). */
export function stateOf({ status }: Pick<CallAnswer, 'status'>): 'up' | 'locked' | 'busy' | 'failing' | 'silent' {
  if (status === 0) return 'silent';
  if (status === 401 || status === 403) return 'locked';
  if (status === 429 || status === 503) return 'busy';
  return status >= 500 ? 'failing' : 'up';
}

async function make(making: Making): Promise<Answer> {
  const { http, exec, tcp, file, engine } = making.call;
  if (http) return callHttp(making, http);
  if (exec) return callExec(making, exec);
  if (tcp) return callTcp(making, tcp.port);
  if (file) return callFile(making, file);
  if (engine) return callEngine(making, engine.service);
  return failed('This call declares no request.');
}

async function callHttp({ target, call, inputs, signal, limitBytes, arrived }: Making, http: HttpDeclaration): Promise<Answer> {
  const request = asBehind(buildRequest(http, inputs), target, http.publicUrl);
  const endpoint = httpEndpointOf(target, http.port);
  const [secret = http.basic && 'login'] = inputs.secrets;
  if (secret !== undefined) requirePrivate(endpoint, { what: `the ${secret}` });
  return httpAnswer(await exchange(endpoint, request, signal, (response) => collect(response, limitBytes, arrived)), call);
}

/** Builds the request exactly as component.yaml declares it, filled in (R35). Throws `usage.input` for values that cannot be sent. */
export function buildRequest(http: HttpDeclaration, inputs: Inputs): HttpRequest & { headers: Readonly<Record<string, string>> } {
  const path = inputs.fill(http.path, encodeURIComponent);
  if (path === undefined) throw unsendable('A value in the request path is missing.');
  const query = [...inputs.fillRecord(http.query), ...inputs.fillRecord(http.always ?? {})].map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const { body, type } = buildBody(http, inputs);
  const headers: Record<string, string> = {
    accept: '*/*',
    'user-agent': userAgent,
    ...(type && { 'content-type': type }),
  };
  for (const [name, value] of inputs.fillRecord(http.headers)) {
    if (/[\u0000-\u001f\u007f]|[^\u0000-\u00ff]/.test(value))
      throw unsendable(`The value of the ${name} header contains characters that are not allowed.`);
    headers[name.toLowerCase()] = value;
  }
  if (http.basic) {
    const login = [inputs.fill(http.basic.user) ?? '', inputs.fill(http.basic.password) ?? ''];
    if (login[0]?.includes(':')) throw unsendable('A user name must not contain a colon.');
    headers['authorization'] = `Basic ${Buffer.from(login.join(':')).toString('base64')}`;
  }
  return {
    method: http.method,
    path: `${path}${query.length > 0 ? `${path.includes('?') ? '&' : '?'}${query.join('&')}` : ''}`,
    headers,
    body,
  };
}

function buildBody(http: HttpDeclaration, inputs: Inputs): { body: Buffer | undefined; type?: string } {
  if (http.json !== undefined) return { body: Buffer.from(JSON.stringify(inputs.fillJson(http.json))), type: 'application/json' };
  if (http.form)
    return { body: Buffer.from(new URLSearchParams(inputs.fillRecord(http.form)).toString()), type: 'application/x-www-form-urlencoded' };
  if (http.multipart) return buildMultipart(http.multipart, inputs);
  if (http.text !== undefined) return { body: inputs.fillBytes(http.text) ?? Buffer.alloc(0), type: 'text/plain; charset=utf-8' };
  return { body: undefined };
}

function buildMultipart(parts: Readonly<Record<string, string>>, inputs: Inputs): { body: Buffer; type: string } {
  const boundary = `quarterdeck-${randomBytes(16).toString('hex')}`;
  const sections = Object.entries(parts).flatMap(([name, text]) => {
    const value = inputs.fillBytes(text);
    const file = inputs.isFile(text) ? `; filename="${name}"\r\nContent-Type: application/octet-stream` : '';
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return value === undefined ? [] : [Buffer.from(head), value, Buffer.from('\r\n')];
  });
  return { body: Buffer.concat([...sections, Buffer.from(`--${boundary}--\r\n`)]), type: `multipart/form-data; boundary=${boundary}` };
}

const unsendable = (message: string): Fault => new Fault('usage.input', message, 'Use another value.');

/** Returns the reverse proxy's headers about the original request. Empty if the component does not know its public address. */
function asBehind(request: HttpRequest, { entry, containers }: CallTarget, variable: string | undefined): HttpRequest {
  const main = entry.services.find((service) => service.main)?.name;
  const env = new Map(containers.get(main ?? '')?.env);
  const address = variable === undefined ? '' : (env.get(variable) ?? '');
  // Some accept a bare name, and learn from the proxy that it uses https.
  const url = address === '' || /^https?:\/\//i.test(address) ? address : `https://${address}`;
  if (!URL.canParse(url)) return request;
  const { protocol, host } = new URL(url);
  const forwarded = { proto: protocol.replace(':', ''), host, method: request.method, uri: request.path };
  const headers = Object.fromEntries(Object.entries(forwarded).map(([name, value]) => [`x-forwarded-${name}`, value]));
  return { ...request, headers: { ...request.headers, ...headers } };
}

function httpAnswer({ status, headers, body, whole, json }: HttpAnswer, call: ComponentCall): Answer {
  const expected = call.http?.expect;
  const ok = expected === undefined || expected.includes(status);
  return { ok, status, headers, body, whole, text: textOf(body), json, failure: ok ? '' : unexpected(status, expected ?? []) };
}

function unexpected(status: number, expected: readonly number[]): string {
  const state = stateOf({ status });
  if (state === 'locked') return `The component requires a login (status ${status}).`;
  if (state === 'busy') return `The component is busy (status ${status}).`;
  return `The component responded with status ${status}, not ${expected.join(' or ')}.`;
}

async function callExec({ target, call, inputs, signal, grant, limitBytes, heard }: Making, exec: NonNullable<ComponentCall['exec']>) {
  if (!target.execAllowed) return failed('Programs in containers cannot be run in read-only mode.');
  const container = running(target, exec.service);
  if (typeof container === 'string') return failed(container);
  for (const [input, { secret }] of Object.entries(call.inputs)) {
    // The lint refuses such entries; an operator's own may be newer than its last check.
    if (secret && exec.argv.some((argument) => argument.includes(`<${input}>`)))
      return failed(`The secret ${input} would be visible in the process arguments.`);
  }
  const argv = inputs.fillArgv(exec.argv);
  const stdin = exec.stdin === undefined ? undefined : inputs.fillBytes(exec.stdin);
  const options = { limitBytes, heard, user: exec.user };
  const result =
    grant && (!call.reads || stdin !== undefined)
      ? await target.engine.writer(grant).exec(container.id, argv, { ...options, stdin })
      : await target.engine.execReading(container.id, argv, { ...options, signal });
  const body = result.stdout.length > 0 ? result.stdout : result.stderr;
  const answer = { status: result.exitCode, headers: {}, ...bodyOf(body, !result.cut && result.stdout.length <= limitBytes) };
  if (result.exitCode === 126 || result.exitCode === 127)
    return { ...answer, ok: false, failure: `Cannot run ${argv[0]} in the container of ${exec.service}.` };
  return { ...answer, ok: true, failure: '' };
}

/** Enough time for an engine's port forwarder to find that nothing listens behind it: it accepts first and then closes. */
const forwarderGraceMs = 150;

async function callTcp({ target, signal }: Making, port: string): Promise<Answer> {
  const address = findAddress(target, port);
  if (typeof address === 'string') return failed(address);
  const stream = await target.host.dial({ host: address.host, port: address.port }, signal);
  try {
    const closed = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), forwarderGraceMs);
      const settle = (gone: boolean) => () => {
        clearTimeout(timer);
        resolve(gone);
      };
      stream.once('data', settle(false)).once('end', settle(true)).once('close', settle(true)).on('error', settle(true));
    });
    return closed
      ? failed(`The connection to port ${address.port} was closed immediately; the program in the container may not be listening.`)
      : { ...failed(''), ok: true };
  } finally {
    stream.destroy();
  }
}

async function callFile({ target, inputs, signal, limitBytes }: Making, file: NonNullable<ComponentCall['file']>): Promise<Answer> {
  const container = running(target, file.service);
  if (typeof container === 'string') return failed(container);
  const path = inputs.fill(file.path) ?? file.path;
  // One byte beyond the limit shows whether this is everything.
  const content = await target.engine.readFile(container.id, path, { signal, limitBytes: limitBytes + 1 });
  if (content === undefined) return failed(`${path} does not exist in the container of ${file.service}.`);
  return { ok: true, status: 0, headers: {}, ...bodyOf(content.subarray(0, limitBytes), content.length <= limitBytes), failure: '' };
}

async function callEngine({ target, signal }: Making, service: string): Promise<Answer> {
  const known = target.containers.get(service);
  if (!known) return failed(`The service ${service} has no container.`);
  const detail = await target.engine.inspect(known.id, signal);
  if (!detail) return failed(`The container of ${service} no longer exists.`);
  const { state, health, exitCode, restartCount, env, argv, devices, startedMs } = detail;
  // The engine's times use its machine's clock.
  const aheadMs = target.host.link ? ((await target.host.facts(signal)).clockAheadMs ?? 0) : 0;
  const uptime = state === 'running' && startedMs !== undefined ? Math.max(0, Math.floor((Date.now() + aheadMs - startedMs) / 1000)) : 0;
  const json = { state, health, exitCode, restarts: restartCount, env: Object.fromEntries(env), uptime, argv, devices };
  return { ...failed(''), ok: true, json };
}

function running({ containers }: CallTarget, service: string): ContainerDetail | string {
  const container = containers.get(service);
  return container?.state === 'running' ? container : `The service ${service} is not running.`;
}

function textOf(bytes: Uint8Array, limitBytes = bodyLimitBytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, limitBytes)).toString('utf8');
}

function bodyOf(body: Uint8Array, whole: boolean): Pick<Answer, 'body' | 'whole' | 'text' | 'json'> {
  const text = textOf(body);
  return {
    body,
    whole,
    text,
    json: whole ? parsedJson(body.byteLength > bodyLimitBytes ? textOf(body, body.byteLength) : text) : undefined,
  };
}

function failed(failure: string): Answer {
  return { ok: false, status: 0, json: undefined, text: '', body: new Uint8Array(), whole: true, headers: {}, failure };
}
