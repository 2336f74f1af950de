import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { expandHome } from '../config/paths.ts';
import { Fault } from '../faults/fault.ts';
import { localFiles } from '../hosts/local-files.ts';
import { cleanLine } from '../text/clean.ts';
import { bytesText, countText, numberText } from '../text/quantities.ts';
import type { Flow } from './flow.ts';

const limitMs = 60_000;

export interface LogsToSave {
  /** Finished lines, oldest first. */
  lines: readonly string[];
  /** For the question: `lines of media-server`. */
  what: string;
  /** What the file is named after. */
  name: string;
  nowMs: number;
}

/** `2026-11-20-140307`, in the operator's time zone. */
function stamp(timeMs: number): string {
  const time = new Date(timeMs);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`;
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
      const answer = await session.ask.text({
        id: 'path',
        label: `Save ${numberText(lines.length)} ${what} to which file?`,
        initial: `./${safe}-${stamp(nowMs)}.log`,
        check: (path) => (path.trim() === '' ? 'Name a file.' : undefined),
      });
      const path = resolve(expandHome(answer.trim(), homedir()));
      const shown = cleanLine(path);
      const facts = await localFiles.facts(path, session.signal);
      if (facts && facts.kind !== 'file') {
        throw new Fault({
          code: 'usage.path',
          message: `${shown} is ${facts.kind === 'folder' ? 'a folder' : 'not a plain file'}.`,
          remedy: 'Name a file in it.',
        });
      }
      const content = Buffer.from(`${lines.join('\n')}\n`);
      const size = `${countText(lines.length, 'line')}, ${bytesText(content.length)}`;
      const written = await session.act({
        id: 'save-logs',
        right: facts ? 'destroy' : 'operate',
        ...(facts ? { title: `Replace ${shown}`, consequences: [`What is in it now is lost: ${bytesText(facts.sizeBytes)}.`] } : {}),
        request: `write ${shown}: ${size}`,
        target: { host: input.place, ...(input.component ? { component: input.component.key } : {}) },
        limitMs,
        run: async (grant) => {
          // Logs can hold what is nobody else's business.
          await localFiles.write(grant, path, content, { mode: 0o600 });
          return true;
        },
      });
      return { message: written ? `Saved ${size} to ${shown}` : 'Rehearsed: nothing was saved.' };
    },
  };
}
