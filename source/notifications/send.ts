import { createHmac } from 'node:crypto';
import { HttpClient, httpEndpointAt } from '../calls/http-client.ts';
import type { NotificationTarget } from '../config/notification-settings.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { type Message, messageJson } from './message.ts';

/** `retry`: a later attempt may succeed, after this time if the receiver named one. */
export type SendResult =
  | { state: 'sent' }
  | { state: 'skipped'; reason: string }
  | { state: 'failed'; fault: Fault; retry: boolean; afterMs?: number | undefined };

export interface Sending {
  /** Name of the target. */
  name: string;
  target: NotificationTarget;
  message: Message;
  /** Token or password of the target, where it uses one. */
  secret: string | undefined;
  /** This machine. */
  host: Host;
  signal: AbortSignal;
}

const limitMs = 10_000;
const answerBytes = 4 * 1024;
const commandLimitMs = 30_000;
const longestWaitMs = 60 * 60_000;

export function usesSecret(target: NotificationTarget): boolean {
  if (target.type === 'ntfy') return target.login === true;
  if (target.type === 'webhook') return target.signed === true;
  return target.type === 'gotify' || (target.type === 'smtp' && target.user !== undefined);
}

/** Sends one message once. Rejects only with the reason of the signal. */
export async function send(sending: Sending): Promise<SendResult> {
  const { name, target, secret, signal } = sending;
  if (usesSecret(target) && secret === undefined) {
    const remedy = `Store the token or password: quarterdeck notify login ${name}`;
    return failed(new Fault('refused.notificationLogin', `No token or password is stored for ${name}.`, remedy), false);
  }
  try {
    return await senders[target.type](sending as never);
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return failed(thrown, thrown.kind === 'unreachable');
    return failed(unreachable(name, cleanLine(messageOf(thrown)).replace(/\.$/, '')), true);
  }
}

type Sender<Type extends NotificationTarget['type']> = (
  sending: Sending & { target: Extract<NotificationTarget, { type: Type }> },
) => Promise<SendResult>;

const senders: { [Type in NotificationTarget['type']]: Sender<Type> } = {
  ntfy(sending) {
    const { target, message, secret } = sending;
    const [, base = '', topic = ''] = /^(.*)\/([^/]+)\/?$/.exec(target.url) ?? [];
    const json = { topic, title: message.title, message: message.text, priority: message.urgent ? 5 : 3 };
    return post(sending, `${base}/`, { json, headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` } });
  },
  gotify(sending) {
    const { target, message, secret = '' } = sending;
    const json = { title: message.title, message: message.text, priority: message.urgent ? 8 : 5 };
    return post(sending, `${target.url.replace(/\/$/, '')}/message`, { json, headers: { 'x-gotify-key': secret } });
  },
  webhook(sending) {
    const { target, message, secret } = sending;
    const body = Buffer.from(JSON.stringify(messageJson(message)));
    const signature = secret === undefined ? undefined : createHmac('sha256', secret).update(body).digest('hex');
    const headers = {
      'content-type': 'application/json',
      ...(signature !== undefined && { 'x-quarterdeck-signature-256': `sha256=${signature}` }),
    };
    // A signature does not reveal the secret.
    return post({ ...sending, secret: undefined }, target.url, { body, headers });
  },
  async smtp(sending) {
    const { sendMail } = await import('./send-mail.ts');
    return limited(sending.signal, 2 * limitMs, () => sendMail(sending));
  },
  async desktop({ message, host, name, signal }) {
    // The text may contain markup.
    const text = message.text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    const urgency = message.urgent ? 'critical' : 'normal';
    const argv = ['notify-send', '--app-name=Quarterdeck', `--urgency=${urgency}`, '--', message.title, text];
    return ended(name, await host.exec(argv, { signal, limitMs }));
  },
  async terminal({ message }) {
    const { stderr } = process;
    if (!stderr.isTTY) return { state: 'skipped', reason: 'this process has no terminal' };
    stderr.write(`\x07\x1b]9;${cleanLine(message.title).replaceAll(';', ',')}\x07`);
    return { state: 'sent' };
  },
  async command({ target, message, host, name, signal }) {
    const stdin = `${JSON.stringify(messageJson(message))}\n`;
    return ended(name, await host.exec(target.run, { signal, limitMs: commandLimitMs, stdin }));
  },
};

function ended(name: string, { exitCode, stderr }: { exitCode: number; stderr: Uint8Array }): SendResult {
  if (exitCode === 0) return { state: 'sent' };
  const [said = ''] = Buffer.from(stderr).toString('utf8').trim().split('\n').slice(-1);
  const reason = said === '' ? '' : `: ${cleanLine(said).slice(0, 200)}`;
  const remedy = `Run the program manually to find the error, then: quarterdeck notify test ${name}`;
  return failed(new Fault('failed.notification', `The program of ${name} exited with code ${exitCode}${reason}.`, remedy), true);
}

interface Post {
  json?: unknown;
  body?: Buffer;
  headers: Readonly<Record<string, string>>;
}

/** The secret is sent over TLS or to this machine only, and no redirect is followed. */
async function post({ name, host, secret, signal }: Sending, url: string, request: Post): Promise<SendResult> {
  const endpoint = httpEndpointAt(host, url);
  if (!endpoint) return failed(new Fault('config.invalid', `The URL of ${name} is not valid.`, 'Use an http or https URL.'), false);
  const remedy = `Check the URL and the network, then: quarterdeck notify test ${name}`;
  const client = new HttpClient(endpoint, {
    secrets: secret === undefined ? undefined : { what: `the token of ${name}`, remedy: 'Use an https URL.' },
    unreachable: { code: 'unreachable.notification', who: `${name} (${endpoint.shown})`, remedy },
    limits: { limitMs, limitBytes: answerBytes },
  });
  const path = `${endpoint.url.pathname}${endpoint.url.search}`;
  const { status, headers } = await client.send({ method: 'POST', path, ...request }, signal);
  if (status >= 200 && status < 300) return { state: 'sent' };
  const who = `${name} (${endpoint.shown})`;
  if (status === 429 || status >= 500) {
    const fault = new Fault('unreachable.notification', `${who} responded with status ${status}.`, remedy);
    return { state: 'failed', fault, retry: true, afterMs: retryAfterMs(headers['retry-after']) };
  }
  if (status === 401 || status === 403) {
    const login = `If the target requires a login, store valid credentials: quarterdeck notify login ${name}`;
    return failed(new Fault('refused.notificationLogin', `${who} denied access (status ${status}).`, login), false);
  }
  if (status >= 300 && status < 400) {
    const text = `${who} redirects to another address, and redirects are not followed.`;
    return failed(new Fault('failed.notification', text, 'Use the final URL in config.yaml.'), false);
  }
  return failed(new Fault('failed.notification', `${who} rejected the message with status ${status}.`, 'Check the URL.'), false);
}

function retryAfterMs(written: string | undefined): number | undefined {
  if (written === undefined) return undefined;
  const ms = /^\d+$/.test(written) ? Number(written) * 1000 : Date.parse(written) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 1000), longestWaitMs);
}

const failed = (fault: Fault, retry: boolean): SendResult => ({ state: 'failed', fault, retry });

function unreachable(name: string, why: string): Fault {
  return new Fault('unreachable.notification', `${name} cannot be reached: ${why}.`, `To test the target: quarterdeck notify test ${name}`);
}
