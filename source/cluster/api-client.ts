import { type ExchangeAnswer, exchange } from '../calls/exchange.ts';
import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { parseJson } from '../text/json-value.ts';
import { apiFault, notReached } from './api-faults.ts';
import type { ClusterLogin } from './kubeconfig.ts';

/** A cluster under load answers a list after many seconds; kubectl has no limit at all. */
const answerLimitMs = 45_000;
const answerLimitBytes = 64 * 1024 * 1024;
const pageSize = 500;
const listTries = 3;

export interface Selection {
  labels?: string;
  fields?: string;
}

interface ListPage<T> {
  metadata?: { continue?: string };
  items?: T[];
}

/** The API of a cluster, without kubectl. Throws `unreachable.cluster`, `refused.clusterLogin`, `refused.right`, `failed.notServed`, `failed.notFound` and `failed.cluster`. */
export class ClusterApi {
  readonly login: ClusterLogin;
  readonly #host: Host;
  readonly #limitMs: number;

  /** Throws `refused.clear`. */
  constructor(host: Host, login: ClusterLogin, { limitMs = answerLimitMs } = {}) {
    const near = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(login.host);
    if (!login.tls && login.token !== undefined && !near) {
      throw new Fault({
        code: 'refused.clear',
        message: `${login.host}:${login.port} is plain HTTP to another machine: the token could be read on the way.`,
        remedy: "Take the cluster's https address.",
      });
    }
    this.login = login;
    this.#host = host;
    this.#limitMs = limitMs;
  }

  /** Where it answers, for sentences. */
  get shown(): string {
    const { host, port, tls } = this.login;
    return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  async get<T>(path: string, signal: AbortSignal): Promise<T> {
    return jsonOf<T>(await this.#ok('GET', path, undefined, signal));
  }

  /** Undefined where there is no such object, or nobody serves it. */
  async find<T>(path: string, signal: AbortSignal): Promise<T | undefined> {
    return this.get<T>(path, signal).catch((thrown: unknown) => {
      if (thrown instanceof Fault && (thrown.code === 'failed.notFound' || thrown.code === 'failed.notServed')) return undefined;
      throw thrown;
    });
  }

  /** Text pages: `/metrics`, `/readyz?verbose`. A health page that says no is an answer. */
  async text(path: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
    const answer = await this.#send('GET', path, undefined, signal);
    if (answer.status === 401 || answer.status === 403) throw apiFault(answer, 'GET', path);
    return { status: answer.status, text: answer.body.toString('utf8') };
  }

  /** All of a list, page by page: a cluster with 5,000 pods answers one with megabytes. `each` hears how many there are so far. */
  async list<T>(path: string, signal: AbortSignal, selection: Selection = {}, each?: (count: number) => void): Promise<T[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pages<T>(path, signal, selection, each);
      } catch (thrown) {
        // Between two pages it changed so much that the next one is gone.
        if (!(thrown instanceof Fault) || thrown.code !== 'failed.expired' || attempt === listTries) throw thrown;
      }
    }
  }

  async #pages<T>(path: string, signal: AbortSignal, { labels, fields }: Selection, each?: (count: number) => void): Promise<T[]> {
    const items: T[] = [];
    let next = '';
    do {
      const query = new URLSearchParams({
        limit: String(pageSize),
        ...(labels !== undefined && { labelSelector: labels }),
        ...(fields !== undefined && { fieldSelector: fields }),
        ...(next !== '' && { continue: next }),
      });
      const page = await this.get<ListPage<T>>(`${path}?${query}`, signal);
      if (!Array.isArray(page.items)) throw notReached(this.shown, new Error('what answers there is no Kubernetes API'));
      items.push(...page.items);
      each?.(items.length);
      next = page.metadata?.continue ?? '';
    } while (next !== '');
    return items;
  }

  /** A merge patch. */
  async patch<T>(grant: Grant, path: string, change: unknown): Promise<T> {
    return jsonOf<T>(await this.#ok('PATCH', path, change, grant.signal, 'application/merge-patch+json'));
  }

  async remove(grant: Grant, path: string, options: unknown): Promise<void> {
    await this.#ok('DELETE', path, options, grant.signal);
  }

  /** A POST whose status is an answer: an eviction that a budget refuses. */
  async post(grant: Grant, path: string, body: unknown): Promise<ExchangeAnswer> {
    return this.#send('POST', path, body, grant.signal);
  }

  /** A POST that asks: a review of rights is made, answered and forgotten. */
  async review<T>(path: string, body: unknown, signal: AbortSignal): Promise<T> {
    return jsonOf<T>(await this.#ok('POST', path, body, signal));
  }

  /** A POST that the server only tries. */
  async rehearse(path: string, body: unknown, signal: AbortSignal): Promise<ExchangeAnswer> {
    return this.#send('POST', `${path}?dryRun=All`, body, signal);
  }

  async #ok(method: string, path: string, body: unknown, signal: AbortSignal, type?: string): Promise<ExchangeAnswer> {
    const answer = await this.#send(method, path, body, signal, type);
    if (answer.status < 200 || answer.status > 299) throw apiFault(answer, method, path);
    return answer;
  }

  async #send(method: string, path: string, body: unknown, signal: AbortSignal, type = 'application/json'): Promise<ExchangeAnswer> {
    const { host, port, tls, basePath, ca, cert, key, serverName, unchecked, token } = this.login;
    const request = {
      method,
      path: `${basePath}${path}`,
      headers: {
        accept: 'application/json, text/plain',
        'user-agent': `quarterdeck/${process.env['QUARTERDECK_VERSION'] ?? 'dev'}`,
        ...(body !== undefined && { 'content-type': type }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
    };
    const trust = tls ? { ca, cert, key, serverName, unchecked } : undefined;
    try {
      return await limited(signal, this.#limitMs, async (both) => {
        const stream = await this.#host.dial({ host, port }, both);
        return exchange(stream, { request, host, port, trust, signal: both, limitBytes: answerLimitBytes });
      });
    } catch (thrown) {
      signal.throwIfAborted();
      throw notReached(this.shown, thrown, this.#limitMs);
    }
  }
}

function jsonOf<T>({ body }: ExchangeAnswer): T {
  try {
    return parseJson(body.toString('utf8')) as T;
  } catch {
    throw new Fault({
      code: 'failed.cluster',
      message: 'The cluster answered with no JSON.',
      remedy: 'Look what is behind its address: a proxy may answer in its place.',
    });
  }
}
