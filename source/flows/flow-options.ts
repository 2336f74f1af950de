import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput } from './flow.ts';

/** A flag that takes a value, as it was written; undefined without it. */
export function optionOf({ options }: FlowInput, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** A flag that takes a port; undefined without it. Throws `usage.port`. */
export function portOption(input: FlowInput, name: string): number | undefined {
  const written = optionOf(input, name);
  if (written === undefined) return undefined;
  const port = Number(written);
  if (/^\d{1,5}$/.test(written) && port >= 1 && port <= 65_535) return port;
  throw new Fault({
    code: 'usage.port',
    message: `--${name} takes a port from 1 to 65535, and "${cleanLine(written)}" is none.`,
    remedy: `For example: --${name} 8080`,
  });
}

/**
 * The words behind what a flow is about, as many as it takes. Throws `usage.words` for one more.
 *
 * @param takes what is at most taken, with a capital: `One device at a time`
 */
export function wordsUpTo(
  most: number,
  { words }: Pick<FlowInput, 'words'>,
  { takes, remedy }: { takes: string; remedy: string },
): readonly string[] {
  const more = words[most];
  if (more === undefined) return words;
  throw new Fault({ code: 'usage.words', message: `${takes}: "${cleanLine(more)}" is one word too many.`, remedy });
}
