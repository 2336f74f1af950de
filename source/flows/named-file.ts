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

/** A configuration file of this machine, as somebody named it. Throws `usage.file` with this remedy where it is not there. */
export async function readNamedFile(session: Session, word: string, remedy: string): Promise<NamedFile> {
  const path = resolve(expandHome(word, homedir()));
  const bytes = await localFiles.read(path, { signal: session.signal, limitBytes });
  if (!bytes) throw new Fault({ code: 'usage.file', message: `There is no file ${cleanLine(path)}.`, remedy });
  return { text: new TextDecoder().decode(bytes), file: cleanLine(word), path };
}
