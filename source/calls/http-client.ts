import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { authority } from '../text/authority.ts';
import { cleanLine } from '../text/clean.ts';
import { isLoopback } from '../text/loopback.ts';
import type { CallTarget } from './call.ts';
import { findAddress } from './find-address.ts';
import { collect, exchange, type HttpAnswer, type HttpEndpoint, type HttpRequest, headersOf } from './http-exchange.ts';

export const bodyLimitBytes = 64 * 1024;

/** Settings of a product for its server. */
export interface HttpTerms {
  /** Data that others must not read, and how to protect it. Undefined if there is none: only then plain HTTP may leave the machine. */
  secrets: { what: string; remedy?: string } | undefined;
  /** The fault for a missing or incomplete response; by default that of a component. */
  unreachable?: { code: Fault['code']; who: string; remedy: string } | ((cause: unknown) => Fault);
  limits?: HttpLimits;
}

export interface HttpLimits {
  limitMs?: number;
  limitBytes?: number;
}

export type StreamedAnswer = ReturnType<typeof streamed>;

/** Any status counts as a response, also a redirect: none is followed. Throws `unreachable.component`, or the fault of the terms. */
export class HttpClient {
  constructor(
    private readonly endpoint: HttpEndpoint,
    private readonly terms: HttpTerms,
  ) {
    if (terms.secrets) requirePrivate(endpoint, terms.secrets);
  }

  async send(request: HttpRequest, signal: AbortSignal, limits: HttpLimits = {}): Promise<HttpAnswer> {
    const { limitMs = 10_000, limitBytes = bodyLimitBytes } = { ...this.terms.limits, ...limits };
    try {
      return await limited(signal, limitMs, (both) => exchange(this.endpoint, request, both, (response) => collect(response, limitBytes)));
    } catch (thrown) {
      signal.throwIfAborted();
      throw this.#unreachable(thrown);
    }
  }

  /** For a body that may be larger than memory: no time limit while data is transferred. Faults of `take` are thrown unchanged. */
  async stream<T>(request: HttpRequest, stillMs: number, signal: AbortSignal, take: (answer: StreamedAnswer) => Promise<T>): Promise<T> {
    const still = new AbortController();
    const timer = setTimeout(() => still.abort(new Error(`no data for ${Math.round(stillMs / 1000)} s`)), stillMs);
    let isOver = false;
    try {
      return await exchange(
        this.endpoint,
        request,
        AbortSignal.any([signal, still.signal]),
        (response) => take(streamed(response, this.terms.limits?.limitBytes ?? bodyLimitBytes)),
        (connection) => noticeTraffic(connection, () => isOver || timer.refresh()),
      );
    } catch (thrown) {
      signal.throwIfAborted();
      throw thrown instanceof Fault ? thrown : this.#unreachable(thrown);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  }

  #unreachable(cause: unknown): Fault {
    const { unreachable } = this.terms;
    if (!unreachable) return doesNotAnswer(this.endpoint.shown, cause);
    return typeof unreachable === 'function' ? unreachable(cause) : silence(unreachable, cause);
  }
}

/** Throws `refused.clear` if others could read the request on its way. */
export function requirePrivate({ tls, address, shown }: HttpEndpoint, { what, remedy }: NonNullable<HttpTerms['secrets']>): void {
  if (tls || address.near) return;
  const message = `${shown} uses plain HTTP on the network, so ${what} could be read in transit.`;
  throw new Fault('refused.clear', message, remedy ?? 'Publish the port on 127.0.0.1, or connect over SSH.');
}

export function doesNotAnswer(who: string, cause: unknown): Fault {
  return silence({ code: 'unreachable.component', who, remedy: 'Check the log, and make sure that startup has finished.' }, cause);
}

function silence({ code, who, remedy }: { code: Fault['code']; who: string; remedy: string }, cause: unknown): Fault {
  return new Fault(code, `${who} does not respond: ${cleanLine(messageOf(cause)).replace(/\.$/, '')}.`, remedy, { cause });
}

export function httpEndpointOf(target: CallTarget, portName: string): HttpEndpoint {
  const id = target.name ?? target.entry.id;
  const address = findAddress(target, portName);
  if (typeof address === 'string') {
    const runs = target.entry.ports.some(({ name, service }) => name === portName && target.containers.get(service)?.state === 'running');
    const remedy = runs ? 'Publish the port on 127.0.0.1 in the compose file.' : `Start it: quarterdeck start ${id}`;
    throw new Fault('unreachable.component', address, remedy);
  }
  return {
    host: target.host,
    address,
    tls: target.entry.ports.some(({ name, tls }) => name === portName && tls),
    shown: `${id} (${authority(address)})`,
  };
}

/** Undefined for anything but a plain http or https address. */
export function httpEndpointAt(host: Host, address: string): (HttpEndpoint & { url: URL }) | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) return undefined;
  const tls = url.protocol === 'https:';
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return {
    host,
    address: { host: name, port: Number(url.port) || (tls ? 443 : 80), near: isLoopback(name) },
    tls,
    shown: cleanLine(url.origin),
    url,
  };
}

/** Returns whether a server reports, over plain HTTP, that it accepts only TLS, as servers written in Go do. */
export function requiresTls({ status, text }: Pick<HttpAnswer, 'status' | 'text'>): boolean {
  return status === 400 && /https server/i.test(text);
}

function streamed(response: IncomingMessage, limitBytes: number) {
  const all = async () => {
    const answer = await collect(response, limitBytes);
    if (!answer.whole) throw new Error('the response is too long');
    return answer;
  };
  return { status: response.statusCode ?? 0, headers: headersOf(response), body: response, all };
}

/** Detects data in either direction, without reading any of it. */
function noticeTraffic(stream: Duplex, noticed: () => unknown): void {
  for (const name of ['push', 'write'] as const) {
    const plain = stream[name].bind(stream) as (...args: unknown[]) => boolean;
    stream[name] = ((...args: unknown[]) => {
      noticed();
      return plain(...args);
    }) as never;
  }
}
