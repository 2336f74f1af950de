import { isReserved } from '../catalog/variable-names.ts';
import { Fault } from '../faults/fault.ts';

/** One word for any POSIX shell, whatever is in it. */
export function shellWord(text: string): string {
  if (text.includes('\0')) {
    throw new Fault({
      code: 'refused.nul',
      message: 'A value holds a NUL character, which neither a program nor a variable can take.',
      remedy: 'Leave it out of the value.',
    });
  }
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A program with its arguments, for any POSIX shell. */
export function shellCommand(argv: readonly string[]): string {
  return argv.map(shellWord).join(' ');
}

/** A name that a variable of a compose file can have here. */
export function variableName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || isReserved(name)) {
    throw new Fault({
      code: 'refused.variable',
      message: `${JSON.stringify(name)} cannot be the name of a secret's variable: the shell or the compose program uses it otherwise.`,
      remedy: 'Give the variable another name in compose.yaml.',
    });
  }
  return name;
}

/**
 * A path below the stack's folder, as it came in a plan or from a journal.
 * @throws Fault `refused.path` for one that leads out of it.
 */
export function stackPath(path: string): string {
  const parts = path.split('/');
  if (path === '' || /[\0\n\r]/.test(path) || parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw new Fault({
      code: 'refused.path',
      message: `${JSON.stringify(path)} is no path below the stack's folder.`,
      remedy: 'Plan the change anew.',
    });
  }
  return path;
}

/** A component's id or a run's name: one plain word, which also names a folder and a step. */
export function plainName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/.test(name)) {
    throw new Fault({
      code: 'refused.path',
      message: `${JSON.stringify(name)} cannot name a folder of the stack.`,
      remedy: 'Plan the change anew.',
    });
  }
  return name;
}
