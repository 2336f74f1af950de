import { Fault } from '../../faults/fault.ts';
import type { HostFacts, Listener, ListenerProcess } from '../host.ts';
import { containerIn, distinctListeners, processName } from '../listeners.ts';
import { parseLsof } from '../lsof.ts';
import { type ProcNetFile, parseProcNet, procFiles } from '../proc-net.ts';
import type { RemoteShell } from './remote-files.ts';
import type { SshConnection } from './ssh-connection.ts';

const factsLimitMs = 15_000;
const listenersLimitMs = 20_000;
const listenersLimitBytes = 8 * 1024 * 1024;

/** The variables that decide where engines are looked for, and who connected from where. Never the whole environment: it holds secrets. */
const variables = [
  ...'HOME USER PATH LANG SSH_CONNECTION XDG_RUNTIME_DIR XDG_CONFIG_HOME'.split(' '),
  ...'DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG DOCKER_TLS_VERIFY DOCKER_CERT_PATH CONTAINER_HOST COLIMA_HOME'.split(' '),
];

const factsScript = `(
say() { printf '%s\\000%s\\000' "$1" "$2"; }
qd_u=$(id -u); say uid "$qd_u"; say system "$(uname -s -n -m)"
say cpus "$(getconf _NPROCESSORS_ONLN 2>/dev/null || nproc 2>/dev/null || grep -c ^processor /proc/cpuinfo 2>/dev/null)"
say memory "$(sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo 2>/dev/null)"
say booted "$(sed -n 's/^btime //p' /proc/stat 2>/dev/null)"
say clock "$(date +%s)"
if [ -d "/run/user/$qd_u" ]; then say runtime "/run/user/$qd_u"; fi
say addresses "$({ ip -o addr show 2>/dev/null || ifconfig -a 2>/dev/null; } | sed -n 's/.*inet6* \\(addr:\\)\\{0,1\\} *\\([0-9a-fA-F.:]*\\).*/\\2/p')"
${variables.map((name) => `if [ -n "\${${name}+x}" ]; then say env.${name} "$${name}"; fi`).join('\n')}
)`;

const platforms: Record<string, string> = { Linux: 'linux', Darwin: 'darwin', FreeBSD: 'freebsd', OpenBSD: 'openbsd' };
const architectures: Record<string, string> = {
  x86_64: 'x64',
  amd64: 'x64',
  aarch64: 'arm64',
  arm64: 'arm64',
  armv6l: 'arm',
  armv7l: 'arm',
  i386: 'ia32',
  i686: 'ia32',
  ppc64le: 'ppc64',
};

export async function remoteFacts(connection: Pick<SshConnection, 'control'>, signal: AbortSignal): Promise<HostFacts> {
  const { stdout } = await connection.control(factsScript, { signal, limitMs: factsLimitMs });
  const heardMs = Date.now();
  const words = Buffer.from(stdout).toString('utf8').split('\0');
  const said = new Map<string, string>();
  for (let index = 0; index + 1 < words.length; index += 2) said.set(words[index] ?? '', words[index + 1] ?? '');
  const text = (name: string) => said.get(name) || undefined;
  const number = (name: string) => (/^\d+$/.test(said.get(name) ?? '') ? Number(said.get(name)) : undefined);
  const booted = number('booted');
  const clock = number('clock');
  // Printed in this order, whatever the order of the options.
  const [system = '', hostname = '', machine = ''] = (said.get('system') ?? '').split(' ');
  const env = Object.fromEntries(variables.flatMap((name) => (said.has(`env.${name}`) ? [[name, said.get(`env.${name}`)]] : [])));
  return {
    hostname,
    platform: platforms[system] ?? system.toLowerCase(),
    architecture: architectures[machine] ?? machine,
    cpus: number('cpus') ?? 1,
    memoryBytes: (number('memory') ?? 0) * 1024,
    ...(booted !== undefined && { bootedMs: booted * 1000 }),
    ...(clock !== undefined && { clockAheadMs: aheadMs(clock * 1000, heardMs) }),
    uid: number('uid'),
    home: text('env.HOME') ?? '/',
    runtimeDir: text('env.XDG_RUNTIME_DIR') ?? text('runtime'),
    addresses: [...new Set((said.get('addresses') ?? '').split(/\s+/).filter((address) => address !== ''))],
    env,
  };
}

/** `date` prints whole seconds, and its output took time to arrive: a smaller difference than both together counts as none. */
function aheadMs(thereMs: number, hereMs: number): number {
  const ms = thereMs + 500 - hereMs;
  return Math.abs(ms) < 3_000 ? 0 : Math.round(ms / 1000) * 1000;
}

