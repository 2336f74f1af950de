import type { CallTarget } from '../calls/call.ts';
import { findAddress, type PortAddress } from '../calls/find-address.ts';
import { type HttpArrival, type HttpRequest, sendRequest } from '../calls/http-call.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';

const limitMs = 10_000;

/** Where a component answers over HTTP, and from which machine it is dialled. */
export interface HttpPlace {
  host: Host;
  address: PortAddress;
  tls: boolean;
  /** For sentences. */
  shown: string;
}

/** Of a port of a component. Throws `unreachable.component` where it has no address. */
export function httpPlaceOf(target: CallTarget, portName: string): HttpPlace {
  const { ports } = target.entry;
  const id = target.name ?? target.entry.id;
  const address = findAddress(target, portName);
  if (typeof address === 'string')
    throw new Fault({ code: 'unreachable.component', message: address, remedy: `Start it: quarterdeck start ${id}` });
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    host: target.host,
    address,
    tls: ports.some(({ name, tls }) => name === portName && tls),
    shown: `${id} (${host}:${address.port})`,
  };
}

export type HttpAsking = Pick<HttpRequest, 'method' | 'path'> & { headers?: HttpRequest['headers']; body?: Buffer };

/** One request; any status is an answer, a redirect too. Throws `unreachable.component`. */
export async function sendTo(place: HttpPlace, { headers = {}, body, ...rest }: HttpAsking, signal: AbortSignal): Promise<HttpArrival> {
  const { host, address, tls, shown } = place;
  try {
    return await limited(signal, limitMs, async (both) => {
      const stream = await host.dial({ host: address.host, port: address.port }, both);
      return sendRequest(stream, { request: { ...rest, headers, body }, address, tls, signal: both, arrival: () => {} });
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw doesNotAnswer(shown, thrown);
  }
}

export function doesNotAnswer(shown: string, thrown: unknown): Fault {
  return new Fault({
    code: 'unreachable.component',
    message: `${shown} does not answer: ${cleanLine(messageOf(thrown)).replace(/\.$/, '')}.`,
    remedy: 'Look at its log, and whether it is still starting.',
    cause: thrown,
  });
}

/** Throws `refused.clear` where what is about to be sent could be read on the way. */
export function needPrivate({ tls, address, shown }: HttpPlace, what: string): void {
  if (tls || address.near) return;
  throw new Fault({
    code: 'refused.clear',
    message: `${shown} is plain HTTP to another machine: ${what} could be read on the way.`,
    remedy: 'Publish it on loopback, or reach it over ssh.',
  });
}
