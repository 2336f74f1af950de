import { HttpClient } from '../../../calls/http-client.ts';
import { type HttpAnswer, type HttpEndpoint, userAgent } from '../../../calls/http-exchange.ts';
import { Fault, messageOf } from '../../../faults/fault.ts';
import { unlessCode } from '../../../faults/unless-fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { Host } from '../../../hosts/host.ts';
import { authority } from '../../../text/authority.ts';
import { cleanLine } from '../../../text/clean.ts';
import { objectOf, parsedJson } from '../../../text/json-value.ts';
import { isLoopback } from '../../../text/loopback.ts';
import type { ClusterLogin } from './kubeconfig.ts';

/** A cluster under load takes many seconds to return a list; kubectl has no time limit. */
const answerLimitMs = 45_000;
const answerLimitBytes = 64 * 1024 * 1024;
const pageSize = 500;
const listTries = 3;

type Selection = Partial<Record<'labels' | 'fields', string>>;

/** Throws `unreachable.cluster`, `refused.clusterLogin`, `refused.right`, `failed.notServed`, `failed.notFound` and `failed.cluster`. */
export class ClusterApi {
  readonly login: ClusterLogin;
  readonly shown: string;
  readonly #http: HttpClient;

  /** Throws `refused.clear`. */
  constructor(host: Host, login: ClusterLogin, { limitMs = answerLimitMs } = {}) {
    const { host: name, port, tls, basePath, ca, cert, key, serverName, unchecked, token } = login;
    this.login = login;
    this.shown = `${tls ? 'https' : 'http'}://${authority(login)}`;
    const endpoint: HttpEndpoint = {
      ...{ host, tls, basePath, trust: { ca, cert, key, serverName, unchecked } },
      address: { host: name, port, near: isLoopback(name) },
      shown: authority(login),
    };
    this.#http = new HttpClient(endpoint, {
      secrets: token === undefined ? undefined : { what: 'the token', remedy: "Use the cluster's https address." },
      unreachable: (cause) => notReached(this.shown, cause, limitMs),
      limits: { limitMs, limitBytes: answerLimitBytes },
    });
  }

  async get<T>(path: string, signal: AbortSignal): Promise<T> {
    return jsonOf<T>(await this.#ok('GET', path, undefined, signal));
  }

  /** Returns undefined if there is no such object, or its API is not served. */
  find<T>(path: string, signal: AbortSignal): Promise<T | undefined> {
    return unlessCode(this.get<T>(path, signal), ['failed.notFound', 'failed.notServed'], undefined);
  }

  /** Returns a text page such as `/metrics` or `/readyz?verbose`. A health page that reports a failure is an answer. */
  async text(path: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
    const answer = await this.#send('GET', path, undefined, signal);
    if (answer.status === 401 || answer.status === 403) throw apiFault(answer, 'GET', path);
    return { status: answer.status, text: answer.text };
  }

  /** Reads page by page: a cluster with 5,000 pods returns megabytes. `each` is called with the number of items so far. */
  async list<T>(path: string, signal: AbortSignal, selection: Selection = {}, each?: (count: number) => void): Promise<T[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pages<T>(path, signal, selection, each);
      } catch (thrown) {
        // The list changed so much between two pages that the next page has expired.
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
      const page = await this.get<{ metadata?: { continue?: string }; items?: T[] }>(`${path}?${query}`, signal);
      if (!Array.isArray(page.items)) throw notReached(this.shown, new Error('the response is not from a Kubernetes API'));
      items.push(...page.items);
      each?.(items.length);
      next = page.metadata?.continue ?? '';
    } while (next !== '');
    return items;
  }

  async patch<T>(grant: Grant, path: string, change: unknown): Promise<T> {
    return jsonOf<T>(await this.#ok('PATCH', path, change, grant.signal, 'application/merge-patch+json'));
  }

  async remove(grant: Grant, path: string, options: unknown): Promise<void> {
    await this.#ok('DELETE', path, options, grant.signal);
  }

  /** Sends a POST and returns any status, such as an eviction that a budget refuses. */
  async post(grant: Grant, path: string, body: unknown): Promise<HttpAnswer> {
    return this.#send('POST', path, body, grant.signal);
  }

  /** Sends a POST that only queries: a review of rights is answered and not stored. */
  async review<T>(path: string, body: unknown, signal: AbortSignal): Promise<T> {
    return jsonOf<T>(await this.#ok('POST', path, body, signal));
  }

  async dryRun(path: string, body: unknown, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#send('POST', `${path}?dryRun=All`, body, signal);
  }

  async #ok(method: string, path: string, body: unknown, signal: AbortSignal, type?: string): Promise<HttpAnswer> {
    const answer = await this.#send(method, path, body, signal, type);
    if (answer.status < 200 || answer.status > 299) throw apiFault(answer, method, path);
    return answer;
  }

  async #send(method: string, path: string, body: unknown, signal: AbortSignal, type = 'application/json'): Promise<HttpAnswer> {
    const { token } = this.login;
    const headers = {
      accept: 'application/json, text/plain',
      'user-agent': userAgent,
      ...(body !== undefined && { 'content-type': type }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    const answer = await this.#http.send({ method, path, headers, json: body }, signal);
    if (answer.whole) return answer;
    throw new Fault('failed.cluster', `The response to ${method} ${cleanLine(path)} is larger than 64 MiB.`, 'Use kubectl instead.');
  }
}

function jsonOf<T>({ text }: HttpAnswer): T {
  const json = parsedJson(text);
  if (json !== undefined) return json as T;
  const remedy = 'Check the cluster address. A proxy may be responding instead of the cluster.';
  throw new Fault('failed.cluster', 'The response from the cluster is not JSON.', remedy);
}

interface ApiStatus {
  message?: string;
  details?: { causes?: { reason?: string; message?: string }[] };
}

/** Returns undefined if the answer is not from the API. */
export function statusOf({ text }: HttpAnswer): ApiStatus | undefined {
  const parsed = objectOf(parsedJson(text));
  return parsed?.['kind'] === 'Status' ? parsed : undefined;
}

const forbidden = /User "([^"]*)" cannot (\S+) (?:resource "([^"]+)" in API group "([^"]*)"|path "([^"]+)")/;

export function apiFault(answer: HttpAnswer, method: string, path: string): Fault {
  const status = statusOf(answer);
  const words = cleanLine(status?.message ?? answer.text.slice(0, 200)).trim() || 'no message';
  const what = `${method} ${cleanLine(path.replace(/\?.*$/, ''))}`;
  switch (answer.status) {
    case 401:
      return new Fault(
        'refused.clusterLogin',
        'The cluster rejects the login (401 Unauthorized): the token or certificate of this context is wrong or has expired.',
        'Get a new kubeconfig, or log in again with the program that creates the token.',
      );
    case 403:
      return missingRight(words);
    case 404:
      return status
        ? new Fault('failed.notFound', `The cluster has no such object: ${words}`, 'Check whether the object was deleted.')
        : new Fault(
            'failed.notServed',
            `The cluster does not serve ${what}.`,
            'The API may not be installed, or may not exist in the Kubernetes version of the cluster.',
          );
    case 410:
      return new Fault('failed.expired', `The list changed while it was read: ${words}`, 'Run the command again.');
    case 503:
      return new Fault(
        'unreachable.apiGroup',
        `The API is unavailable (503): ${what}.`,
        'The API server, or the service behind this part of the API, is not ready. Check: kubectl get apiservices',
      );
    default:
      return new Fault(
        'failed.cluster',
        `The cluster returned HTTP ${answer.status} for ${what}: ${words}.`,
        'Check the cluster events and the log of the API server.',
      );
  }
}

function missingRight(words: string): Fault {
  const [, user = '', verb = '', resource, group = '', path] = forbidden.exec(words) ?? [];
  if (resource === undefined && path === undefined)
    return new Fault('refused.right', `Permission denied: ${words}`, 'Contact the cluster administrator.');
  const full = group === '' ? (resource ?? path) : resource?.replace(/(?=\/|$)/, `.${group}`);
  const rule = resource === undefined ? `--non-resource-url=${path}` : `--resource=${full}`;
  const role = `quarterdeck-${verb}-${(full ?? '').replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')}`;
  const remedy = `Grant the permission: kubectl create clusterrole ${role} --verb=${verb} ${rule} && kubectl create clusterrolebinding ${role} --clusterrole=${role} --user=${user}`;
  return new Fault('refused.right', `User ${user} is not allowed to ${verb} ${full}.`, remedy);
}

const ofAnother = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:VERIFY|GET)_\w+|CERT_SIGNATURE_FAILURE)$/;

