import { bytesText, countText, numberText } from '../../text/quantities.ts';
import type { Flow } from '../flow.ts';
import { fileStamp, saveFile } from '../save-file.ts';

export interface LogsToSave {
  lines: readonly string[];
  /** For the question: `lines of media-server`. */
  what: string;
  /** Base of the file name. */
  name: string;
  nowMs: number;
}

/** Not in the registry, since its lines come from the console: `quarterdeck logs ID > FILE` does the same. */
export function saveLogs({ lines, what, name, nowMs }: LogsToSave): Flow {
  return {
    id: 'save-logs',
    verb: 'save-logs',
    title: 'Save log lines',
    summary: 'Saves the shown or selected log lines to a file on this machine.',
    right: 'operate',
    about: 'host',
    async run(session) {
      const safe = name.replace(/[^\w.-]+/g, '-').replace(/^[-.]+/, '') || 'logs';
      const path = await session.ask.text({
        id: 'path',
        label: `File for ${numberText(lines.length)} ${what}`,
        initial: `./${safe}-${fileStamp(nowMs)}.log`,
        check: (path) => (path.trim() === '' ? 'A file is required.' : undefined),
      });
      const content = Buffer.from(`${lines.join('\n')}\n`);
      const size = `${countText(lines.length, 'line')}, ${bytesText(content.length)}`;
      // Logs can contain private data.
      const saved = await saveFile(session, { id: 'save-logs', right: 'operate', path, content, what: size });
      return { message: saved === undefined ? 'Dry run: nothing was saved.' : `Saved ${size} to ${saved}` };
    },
  };
}
