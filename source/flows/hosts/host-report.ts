import type { HostSettings } from '../../config/settings.ts';
import { exitCodeOf, Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { sessionsTried } from '../../hosts/ssh/ssh-limits.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { bytesText, clockDifferenceText, countText } from '../../text/quantities.ts';
import type { HostBook, RemoteEngine, RemoteHost } from './host-book.ts';

const roundTripLimitMs = 3_000;
/** Certificates and one-time codes begin to fail at a clock difference of about a minute. */
const clockMs = 60_000;
const littleDiskBytes = 2_000_000_000;
/** One SSH session for a shell that runs programs, and some for streams of their own. */
const sessionsNeeded = 3;

interface HostFinding {
  id: string;
  state: 'ok' | 'warning' | 'blocked';
  title: string;
  evidence: string;
}

/** Reconnects a host that was given up. Throws the fault that states why it is not connected. */
export async function connectTo(book: HostBook, name: string, settings: HostSettings, signal: AbortSignal): Promise<RemoteHost> {
  const host = await book.open(name, settings);
  const { state } = host.link.view;
  if (state === 'refused' || state === 'away') host.link.retry();
  await host.link.ready(signal);
  return host;
}

/** Milliseconds; undefined if not measured. */
export async function roundTripOf({ link }: RemoteHost, signal: AbortSignal): Promise<number | undefined> {
  const measured = () => (link.view.roundTripMs === undefined ? undefined : Math.max(1, Math.round(link.view.roundTripMs)));
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    if (measured() !== undefined) resolve();
  };
  const stop = link.subscribe(look);
  look();
  await limited(signal, roundTripLimitMs, () => promise)
    .catch(() => signal.throwIfAborted())
    .finally(stop);
  return measured();
}

function isDenied(thrown: unknown): boolean {
  const { code, cause } = (thrown ?? {}) as NodeJS.ErrnoException;
  return code === 'EACCES' || (cause !== undefined && isDenied(cause));
}

export function engineText({ facts, fault, url }: RemoteEngine): string {
  if (facts) return `${facts.kind} ${facts.version}${facts.rootless ? ' rootless' : ''}`;
  return cleanLine(isDenied(fault) ? `${url}: permission denied for this user` : `${url} does not respond`);
}

export function engineData({ engineName, url, facts }: RemoteEngine) {
  return { engineName, address: url, kind: facts?.kind ?? null, version: facts?.version ?? null };
}

