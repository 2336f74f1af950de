import { Duplex } from 'node:stream';
import { Fault } from '../../faults/fault.ts';
import { endingWith, orAborted } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import { isOwnAddress } from '../../text/loopback.ts';
import { dialLocally } from '../dial.ts';
import type { DialAddress, PipedProgram } from '../host.ts';
import { defaultPauseMs, PacedConnection } from '../paced-connection.ts';
import { notReached, systemError } from '../unreachable.ts';
import type { RemoteShell } from './remote-files.ts';
import { pipeRemote } from './remote-pipes.ts';
import { sessionLimitMs } from './shell-session-pool.ts';
import { shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';

const checkLimitMs = 15_000;
/** An address that answered is not checked again for this time. */
const checkedMs = 5_000;
/** An engine might close a longer idle connection at the moment when it is used: none does within 20 s. */
const spareMs = 12_000;
/** A list of containers comes with the list of images; the first of them with a greeting. */
const sparesOfOne = 2;
const sparesOfFirst = 3;
/** Below this round-trip time, a spare connection saves nothing noticeable. */
const shortMs = 5;

/**
 * Opens connections to sockets and ports of a remote machine. Opening one costs a round trip, and its first request a second one: for an
 * engine, which is queried all the time, the next connections are opened in advance.
 */
export class RemoteDial {
  readonly #checked = new Map<string, number>();
  /** Those of a connection that broke have ended with it. */
  readonly #spares = new Map<string, Set<Promise<PacedConnection>>>();
  /** Addresses that sshd does not forward, and the relay used instead. */
  readonly #relayed = new WeakMap<SshConnection, Map<string, RelayProgram>>();

  constructor(
    private readonly name: string,
    private readonly shell: RemoteShell,
  ) {}

  async dial(connection: SshConnection, address: DialAddress, signal: AbortSignal, { paced = false } = {}): Promise<Duplex> {
    const key = JSON.stringify(address);
    try {
      // An established connection needs no check.
      const through = (await this.#take(key, signal)) ?? (await this.#openChecked(connection, address, key, signal));
      this.#checked.set(key, Date.now());
      if (!(through instanceof PacedConnection)) return through;
      through.restMs = paced ? defaultPauseMs : 0;
      if ('socket' in address && (connection.roundTripMs ?? 0) > shortMs) this.prepare(connection, address, sparesOfOne);
      return through;
    } catch (thrown) {
      this.#checked.delete(key);
      throw thrown;
    }
  }

  close(): void {
    for (const spares of this.#spares.values()) for (const spare of spares) void spare.then(destroy, ignore);
    this.#spares.clear();
  }

  /** The check is sent together with the connection, so that both cost one round trip. */
  async #openChecked(connection: SshConnection, address: DialAddress, key: string, signal: AbortSignal): Promise<Duplex> {
    const ending = new AbortController();
    const opening = this.#open(connection, address, AbortSignal.any([signal, ending.signal]));
    opening.catch(ignore);
    try {
      if (Date.now() - (this.#checked.get(key) ?? 0) > checkedMs) await this.#check(address, signal);
      return await opening;
    } catch (thrown) {
      ending.abort(thrown);
      void opening.then(destroy, ignore);
      throw thrown;
    }
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
    return connection.forwards.open(address, signal, async (socket) => {
      const through = new PacedConnection(connection.sending);
      await dialLocally({ socket }, signal, {
        through,
        failed: (cause) => notReached(address, cause, { host: this.name, says: 'the connection to the host was lost' }),
      });
      return through;
    });
  }

  /** Also one that is still being opened: it is ready before a new one would be. */
  async #take(key: string, signal: AbortSignal): Promise<PacedConnection | undefined> {
    const spares = this.#spares.get(key) ?? new Set();
    for (const spare of spares) {
      spares.delete(spare);
      const through = await orAborted(spare, signal).catch(ignore);
      if (through && !through.hasEnded && !through.destroyed && !signal.aborted) return through;
      void spare.then(destroy, ignore);
      signal.throwIfAborted();
    }
    return undefined;
  }

  /** Opens the next connections to an address. Failures are not reported here: a caller that dials the address gets the error. */
  prepare(connection: SshConnection, address: DialAddress, count = sparesOfFirst): void {
    const key = JSON.stringify(address);
    const spares = this.#spares.get(key) ?? new Set();
    this.#spares.set(key, spares);
    while (spares.size < count) {
      const spare = this.#openForwarded(connection, address, AbortSignal.timeout(spareMs));
      spares.add(spare);
      const drop = () => spares.delete(spare) && void spare.then(destroy, ignore);
      spare.then((through) => through.once('close', drop).on('error', ignore), drop);
      setTimeout(drop, spareMs).unref();
    }
  }

  /** ssh accepts connections blindly: whether something listens is checked too, so that a refusal is reported as one. */
  async #check(address: DialAddress, signal: AbortSignal): Promise<void> {
    const script = 'socket' in address ? socketCheck(address.socket) : portCheck(address.host, address.port);
    if (script === undefined) return;
    const { ending, stdout } = await this.shell.ask(script, { signal, limitMs: checkLimitMs });
    const code = codes[Number(ending)];
    if (!code) return;
    const [owner, group] = cleanLine(Buffer.from(stdout).toString('utf8')).trim().split(' ');
    throw notReached(address, systemError(code), { host: this.name, owner, group });
  }
}

const destroy = (through: Duplex) => void through.destroy();
const ignore = () => undefined;

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

/** Connects its input and output to a remote socket: `unix PATH` or `tcp HOST PORT`. */
const perl = `use strict; use Socket; $SIG{PIPE} = 'IGNORE'; my ($k, $a, $p) = @ARGV; my $s;
if ($k eq 'unix') { socket($s, AF_UNIX, SOCK_STREAM, 0) && connect($s, sockaddr_un($a)) or exit 1; }
else { my $i = inet_aton($a) or exit 1; socket($s, PF_INET, SOCK_STREAM, 0) && connect($s, sockaddr_in($p, $i)) or exit 1; }
sub copy { my ($f, $o) = @_; my $b;
  while (my $n = sysread $f, $b, 65536) {
    my $w = 0;
    while ($w < $n) { my $m = syswrite $o, $b, $n - $w, $w; return unless defined $m; $w += $m; }
  } }
my $c = fork; exit 1 unless defined $c;
if (!$c) { copy(\\*STDIN, $s); shutdown $s, 1; exit 0; }
copy($s, \\*STDOUT); kill 'TERM', $c; exit 0;`;

const python = `import os, socket, sys, threading
if sys.argv[1] == 'unix':
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[2])
else: s = socket.create_connection((sys.argv[2], int(sys.argv[3])))
def up():
    try:
        while True:
            b = os.read(0, 65536)
            if not b: break
            s.sendall(b)
        s.shutdown(socket.SHUT_WR)
    except OSError: pass
threading.Thread(target=up, daemon=True).start()
try:
    while True:
        b = s.recv(65536)
        if not b: break
        while b: b = b[os.write(1, b):]
except OSError: pass
os._exit(0)`;

/** Not socat: when one side has finished sending, it either ends too early or never. */
const relayPrograms = { perl: ['perl', '-e', perl], python3: ['python3', '-c', python] } as const;
type RelayProgram = keyof typeof relayPrograms;

async function findRelayProgram(connection: SshConnection, signal: AbortSignal): Promise<RelayProgram | undefined> {
  const script = `for qd_p in ${Object.keys(relayPrograms).join(' ')}; do if command -v "$qd_p" >/dev/null 2>&1; then printf %s "$qd_p"; break; fi; done`;
  const { stdout } = await connection.control(script, { signal, limitMs: sessionLimitMs });
  const found = Buffer.from(stdout).toString();
  return found in relayPrograms ? (found as RelayProgram) : undefined;
}

/** For an address to which sshd does not forward: a program there connects a session of its own to it. */
async function openRelayed(connection: SshConnection, interpreter: RelayProgram, address: DialAddress, signal: AbortSignal) {
  // A connection opened under the signal outlives the signal.
  using closing = endingWith(signal);
  const target = 'socket' in address ? ['unix', address.socket] : ['tcp', address.host, String(address.port)];
  const program = await pipeRemote(connection, closing.signal, [...relayPrograms[interpreter], ...target]);
  return new RelayedConnection(program, () => closing.abort(new DOMException('no longer needed', 'AbortError')));
}

class RelayedConnection extends Duplex {
  constructor(
    private readonly program: PipedProgram,
    private readonly release: () => void,
  ) {
    super({ allowHalfOpen: false });
    const { stdin, stdout } = program;
    stdin.on('error', () => undefined);
    stdout.on('data', (chunk: Buffer) => this.push(chunk) || stdout.pause());
    stdout.once('end', () => this.push(null));
    stdout.once('error', (cause) => this.destroy(cause));
    stdout.once('close', () => stdout.readableEnded || this.destroy());
  }

  override _read(): void {
    this.program.stdout.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // For a peer that has closed: its remaining data is still to be read, followed by the end.
    this.program.stdin.write(chunk, () => done());
  }

  override _final(done: () => void): void {
    this.program.stdin.end(() => done());
  }

  override _destroy(cause: Error | null, done: (cause: Error | null) => void): void {
    this.release();
    this.program.stdout.destroy();
    done(cause);
  }
}
