import type { Duplex } from 'node:stream';
import { Fault } from '../../faults/fault.ts';
import { cleanLine } from '../../text/clean.ts';
import { isOwnAddress } from '../../text/loopback.ts';
import { dialFromHere } from '../dial.ts';
import type { DialAddress } from '../host.ts';
import type { KeyPriority } from '../key-priority.ts';
import { PacedConnection, usualRestMs } from '../paced-connection.ts';
import { notReached, systemError } from '../unreachable.ts';
import { findRelayProgram, openRelayed, type RelayProgram } from './relayed-dial.ts';
import type { RemoteShell } from './remote-files.ts';
import { shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';

const checkLimitMs = 15_000;
/** An address that answered is not checked again for this time. */
const checkedMs = 5_000;
/** An engine might close a longer idle connection at the moment when it is used: none does within 20 s. */
const spareMs = 12_000;
/** Below this round-trip time, a spare connection saves nothing noticeable. */
const shortMs = 5;

interface Spare {
  connection: SshConnection;
  through: PacedConnection;
}

/**
 * Opens connections to sockets and ports of a remote machine. Opening one costs a round trip, and its first request a second one: for an
 * engine, which is queried all the time, the next connection is opened in advance.
 */
export class RemoteDial {
  readonly #checked = new Map<string, number>();
  readonly #spares = new Map<string, Spare>();
  readonly #preparing = new Set<string>();
  /** Addresses that sshd does not forward, and the relay used instead. */
  readonly #relayed = new WeakMap<SshConnection, Map<string, RelayProgram>>();

  constructor(
    private readonly name: string,
    private readonly shell: RemoteShell,
    private readonly keyPriority?: KeyPriority,
  ) {}

  async dial(connection: SshConnection, address: DialAddress, signal: AbortSignal, { paced = false } = {}): Promise<Duplex> {
    const key = JSON.stringify(address);
    const ending = new AbortController();
    const spare = this.#take(connection, key);
    const opening = spare ?? this.#open(connection, address, AbortSignal.any([signal, ending.signal]));
    // Sent together with the connection, so that both cost one round trip. An established connection needs no check.
    const checking = spare || Date.now() - (this.#checked.get(key) ?? 0) <= checkedMs ? undefined : this.#check(address, signal);
    Promise.resolve(opening).catch(() => undefined);
    try {
      await checking;
      const through = await opening;
      this.#checked.set(key, Date.now());
      if (!(through instanceof PacedConnection)) return through;
      through.restMs = paced ? usualRestMs : 0;
      if ('socket' in address && (connection.roundTripMs ?? 0) > shortMs) void this.#prepare(connection, address, key);
      return through;
    } catch (thrown) {
      this.#checked.delete(key);
      ending.abort(thrown);
      void Promise.resolve(opening).then(
        (through) => through.destroy(),
        () => undefined,
      );
      throw thrown;
    }
  }

  close(): void {
    for (const { through } of this.#spares.values()) through.destroy();
    this.#spares.clear();
  }

  async #open(connection: SshConnection, address: DialAddress, signal: AbortSignal): Promise<Duplex> {
    const key = JSON.stringify(address);
    const relayed = this.#relayed.get(connection) ?? new Map<string, RelayProgram>();
    this.#relayed.set(connection, relayed);
    const known = relayed.get(key);
    if (known) return openRelayed(connection, known, address, signal);
    try {
      return await this.#openForwarded(connection, address, signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'refused.forwarding') throw thrown;
      const found = await findRelayProgram(connection, signal);
      if (!found) throw thrown;
      relayed.set(key, found);
      return openRelayed(connection, found, address, signal);
    }
  }

  #openForwarded(connection: SshConnection, address: DialAddress, signal: AbortSignal): Promise<PacedConnection> {
    return connection.openForwarded(address, signal, async (socket) => {
      const through = new PacedConnection({ gate: connection.sending, keyPriority: this.keyPriority });
      await dialFromHere({ socket }, signal, {
        through,
        failed: (cause) => notReached(address, cause, { host: this.name, says: 'the connection to the host broke' }),
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
      const through = await this.#openForwarded(connection, address, AbortSignal.timeout(spareMs));
      const spare: Spare = { connection, through };
      this.#spares.set(key, spare);
      const drop = (): void => {
        if (this.#spares.get(key) !== spare) return;
        this.#spares.delete(key);
        through.destroy();
      };
      through.once('close', drop);
      // The spare has no user yet who could receive the error.
      through.on('error', () => undefined);
      setTimeout(drop, spareMs).unref();
    } catch {
      // The caller that needs a connection opens one and gets the error.
    } finally {
      this.#preparing.delete(key);
    }
  }

  /** ssh accepts connections blindly: whether something listens is checked too, so that a refusal is reported as one. */
  async #check(address: DialAddress, signal: AbortSignal): Promise<void> {
    const script = 'socket' in address ? socketCheck(address.socket) : portCheck(address.host, address.port);
    if (script === undefined) return;
    const { ending, stdout } = await this.shell.ask((number) => `${script}\nqd_end ${number} "$?"`, { signal, limitMs: checkLimitMs });
    const code = codes[Number(ending)];
    if (!code) return;
    const [owner, group] = cleanLine(Buffer.from(stdout).toString('utf8')).trim().split(' ');
    throw notReached(address, systemError(code), { host: this.name, owner, group });
  }
}

const codes: Record<number, string> = { 81: 'ENOENT', 82: 'ENOTSOCK', 83: 'EACCES', 84: 'ECONNREFUSED' };

function socketCheck(path: string): string {
  const word = shellWord(path);
  return `( if ! [ -e ${word} ]; then case $(LC_ALL=C ls -d -- ${word} 2>&1) in *[Pp]ermission*) exit 83 ;; *) exit 81 ;; esac; fi
[ -S ${word} ] || exit 82
[ -w ${word} ] || { LC_ALL=C stat -L -c '%U %G' -- ${word} 2>/dev/null || LC_ALL=C stat -L -f '%Su %Sg' -- ${word} 2>/dev/null; exit 83; }
exit 0 )`;
}

/** Only for addresses of the machine itself, where the kernel's table can be read. */
function portCheck(host: string, port: number): string | undefined {
  if (!isOwnAddress(host)) return undefined;
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return `( [ -r /proc/net/tcp ] || exit 0; cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ":${hex} [0-9A-F]*:0000 0A " || exit 84 )`;
}
