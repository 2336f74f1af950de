import type { PortAddress } from '../calls/find-address.ts';
import { type HttpArrival, sendRequest } from '../calls/http-call.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { DialAddress, Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parsedJson } from '../text/json-value.ts';

export interface CrowdsecApiPlace {
  /** Where it is dialled from. */
  host: Host;
  address: PortAddress | { socket: string };
  tls: boolean;
  /** For sentences. */
  shown: string;
}

export interface MachineLogin {
  login: string;
  password: string;
}

const limitMs = 60_000;
/** 50,000 decisions have some 15 MB. */
const limitBytes = 64 * 1024 * 1024;
/** A token is good for an hour; a clock that is a little off must not matter. */
const renewBeforeMs = 5 * 60_000;

interface Answer {
  status: number;
  json: unknown;
  words: string;
}

/** The local API of CrowdSec, as a machine (reference/crowdsec.md). It reads alone. Throws `unreachable.crowdsec` and `failed.crowdsec`. */
export class CrowdsecApi {
  readonly #place: CrowdsecApiPlace;
  readonly #login: MachineLogin;
  readonly #agent: string;
  #token: { text: string; untilMs: number } | undefined;

  /** @param version of the engine whose login this is: the server writes down what the client says of itself as the machine's version */
  constructor(place: CrowdsecApiPlace, login: MachineLogin, version: string) {
    if (!place.tls && !('socket' in place.address) && !place.address.near) {
      throw new Fault({
        code: 'refused.clear',
        message: `${place.shown} is plain HTTP to another machine: the password could be read on the way.`,
        remedy: 'Give the local API a certificate, and its https address to this machine.',
      });
    }
    this.#place = place;
    this.#login = login;
    this.#agent = `crowdsec/${version}`;
  }

  /** What it says to `GET /v1/alerts`, as it came. `limit` 0 is all. */
  async alerts(filter: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
    const path = `/v1/alerts?${new URLSearchParams(filter)}`;
    let answer = await this.#send('GET', path, { authorization: `Bearer ${await this.#bearer(signal)}` }, undefined, signal);
    if (answer.status === 401) {
      // Tokens do not outlive a restart of the server.
      this.#token = undefined;
      answer = await this.#send('GET', path, { authorization: `Bearer ${await this.#bearer(signal)}` }, undefined, signal);
    }
    if (answer.status !== 200) throw this.#failed(`did not list alerts: ${answer.words || `status ${answer.status}`}`);
    return answer.json;
  }

  async #bearer(signal: AbortSignal): Promise<string> {
    if (this.#token && this.#token.untilMs > Date.now()) return this.#token.text;
    const { login, password } = this.#login;
    const answer = await this.#send('POST', '/v1/watchers/login', {}, { machine_id: login, password, scenarios: [] }, signal);
    const token = (answer.json as { token?: unknown } | undefined)?.token;
    if (answer.status !== 200 || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
      throw this.#failed(`did not take the login of the machine ${cleanLine(login)}: ${answer.words || `status ${answer.status}`}`);
    this.#token = { text: token, untilMs: Date.now() + 3_600_000 - renewBeforeMs };
    return token;
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    headers: Readonly<Record<string, string>>,
    json: unknown,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { host, address, tls, shown } = this.#place;
    const request = {
      method,
      path,
      headers: { accept: 'application/json', 'content-type': 'application/json', 'user-agent': this.#agent, ...headers },
      body: json === undefined ? undefined : Buffer.from(JSON.stringify(json)),
    };
    const to: DialAddress = 'socket' in address ? address : { host: address.host, port: address.port };
    const near: PortAddress = 'socket' in address ? { host: 'localhost', port: 80, near: true } : address;
    let arrival: HttpArrival;
    try {
      arrival = await limited(signal, limitMs, async (both) =>
        sendRequest(await host.dial(to, both), { request, address: near, tls, signal: both, arrival: () => {}, limitBytes }),
      );
    } catch (thrown) {
      signal.throwIfAborted();
      throw new Fault({
        code: 'unreachable.crowdsec',
        message: `The local API of ${shown} does not answer: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
        remedy: 'Look whether it runs, and at its log.',
        cause: thrown,
      });
    }
    if (!arrival.whole) throw this.#failed(`answered with more than ${limitBytes / 1024 / 1024} MB`);
    const text = arrival.body.toString('utf8');
    const parsed = parsedJson(text);
    const message = (parsed as { message?: unknown } | null | undefined)?.message;
    return { status: arrival.status, json: parsed, words: cleanLine(typeof message === 'string' ? message : '').slice(0, 300) };
  }

  #failed(what: string): Fault {
    return new Fault({ code: 'failed.crowdsec', message: `The local API of ${this.#place.shown} ${what}.`, remedy: 'Look at its log.' });
  }
}
