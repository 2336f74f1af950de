import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Fault } from '../faults/fault.ts';
import type { DialAddress } from './host.ts';
import { notReached, systemError } from './not-reached.ts';
import type { PacedConnection } from './paced-connection.ts';

/** Whatever is local answers at once or not at all; a port on the network may take a retransmission. */
const dialLimitMs = 10_000;

/**
 * A connection from this machine.
 * @param through reads and writes for the socket
 * @param failed makes the fault of the system's error; by itself `unreachable.socket` or `unreachable.port`
 * @throws that fault; the signal's reason when aborted
 */
export function dialFromHere(
  address: DialAddress,
  signal: AbortSignal,
  {
    through,
    failed = (cause) => notReached(address, cause),
  }: { through?: PacedConnection | undefined; failed?: (cause: NodeJS.ErrnoException) => Fault } = {},
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket: Socket = connect({
      ...('socket' in address ? { path: address.socket } : { host: address.host, port: address.port, noDelay: true }),
      ...(through && { onread: through.onread }),
    });
    const limit = setTimeout(() => fail(systemError('ETIMEDOUT', `no connection within ${dialLimitMs / 1000} s`)), dialLimitMs);
    const onAbort = () => settle(() => reject(signal.reason), true);
    const fail = (cause: Error) => settle(() => reject(failed(cause)), true);
    function settle(how: () => void, close: boolean): void {
      clearTimeout(limit);
      signal.removeEventListener('abort', onAbort);
      socket.off('error', fail);
      if (close) {
        // An error that comes while closing has nobody left to tell.
        socket.on('error', () => undefined);
        socket.destroy();
      }
      how();
    }
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', fail);
    socket.once('connect', () => {
      if (!('socket' in address)) socket.setKeepAlive(true, 30_000);
      settle(() => resolve(through?.over(socket) ?? socket), false);
    });
  });
}
