import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import type { Right } from '../grants/grant.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';
import type { FlowInput } from './flow.ts';

const limitMs = 60_000;

export interface FileToSave {
  /** Of the act, for journal and audit. */
  id: string;
  right: Exclude<Right, 'read'>;
  /** As the operator typed it. */
  path: string;
  content: Uint8Array;
  /** What is written, for the request: `12 lines, 3 KB`. */
  what: string;
}

/** `2026-11-20-140307`, in the operator's time zone. */
export function fileStamp(timeMs: number): string {
  const time = new Date(timeMs);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
}

/** Writes a file on this machine that only its owner can read. Replacing one is confirmed. Returns its path for the screen, or undefined in a dry run. */
export async function saveFile(
  session: Session,
  input: FlowInput,
  { id, right, path, content, what }: FileToSave,
): Promise<string | undefined> {
  const file = resolve(expandHome(path.trim(), homedir()));
  const shown = cleanLine(file);
  const facts = await localFiles.facts(file, session.signal);
  if (facts && facts.kind !== 'file') {
    throw new Fault({
      code: 'usage.path',
      message: `${shown} is ${facts.kind === 'folder' ? 'a folder' : 'not a plain file'}.`,
      remedy: 'Name a file in it.',
    });
  }
  const written = await session.act({
    id,
    right: facts ? 'destroy' : right,
    ...(facts ? { title: `Replace ${shown}`, consequences: [`What is in it now is lost: ${bytesText(facts.sizeBytes)}.`] } : {}),
    request: `write ${shown}: ${what}`,
    target: { host: input.place, ...(input.component ? { component: input.component.key } : {}) },
    limitMs,
    run: async (grant) => {
      await localFiles.write(grant, file, content, { mode: 0o600 });
      return true;
    },
  });
  return written ? shown : undefined;
}
