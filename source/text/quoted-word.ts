import { cleanLine } from './clean.ts';

/** For display: in single quotes if a shell would interpret it. */
export function quotedWord(word: string): string {
  const clean = cleanLine(word);
  return /^[\w@%+=:,./-]+$/.test(clean) ? clean : `'${clean.replaceAll("'", `'\\''`)}'`;
}