function certificateWords(code: string): [why: string, remedy: string] | undefined {
  if (code === 'CERT_HAS_EXPIRED')
    return ["the API server's certificate has expired", 'With kubeadm, check on a control-plane node: kubeadm certs check-expiration'];
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return ['its certificate is for another name', 'Use one of its names as the address, or as tls-server-name in the kubeconfig.'];
  if (!ofAnother.test(code)) return undefined;
  return [
    'its certificate was not issued by the certificate authority in the kubeconfig',
    'Check the address, and get a new kubeconfig if the certificate authority of the cluster was replaced.',
  ];
}

function notReached(shown: string, thrown: unknown, limitMs?: number): Fault {
  if (thrown instanceof Fault && thrown.kind !== 'unreachable') return thrown;
  const code = String((thrown as { code?: unknown } | undefined)?.code ?? '');
  const slow = (thrown as { name?: string } | undefined)?.name === 'TimeoutError';
  const [wrong, fix] = certificateWords(code) ?? [];
  const why = slow
    ? `no response within ${Math.round((limitMs ?? 0) / 1000)} s`
    : (wrong ??
      (/ALERT|ERR_SSL/.test(code)
        ? 'it rejects the client certificate or the TLS version, or does not use TLS'
        : cleanLine(messageOf(thrown)).replace(/\.$/, '')));
  const remedy = fix ?? 'Check that the API server is running and reachable from this host, or select another host with --host.';
  return new Fault('unreachable.cluster', `Cannot reach the cluster at ${shown}: ${why}.`, remedy, { cause: thrown });
}
