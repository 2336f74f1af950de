import { join } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import type { DialAddress } from '../host.ts';
import { askProgram, controlArguments, type SshCommand } from './ssh-command.ts';

const forwardLimitMs = 5_000;
const longestPathBytes = 107;

/** Unix sockets of ours whose other end lies on the far side; one for each socket or port there that was ever dialled over this connection. */
export class Forwards {
  readonly #command: SshCommand;
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #prefix: string;
  readonly #made = new Map<string, Promise<string>>();

  /** @param prefix of the sockets' names: tells the connections of one process apart */
  constructor(command: SshCommand, folder: string, prefix: string, env: Readonly<Record<string, string | undefined>>) {
    this.#command = command;
    this.#folder = folder;
    this.#prefix = prefix;
    this.#env = env;
  }

  /** The path here that leads to an address there. Whether anything listens at the address shows when it is used. */
  async to(address: DialAddress, signal: AbortSignal): Promise<string> {
    const target = targetOf(address);
    const made = this.#made.get(target) ?? this.#make(target);
    this.#made.set(target, made);
    made.catch(() => this.#made.get(target) === made && this.#made.delete(target));
    signal.throwIfAborted();
    return made;
  }

  async #make(target: string): Promise<string> {
    const path = join(this.#folder, `${this.#prefix}${this.#made.size + 1}`);
    const { exitCode, stderr } = await limited(new AbortController().signal, forwardLimitMs, (limit) =>
      askProgram(this.#command.program, controlArguments(this.#command, 'forward', ['-L', `${path}:${target}`]), this.#env, limit),
    );
    if (exitCode === 0) return path;
    throw new Fault({
      code: 'unreachable.forward',
      message: `ssh could not lead a connection to ${cleanLine(target)}: ${cleanLine(stderr.trim().split('\n').at(-1) ?? '') || `exit code ${exitCode}`}.`,
      remedy: 'See whether the connection still stands: quarterdeck hosts check',
    });
  }
}

function targetOf(address: DialAddress): string {
  if (!('socket' in address)) return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
  const { socket } = address;
  const isLong = Buffer.byteLength(socket) > longestPathBytes;
  // ssh takes these characters for its own.
  if (!isLong && socket.startsWith('/') && !/[:\s%\\]/.test(socket)) return socket;
  throw new Fault({
    code: 'unreachable.socketPath',
    message: isLong
      ? `The path of the socket there is too long: ${Buffer.byteLength(socket)} bytes, and a socket's path has ${longestPathBytes} at most.`
      : `ssh cannot lead to a socket with this path: ${cleanLine(socket)}.`,
    remedy: 'Move the socket, or make a link to it with a short and plain path.',
  });
}
