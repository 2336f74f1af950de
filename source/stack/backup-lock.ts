import { posix } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Host } from '../hosts/host.ts';
import { cleanLine } from '../text/clean.ts';
import { lastLine } from './backup-files.ts';

/**
 * One backup at a time into a folder. The lock is that of a small program on the host, which holds it for as long as its input is open: with our process, or the
 * link to it, the lock is gone too, however it ended.
 */
export async function lockFolder(grant: Grant, host: Host, folder: string): Promise<{ release(): Promise<void> }> {
  await host.files.makeFolder(grant, folder, { mode: 0o700 });
  const program = await host.pipe(grant, [
    'sh',
    '-c',
    'umask 077; exec 9>>"$1" || exit 74; flock -n 9 || exit 75; echo held; exec cat >/dev/null',
    'sh',
    posix.join(folder, '.lock'),
  ]);
  const held = await Promise.race([
    new Promise<boolean>((resolve) => program.stdout.once('data', () => resolve(true))),
    program.ended.then(() => false),
  ]);
  program.stdout.resume();
  const release = async () => {
    program.stdin.end();
    await program.ended.catch(() => undefined);
  };
  if (held) return { release };
  const { exitCode, stderr } = await program.ended;
  if (exitCode === 75) {
    throw new Fault({
      code: 'refused.backupRuns',
      message: `A backup into ${cleanLine(folder)} is running already.`,
      remedy: 'Wait until it is done, then try again.',
    });
  }
  throw new Fault({
    code: 'failed.backup',
    message: `${cleanLine(folder)} cannot be used for backups: ${lastLine(stderr) || `exit code ${exitCode}`}.`,
    remedy: exitCode === 127 ? 'Install flock there (package util-linux).' : 'Check who may write there, and the room on its filesystem.',
  });
}
