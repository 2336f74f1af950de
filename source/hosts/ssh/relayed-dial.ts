import { Duplex } from 'node:stream';
import { endingWith } from '../../faults/waits.ts';
import type { DialAddress, PipedProgram } from '../host.ts';
import { pipeRemote } from './remote-pipes.ts';
import { sessionLimitMs } from './shell-session-pool.ts';
import type { SshConnection } from './ssh-connection.ts';

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
export type RelayProgram = keyof typeof relayPrograms;

export async function findRelayProgram(connection: SshConnection, signal: AbortSignal): Promise<RelayProgram | undefined> {
  const script = `for qd_p in ${Object.keys(relayPrograms).join(' ')}; do if command -v "$qd_p" >/dev/null 2>&1; then printf %s "$qd_p"; break; fi; done`;
  const { stdout } = await connection.control((number) => `${script}\nqd_end ${number} 0`, { signal, limitMs: sessionLimitMs });
  const found = Buffer.from(stdout).toString();
  return found in relayPrograms ? (found as RelayProgram) : undefined;
}

/** For an address to which sshd does not forward: a program there connects a session of its own to it. */
export async function openRelayed(
  connection: SshConnection,
  interpreter: RelayProgram,
  address: DialAddress,
  signal: AbortSignal,
): Promise<Duplex> {
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
