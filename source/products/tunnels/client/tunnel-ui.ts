import { HttpClient, requirePrivate } from '../../../calls/http-client.ts';
import type { HttpEndpoint, HttpRequest } from '../../../calls/http-exchange.ts';
import { Fault } from '../../../faults/fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../text/json-value.ts';

export type TunnelClient = ReturnType<typeof clientOf>;

/** The HTTP API of wg-easy in its dialects (reference/http-apis.md). Throws `unreachable.component`, `refused.login`, `failed.tunnelUi`. */
export class TunnelUi {
  #authority: Readonly<Record<string, string>> = {};

  private constructor(
    readonly endpoint: HttpEndpoint,
    /** `session`: up to 14, a password for a cookie. `basic`: 15, user and password with each request. */
    readonly dialect: 'session' | 'basic',
    /** No login is required: anyone who can reach the page has access. */
    readonly isOpen: boolean,
  ) {}

  /** Detects the dialect. Sends nothing secret. */
  static async greet(endpoint: HttpEndpoint, signal: AbortSignal): Promise<TunnelUi> {
    const { status, json, words } = await send(endpoint, { method: 'GET', path: '/api/session' }, signal);
    const session = objectOf(json);
    if (status === 200 && session && typeof session['requiresPassword'] === 'boolean')
      return new TunnelUi(endpoint, 'session', !session['requiresPassword']);
    if (status === 401) return new TunnelUi(endpoint, 'basic', false);
    throw failed(endpoint, 'returned a response that is not from wg-easy', status, words);
  }

  async logIn(grant: Grant, { user, password }: { user: string; password: string }): Promise<void> {
    requirePrivate(this.endpoint, { what: 'the password', remedy: 'Publish the web UI on 127.0.0.1, behind the reverse proxy.' });
    if (this.dialect === 'basic') {
      this.#authority = { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
      const { status } = await this.#ask('GET', '/api/client', grant.signal);
      if (status === 200) return;
      const why = status === 403 ? 'has password login disabled' : 'rejects this user and password, or requires a second factor';
      throw loginFault(this.endpoint, why);
    }
    const request = { method: 'POST', path: '/api/session', json: { password } };
    const { status, headers, words } = await send(this.endpoint, request, grant.signal);
    if (status === 401 || status === 403) throw loginFault(this.endpoint, 'rejects this password');
    const cookie = /(connect\.sid=[^;,\s]+)/.exec(headers['set-cookie'] ?? '')?.[1];
    if (status < 200 || status > 299 || cookie === undefined) throw failed(this.endpoint, 'did not start a session', status, words);
    this.#authority = { cookie };
  }

  async clients(signal: AbortSignal): Promise<TunnelClient[]> {
    const { status, json, words } = await this.#ask('GET', this.path(), signal);
    if (status !== 200 || !Array.isArray(json)) throw failed(this.endpoint, 'did not list the clients', status, words);
    return objectsOf(json).map(clientOf);
  }

  /** The answer contains the keys that the server generated, and is discarded. */
  add = (grant: Grant, name: string) =>
    this.#change(grant, 'create the client', 'POST', this.path(), this.dialect === 'basic' ? { name, expiresAt: null } : { name });
  remove = (grant: Grant, id: string) => this.#change(grant, 'remove the client', 'DELETE', this.path(id));

  async setEnabled(grant: Grant, id: string, enabled: boolean): Promise<void> {
    const verb = enabled ? 'enable' : 'disable';
    await this.#change(grant, `${verb} the client`, 'POST', `${this.path(id)}/${verb}`);
  }

  /** Returns the configuration with the private key. */
  async configuration(grant: Grant, id: string): Promise<string> {
    const { status, text, words } = await this.#ask('GET', `${this.path(id)}/configuration`, grant.signal);
    if (status !== 200 || !text.includes('[Interface]'))
      throw failed(this.endpoint, 'did not return the configuration', status, status === 200 ? '' : words);
    return text;
  }

  /** Ends the session. A failure is ignored: the session expires by itself. */
  async logOut(grant: Grant): Promise<void> {
    if (this.dialect === 'session' && this.#authority['cookie'] !== undefined)
      await this.#ask('DELETE', '/api/session', grant.signal).catch(() => undefined);
    this.#authority = {};
  }

  path(id?: string): string {
    const base = this.dialect === 'basic' ? '/api/client' : '/api/wireguard/client';
    return id === undefined ? base : `${base}/${encodeURIComponent(id)}`;
  }

  async #change(grant: Grant, what: string, method: string, path: string, json?: object): Promise<void> {
    const { status, words } = await send(this.endpoint, { method, path, json: json ?? {}, headers: this.#authority }, grant.signal);
    if (status < 200 || status > 299) throw failed(this.endpoint, `did not ${what}`, status, words);
  }

  #ask = (method: string, path: string, signal: AbortSignal) => send(this.endpoint, { method, path, headers: this.#authority }, signal);
}

/** Returns the answer with the server's own error message, cleaned. */
async function send(endpoint: HttpEndpoint, request: HttpRequest, signal: AbortSignal) {
  const headers = { accept: 'application/json', ...request.headers };
  // Nothing secret is sent before `logIn` has required a private connection.
  const answer = await new HttpClient(endpoint, { secrets: undefined }).send({ ...request, headers }, signal);
  const said = objectOf(answer.json) ?? {};
  const words = cleanLine(['error', 'message', 'statusMessage'].map((name) => textOf(said[name])).find(Boolean) ?? '').slice(0, 200);
  return Object.assign(answer, { words });
}

function clientOf(client: JsonObject) {
  const text = (name: string) => cleanLine(textOf(client[name]));
  const seen = Date.parse(text('latestHandshakeAt'));
  const bytes = (name: string) => (typeof client[name] === 'number' ? (client[name] as number) : 0);
  return {
    id: textOf(client['id']),
    name: text('name'),
    enabled: client['enabled'] === true,
    address: ['address', 'ipv4Address', 'ipv6Address'].map(text).filter(Boolean).join(', '),
    publicKey: text('publicKey'),
    /** Epoch milliseconds; undefined if the device never connected. */
    lastHandshakeMs: Number.isNaN(seen) ? undefined : seen,
    receivedBytes: bytes('transferRx'),
    sentBytes: bytes('transferTx'),
  };
}

function loginFault({ shown }: HttpEndpoint, why: string): Fault {
  const remedy = 'Check the password. To replace a stored one: quarterdeck secrets set COMPONENT PASSWORD';
  return new Fault('refused.login', `${shown} ${why}.`, remedy);
}

function failed({ shown }: HttpEndpoint, what: string, status: number, words: string): Fault {
  const remedy = status === 401 ? 'The session has expired. Run the command again.' : 'Check the server log.';
  return new Fault('failed.tunnelUi', `${shown} ${what}: status ${status}${words === '' ? '' : `, ${words}`}.`, remedy);
}
