import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
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
  readonly #host: string;
  readonly #command: SshCommand;
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #prefix: string;
  readonly #made = new Map<string, Promise<string>>();
  readonly #proven = new Map<string, Promise<void>>();

  /** @param prefix of the sockets' names: tells the connections of one process apart */
  constructor(host: string, command: SshCommand, folder: string, prefix: string, env: Readonly<Record<string, string | undefined>>) {
    this.#host = host;
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

  /** As `to`, after one connection was tried. @param roundTrip of the same ssh connection: what was asked before it is answered then */
  async proven(address: DialAddress, signal: AbortSignal, roundTrip: () => Promise<void>): Promise<string> {
    const path = await this.to(address, signal);
    const proven = this.#proven.get(path) ?? this.#prove(path, address, roundTrip);
    this.#proven.set(path, proven);
    proven.catch(() => this.#proven.delete(path));
    await limited(signal, forwardLimitMs, () => proven);
    return path;
  }

  async #prove(path: string, address: DialAddress, roundTrip: () => Promise<void>): Promise<void> {
    const before = (await this.#refusals()).length;
    const socket = connect(path);
    socket.on('error', () => undefined);
    socket.resume();
    try {
      // The second one is asked when ssh has surely seen the connection.
      await roundTrip();
      await roundTrip();
      const reason = (await this.#refusals())[before];
      if (reason !== undefined) throw notLed(this.#host, address, reason);
    } finally {
      socket.destroy();
    }
  }

  /** Why ssh did not open a stream, one after the other, as it has them in its log. */
  async #refusals(): Promise<string[]> {
    const log = await readFile(this.#command.log, 'utf8').catch(() => '');
    return [...log.matchAll(/^channel \d+: open failed: ([^\r\n]*)/gm)].map(([, reason]) => reason ?? '');
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

function notLed(host: string, address: DialAddress, reason: string): Fault {
  const isSocket = 'socket' in address;
  const where = isSocket ? address.socket : `${address.host}:${address.port}`;
  if (/administratively prohibited|unknown channel type/.test(reason)) {
    return new Fault({
      code: 'refused.forwarding',
      message: `sshd on ${host} leads no connection to ${where}: its configuration forbids it.`,
      remedy: isSocket
        ? 'Set AllowStreamLocalForwarding to local or yes in sshd_config there (DisableForwarding no).'
        : 'Set AllowTcpForwarding to local or yes in sshd_config there, and see PermitOpen.',
    });
  }
  const code = /refused/i.test(reason) ? 'ECONNREFUSED' : /no route/i.test(reason) ? 'EHOSTUNREACH' : 'ECONNRESET';
  const said = cleanLine(reason.replace(/^connect failed: /, ''));
  return new Fault({
    code: isSocket ? 'unreachable.socket' : 'unreachable.port',
    message: `${where} on ${host} cannot be reached: ${code === 'ECONNREFUSED' ? 'the connection was refused: nothing listens there' : said}.`,
    remedy: 'Check that the program behind it runs there.',
    cause: Object.assign(new Error(said), { code }),
  });
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
