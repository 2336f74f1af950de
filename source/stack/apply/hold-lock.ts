import { Fault } from '../../faults/fault.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import { cleanLine } from '../../text/clean.ts';
import { lockedFault } from './faults.ts';
import { readLock } from './lock.ts';
import { lockScript } from './lock-script.ts';
import { answerScript } from './script-parts.ts';
import { plainName } from './shell.ts';

export type HeldLock = { release(): Promise<void> };

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
  if (answer === 'held') return { release };
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
  if (!(await host.files.facts(own, grant.signal))) return { release: async () => undefined };
  const held = await holdLock(grant, host, ['sh', '-c', stackScript, 'sh', own, `${what}-${plainName(component)}`, cleanLine(by)]);
  if (typeof held !== 'string') return held;
  if (held === 'locked') throw lockedFault(await readLock(host, stackFolder, grant.signal));
  const message = `The lock of ${cleanLine(stackFolder)} cannot be taken: ${held}.`;
  throw new Fault('failed.lock', message, 'Check who may write there, and the free space on its filesystem.');
}
