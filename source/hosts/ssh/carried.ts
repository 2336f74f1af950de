import { Duplex } from 'node:stream';
import type { DialAddress, PipedProgram } from '../host.ts';
import { pipeFar } from './far-pipes.ts';
import { laneLimitMs } from './shell-lanes.ts';
import type { SshConnection } from './ssh-connection.ts';

/** Joins its input and output with a socket there: `unix PATH` or `tcp HOST PORT`. */
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

/** Not socat: it ends either too early, when one side has no more to say, or never. */
const carriers = { perl: ['perl', '-e', perl], python3: ['python3', '-c', python] } as const;
export type Carrier = keyof typeof carriers;

/** What there could join a session with a socket. */
export async function findCarrier(connection: SshConnection, signal: AbortSignal): Promise<Carrier | undefined> {
  const script = `for qd_p in ${Object.keys(carriers).join(' ')}; do if command -v "$qd_p" >/dev/null 2>&1; then printf %s "$qd_p"; break; fi; done`;
  const { stdout } = await connection.control((number) => `${script}\nqd_end ${number} 0`, { signal, limitMs: laneLimitMs });
  const found = Buffer.from(stdout).toString();
  return found in carriers ? (found as Carrier) : undefined;
}

/** A connection to an address there for an sshd that leads none: a program there joins it with a session of its own. */
export async function carry(connection: SshConnection, carrier: Carrier, address: DialAddress, signal: AbortSignal): Promise<Duplex> {
  const closing = new AbortController();
  const stop = () => closing.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const where = 'socket' in address ? ['unix', address.socket] : ['tcp', address.host, String(address.port)];
    const program = await pipeFar(connection, closing.signal, [...carriers[carrier], ...where]);
    return new Carried(program, () => closing.abort(new DOMException('nobody needs it any more', 'AbortError')));
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A program's input and output as one connection. */
class Carried extends Duplex {
  readonly #program: PipedProgram;
  readonly #end: () => void;

  constructor(program: PipedProgram, end: () => void) {
    super({ allowHalfOpen: false });
    this.#program = program;
    this.#end = end;
    const { stdin, stdout } = program;
    stdin.on('error', () => undefined);
    stdout.on('data', (chunk: Buffer) => this.push(chunk) || stdout.pause());
    stdout.once('end', () => this.push(null));
    stdout.once('error', (cause) => this.destroy(cause));
    stdout.once('close', () => stdout.readableEnded || this.destroy());
  }

  override _read(): void {
    this.#program.stdout.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // For one who is gone: what that one had said is still to be read, and its end behind it.
    this.#program.stdin.write(chunk, () => done());
  }

  override _final(done: () => void): void {
    this.#program.stdin.end(() => done());
  }

  override _destroy(cause: Error | null, done: (cause: Error | null) => void): void {
    this.#end();
    this.#program.stdout.destroy();
    done(cause);
  }
}
