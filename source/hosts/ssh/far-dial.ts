import type { Duplex } from 'node:stream';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { dialFromHere } from '../dial-from-here.ts';
import type { DialAddress } from '../host.ts';
import { notReached, systemError } from '../not-reached.ts';
import { PacedConnection, usualRestMs } from '../paced-connection.ts';
import { type Carrier, carry, findCarrier } from './carried.ts';
import type { FarShell } from './far-files.ts';
import { shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';

const lookLimitMs = 15_000;
/** An address there that answered is not looked at again for a while. */
const lookedMs = 5_000;
/** What says nothing for longer might be closed by the engine in the moment when it is used: none does within 20 s. */
const spareMs = 12_000;
/** On a line this short nobody notices what a spare saves. */
const shortMs = 5;

interface Spare {
  connection: SshConnection;
  through: PacedConnection;
}

/**
 * Connections to sockets and ports of a far machine. Opening one costs a round trip, and what is then asked a second one: for an engine, which is asked all
 * the time, the next one is opened in advance.
 */
export class FarDial {
  readonly #name: string;
  readonly #shell: FarShell;
  readonly #looked = new Map<string, number>();
  readonly #spares = new Map<string, Spare>();
  readonly #preparing = new Set<string>();
  /** Addresses that sshd does not lead to, and what does it instead. */
  readonly #carried = new WeakMap<SshConnection, Map<string, Carrier>>();

  constructor(name: string, shell: FarShell) {
    this.#name = name;
    this.#shell = shell;
  }

  /** As `Host.dial`. */
  async dial(connection: SshConnection, address: DialAddress, signal: AbortSignal, { paced = false } = {}): Promise<Duplex> {
    const key = JSON.stringify(address);
    const ending = new AbortController();
    const spare = this.#take(connection, key);
    const opening = spare ?? this.#open(connection, address, AbortSignal.any([signal, ending.signal]));
    // Asked together with the connection, so that both cost one round trip. One that stands needs no look.
    const looking = spare || Date.now() - (this.#looked.get(key) ?? 0) <= lookedMs ? undefined : this.#look(address, signal);
    Promise.resolve(opening).catch(() => undefined);
    try {
      await looking;
      const through = await opening;
      this.#looked.set(key, Date.now());
      if (!(through instanceof PacedConnection)) return through;
      through.restMs = paced ? usualRestMs : 0;
      if ('socket' in address && (connection.roundTripMs ?? 0) > shortMs) void this.#prepare(connection, address, key);
      return through;
    } catch (thrown) {
      this.#looked.delete(key);
      ending.abort(thrown);
      void Promise.resolve(opening).then(
        (through) => through.destroy(),
        () => undefined,
      );
      throw thrown;
    }
  }

  /** Connections that nobody uses yet are closed. */
  close(): void {
    for (const { through } of this.#spares.values()) through.destroy();
    this.#spares.clear();
  }

  async #open(connection: SshConnection, address: DialAddress, signal: AbortSignal): Promise<Duplex> {
    const key = JSON.stringify(address);
    const carried = this.#carried.get(connection) ?? new Map<string, Carrier>();
    this.#carried.set(connection, carried);
    const known = carried.get(key);
    if (known) return carry(connection, known, address, signal);
    try {
      return await this.#lead(connection, address, signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'refused.forwarding') throw thrown;
      const found = await findCarrier(connection, signal);
      if (!found) throw thrown;
      carried.set(key, found);
      return carry(connection, found, address, signal);
    }
  }

  #lead(connection: SshConnection, address: DialAddress, signal: AbortSignal): Promise<PacedConnection> {
    return connection.lead(address, signal, async (socket) => {
      const through = new PacedConnection({ gate: connection.sending });
      await dialFromHere({ socket }, signal, {
        through,
        failed: (cause) => notReached(address, cause, { host: this.#name, says: 'the connection to the host broke' }),
      });
      return through;
    });
  }

  #take(connection: SshConnection, key: string): PacedConnection | undefined {
    const spare = this.#spares.get(key);
    this.#spares.delete(key);
    if (spare?.connection === connection && !spare.through.hasEnded && !spare.through.destroyed) return spare.through;
    spare?.through.destroy();
    return undefined;
  }

  async #prepare(connection: SshConnection, address: DialAddress, key: string): Promise<void> {
    if (this.#spares.has(key) || this.#preparing.has(key)) return;
    this.#preparing.add(key);
    try {
      const through = await this.#lead(connection, address, AbortSignal.timeout(spareMs));
      const spare: Spare = { connection, through };
      this.#spares.set(key, spare);
      const drop = (): void => {
        if (this.#spares.get(key) !== spare) return;
        this.#spares.delete(key);
        through.destroy();
      };
      through.once('close', drop);
      // Nobody uses it yet who could be told that it broke.
      through.on('error', () => undefined);
      setTimeout(drop, spareMs).unref();
    } catch {
      // Whoever needs a connection makes one, and is told.
    } finally {
      this.#preparing.delete(key);
    }
  }

  /** ssh connects blindly: whether something listens there is asked as well, so that a refusal is told as one. */
  async #look(address: DialAddress, signal: AbortSignal): Promise<void> {
    const script = 'socket' in address ? lookAtSocket(address.socket) : lookAtPort(address.host, address.port);
    if (script === undefined) return;
    const { ending, stdout } = await this.#shell.ask((number) => `${script}\nqd_end ${number} "$?"`, { signal, limitMs: lookLimitMs });
    const code = codes[Number(ending)];
    if (!code) return;
    const [owner, group] = cleanLine(Buffer.from(stdout).toString('utf8')).trim().split(' ');
    throw notReached(address, systemError(code), { host: this.#name, owner, group });
  }
}

const codes: Record<number, string> = { 81: 'ENOENT', 82: 'ENOTSOCK', 83: 'EACCES', 84: 'ECONNREFUSED' };

function lookAtSocket(path: string): string {
  const word = shellWord(path);
  return `( if ! [ -e ${word} ]; then case $(LC_ALL=C ls -d -- ${word} 2>&1) in *[Pp]ermission*) exit 83 ;; *) exit 81 ;; esac; fi
[ -S ${word} ] || exit 82
[ -w ${word} ] || { LC_ALL=C stat -L -c '%U %G' -- ${word} 2>/dev/null || LC_ALL=C stat -L -f '%Su %Sg' -- ${word} 2>/dev/null; exit 83; }
exit 0 )`;
}

/** Only for addresses of the machine itself, where the kernel's table can be read. */
function lookAtPort(host: string, port: number): string | undefined {
  if (!/^(?:127\.|localhost$|::1$|0\.0\.0\.0$|::$)/.test(host)) return undefined;
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return `( [ -r /proc/net/tcp ] || exit 0; cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ":${hex} [0-9A-F]*:0000 0A " || exit 84 )`;
}
