import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { listOf, objectOf, parsedJson, textOf } from '../text/json-value.ts';
import { type HttpPlace, sendTo } from './component-http.ts';

/** Its page speaks plain HTTP alone. */
export type TunnelUiPlace = Omit<HttpPlace, 'tls'>;

/** A device that has a configuration of this server. */
export interface TunnelClient {
  id: string;
  name: string;
  enabled: boolean;
  address: string;
  publicKey: string;
  /** Epoch milliseconds; undefined where it was never there. */
  lastHandshakeMs: number | undefined;
  receivedBytes: number;
  sentBytes: number;
}

/** `session`: up to 14, a password for a cookie. `basic`: 15, a user and a password with each request. */
export type TunnelUiDialect = 'session' | 'basic';

export interface TunnelUiLogin {
  user: string;
  password: string;
}

/** The HTTP API of wg-easy in its dialects (reference/http-apis.md). Throws `unreachable.component`, `refused.login`, `failed.tunnelUi`. */
export class TunnelUi {
  readonly place: TunnelUiPlace;
  readonly dialect: TunnelUiDialect;
  /** No login is wanted: everybody who reaches the page gets in. */
  readonly isOpen: boolean;
  #authority: Readonly<Record<string, string>> = {};

  private constructor(place: TunnelUiPlace, dialect: TunnelUiDialect, isOpen: boolean) {
    this.place = place;
    this.dialect = dialect;
    this.isOpen = isOpen;
  }

  /** Asks what it speaks. Sends nothing that is secret. */
  static async greet(place: TunnelUiPlace, signal: AbortSignal): Promise<TunnelUi> {
    const { status, json, words } = await send(place, { method: 'GET', path: '/api/session' }, signal);
    const session = objectOf(json);
    if (status === 200 && session && typeof session['requiresPassword'] === 'boolean')
      return new TunnelUi(place, 'session', !session['requiresPassword']);
    if (status === 401) return new TunnelUi(place, 'basic', false);
    throw new Fault({
      code: 'failed.tunnelUi',
      message: `${place.shown} does not answer as wg-easy does: status ${status}${words === '' ? '' : `, ${words}`}.`,
      remedy: 'Look at its log.',
    });
  }

  async logIn(grant: Grant, { user, password }: TunnelUiLogin): Promise<void> {
    if (!this.place.address.near) {
      throw new Fault({
        code: 'refused.clear',
        message: `${this.place.shown} is plain HTTP to another machine: the password could be read on the way.`,
        remedy: 'Publish it on 127.0.0.1, behind the reverse proxy.',
      });
    }
    if (this.dialect === 'basic') {
      this.#authority = { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
      const { status } = await this.#ask('GET', '/api/client', grant.signal);
      if (status === 200) return;
      throw status === 403
        ? loginFault(this.place, 'password login is switched off there')
        : loginFault(this.place, 'it refuses this user and password, or wants a second factor');
    }
    const { status, headers, words } = await send(this.place, { method: 'POST', path: '/api/session', json: { password } }, grant.signal);
    if (status === 401 || status === 403) throw loginFault(this.place, 'it refuses this password');
    const cookie = /(connect\.sid=[^;,\s]+)/.exec(headers['set-cookie'] ?? '')?.[1];
    if (status < 200 || status > 299 || cookie === undefined) throw failed(this.place, 'log in', status, words);
    this.#authority = { cookie };
  }

  async clients(signal: AbortSignal): Promise<TunnelClient[]> {
    const { status, json, words } = await this.#ask('GET', this.#path(), signal);
    if (status !== 200 || !Array.isArray(json)) throw failed(this.place, 'list the clients', status, words);
    return listOf(json).flatMap((one) => {
      const client = objectOf(one);
      return client ? [clientOf(client)] : [];
    });
  }

  /** Makes a client, with keys that the server makes. Its answer holds them: it is thrown away. */
  async add(grant: Grant, name: string): Promise<void> {
    await this.#change(grant, 'make the client', 'POST', this.#path(), this.dialect === 'basic' ? { name, expiresAt: null } : { name });
  }

