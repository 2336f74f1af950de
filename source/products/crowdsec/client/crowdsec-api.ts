import { HttpClient } from '../../../calls/http-client.ts';
import type { HttpEndpoint, HttpRequest } from '../../../calls/http-exchange.ts';
import { Fault } from '../../../faults/fault.ts';
import { cleanLine } from '../../../text/clean.ts';
import { objectOf, textOf } from '../../../text/json-value.ts';
import { parseYamlDocument } from '../../../yaml/text.ts';

type MachineLogin = Record<'login' | 'password', string>;

const limitMs = 60_000;
/** 50,000 decisions are about 15 MB. */
const limitBytes = 64 * 1024 * 1024;
/** A token is valid for an hour; a clock that is slightly off must not matter. */
const renewBeforeMs = 5 * 60_000;

/** Returns the raw answer to `GET /v1/alerts`. A `limit` of 0 means all. */
export type ReadAlerts = (filter: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<unknown>;

/**
 * Reads the local API of CrowdSec as a machine (reference/crowdsec.md). The server records the version that a client reports as that of the
 * machine, so `version` is that of the engine. Throws `unreachable.crowdsec` and `failed.crowdsec`.
 */
export function alertReader(endpoint: HttpEndpoint, { login, password }: MachineLogin, version: string): ReadAlerts {
  const who = `The local API of ${endpoint.shown}`;
  const http = new HttpClient(endpoint, {
    secrets: { what: 'the password', remedy: 'Configure a certificate for the local API, and use its https address.' },
    unreachable: { code: 'unreachable.crowdsec', who, remedy: 'Check that the local API is running, and check its log.' },
    limits: { limitMs, limitBytes },
  });
  const failed = (what: string) => new Fault('failed.crowdsec', `${who} ${what}.`, 'Check the CrowdSec log.');
  let known: { token: string; untilMs: number } | undefined;

  /** Returns the answer with the server's own words, cleaned; without any, with its status. */
  const send = async (request: Pick<HttpRequest, 'method' | 'path' | 'headers' | 'json'>, signal: AbortSignal) => {
    const headers = { accept: 'application/json', 'user-agent': `crowdsec/${version}`, ...request.headers };
    const { status, json, whole } = await http.send({ ...request, headers }, signal);
    if (!whole) throw failed(`returned more than ${limitBytes / 1024 / 1024} MB`);
    return { status, json, words: cleanLine(textOf(objectOf(json)?.['message'])).slice(0, 300) || `status ${status}` };
  };
  const tokenFor = async (signal: AbortSignal) => {
    if (known && known.untilMs > Date.now()) return known.token;
    const body = { machine_id: login, password, scenarios: [] };
    const { status, json, words } = await send({ method: 'POST', path: '/v1/watchers/login', json: body }, signal);
    const token = textOf(objectOf(json)?.['token']);
    if (status !== 200 || !/^[\x21-\x7e]+$/.test(token)) throw failed(`rejected the login of the machine ${cleanLine(login)}: ${words}`);
    known = { token, untilMs: Date.now() + 3_600_000 - renewBeforeMs };
    return token;
  };
  return async (filter, signal) => {
    const path = `/v1/alerts?${new URLSearchParams(filter)}`;
    const list = async () => send({ method: 'GET', path, headers: { authorization: `Bearer ${await tokenFor(signal)}` } }, signal);
    let answer = await list();
    if (answer.status === 401) {
      // Tokens do not survive a restart of the server.
      known = undefined;
      answer = await list();
    }
    if (answer.status !== 200) throw failed(`did not return the alerts: ${answer.words}`);
    return answer.json;
  };
}

export function parseMachineLogin(text: string): (MachineLogin & { url: string }) | undefined {
  const document = parseYamlDocument(text);
  const { url, login, password } = objectOf(document.errors.length > 0 ? undefined : document.toJS()) ?? {};
  return typeof url === 'string' && typeof login === 'string' && typeof password === 'string' ? { url, login, password } : undefined;
}
