export const hostNameShape = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** `local` is this machine, `all` every host. */
export const reservedHostNames: readonly string[] = ['local', 'all', 'practice'];
const longestHostName = 40;

export function hostNameProblem(name: string): string | undefined {
  if (name === '') return 'The host name must not be empty.';
  if (reservedHostNames.includes(name)) return `"${name}" is reserved. Choose another name.`;
  if (name.startsWith('-')) return 'The name must not begin with a dash.';
  if (!hostNameShape.test(name))
    return 'The name can have only letters, digits, dots, dashes and underscores, and must begin with a letter or digit.';
  return name.length > longestHostName ? `The name can have at most ${longestHostName} characters.` : undefined;
}
