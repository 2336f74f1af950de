import { Fault } from '../faults/fault.ts';
import type { Right } from '../grants/grant.ts';
import { localFiles } from '../hosts/local-files.ts';
import type { Act, Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { type Modules, modulePicture } from '../text/module-blocks.ts';
import { bytesText } from '../text/quantities.ts';
import type { Flow } from './flow.ts';
import { fileOf } from './named-file.ts';

const limitMs = 60_000;

export interface FileToSave {
  id: string;
  right: Exclude<Right, 'read'>;
  path: string;
  content: Uint8Array;
  /** The content, for the request: `12 lines, 3 KB`. */
  what: string;
}

/** Formats `2026-11-20-140307`, in the operator's time zone. */
export function fileStamp(timeMs: number): string {
  const time = new Date(timeMs);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
}

/** Returns what an action that replaces this file must state: its content is lost. Throws `usage.path` for anything but a plain file. */
export async function replacing(
  file: string,
  signal: AbortSignal,
): Promise<Partial<Pick<Act<unknown>, 'right' | 'title' | 'consequences'>>> {
  const facts = await localFiles.facts(file, signal);
  if (!facts) return {};
  const shown = cleanLine(file);
  if (facts.kind !== 'file') {
    const [kind, remedy] = facts.kind === 'folder' ? ['a folder', 'Pass a file.'] : ['not a regular file', 'Choose another file.'];
    throw new Fault('usage.path', `${shown} is ${kind}.`, remedy);
  }
  return { right: 'destroy', title: `Replace ${shown}`, consequences: [`The current content (${bytesText(facts.sizeBytes)}) is lost.`] };
}

/** Only the owner can read the file. Replacing one is confirmed. Returns its path for the screen, or undefined in a dry run. */
export async function saveFile(session: Session, { id, right, path, content, what }: FileToSave): Promise<string | undefined> {
  const file = fileOf(path);
  const shown = cleanLine(file);
  await session.act({
    id,
    right,
    ...(await replacing(file, session.signal)),
    request: `write ${shown}: ${what}`,
    limitMs,
    run: (grant) => localFiles.write(grant, file, content, { mode: 0o600 }),
  });
  return session.dryRun ? undefined : shown;
}

export interface CodeToSave {
  code: Modules;
  label: string;
  nowMs: number;
  /** The operator did not request it, but the terminal is too small to show the code: without a path nothing is saved. */
  offered?: true;
}

/** Not in the registry, since the code is known only to the flow that revealed the secret. */
export function saveCode({ code, label, nowMs, offered }: CodeToSave): Flow {
  return {
    id: 'save-code',
    verb: 'save-code',
    title: 'Save the QR code',
    summary: 'Saves a QR code as an image on this machine, readable only by you.',
    right: 'reveal',
    about: 'host',
    async run(session) {
      const path = await session.ask.text({
        id: 'path',
        label: 'File for the QR code',
        help: `An SVG image with mode 0600. It contains the secret: delete it after use.${offered ? ' Leave empty to skip.' : ''}`,
        ...(!offered && { initial: `./qr-code-${fileStamp(nowMs)}.svg` }),
        check: (text) => (offered || text.trim() !== '' ? undefined : 'A file is required.'),
      });
      if (path.trim() === '') return { message: 'The QR code was not saved.' };
      const content = Buffer.from(modulePicture(code));
      const what = `QR code of ${cleanLine(label)}`;
      const saved = await saveFile(session, { id: 'save-code', right: 'reveal', path, content, what });
      if (saved === undefined) return { message: 'Dry run: nothing was saved.' };
      return { message: `Saved the QR code to ${saved}, which only you can read (mode 0600). Delete it after use.` };
    },
  };
}
