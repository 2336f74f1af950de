import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { answerScript } from './apply-script-parts.ts';
import { lastLine } from './backup-files.ts';
import { lockScript } from './stack-lock-script.ts';

/** The kernel's lock where there is `flock`; small machines (the busybox of Debian) have none, and keep apart by a folder, as a stack does. */
const lockProgram = `umask 077
if command -v flock >/dev/null 2>&1; then
  exec 9>>"$1/.lock" || exit 74
  flock -n 9
  qd_code=$?
  case $qd_code in 0) echo held ;; 1) echo locked; exit 0 ;; *) exit 74 ;; esac
  exec cat >/dev/null
fi
qd_own=$1/.locks qd_run=backup qd_by=backup qd_locked=
mkdir -p "$qd_own" || exit 74
${answerScript}${lockScript}
trap qd_unlock EXIT
trap 'exit 143' TERM INT HUP
qd_lock
qd_answer held
cat >/dev/null
`;

/**
 * One backup at a time into a folder. The lock is that of a small program on the host, which holds it for as long as its input is open: with our process, or the
 * link to it, the lock is gone too, however it ended.
 */
export async function lockFolder(grant: Grant, host: Host, folder: string): Promise<{ release(): Promise<void> }> {
  await host.files.makeFolder(grant, folder, { mode: 0o700 });
  const program = await host.pipe(grant, ['sh', '-c', lockProgram, 'sh', folder]);
  const answer = await Promise.race([
    new Promise<string>((resolve) => program.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString().trim()))),
    program.ended.then(() => ''),
  ]);
  program.stdout.resume();
  const release = async () => {
    program.stdin.end();
    await program.ended.catch(() => undefined);
  };
  if (answer === 'held') return { release };
  program.stdin.end();
  const { exitCode, stderr } = await program.ended;
  if (answer === 'locked') {
    throw new Fault({
      code: 'refused.backupRuns',
      message: `A backup into ${cleanLine(folder)} is running already.`,
      remedy: 'Wait until it is done, then try again.',
    });
  }
  const reason = cleanLine(answer.replace(/^failed /, '')) || lastLine(stderr) || `exit code ${exitCode}`;
  throw new Fault({
    code: 'failed.backup',
    message: `${cleanLine(folder)} cannot be used for backups: ${reason}.`,
    remedy: 'Check who may write there, and the room on its filesystem.',
  });
}
