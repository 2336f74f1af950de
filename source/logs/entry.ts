import type { LogLine } from '../engine/engine.ts';
import { cleanColoured, cleanLine } from '../text/clean.ts';
import type { LogEntry } from './store.ts';
import type { LogOrigin } from './targets.ts';

export const lineLimitCharacters = 16_384;
const cutMark = '>';

export interface KeptEntry extends LogEntry {
  /**
   * Number of the line in its container's log, from 0 where following began, negative before that: how many lines come after it.
   * Undefined if unknown.
   */
  ordinal: number | undefined;
}

/** Cleaned, cut, and without references that keep its chunk in memory. */
export function keptEntry(
  line: Omit<LogLine, 'stamp'>,
  { component, container, service }: LogOrigin,
  index: number,
  ordinal: number | undefined,
): KeptEntry {
  const { timeMs, stream } = line;
  const isCut = line.cut || line.text.length > lineLimitCharacters;
  const raw = isCut ? line.text.slice(0, lineLimitCharacters) : line.text;
  const entry: KeptEntry = { index, timeMs, component, container, service, stream, text: cleanLine(raw), ordinal };
  if (entry.text === raw && !isCut) return entry;
  // A substring keeps the whole string in memory.
  entry.text = copied(isCut ? entry.text + cutMark : entry.text);
  const styled = raw.includes('\x1b[') ? cleanColoured(raw) : '';
  if (styled.includes('\x1b')) entry.styled = copied(isCut ? styled + cutMark : styled);
  return entry;
}

/** Whether two lines are one line that was read twice, as far as that can be decided. */
export function isSameLine(one: LogEntry, other: LogEntry): boolean {
  return one.container === other.container && one.timeMs === other.timeMs && one.stream === other.stream && one.text === other.text;
}

export const sizeOf = ({ text, styled }: LogEntry): number => text.length + (styled?.length ?? 0);

const copied = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');
