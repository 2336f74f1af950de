import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';

/** One that names every network there is stays below this. */
const limitBytes = 1024 * 1024;

export interface NamedFile {
  text: string;
  /** As it was written, for sentences. */
  file: string;
  /** Absolute. */
  path: string;
}

/**
 * A read-only session may be somebody else's: whether a file exists, its mode and what is in it is not for them. Call it before anything of a path that was typed is
 * looked up. Throws `refused.readOnly`.
 */
export function refuseTypedPath({ readOnly }: Pick<Session, 'readOnly'>, path: string): void {
  if (!readOnly) return;
  throw new Fault({
    code: 'refused.readOnly',
    message: `Read-only: ${cleanLine(path)} is not read. A read-only session reads no path that is typed.`,
    remedy: 'Pipe the file in where the command accepts that, or start without --read-only.',
  });
}

/** A configuration file of this machine, as it was named. Throws `usage.file` with this remedy where it is not there, and as `refuseTypedPath` does. */
export async function readNamedFile(session: Session, word: string, remedy: string): Promise<NamedFile> {
  refuseTypedPath(session, word);
  const path = resolve(expandHome(word, homedir()));
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes });
  if (!bytes) throw new Fault({ code: 'usage.file', message: `There is no file ${cleanLine(path)}.`, remedy });
  return { text: new TextDecoder().decode(bytes), file: cleanLine(word), path };
}
