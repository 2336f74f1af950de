import { connect } from 'node:net';
import { limited } from '../../faults/waits.ts';
import type { DialAddress } from '../host.ts';
import type { SshConnection } from './ssh-connection.ts';

/** Limits of the remote sshd for one connection, found by trying. */
export interface SshLimits {
  /** Sessions in addition to those already open; `sessionsTried` is the number of attempts. */
  sessions: number;
  /** Whether a remote socket may be forwarded here (AllowStreamLocalForwarding). */
  sockets: boolean;
  /** Whether a remote port may be forwarded here (AllowTcpForwarding, PermitOpen). */
  ports: boolean;
}

/** Shells for programs, and some for streamed programs. */
export const sessionsTried = 6;
const tryLimitMs = 10_000;

export async function measureLimits(connection: SshConnection, signal: AbortSignal): Promise<SshLimits> {
  // One after the other: ssh's message for a refusal does not name the request.
  const sessions = await countSessions(connection, signal);
  // For a missing socket, sshd sends the same message as for a forbidden one. If none is known to listen, the first use will show it.
  const socket = await connection.listening(signal);
  const sockets = socket === undefined || (await isForwarded(connection, { socket }, { signal, refused: /./ }));
  // Nothing listens on port 1 of a machine, and sshd distinguishes that from forbidden forwarding.
  const ports = await isForwarded(
    connection,
    { host: '127.0.0.1', port: 1 },
    { signal, refused: /^(?:administratively prohibited|unknown channel type)/ },
  );
  return { sessions, sockets, ports };
}

async function countSessions({ shells }: SshConnection, signal: AbortSignal): Promise<number> {
  const sessions = Array.from({ length: sessionsTried }, () => shells.startJoined('echo here; cat'));
  try {
    const opened = await Promise.all(
      sessions.map(({ child }) =>
        limited(
          signal,
          tryLimitMs,
          () =>
            new Promise<boolean>((resolve) => {
              child.stdin.on('error', () => undefined);
              child.stdout.once('data', () => resolve(true));
              child.once('error', () => resolve(false));
              child.once('close', () => resolve(false));
            }),
        ).catch(() => false),
      ),
    );
    signal.throwIfAborted();
    return opened.filter(Boolean).length;
  } finally {
    for (const { child, end } of sessions) {
      child.stdin.end();
      end();
    }
  }
}

/** ssh logs why a connection through it was not opened before it closes it; an open connection is closed here. */
async function isForwarded(
  connection: SshConnection,
  address: DialAddress,
  { signal, refused }: { signal: AbortSignal; refused: RegExp },
): Promise<boolean> {
  const path = await connection.forwards.to(address, signal);
  const before = (await connection.forwards.refusals()).length;
  const socket = connect(path);
  socket.on('error', () => undefined);
  socket.resume();
  try {
    for (let trips = 0; trips < 3 && !socket.closed; trips++) await limited(signal, tryLimitMs, () => connection.verifyAlive());
  } finally {
    socket.destroy();
  }
  return !(await connection.forwards.refusals()).slice(before).some((reason) => refused.test(reason));
}
