import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
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
  const none = `/nonexistent-${randomBytes(4).toString('hex')}`;
  const counting = countSessions(connection, signal);
  counting.catch(() => undefined);
  // One after the other: what ssh says of a refusal does not say which it was.
  const sockets = await isAllowed(connection, { socket: none }, signal);
  // Nothing listens on the first port of a machine, and that is told apart from what is forbidden.
  const ports = await isAllowed(connection, { host: '127.0.0.1', port: 1 }, signal);
  const sessions = await counting;
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

/** ssh says in its log why a connection through it was not opened; only what is forbidden counts. */
async function isAllowed(
  connection: SshConnection,
  address: Parameters<SshConnection['forward']>[0],
  signal: AbortSignal,
): Promise<boolean> {
  const before = await forbidden(connection);
  const path = await connection.forward(address, signal);
  await limited(
    signal,
    tryLimitMs,
    () =>
      new Promise<void>((resolve) => {
        const socket = connect(path);
        socket.once('error', () => resolve());
        socket.once('close', () => resolve());
        socket.resume();
      }),
  ).catch(() => signal.throwIfAborted());
  return (await forbidden(connection)) === before;
}

async function forbidden({ command }: SshConnection): Promise<number> {
  const log = await readFile(command.log, 'utf8').catch(() => '');
  return log.match(/open failed: (?:administratively prohibited|unknown channel type)/g)?.length ?? 0;
}
