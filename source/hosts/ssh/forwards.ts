import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import type { DialAddress } from '../host.ts';
import type { PacedConnection } from '../paced-connection.ts';
import { addressText, notReached, systemError } from '../unreachable.ts';
import { collectOutput, controlArguments } from './ssh-command.ts';
import type { SshConnection } from './ssh-connection.ts';

const forwardLimitMs = 5_000;
const longestPathBytes = 107;

/** Our Unix sockets that are forwarded to the remote side; one for each remote socket or port that was dialled over this connection. */
export class Forwards {
  readonly #made = new Map<string, Promise<string>>();
  /** Local paths that have been forwarded. */
  readonly #proven = new Set<string>();
  /** Those where a connection ended unused after its caller had it. */
  readonly #doubted = new Set<string>();

  /** @param prefix of the sockets' names: distinguishes the connections of one process */
  constructor(
    private readonly connection: Pick<SshConnection, 'name' | 'command' | 'env' | 'verifyAlive' | 'listening'>,
    private readonly folder: string,
    private readonly prefix: string,
  ) {}

  /** Returns the local path that is forwarded to a remote address. Whether anything listens at that address shows on first use. */
  async to(address: DialAddress, signal: AbortSignal): Promise<string> {
    const target = targetOf(address);
    const made = this.#made.get(target) ?? this.#make(target);
    this.#made.set(target, made);
    made.catch(() => this.#made.get(target) === made && this.#made.delete(target));
    signal.throwIfAborted();
    return made;
  }

  /**
   * Connects to a remote address. ssh accepts the connection first, and closes it without an error if it cannot be forwarded: the first
   * connection to each address is watched until it is established; one to a socket is returned when it almost certainly is.
   * @param connect opens a connection to the local path
   * @throws Fault `refused.forwarding`, or `unreachable.*` where the remote end refuses
   */
  async open(address: DialAddress, signal: AbortSignal, connect: (path: string) => Promise<PacedConnection>): Promise<PacedConnection> {
    const path = await this.to(address, signal);
    if (this.#proven.has(path)) return connect(path);
    const before = (await this.refusals()).length;
    const led = await connect(path);
    const reasons = async () => (await this.refusals()).slice(before);
    try {
      await this.connection.verifyAlive();
      // The second query runs when ssh has certainly seen the connection; a third if it was not opened, or another one was.
      const second = this.connection.verifyAlive();
      second.catch(() => undefined);
      // sshd connects to a socket, or refuses to, before the shell can answer.
      if ('socket' in address && !this.#doubted.has(path) && !led.hasEnded && (await reasons()).length === 0) {
        const isRefused = async () => (led.hasEnded && !led.hasSpoken) || (await reasons()).length > 0;
        second.then(async () => ((await isRefused()) ? this.#doubted : this.#proven).add(path)).catch(() => undefined);
        return led;
      }
      await second;
      if ((await reasons()).length > 0 && !led.hasEnded) await this.connection.verifyAlive();
      const reason = (await reasons()).findLast((one) => ofSocket.test(one) === 'socket' in address);
      if (led.hasEnded && !led.hasSpoken && reason !== undefined) throw await this.#refused(address, reason, signal);
      this.#proven.add(path);
      return led;
    } catch (thrown) {
      led.destroy();
      throw thrown;
    }
  }

  /** Reasons why ssh did not open a stream, in the order of its log. */
  async refusals(): Promise<string[]> {
    const log = await readFile(this.connection.command.log, 'utf8').catch(() => '');
    return [...log.matchAll(/^channel \d+: open failed: ([^\r\n]*)/gm)].map(([, reason]) => reason ?? '');
  }

  async #make(target: string): Promise<string> {
    const path = join(this.folder, `${this.prefix}${this.#made.size + 1}`);
    const { command, env } = this.connection;
    const fault = (reason: string) =>
      new Fault(
        'unreachable.forward',
        `ssh could not forward a connection to ${cleanLine(target)}: ${reason}.`,
        'Check the connection: quarterdeck hosts check',
      );
    const argv = [command.program, ...controlArguments(command, 'forward', ['-L', `${path}:${target}`])];
    const { exitCode, stderr } = await collectOutput(argv, env, new AbortController().signal, {
      limitMs: forwardLimitMs,
      late: (seconds) => fault(`the request did not finish within ${seconds} s and was stopped`),
    });
    if (exitCode === 0) return path;
    throw fault(cleanLine(stderr.trim().split('\n').at(-1) ?? '') || `exit code ${exitCode}`);
  }

  /** For a socket, sshd sends the same message when forwarding is forbidden and when nothing listens; for a port the messages differ. */
  async #refused(address: DialAddress, reason: string, signal: AbortSignal): Promise<Fault> {
    const { name: host } = this.connection;
    const said = cleanLine(reason.replace(/^connect failed: /, ''));
    const socket = 'socket' in address ? address.socket : undefined;
    if (/administratively prohibited|unknown channel type/.test(reason)) return forbidden(host, address);
    if (socket !== undefined) {
      if ((await this.connection.listening(signal, socket)) !== undefined) return forbidden(host, address);
      const says =
        'nothing is listening there, or the sshd configuration forbids forwarding to it (AllowStreamLocalForwarding, AllowTcpForwarding, PermitOpen, DisableForwarding)';
      return notReached(address, systemError('ECONNREFUSED', said), { host, says });
    }
    if (/refused/i.test(said)) return notReached(address, systemError('ECONNREFUSED'), { host });
    if (/no route/i.test(said)) return notReached(address, systemError('EHOSTUNREACH'), { host });
    return notReached(address, systemError('ECONNRESET', said), { host, says: said });
  }
}

/** The message that ssh logs for a socket, and never for a port. */
const ofSocket = /^connect failed: open failed$/;

function forbidden(host: string, address: DialAddress): Fault {
  return new Fault(
    'refused.forwarding',
    `The sshd configuration on ${host} forbids forwarding to ${cleanLine(addressText(address))}.`,
    'socket' in address
      ? 'In sshd_config on the host, set AllowStreamLocalForwarding and AllowTcpForwarding to local or yes, PermitOpen to any, and DisableForwarding to no. Or install perl or python3 on the host.'
      : 'In sshd_config on the host, set AllowTcpForwarding to local or yes, PermitOpen to any or to this address, and DisableForwarding to no. Or install perl or python3 on the host.',
  );
}

function targetOf(address: DialAddress): string {
  if (!('socket' in address)) return addressText(address);
  const { socket } = address;
  const isLong = Buffer.byteLength(socket) > longestPathBytes;
  // ssh interprets these characters.
  if (!isLong && socket.startsWith('/') && !/[:\s%\\]/.test(socket)) return socket;
  throw new Fault(
    'unreachable.socketPath',
    isLong
      ? `The path of the remote socket is too long: ${Buffer.byteLength(socket)} bytes, but the limit is ${longestPathBytes}.`
      : `ssh cannot forward a socket with this path: ${cleanLine(socket)}.`,
    'Move the socket, or create a symbolic link to it whose path is short and contains no spaces, colons, percent signs or backslashes.',
  );
}