const tablesScript = `(
if ! [ -r /proc/net/tcp ]; then lsof -nP -iTCP -sTCP:LISTEN -iUDP -FpcftPn 2>/dev/null; if [ "$?" -gt 1 ]; then exit 2; fi; exit 1; fi
for f in ${procFiles.join(' ')}; do printf '=%s\\n' "$f"; cat "/proc/net/$f" 2>/dev/null; done
:
)`;
/**
 * Scans the open files of all processes that the user may read for sockets of the tables that are not connected; prints `pid inode` with
 * the oldest process that has each, then these processes. The tables come again, since a list of inodes may be too long for an argument.
 */
const ownersScript = `(
owners=$({ for f in ${procFiles.join(' ')}; do cat "/proc/net/$f" 2>/dev/null; done; ls -l /proc/[0-9]*/fd 2>/dev/null; } | awk '
  $3 ~ /^0+:0000$/{wanted[$10]; next}
  /^\\/proc\\//{split($0,a,"/"); p=a[3]}
  match($0,/socket:\\[[0-9]+\\]/){i=substr($0,RSTART+8,RLENGTH-9); if(i in wanted && (!(i in by) || p+0<by[i]+0)) by[i]=p}
  END{for(i in by) print by[i]" "i}')
printf '%s\\n' "$owners"
for p in $(printf '%s\\n' "$owners" | cut -d' ' -f1 | sort -u); do
  printf '=%s\\t%s\\t%s\\t' "$p" "$(tr '\\n\\t' '  ' <"/proc/$p/cgroup" 2>/dev/null | cut -c1-4000)" "$(cat "/proc/$p/comm" 2>/dev/null)"; tr '\\000\\n' '\\t ' <"/proc/$p/cmdline" 2>/dev/null | cut -c1-300; printf '\\n'
done
)`;

/** Lists the listeners on a remote machine. The tables are read each time, owners only when a socket is new. */
export class RemoteListeners {
  #owners = new Map<string, ListenerProcess | undefined>();

  constructor(private readonly shell: RemoteShell) {}

  async read(signal: AbortSignal): Promise<Listener[]> {
    const { stdout, exitCode } = await this.#ask(tablesScript, signal);
    const text = Buffer.from(stdout).toString('latin1');
    if (exitCode === 1) return distinctListeners(parseLsof(text));
    if (exitCode !== 0)
      throw new Fault('failed.listeners', 'The listening sockets of the host cannot be read.', 'Mount /proc or install lsof on the host.');
    const sockets = text.split(/^=/m).flatMap((part) => {
      const [file = '', ...lines] = part.split('\n');
      return procFiles.includes(file as ProcNetFile) ? parseProcNet(lines.join('\n'), file as ProcNetFile) : [];
    });
    if (sockets.some(({ inode }) => !this.#owners.has(inode))) {
      const found = await this.#walk(signal);
      this.#owners = new Map(sockets.map(({ inode }) => [inode, found.get(inode)]));
    }
    return distinctListeners(
      sockets.map(({ address, port, protocol, inode }) => ({ address, port, protocol, process: this.#owners.get(inode) })),
    );
  }

  async #walk(signal: AbortSignal): Promise<Map<string, ListenerProcess>> {
    const { stdout } = await this.#ask(ownersScript, signal);
    const pids = new Map<string, string>();
    const programs = new Map<string, Omit<ListenerProcess, 'pid'>>();
    for (const line of Buffer.from(stdout).toString('utf8').split('\n')) {
      if (line.startsWith('=')) {
        const [pid = '', groups = '', short = '', ...command] = line.slice(1).split('\t');
        const container = containerIn(groups);
        programs.set(pid, { name: processName(short, command.join('\0')), ...(container !== undefined && { container }) });
      } else {
        const [pid = '', inode = ''] = line.split(' ');
        if (inode !== '') pids.set(inode, pid);
      }
    }
    return new Map([...pids].map(([inode, pid]) => [inode, { pid: Number(pid), ...(programs.get(pid) ?? { name: '' }) }]));
  }

  /** Runs as a program: on a busy machine it takes a while, and must not block other commands. */
  async #ask(script: string, signal: AbortSignal): Promise<{ stdout: Uint8Array; exitCode: number }> {
    return this.shell.exec(['sh', '-c', script], { signal, limitMs: listenersLimitMs, limitBytes: listenersLimitBytes });
  }
}
