import { connect } from 'node:net';
import { limited } from '../../faults/waits.ts';
import { sessionArguments, startJoined } from './ssh-command.ts';
import type { SshConnection } from './ssh-connection.ts';

/** What the sshd there lets one connection do, tried out. */
export interface SshLimits {
  /** Sessions beside those that we hold already; `sessionsTried` is as many as were asked for. */
  sessions: number;
  /** May a socket there be led here (AllowStreamLocalForwarding)? */
  sockets: boolean;
  /** May a port there be led here (AllowTcpForwarding, PermitOpen)? */
  ports: boolean;
}

/** Shells for programs, and some that flow. */
export const sessionsTried = 6;
const tryLimitMs = 10_000;

/** Tries what a connection may do. Nothing of it stays. */
export async function measureLimits(connection: SshConnection, signal: AbortSignal): Promise<SshLimits> {
  // One after the other: what ssh says of a refusal does not say what it was of.
  const sessions = await countSessions(connection, signal);
  // Of one that is not there sshd says the same as of one that is forbidden. Where none is known to listen, the first use will tell.
  const socket = await connection.listening(signal);
  const sockets = socket === undefined || (await isLed(connection, { socket }, { signal, refused: /./ }));
  // Nothing listens on the first port of a machine, and that is told apart from what is forbidden.
  const ports = await isLed(
    connection,
    { host: '127.0.0.1', port: 1 },
    { signal, refused: /^(?:administratively prohibited|unknown channel type)/ },
  );
  return { sessions, sockets, ports };
}

async function countSessions({ command, env }: SshConnection, signal: AbortSignal): Promise<number> {
  const children = Array.from({ length: sessionsTried }, () =>
    startJoined(command.program, sessionArguments(command, 'echo here; cat'), env),
  );
  try {
    const opened = await Promise.all(
      children.map((child) =>
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
    for (const child of children) {
      child.stdin.end();
      child.kill('SIGTERM');
    }
  }
}

/** ssh says in its log why a connection through it was not opened, before it ends it; one that stands is ended here. */
async function isLed(
  connection: SshConnection,
  address: Parameters<SshConnection['forward']>[0],
  { signal, refused }: { signal: AbortSignal; refused: RegExp },
): Promise<boolean> {
  const path = await connection.forward(address, signal);
  const before = (await connection.forwards.refusals()).length;
  const socket = connect(path);
  let isOver = false;
  socket.on('error', () => undefined);
  socket.once('close', () => {
    isOver = true;
  });
  socket.resume();
  try {
    for (let trips = 0; trips < 3 && !isOver; trips++) await limited(signal, tryLimitMs, () => connection.proveStands());
  } finally {
    socket.destroy();
  }
  return !(await connection.forwards.refusals()).slice(before).some((reason) => refused.test(reason));
}
