import { cleanLine } from '../text/clean.ts';
import { type Modules, modulePicture } from '../text/module-blocks.ts';
import type { Flow } from './flow.ts';
import { fileStamp, saveFile } from './save-file.ts';

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
    summary: 'Saves a QR code as a picture on this machine, readable by you alone.',
    right: 'reveal',
    about: 'host',
    async run(session) {
      const path = await session.ask.text({
        id: 'path',
        label: 'Save the QR code to which file?',
        help: `An SVG picture with mode 0600. It holds the secret: delete it after use.${offered ? ' Leave this empty to save nothing.' : ''}`,
        ...(!offered && { initial: `./qr-code-${fileStamp(nowMs)}.svg` }),
        check: (text) => (offered || text.trim() !== '' ? undefined : 'Name a file.'),
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
