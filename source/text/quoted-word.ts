import { cleanLine } from './clean.ts';

/** One argument of a command that is shown to people: in single quotes where a shell would read more into it. */
export function quotedWord(word: string): string {
  const clean = cleanLine(word);
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", `'\\''`)}'`;
}
