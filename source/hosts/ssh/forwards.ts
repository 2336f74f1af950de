import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import type { DialAddress } from '../host.ts';
import { addressText, notReached, systemError } from '../not-reached.ts';
import { askProgram, controlArguments, type SshCommand } from './ssh-command.ts';

const forwardLimitMs = 5_000;
const longestPathBytes = 107;

/** A connection that tells how its other end is. */
export interface Led {
  readonly hasEnded: boolean;
  readonly hasSpoken: boolean;
  destroy(): void;
}

/** Unix sockets of ours whose other end lies on the far side; one for each socket or port there that was ever dialled over this connection. */
export class Forwards {
  readonly #host: string;
  readonly #command: SshCommand;
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #prefix: string;
  readonly #made = new Map<string, Promise<string>>();
  /** Paths through which a connection was led. */
  readonly #proven = new Set<string>();

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

  /**
   * A connection to an address there. ssh takes it first, and ends it afterwards without a word when it cannot be led on: the first one to each address is
   * watched until it stands.
   * @param connect to the path here
   * @param roundTrip of the same ssh connection: what was asked before it is answered then
   * @param listens is known to listen there
   * @throws Fault `refused.forwarding`, or `unreachable.*` where the other end is not this machine's and says no
   */
  async lead<T extends Led>(
    address: DialAddress,
    signal: AbortSignal,
    {
      connect,
      roundTrip,
      listens,
    }: { connect: (path: string) => Promise<T>; roundTrip: () => Promise<void>; listens: (socket: string) => Promise<boolean> },
  ): Promise<T> {
    const path = await this.to(address, signal);
    if (this.#proven.has(path)) return connect(path);
    const before = (await this.refusals()).length;
    const led = await connect(path);
    try {
      // The second one is asked when ssh has surely seen the connection; a third when it was not opened, or another one.
      await roundTrip();
      await roundTrip();
      if ((await this.refusals()).length > before && !led.hasEnded) await roundTrip();
      const reason = (await this.refusals()).slice(before).findLast((one) => ofSocket.test(one) === 'socket' in address);
      if (led.hasEnded && !led.hasSpoken && reason !== undefined) throw await notLed(this.#host, address, { reason, listens });
      this.#proven.add(path);
      return led;
    } catch (thrown) {
      led.destroy();
      throw thrown;
    }
  }

  /** Why ssh did not open a stream, one after the other, as it has them in its log. */
  async refusals(): Promise<string[]> {
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

/** What ssh says of a socket, and never of a port. */
const ofSocket = /^connect failed: open failed$/;

/** Of a socket sshd says the same whether it is forbidden or nobody listens; of a port it tells. */
async function notLed(
  host: string,
  address: DialAddress,
  { reason, listens }: { reason: string; listens: (socket: string) => Promise<boolean> },
): Promise<Fault> {
  const said = cleanLine(reason.replace(/^connect failed: /, ''));
  const isSocket = 'socket' in address;
  if (/administratively prohibited|unknown channel type/.test(reason) || (isSocket && (await listens(address.socket))))
    return forbidden(host, address);
  if (isSocket) {
    const says =
      'nothing listens there, or the configuration of sshd forbids to lead there (AllowStreamLocalForwarding, AllowTcpForwarding, PermitOpen, DisableForwarding)';
    return notReached(address, systemError('ECONNREFUSED', said), { host, says });
  }
  if (/refused/i.test(said)) return notReached(address, systemError('ECONNREFUSED'), { host });
  if (/no route/i.test(said)) return notReached(address, systemError('EHOSTUNREACH'), { host });
  return notReached(address, systemError('ECONNRESET', said), { host, says: said });
}

function forbidden(host: string, address: DialAddress): Fault {
  return new Fault({
    code: 'refused.forwarding',
    message: `sshd on ${host} leads no connection to ${cleanLine(addressText(address))}: its configuration forbids it.`,
    remedy:
      'socket' in address
        ? 'In sshd_config there: AllowStreamLocalForwarding and AllowTcpForwarding local or yes, PermitOpen any, DisableForwarding no. Or install perl or python3.'
        : 'In sshd_config there: AllowTcpForwarding local or yes, PermitOpen any or with this address, DisableForwarding no. Or install perl or python3.',
  });
}

function targetOf(address: DialAddress): string {
  if (!('socket' in address)) return addressText(address);
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
