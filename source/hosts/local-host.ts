import { connect, type Socket } from 'node:net';
import { arch, availableParallelism, homedir, hostname, networkInterfaces, platform, totalmem, uptime } from 'node:os';
import type { Duplex } from 'node:stream';
import { Fault, messageOf } from '../faults/fault.ts';
import type { DialAddress, Host, HostFacts, Listener } from './host.ts';
import { ListenerWatch } from './listeners.ts';
import { localFiles } from './local-files.ts';
import { PacedConnection } from './paced-connection.ts';
import { pipeProgram } from './piped-program.ts';
import { runProgram } from './program.ts';
import { underGrant } from './under-grant.ts';

/** Whatever is local answers at once or not at all; a port on the network may take a retransmission. */
const dialLimitMs = 10_000;

/** The machine that the console runs on. `env` replaces the environment that `facts` tells of (tests, the practice stack). */
export function openLocalHost({ env = process.env }: { env?: Readonly<Record<string, string | undefined>> } = {}): Host {
  const listeners = new ListenerWatch({ platform: platform(), exec: runProgram });
  return {
    name: 'local',
    kind: 'local',
    files: localFiles,
    exec: runProgram,
    run: (grant, argv, options) => underGrant(grant, options, (both) => runProgram(argv, both)),
    pipe: pipeProgram,
    dial: dialFromHere,
    facts: async (signal) => {
      signal.throwIfAborted();
      return factsOfThisMachine(env);
    },
    listeners: (signal): Promise<Listener[]> => listeners.read(signal),
    close: async () => undefined,
  };
}

function factsOfThisMachine(env: Readonly<Record<string, string | undefined>>): HostFacts {
  return {
    hostname: hostname(),
    platform: platform(),
    architecture: arch(),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
    bootedMs: Date.now() - Math.round(uptime() * 1000),
    uid: process.getuid?.(),
    home: env.HOME || homedir(),
    runtimeDir: env.XDG_RUNTIME_DIR || undefined,
    // Asked for by few, and not before the first frame: it costs a millisecond.
    get addresses() {
      return Object.values(networkInterfaces()).flatMap((cards) => (cards ?? []).map((card) => card.address.replace(/%.*$/, '')));
    },
    env,
  };
}

/**
 * A connection from this machine.
 * @throws Fault `unreachable.socket` or `unreachable.port`, whose cause is the system's error; the signal's reason when aborted.
 */
function dialFromHere(address: DialAddress, signal: AbortSignal, { paced = false }: { paced?: boolean } = {}): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const pacing = paced ? new PacedConnection() : undefined;
    const socket: Socket = connect({
      ...('socket' in address ? { path: address.socket } : { host: address.host, port: address.port, noDelay: true }),
      ...(pacing && { onread: pacing.onread }),
    });
    const limit = setTimeout(
      () => fail(Object.assign(new Error(`no connection within ${dialLimitMs / 1000} s`), { code: 'ETIMEDOUT' })),
      dialLimitMs,
    );
    const onAbort = () => settle(() => reject(signal.reason), true);
    const fail = (cause: Error) => settle(() => reject(notReached(address, cause)), true);
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
      settle(() => resolve(pacing?.over(socket) ?? socket), false);
    });
  });
}

const reasons: Record<string, string> = {
  ENOENT: 'there is no such socket',
  ECONNREFUSED: 'the connection was refused: nothing listens there',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  ETIMEDOUT: 'no connection within the limit',
  EHOSTUNREACH: 'there is no route to that host',
  ENETUNREACH: 'there is no route to that network',
  ENOTFOUND: 'that name is not known',
  EAI_AGAIN: 'the name could not be looked up',
  ENOTSOCK: 'that file is no socket',
  ECONNRESET: 'the connection was reset',
};

function notReached(address: DialAddress, cause: NodeJS.ErrnoException): Fault {
  const where = 'socket' in address ? address.socket : `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
  return new Fault({
    code: 'socket' in address ? 'unreachable.socket' : 'unreachable.port',
    message: `${where} cannot be reached: ${reasons[cause.code ?? ''] ?? messageOf(cause)}.`,
    remedy: cause.code === 'EACCES' ? 'Run as a user who may use this socket.' : 'Check that the program behind it runs.',
    cause,
  });
}
