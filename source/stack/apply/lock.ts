import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { lockedFault } from './faults.ts';
import { lockScript } from './lock-script.ts';
import { answerScript } from './script-parts.ts';
import { plainName } from './shell.ts';
import type { LockHolder } from './transaction.ts';

const limitMs = 10_000;
const smallBytes = 64 * 1024;

/** Returns the process that works on this stack, or that worked on it until it died. `lock-script.ts` documents `.quarterdeck/lock/`. */
export async function readLock(host: Host, stackFolder: string, signal: AbortSignal): Promise<LockHolder | undefined> {
  const folder = `${stackFolder}/.quarterdeck/lock`;
  for (const name of (await host.files.list(folder, signal)) ?? []) {
    if (!name.startsWith('owner-')) continue;
    const lines = (await textOf(host, `${folder}/${name}`, signal))?.split('\n') ?? [];
    const owner: Partial<Record<string, string>> = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2)));
    // The lock was released during the read.
    if (owner.run === undefined) continue;
    const child = (await textOf(host, `${stackFolder}/.quarterdeck/runs/${owner.run}/child`, signal))?.trim().split(' ') ?? [];
    const alive =
      owner.boot === (await bootOf(host, signal)) &&
      ((await isRunning(host, owner.pid, owner.start, signal)) || (await isRunning(host, child[0], child.slice(1).join(' '), signal)));
    return { run: owner.run, by: owner.by ?? '', since: owner.since ?? '', alive };
  }
  return undefined;
}

async function isRunning(host: Host, pid: string | undefined, start: string | undefined, signal: AbortSignal): Promise<boolean> {
  if (pid === undefined || !/^\d+$/.test(pid) || !start) return false;
  if ((await host.files.facts('/proc/self/stat', signal)) === undefined) {
    const { stdout } = await host.exec(['ps', '-o', 'lstart=', '-p', pid], { signal, limitMs });
    return Buffer.from(stdout).toString().trim() === start.trim();
  }
  // The name in brackets may contain anything; the relevant fields follow it: state, and 19 fields later the start time.
  const fields = (await textOf(host, `/proc/${pid}/stat`, signal))?.replace(/^.*\) /s, '').split(' ') ?? [];
  return fields[19] === start && !['Z', 'X', 'x'].includes(fields[0] ?? '');
}

async function bootOf(host: Host, signal: AbortSignal): Promise<string> {
  const id = await textOf(host, '/proc/sys/kernel/random/boot_id', signal);
  if (id !== undefined) return id.trim();
  const { stdout } = await host.exec(['sysctl', '-n', 'kern.boottime'], { signal, limitMs });
  return Buffer.from(stdout).toString().trim();
}

async function textOf(host: Host, path: string, signal: AbortSignal): Promise<string | undefined> {
  const bytes = await host.files.read(path, { signal, limitBytes: smallBytes });
  return bytes && Buffer.from(bytes).toString();
}

export type HeldLock = ReturnType<typeof heldUntil>;

const heldUntil = (release: () => Promise<void>) => ({ release, [Symbol.asyncDispose]: release });

/** Holds the lock as long as the program's input is open. Returns its first line if it is not `held`, or the end of its errors. */
export async function holdLock(grant: Grant, host: Host, argv: readonly string[]): Promise<HeldLock | string> {
  const program = await host.pipe(grant, argv);
  const answer = await Promise.race([
    new Promise<string>((resolve) => program.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().split('\n')[0] ?? ''))),
    program.ended.then(({ stderr, exitCode }) => cleanLine(stderr.trim().split('\n').at(-1) ?? '') || `exit code ${exitCode}`),
  ]);
  program.stdout.resume();
  const release = async () => {
    program.stdin.end();
    await program.ended.catch(() => undefined);
  };
  if (answer === 'held') return heldUntil(release);
  await release();
  return cleanLine(answer.replace(/^failed /, ''));
}

export const holdScript = `${answerScript}${lockScript}
trap qd_unlock EXIT
trap 'exit 143' TERM INT HUP
qd_lock
qd_answer held
cat >/dev/null
`;

const stackScript = `umask 077
qd_own=$1 qd_run=$2 qd_by=$3 qd_locked=
${holdScript}`;

/** For work that is not a transaction: a backup, a restore. Without a folder of ours no lock is needed. Throws `refused.locked`. */
export async function holdStackLock(
  grant: Grant,
  host: Host,
  { stackFolder, what, component, by }: { stackFolder: string; what: 'backup' | 'restore' | 'rotation'; component: string; by: string },
): Promise<HeldLock> {
  const own = `${stackFolder}/.quarterdeck`;
  if (!(await host.files.facts(own, grant.signal))) return heldUntil(async () => undefined);
  const held = await holdLock(grant, host, ['sh', '-c', stackScript, 'sh', own, `${what}-${plainName(component)}`, cleanLine(by)]);
  if (typeof held !== 'string') return held;
  if (held === 'locked') throw lockedFault(await readLock(host, stackFolder, grant.signal));
  const message = `The lock of ${cleanLine(stackFolder)} cannot be acquired: ${held}.`;
  throw new Fault('failed.lock', message, 'Check the permissions of the folder and the free space on its filesystem.');
}
