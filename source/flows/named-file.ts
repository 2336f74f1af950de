import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';

/** Even a file that names every existing network is smaller. */
const limitBytes = 1024 * 1024;

export const fileOf = (written: string): string => resolve(expandHome(written.trim(), homedir()));

/**
 * Refuses paths in a read-only session, whose user may be someone else: they must not learn whether a file exists, its mode or its content.
 * Must be called before a typed path is accessed in any way. Throws `refused.readOnly`.
 */
export function refuseTypedPath({ readOnly }: Pick<Session, 'readOnly'>, path: string): void {
  if (!readOnly) return;
  const message = `Read-only: ${cleanLine(path)} was not read. A read-only session does not read files named on the command line.`;
  throw new Fault('refused.readOnly', message, 'Pipe in the file if the command supports it, or run it without --read-only.');
}

/** Throws `usage.file` with this remedy if the file does not exist, and as `refuseTypedPath` does. */
export async function readNamedFile(session: Session, word: string, remedy: string) {
  refuseTypedPath(session, word);
  const path = fileOf(word);
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes });
  if (!bytes) throw new Fault('usage.file', `${cleanLine(path)} does not exist.`, remedy);
  return { text: new TextDecoder().decode(bytes), file: cleanLine(word), path };
}

export async function fileWord(
  session: Session,
  word: string | undefined,
  question: { label: string; id?: string; help?: string; initial?: string },
): Promise<string> {
  const check = (text: string) => (text.trim() === '' ? 'A file is required.' : undefined);
  return (word ?? (await session.ask.text({ id: 'file', check, ...question }))).trim();
}
