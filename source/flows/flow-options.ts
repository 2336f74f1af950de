import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import type { FlowInput } from './flow.ts';

/** A flag that takes a value, as it was written; undefined without it. */
export function optionOf({ options }: FlowInput, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
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
