import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Fault, isAbort } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { DialAddress } from './host.ts';
import type { PacedConnection } from './paced-connection.ts';
import { notReached, systemError } from './unreachable.ts';

/** A local peer responds at once or not at all; a port on the network may need a retransmission. */
const dialLimitMs = 10_000;

/**
 * Opens a connection from this machine.
 * @param through reads and writes for the socket
 * @param failed creates the fault for the system's error; defaults to `unreachable.socket` or `unreachable.port`
 * @throws that fault; the signal's reason when aborted
 */
export async function dialLocally(
  address: DialAddress,
  signal: AbortSignal,
  {
    through,
    failed = (cause) => notReached(address, cause),
  }: { through?: PacedConnection | undefined; failed?: (cause: NodeJS.ErrnoException) => Fault } = {},
): Promise<Duplex> {
  signal.throwIfAborted();
  const socket = connect({
    ...('socket' in address ? { path: address.socket } : { host: address.host, port: address.port, noDelay: true }),
    ...(through && { onread: through.onread }),
  });
  try {
    await limited(signal, dialLimitMs, (limit) => once(socket, 'connect', { signal: limit }));
  } catch (cause) {
    // An error during closing has no receiver.
    socket.on('error', () => undefined).destroy();
    signal.throwIfAborted();
    throw failed(isAbort(cause) ? systemError('ETIMEDOUT', `no connection within ${dialLimitMs / 1000} s`) : (cause as Error));
  }
  if (!('socket' in address)) socket.setKeepAlive(true, 30_000);
  return through?.over(socket) ?? socket;
}
