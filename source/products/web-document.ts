import { sendRequest } from '../calls/http-call.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { parseJson } from '../text/json-value.ts';

const limitMs = 10_000;

/**
 * A JSON document behind an https address, fetched from this host; a redirect is not followed. Throws `usage.url` for what is not https (loopback may be plain),
 * `unreachable.page` and `failed.page`.
 */
export async function fetchJson(host: Host, address: string, signal: AbortSignal): Promise<unknown> {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const name = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  const near = name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name);
  if (!url || !/^https?:$/.test(url.protocol) || (url.protocol === 'http:' && !near) || url.username || url.password) {
    throw new Fault({
      code: 'usage.url',
      message: `${cleanLine(address)} is no https address.`,
      remedy: 'For example https://auth.example.org',
    });
  }
  const tls = url.protocol === 'https:';
  const port = Number(url.port) || (tls ? 443 : 80);
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', host: url.host };
  let arrival: Awaited<ReturnType<typeof sendRequest>>;
  try {
    arrival = await limited(signal, limitMs, async (both) => {
      const stream = await host.dial({ host: name, port }, both);
      const request = { method: 'GET', path: `${url.pathname}${url.search}`, headers, body: undefined };
      return sendRequest(stream, { request, address: { host: name, port, near }, tls, signal: both, arrival: () => {} });
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw new Fault({
      code: 'unreachable.page',
      message: `${cleanLine(url.origin)} does not answer: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
      remedy: 'Check the address, and that this machine reaches it.',
      cause: thrown,
    });
  }
  if (arrival.status !== 200 || !arrival.whole) {
    throw new Fault({
      code: 'failed.page',
      message: `${cleanLine(url.href)} answered with status ${arrival.status}${arrival.whole ? '' : ', and more than is read'}.`,
      remedy: 'Check the address.',
    });
  }
  try {
    return parseJson(arrival.body.toString('utf8')) as unknown;
  } catch {
    throw new Fault({
      code: 'failed.page',
      message: `${cleanLine(url.href)} answered with something that is no JSON.`,
      remedy: 'Check the address.',
    });
  }
}
