import { bytesText, countText, numberText } from '../text/quantities.ts';
import type { Flow } from './flow.ts';
import { fileStamp, saveFile } from './save-file.ts';

export interface LogsToSave {
  /** Finished lines, oldest first. */
  lines: readonly string[];
  /** For the question: `lines of media-server`. */
  what: string;
  /** What the file is named after. */
  name: string;
  nowMs: number;
}

/**
 * Saves lines that are on the screen to a file of this machine. Not in the registry, since its lines come from the console: on the command
 * line `quarterdeck logs ID > FILE` does the same.
 */
export function saveLogs({ lines, what, name, nowMs }: LogsToSave): Flow {
  return {
    id: 'save-logs',
    verb: 'save-logs',
    title: 'Save log lines',
    summary: 'Saves the lines of a log that are shown, or marked, to a file on this machine.',
    right: 'operate',
    about: 'host',
    async run(session, input) {
      const safe = name.replace(/[^\w.-]+/g, '-').replace(/^[-.]+/, '') || 'logs';
      const path = await session.ask.text({
        id: 'path',
        label: `Save ${numberText(lines.length)} ${what} to which file?`,
        initial: `./${safe}-${fileStamp(nowMs)}.log`,
        check: (path) => (path.trim() === '' ? 'Name a file.' : undefined),
      });
      const content = Buffer.from(`${lines.join('\n')}\n`);
      const size = `${countText(lines.length, 'line')}, ${bytesText(content.length)}`;
      // Logs can hold what is nobody else's business.
      const saved = await saveFile(session, input, { id: 'save-logs', right: 'operate', path, content, what: size });
      return { message: saved === undefined ? 'Rehearsed: nothing was saved.' : `Saved ${size} to ${saved}` };
    },
  };
}
