import { join } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { ExecOptions, ExecOutcome } from './host.ts';
import { runProgram } from './program.ts';

/**
 * What the practice machine has: a shell for the script that deploys, a compose that speaks to the practice engine alone, and what tells about its disk. They
 * run on the machine of the operator, in the practice's folder and with nothing of the operator's environment.
 */
const programs: ReadonlySet<string> = new Set(['sh', 'df', 'tail', 'ps', 'sysctl']);

/** Where the practice machine keeps programs of its own. */
export const practicePrograms = (folder: string): string => join(folder, 'bin');

export function runPracticeProgram(folder: string, argv: readonly string[], options: ExecOptions): Promise<ExecOutcome> {
  const [program = '', ...words] = argv;
  const own = join(practicePrograms(folder), program);
  const path = program === 'docker-compose' ? own : programs.has(program) ? program : undefined;
  if (path === undefined) {
    return Promise.reject(
      new Fault({
        code: 'unreachable.program',
        message: `The practice machine has no program ${program}.`,
        remedy: 'Only its containers can be entered: quarterdeck exec COMPONENT -- PROGRAM',
      }),
    );
  }
  const home = join(folder, 'home');
  return runProgram([path, ...words], {
    ...options,
    cwd: options.cwd ?? home,
    bare: true,
    env: {
      PATH: `${practicePrograms(folder)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: home,
      LANG: 'C.UTF-8',
      QUARTERDECK_HOME: join(folder, 'quarterdeck'),
      ...options.env,
    },
  });
}

export function changeWithPracticeProgram(
  folder: string,
  grant: Grant,
  argv: readonly string[],
  options: ExecOptions,
): Promise<ExecOutcome> {
  grant.signal.throwIfAborted();
  return runPracticeProgram(folder, argv, { ...options, signal: AbortSignal.any([grant.signal, options.signal]) });
}
