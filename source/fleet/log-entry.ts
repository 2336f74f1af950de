import type { LogLine } from '../engine/engine.ts';
import { cleanColoured, cleanLine } from '../text/clean.ts';
import type { LogEntry } from './log-store.ts';
import type { LogOrigin } from './log-targets.ts';

/** Of one line; the rest is not kept. */
export const lineLimitCharacters = 16_384;
/** Stands where a line was cut. */
const cutMark = '>';

/** An entry as it is kept here. */
export interface KeptEntry extends LogEntry {
  /**
   * Counts the lines of its container as they stand in the log, from 0 where following it began, negative before that: how many lines there are
   * behind it. Undefined where that is not known.
   */
  ordinal: number | undefined;
}

/** Cleaned, cut, and without anything that keeps its chunk in memory. */
export function keptEntry(
  line: Omit<LogLine, 'stamp'>,
  { component, container, service }: LogOrigin,
  index: number,
  ordinal: number | undefined,
): KeptEntry {
  const { timeMs, stream } = line;
  const isCut = line.cut || line.text.length > lineLimitCharacters;
  const raw = isCut ? line.text.slice(0, lineLimitCharacters) : line.text;
  let text = cleanLine(raw);
  if (text === raw && !isCut) return { index, timeMs, component, container, service, stream, text, ordinal };
  // A part of a string keeps all of it alive.
  text = copied(isCut ? text + cutMark : text);
  if (!raw.includes('\x1b[')) return { index, timeMs, component, container, service, stream, text, ordinal };
  const styled = cleanColoured(raw);
  const isStyled = styled.includes('\x1b');
  return {
    index,
    timeMs,
    component,
    container,
    service,
    stream,
    text,
    ...(isStyled && { styled: copied(isCut ? styled + cutMark : styled) }),
    ordinal,
  };
}

/** The same line of the same log, as far as can be told: it may have been read twice. */
export function isSameLine(one: LogEntry, other: LogEntry): boolean {
  return one.container === other.container && one.timeMs === other.timeMs && one.stream === other.stream && one.text === other.text;
}

/** Characters that an entry keeps in memory. */
export function sizeOf({ text, styled }: LogEntry): number {
  return text.length + (styled?.length ?? 0);
}

function copied(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
