import type { HostSettings } from '../config/settings.ts';
import { exitCodeOf, Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import { sessionsTried } from '../hosts/ssh/ssh-limits.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText, clockDifferenceText } from '../text/quantities.ts';
import type { FarEngine, FarHost, HostBook } from './host-book.ts';
import { askAround, type Surroundings } from './host-surroundings.ts';

const roundTripLimitMs = 3_000;
/** Certificates and one-time codes begin to fail at about a minute. */
const clockMs = 60_000;
const littleDiskBytes = 2_000_000_000;
/** A shell for programs, and what flows through a session of its own. */
const sessionsNeeded = 3;

/** What was found on a host, as `--json` has it. */
export interface HostReport {
  name: string;
  ssh: string;
  connected: boolean;
  roundTripMs: number | null;
  findings: readonly HostFinding[];
  [fact: string]: unknown;
}

export interface HostFinding {
  id: string;
  state: 'ok' | 'warning' | 'blocked';
  title: string;
  evidence: string;
}

/** Connects anew where it was given up. @throws the fault that says why it is not connected */
export async function connectTo(book: HostBook, name: string, settings: HostSettings, signal: AbortSignal): Promise<FarHost> {
  const host = await book.open(name, settings);
  const { state } = host.link.view;
  if (state === 'refused' || state === 'away') host.link.retry();
  await host.link.ready(signal);
  return host;
}

/** Milliseconds; undefined while none was measured. */
export async function roundTripOf({ link }: FarHost, signal: AbortSignal): Promise<number | undefined> {
  const measured = () => (link.view.roundTripMs === undefined ? undefined : Math.max(1, Math.round(link.view.roundTripMs)));
  let stop = () => {};
  await limited(
    signal,
    roundTripLimitMs,
    () =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (measured() !== undefined) resolve();
        };
        stop = link.subscribe(look);
        look();
      }),
  )
    .catch(() => signal.throwIfAborted())
    .finally(() => stop());
  return measured();
}

export function engineText({ facts, fault, url }: FarEngine): string {
  if (facts) return `${facts.kind} ${facts.version}${facts.rootless ? ' rootless' : ''}`;
  return cleanLine(fault?.code === 'unreachable.socket' ? `${url} closed to this user` : `${url} does not answer`);
}

export function faultData({ code, message, remedy }: Fault): { code: string; message: string; remedy: string } {
  return { code, message, remedy };
}

