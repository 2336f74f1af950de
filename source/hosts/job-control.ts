import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const psLimitMs = 2000;

/** Returns whether the process runs, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function factsOf(pid: number) {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // The name may contain any character. The fields after it: state, parent, group, session, terminal.
      const [, parent, group, , terminal = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { parent: Number(parent), group: Number(group), terminal };
    }
    const line = execFileSync('ps', ['-o', 'ppid=,pgid=,tty=', '-p', String(pid)], { encoding: 'utf8', timeout: psLimitMs });
    const [parent, group, terminal = ''] = line.trim().split(/\s+/);
    return { parent: Number(parent), group: Number(group), terminal };
  } catch {
    return undefined;
  }
}

/**
 * Returns the processes of this job that must be stopped for the shell to notice: this one, and those of its group that wait for it (`npm
 * start`). Undefined if no shell would continue them, because the job's parent is not in the same session, as with `ssh -t HOST
 * quarterdeck` or `tmux new quarterdeck`. A terminal belongs to one session.
 */
export function stoppableJob(): number[] | undefined {
  const own = factsOf(process.pid);
  if (!own) return undefined;
  const job = [process.pid];
  let above = own.parent;
  while (above > 1) {
    const facts = factsOf(above);
    if (!facts || facts.terminal !== own.terminal) return undefined;
    if (facts.group !== own.group) return job;
    job.push(above);
    above = facts.parent;
  }
  return undefined;
}
