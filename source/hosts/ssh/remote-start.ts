import { Fault } from '../../faults/fault.ts';
import type { PipeOptions } from '../host.ts';
import { graceMs } from '../program.ts';
import { shellWord } from './shell-words.ts';
import type { SshConnection } from './ssh-connection.ts';

export interface Program extends PipeOptions {
  argv: readonly string[];
}

/** Returns the lines that start a program in a shell: its environment is set there, so that neither side shows it in an argument. */
export function starting({ argv, env = {}, cwd }: Program, group: string): string {
  const settings = Object.entries(env).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new TypeError(`${JSON.stringify(name)} is not a valid variable name`);
    return `export ${name}=${shellWord(value)}\n`;
  });
  const folder = cwd === undefined ? '' : `cd -- ${shellWord(cwd)} || exit 127\n`;
  return `${folder}${settings.join('')}exec ${group}${argv.map(shellWord).join(' ')}`;
}

/** Checks whether the program can be started: if not, `otherwise` is run, with the reason as `$1`. */
export function checked({ argv: [program = ''], cwd }: Program, otherwise: (reason: string) => string, then: string): string {
  const folder = cwd === undefined ? '.' : shellWord(cwd);
  return `if ! [ -d ${folder} ]; then ${otherwise('nofolder')}
elif ! (cd -- ${folder} && command -v -- ${shellWord(program)}) >/dev/null 2>&1; then ${otherwise('missing')}
else
${then}
fi`;
}

/** Processes started there get a moment to end by themselves. */
export function endRemote(connection: SshConnection, pid: number): void {
  void connection.kill(pid, 'TERM');
  setTimeout(() => void connection.kill(pid, 'KILL'), graceMs).unref();
}

export function notStarted(host: string, { argv: [program = ''], cwd }: Program, reason: string): Fault {
  const noFolder = reason === 'nofolder';
  return new Fault(
    'unreachable.program',
    noFolder
      ? `${program} cannot be started on ${host}: folder ${cwd} not found.`
      : `${program} cannot be started: program not found on ${host}.`,
    noFolder ? 'Create the folder first.' : `Install ${program} on the host, or add its folder to the PATH of the shell that ssh starts.`,
  );
}
