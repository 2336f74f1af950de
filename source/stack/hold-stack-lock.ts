import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { lockedFault } from './apply-faults.ts';
import { answerScript } from './apply-script-parts.ts';
import { plainName } from './apply-shell.ts';
import { readLock } from './stack-lock.ts';
import { lockScript } from './stack-lock-script.ts';

export interface HeldLock {
  release(): Promise<void>;
}

const nobody: HeldLock = { release: async () => undefined };

const holdScript = `umask 077
qd_own=$1 qd_run=$2 qd_by=$3 qd_locked=
${answerScript}${lockScript}
trap qd_unlock EXIT
trap 'exit 143' TERM INT HUP
qd_lock
qd_answer held
cat >/dev/null
`;

/**
 * The stack's lock for work that is no transaction: a backup, a restore. A small program on the host has it for as long as its input is open, so that it is free again
 * with our process or the link to it, however those ended. Where nothing of ours stands there is nothing to keep apart.
 * @param what with the component it is what others are told.
 * @throws Fault `refused.locked` when somebody else works on the stack.
 */
export async function holdStackLock(
  grant: Grant,
  host: Host,
  { stackFolder, what, component, by }: { stackFolder: string; what: 'backup' | 'restore' | 'rotation'; component: string; by: string },
): Promise<HeldLock> {
  const own = `${stackFolder}/.quarterdeck`;
  if (!(await host.files.facts(own, grant.signal))) return nobody;
  const run = `${what}-${plainName(component)}`;
  const program = await host.pipe(grant, ['sh', '-c', holdScript, 'sh', own, run, cleanLine(by)]);
  const answer = await Promise.race([
    new Promise<string>((resolve) => program.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().split('\n')[0] ?? ''))),
    program.ended.then(({ stderr }) => stderr),
  ]);
  program.stdout.resume();
  const release = async () => {
    program.stdin.end();
    await program.ended.catch(() => undefined);
  };
  if (answer === 'held') return { release };
  await release();
  if (answer === 'locked') {
    throw lockedFault((await readLock(host, stackFolder, grant.signal)) ?? { run: '', by: 'somebody', since: 'a moment ago' });
  }
  throw new Fault({
    code: 'failed.lock',
    message: `The lock of ${cleanLine(stackFolder)} cannot be taken: ${cleanLine(answer.replace(/^failed /, '')) || 'the shell ended'}.`,
    remedy: 'Check who may write there, and the room on its filesystem.',
  });
}