  async setEnabled(grant: Grant, id: string, enabled: boolean): Promise<void> {
    await this.#change(
      grant,
      enabled ? 'let the client in' : 'keep the client out',
      'POST',
      `${this.#path(id)}/${enabled ? 'enable' : 'disable'}`,
    );
  }

  async remove(grant: Grant, id: string): Promise<void> {
    await this.#change(grant, 'remove the client', 'DELETE', this.#path(id));
  }

  /** With the private key. */
  async configuration(grant: Grant, id: string): Promise<string> {
    const { status, text, words } = await this.#ask('GET', `${this.#path(id)}/configuration`, grant.signal);
    if (status !== 200 || !text.includes('[Interface]'))
      throw failed(this.place, 'give the configuration', status, status === 200 ? '' : words);
    return text;
  }

  /** Ends the session. What cannot be said any more is no matter: it ends by itself. */
  async logOut(grant: Grant): Promise<void> {
    if (this.dialect === 'session' && this.#authority['cookie'] !== undefined)
      await this.#ask('DELETE', '/api/session', grant.signal).catch(() => undefined);
    this.#authority = {};
  }

  #path(id?: string): string {
    const base = this.dialect === 'basic' ? '/api/client' : '/api/wireguard/client';
    return id === undefined ? base : `${base}/${encodeURIComponent(id)}`;
  }

  async #change(grant: Grant, what: string, method: string, path: string, json?: object): Promise<void> {
    const { status, words } = await send(this.place, { method, path, json: json ?? {}, headers: this.#authority }, grant.signal);
    if (status < 200 || status > 299) throw failed(this.place, what, status, words);
  }

  #ask(method: string, path: string, signal: AbortSignal): Promise<Answer> {
    return send(this.place, { method, path, headers: this.#authority }, signal);
  }
}

interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  json: unknown;
  text: string;
  /** Its own words about what is wrong, cleaned. */
  words: string;
}

async function send(
  place: TunnelUiPlace,
  { method, path, json, headers = {} }: { method: string; path: string; json?: object; headers?: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Answer> {
  const arrival = await sendTo(
    { ...place, tls: false },
    {
      method,
      path,
      headers: { accept: 'application/json', ...(json && { 'content-type': 'application/json' }), ...headers },
      ...(json && { body: Buffer.from(JSON.stringify(json)) }),
    },
    signal,
  );
  const text = arrival.body.toString('utf8');
  const parsed = parsedJson(text);
  const said = objectOf(parsed);
  const words = cleanLine(textOf(said?.['error']) || textOf(said?.['message']) || textOf(said?.['statusMessage'])).slice(0, 200);
  return { status: arrival.status, headers: arrival.headers, json: parsed, text, words };
}

function clientOf(client: Readonly<Record<string, unknown>>): TunnelClient {
  const seen = Date.parse(textOf(client['latestHandshakeAt']));
  const bytes = (name: string) => (typeof client[name] === 'number' ? (client[name] as number) : 0);
  return {
    id: textOf(client['id']),
    name: cleanLine(textOf(client['name'])),
    enabled: client['enabled'] === true,
    address: cleanLine(
      [textOf(client['address']), textOf(client['ipv4Address']), textOf(client['ipv6Address'])].filter(Boolean).join(', '),
    ),
    publicKey: cleanLine(textOf(client['publicKey'])),
    lastHandshakeMs: Number.isNaN(seen) ? undefined : seen,
    receivedBytes: bytes('transferRx'),
    sentBytes: bytes('transferTx'),
  };
}

function loginFault({ shown }: TunnelUiPlace, why: string): Fault {
  return new Fault({
    code: 'refused.login',
    message: `${shown}: ${why}.`,
    remedy: 'Check the password. One that is kept may be an old one: quarterdeck secrets list COMPONENT',
  });
}

function failed({ shown }: TunnelUiPlace, what: string, status: number, words: string): Fault {
  return new Fault({
    code: 'failed.tunnelUi',
    message: `${shown} did not ${what}: status ${status}${words === '' ? '' : `, ${words}`}.`,
    remedy: status === 401 ? 'The session has ended: start it again.' : 'Look at its log.',
  });
}
