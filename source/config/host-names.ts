export const hostNameShape = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** `local` is this machine, `all` every host. */
export const reservedHostNames: readonly string[] = ['local', 'all', 'practice'];
const longestHostName = 40;

export function hostNameProblem(name: string): string | undefined {
  if (name === '') return 'A host needs a name.';
  if (reservedHostNames.includes(name)) return `"${name}" means something else here: choose another name.`;
  if (name.startsWith('-')) return 'A name does not begin with a dash.';
  if (!hostNameShape.test(name)) return 'A name has letters, digits, dots, dashes and underscores, and begins with a letter or digit.';
  return name.length > longestHostName ? `A name has ${longestHostName} characters at most.` : undefined;
}
