import { isReserved } from '../../catalog/variable-names.ts';
import { Fault } from '../../faults/fault.ts';

/** Quotes any text as one word for any POSIX shell. */
export function shellWord(text: string): string {
  if (text.includes('\0')) {
    const message = 'A value contains a NUL character, which programs and variables do not accept.';
    throw new Fault('refused.nul', message, 'Remove the NUL character.');
  }
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export const shellCommand = (argv: readonly string[]): string => argv.map(shellWord).join(' ');

/** Checks the name of a variable of a compose file. */
export function variableName(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !isReserved(name)) return name;
  const message = `${JSON.stringify(name)} cannot be used as the variable of a secret, because the name is invalid or is used by the shell or the compose program.`;
  throw new Fault('refused.variable', message, 'Rename the variable in compose.yaml.');
}

/** Checks a path below the stack's folder, from a plan or a journal. */
export function stackPath(path: string): string {
  const parts = path.split('/');
  if (path === '' || /[\0\n\r]/.test(path) || parts.some((part) => part === '' || part === '.' || part === '..'))
    throw new Fault('refused.path', `The path must be inside the stack folder, not ${JSON.stringify(path)}.`, 'Plan the change again.');
  return path;
}

/** Checks a component's id or a run's name: one plain word, which also names a folder and a step. */
export function plainName(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/.test(name))
    throw new Fault('refused.path', `Invalid name for a folder in the stack: ${JSON.stringify(name)}.`, 'Plan the change again.');
  return name;
}
