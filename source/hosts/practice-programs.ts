import { join } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { ExecOptions, ExecOutcome, PipedProgram, PipeOptions } from './host.ts';
import { pipeProgram } from './piped-program.ts';
import { runProgram } from './program.ts';

/**
 * What the practice machine has: a shell for the script that deploys, a compose that speaks to the practice engine alone, and what tells about its disk. They
 * run on the machine of the operator, in the practice's folder and with nothing of the operator's environment.
 */
const programs: ReadonlySet<string> = new Set(['sh', 'df', 'tail', 'ps', 'sysctl']);

/** What the practice machine has instead of the operator's: it reaches its own engine alone, and asks no name server. */
const own: ReadonlySet<string> = new Set(['docker-compose', 'getent']);

/** Where the practice machine keeps programs of its own. */
export const practicePrograms = (folder: string): string => join(folder, 'bin');

interface Placed {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** Where the program is and what it is given. Throws `unreachable.program` for what the practice machine does not have. */
function placed(folder: string, [program = '', ...words]: readonly string[], { cwd, env }: Pick<ExecOptions, 'cwd' | 'env'>): Placed {
  const path = own.has(program) ? join(practicePrograms(folder), program) : programs.has(program) ? program : undefined;
  if (path === undefined) {
    throw new Fault({
      code: 'unreachable.program',
      message: `The practice machine has no program ${program}.`,
      remedy: 'Only its containers can be entered: quarterdeck exec COMPONENT -- PROGRAM',
    });
  }
  const home = join(folder, 'home');
  return {
    argv: [path, ...words],
    cwd: cwd ?? home,
    env: {
      PATH: `${practicePrograms(folder)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: home,
      LANG: 'C.UTF-8',
      QUARTERDECK_HOME: join(folder, 'quarterdeck'),
      ...env,
    },
  };
}

export async function runPracticeProgram(folder: string, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  const { argv: found, ...around } = placed(folder, argv, options);
  return runProgram(found, { ...options, ...around, bare: true });
}

export async function changeWithPracticeProgram(
  folder: string,
  grant: Grant,
  argv: readonly string[],
  options: ExecOptions,
): Promise<ExecOutcome> {
  grant.signal.throwIfAborted();
  return runPracticeProgram(folder, argv, { ...options, signal: AbortSignal.any([grant.signal, options.signal]) });
}

export async function pipePracticeProgram(
  folder: string,
  grant: Pick<Grant, 'signal'>,
  argv: readonly string[],
  options: PipeOptions = {},
): Promise<PipedProgram> {
  const { argv: found, ...around } = placed(folder, argv, options);
  return pipeProgram(grant, found, { ...around, bare: true });
}