/** Connects, looks around and shows a line for each thing. Exit code 0: all that is needed is there. */
export async function lookAtHost(
  session: Session,
  book: HostBook,
  name: string,
  settings: HostSettings,
): Promise<{ report: HostReport; exitCode: number }> {
  const findings: HostFinding[] = [];
  let worst: Fault | undefined;
  const say = (id: string, state: HostFinding['state'], title: string, evidence: string) => {
    const finding: HostFinding = { id: `${name}-${id}`, state, title, evidence: cleanLine(evidence) };
    findings.push({ ...finding, id });
    session.show({ kind: 'item', ...finding });
  };
  const fail = (id: string, title: string, fault: Fault) => {
    worst ??= fault;
    say(id, 'blocked', title, `${fault.message} ${fault.remedy}`);
  };
  const report = { name, ssh: settings.ssh, connected: false, roundTripMs: null, findings };
  session.show({ kind: 'item', id: `${name}-connect`, title: `Connect to ${name}`, state: 'running' });
  let host: FarHost;
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
  say('connect', 'ok', `Connect to ${name}`, `${settings.ssh}${roundTripMs === undefined ? '' : `, ${roundTripMs} ms`}`);

  const facts = await host.facts(signal);
  const stackFolder = book.stackFolderOf(settings).replace(/^~(?=\/|$)/, facts.home);
  const [around, engines] = await Promise.all([
    askAround(host, stackFolder, { uid: facts.uid, signal }),
    book.engines(name, host, signal).catch((thrown: unknown) => {
      if (thrown instanceof Fault) return thrown;
      throw thrown;
    }),
  ]);
  // Afterwards: what is forbidden is read out of ssh's log, where an engine that cannot be reached would stand beside it.
  const limits = await host.limits(signal);
  say(
    'system',
    'ok',
    'System',
    `${facts.hostname}, ${around.system || facts.platform} ${facts.architecture}, ${facts.cpus} CPUs, ${bytesText(facts.memoryBytes)}`,
  );
  say('user', 'ok', 'User', `${around.user}${facts.uid === undefined ? '' : ` (${facts.uid})`}; ${sudoWords[around.sudo]}`);
  if (engines instanceof Fault) fail('engines', 'Engines', engines);
  else {
    const answering = engines.filter((engine) => engine.facts);
    const [silent] = engines.filter((engine) => engine.fault);
    if (answering.length > 0) say('engines', 'ok', 'Engines', answering.map(engineText).join(', '));
    if (silent?.fault) {
      const evidence = `${silent.fault.message} ${silent.fault.code === 'unreachable.socket' && !settings.sudo ? `Where only sudo may use it: sudo: true for ${name} in ${book.file}.` : silent.fault.remedy}`;
      if (answering.length === 0) worst ??= silent.fault;
      say('silent', answering.length === 0 ? 'blocked' : 'warning', 'Engines', evidence);
    }
  }
  sayLimits(limits, say);
  const aheadMs = facts.clockAheadMs ?? 0;
  const clock = `${clockDifferenceText(aheadMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`;
  if (Math.abs(aheadMs) < clockMs) say('clock', 'ok', 'Clock', aheadMs === 0 ? 'as here' : clock);
  else
    say(
      'clock',
      'warning',
      'Clock',
      `${clock}: certificates and one-time codes fail. Let it be set by the network (timedatectl set-ntp true).`,
    );
  sayFolder(stackFolder, around, settings, say);
  return {
    report: {
      ...report,
      connected: true,
      roundTripMs: roundTripMs ?? null,
      hostname: facts.hostname,
      platform: facts.platform,
      architecture: facts.architecture,
      user: around.user,
      uid: facts.uid ?? null,
      sudo: around.sudo,
      engines:
        engines instanceof Fault
          ? []
          : engines.map(({ place, url, facts: said, fault }) => ({
              place,
              address: url,
              kind: said?.kind ?? null,
              version: said?.version ?? null,
              ...(fault && { fault: faultData(fault) }),
            })),
      clockAheadSeconds: Math.round(aheadMs / 1000),
      limits: { ...limits, sessionsTried },
      stack: { folder: stackFolder, exists: around.folder === 'there', writable: around.writable, freeBytes: around.freeBytes ?? null },
      ...(worst && { fault: faultData(worst) }),
    },
    exitCode: worst ? exitCodeOf(worst) : 0,
  };
}

type Say = (id: string, state: HostFinding['state'], title: string, evidence: string) => void;

const sudoWords: Record<Surroundings['sudo'], string> = {
  root: 'root already',
  free: 'sudo without a password',
  password: 'sudo with a password, or not at all',
  missing: 'no sudo there',
};

function sayLimits({ sessions, sockets, ports }: Awaited<ReturnType<FarHost['limits']>>, say: Say): void {
  const problems = [
    ...(sockets
      ? []
      : [
          'it leads no connections to sockets, so each question to an engine needs a session and perl or python3 there: set AllowStreamLocalForwarding yes, AllowTcpForwarding yes, PermitOpen any (and no DisableForwarding)',
        ]),
    ...(ports
      ? []
      : ['it leads no connections to ports, so each one to a component needs the same: set AllowTcpForwarding yes, and PermitOpen any']),
    ...(sessions >= sessionsNeeded
      ? []
      : [`it allows ${sessions} more sessions on one connection, so copies and compose wait for each other: set MaxSessions 10`]),
  ];
  if (problems.length === 0) say('sshd', 'ok', 'sshd', `sockets, ports and ${sessions >= sessionsTried ? 'enough' : sessions} sessions`);
  else say('sshd', 'warning', 'sshd', `${problems.join('; ')}. In /etc/ssh/sshd_config there.`);
}

function sayFolder(path: string, { folder, writable, readOnly, freeBytes }: Surroundings, { sudo }: HostSettings, say: Say): void {
  const free = freeBytes === undefined ? '' : `, ${bytesText(freeBytes)} free`;
  const is = folder === 'there' ? path : `${path}, not there yet`;
  if (!writable) {
    const why = readOnly
      ? 'its filesystem is mounted read-only: have it mounted for writing, or choose another folder (stackFolder)'
      : sudo
        ? 'this user may not write there; sudo is used for the socket of the engine alone: choose a folder of the user (stackFolder)'
        : 'this user may not write there: choose another folder (stackFolder), or another user';
    say('stack', 'warning', 'Stack folder', `${is}${free}: ${why}`);
  } else if (freeBytes !== undefined && freeBytes < littleDiskBytes) say('stack', 'warning', 'Stack folder', `${is}: only${free.slice(1)}`);
  else say('stack', 'ok', 'Stack folder', `${is}${free}`);
}