export function faultData({ code, message, remedy }: Fault): { code: string; message: string; remedy: string } {
  return { code, message, remedy };
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a list of checks, each with its finding
export async function checkHost(session: Session, book: HostBook, name: string, settings: HostSettings) {
  const findings: HostFinding[] = [];
  let worst: Fault | undefined;
  const add = (id: string, state: HostFinding['state'], title: string, evidence: string) => {
    const finding: HostFinding = { id: `${name}-${id}`, state, title, evidence: cleanLine(evidence) };
    findings.push({ ...finding, id });
    session.show({ kind: 'item', ...finding });
  };
  const fail = (id: string, title: string, fault: Fault) => {
    worst ??= fault;
    add(id, 'blocked', title, `${fault.message} ${fault.remedy}`);
  };
  const report = { name, ssh: settings.ssh, connected: false, roundTripMs: null, findings };
  session.show({ kind: 'item', id: `${name}-connect`, title: `Connect to ${name}`, state: 'running' });
  let host: RemoteHost;
  try {
    host = await connectTo(book, name, settings, session.signal);
  } catch (thrown) {
    session.signal.throwIfAborted();
    if (!(thrown instanceof Fault)) throw thrown;
    fail('connect', `Connect to ${name}`, thrown);
    return { report: { ...report, fault: faultData(thrown) }, exitCode: exitCodeOf(thrown) };
  }
  const { signal } = session;
  const roundTripMs = await roundTripOf(host, signal);
  add('connect', 'ok', `Connect to ${name}`, `${settings.ssh}${roundTripMs === undefined ? '' : `, ${roundTripMs} ms`}`);

  const facts = await host.facts(signal);
  const stackFolder = book.stackFolderOf(settings).replace(/^~(?=\/|$)/, facts.home);
  const [around, engines] = await Promise.all([
    readSurroundings(host, stackFolder, { uid: facts.uid, signal }),
    book.engines(name, host, signal).catch((thrown: unknown) => {
      if (thrown instanceof Fault) return thrown;
      throw thrown;
    }),
  ]);
  // Checked last: prohibited features are read from SSH's log, where an unreachable engine would add its own messages.
  const limits = await host.limits(signal);
  const { hostname, platform, architecture, cpus, memoryBytes } = facts;
  add('system', 'ok', 'System', `${hostname}, ${around.system || platform} ${architecture}, ${cpus} CPUs, ${bytesText(memoryBytes)}`);
  add('user', 'ok', 'User', `${around.user}${facts.uid === undefined ? '' : ` (${facts.uid})`}; ${sudoWords[around.sudo]}`);
  if (engines instanceof Fault) fail('engines', 'Engines', engines);
  const found = engines instanceof Fault ? [] : engines;
  const answering = found.filter((engine) => engine.facts);
  const fault = found.find((engine) => engine.fault)?.fault;
  if (answering.length > 0) add('engines', 'ok', 'Engines', answering.map(engineText).join(', '));
  if (fault) {
    if (answering.length === 0) worst ??= fault;
    add('silent', answering.length === 0 ? 'blocked' : 'warning', 'Engines', `${fault.message} ${fault.remedy}`);
  }
  reportLimits(limits, add);
  const aheadMs = facts.clockAheadMs ?? 0;
  const clock = `${clockDifferenceText(aheadMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`;
  if (facts.clockAheadMs === undefined) add('clock', 'warning', 'Clock', 'the time of the host could not be read');
  else if (Math.abs(aheadMs) < clockMs) add('clock', 'ok', 'Clock', aheadMs === 0 ? 'in sync' : clock);
  else {
    const evidence = `${clock}: certificates and one-time codes may fail. Enable network time (timedatectl set-ntp true).`;
    add('clock', 'warning', 'Clock', evidence);
  }
  reportFolder(stackFolder, around, settings, add);
  return {
    report: {
      ...report,
      connected: true,
      roundTripMs: roundTripMs ?? null,
      ...{ hostname, platform, architecture },
      user: around.user,
      uid: facts.uid ?? null,
      sudo: around.sudo,
      engines: found.map((engine) => ({ ...engineData(engine), fault: engine.fault && faultData(engine.fault) })),
      clockAheadSeconds: Math.round(aheadMs / 1000),
      limits: { ...limits, sessionsTried },
      stack: { folder: stackFolder, exists: around.folder === 'there', writable: around.writable, freeBytes: around.freeBytes ?? null },
      ...(worst && { fault: faultData(worst) }),
    },
    exitCode: worst ? exitCodeOf(worst) : 0,
  };
}

type AddFinding = (id: string, state: HostFinding['state'], title: string, evidence: string) => void;

const sudoWords: Record<Surroundings['sudo'], string> = {
  root: 'already root',
  free: 'sudo without a password',
  password: 'sudo requires a password or is not permitted',
  missing: 'sudo not installed',
};

function reportLimits({ sessions, sockets, ports }: Awaited<ReturnType<RemoteHost['limits']>>, add: AddFinding): void {
  const problems = [
    !sockets &&
      'sshd does not forward connections to sockets, so each request to an engine needs an SSH session, and perl or python3 on the host: set AllowStreamLocalForwarding yes, AllowTcpForwarding yes, PermitOpen any (and no DisableForwarding)',
    !ports &&
      'sshd does not forward connections to ports, so each connection to a component needs an SSH session, and perl or python3 on the host: set AllowTcpForwarding yes, and PermitOpen any',
    sessions < sessionsNeeded &&
      `sshd allows only ${countText(sessions, 'more session')} per connection, so copies and compose wait for each other: set MaxSessions 10`,
  ].filter(Boolean);
  if (problems.length === 0)
    add('sshd', 'ok', 'sshd', `forwards sockets and ports, and allows ${sessions >= sessionsTried ? 'enough' : sessions} sessions`);
  else add('sshd', 'warning', 'sshd', `${problems.join('; ')}. Edit /etc/ssh/sshd_config on the host, then reload sshd.`);
}

function reportFolder(path: string, { folder, writable, readOnly, freeBytes }: Surroundings, { sudo }: HostSettings, add: AddFinding) {
  const free = freeBytes === undefined ? '' : `, ${bytesText(freeBytes)} free`;
  const is = folder === 'there' ? path : `${path} (does not exist yet)`;
  if (!writable) {
    const why = readOnly
      ? 'its filesystem is mounted read-only. Remount it read-write, or choose another folder (stackFolder).'
      : sudo
        ? 'not writable by this user; sudo is used only for the engine socket. Choose a folder that this user can write to (stackFolder).'
        : 'not writable by this user. Choose another folder (stackFolder) or another user.';
    add('stack', 'warning', 'Stack folder', `${is}${free}: ${why}`);
  } else if (freeBytes !== undefined && freeBytes < littleDiskBytes) add('stack', 'warning', 'Stack folder', `${is}: only${free.slice(1)}`);
  else add('stack', 'ok', 'Stack folder', `${is}${free}`);
}

interface Surroundings {
  user: string;
  /** `Debian GNU/Linux 12`, if it reports one. */
  system: string;
  /** `free` requires no password; `password` requires one, or refuses. */
  sudo: 'root' | 'free' | 'password' | 'missing';
  folder: 'there' | 'missing';
  /** Whether this user may write there, or create the folder. */
  writable: boolean;
  /** The filesystem is mounted read-only. */
  readOnly: boolean;
  freeBytes: number | undefined;
}

const limitMs = 20_000;

/** POSIX only: busybox supports no more. The stack's folder is its first argument. */
const script = `printf 'user %s\\n' "$(id -un 2>/dev/null || id -u)"
[ -r /etc/os-release ] && printf 'system %s\\n' "$(. /etc/os-release; printf %s "$PRETTY_NAME")"
if [ "$(id -u)" = 0 ]; then echo 'sudo root'
elif ! command -v sudo >/dev/null 2>&1; then echo 'sudo missing'
elif sudo -n true >/dev/null 2>&1; then echo 'sudo free'
else echo 'sudo password'; fi
f=$1
if [ -d "$f" ]; then echo 'folder there'; else echo 'folder missing'; fi
while ! [ -e "$f" ] && [ "$f" != / ] && [ "$f" != . ]; do f=$(dirname -- "$f"); done
if [ -d "$f" ] && [ -w "$f" ]; then echo 'writable yes'; else echo 'writable no'; fi
# Root may write everywhere else; whoever is not root is told so by the kernel's table, where df names the mount.
m=$(df -P -- "$f" 2>/dev/null | awk 'NR == 2 { print $6 }')
if [ -r /proc/mounts ] && awk -v m="$m" '$2 == m { o = $4 } END { exit o ~ /(^|,)ro(,|$)/ ? 0 : 1 }' /proc/mounts; then echo 'readonly yes'; fi
printf 'free %s\\n' "$(df -Pk -- "$f" 2>/dev/null | awk 'NR == 2 { print $4 }')"
exit 0`;

async function readSurroundings(
  host: RemoteHost,
  stackFolder: string,
  { uid, signal }: { uid: number | undefined; signal: AbortSignal },
): Promise<Surroundings> {
  const { stdout } = await host.exec(['sh', '-c', script, 'sh', stackFolder], { signal, limitMs });
  const lines = new TextDecoder().decode(stdout).split('\n');
  const reported = (word: string) => {
    const line = lines.findLast((one) => one.startsWith(`${word} `)) ?? '';
    return cleanLine(line.slice(word.length)).trim();
  };
  const [sudo, free] = [reported('sudo'), reported('free')];
  return {
    user: reported('user'),
    system: reported('system'),
    sudo: uid === 0 ? 'root' : sudo === 'free' || sudo === 'missing' ? sudo : 'password',
    folder: reported('folder') === 'there' ? 'there' : 'missing',
    writable: reported('writable') === 'yes',
    readOnly: reported('readonly') === 'yes',
    freeBytes: /^\d+$/.test(free) ? Number(free) * 1024 : undefined,
  };
}
