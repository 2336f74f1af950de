import type { LogLine } from './engine.ts';
import { LogBatch } from './log-batch.ts';

export interface TailRequest {
  follow: boolean;
  tail: number;
}

type Read = (request: TailRequest) => AsyncIterable<LogBatch>;

const knownLines = 64;
/** Few lines first, and more if the previous read is not among them: Podman's time for it grows with the square. */
const lookedAtLines = [1_000, 8_000];

/**
 * Podman (observed in 4.3, read in its `GetLogFile`) reads the end of the file first and then seeks to the file's end to follow it: lines
 * written in between are in neither. So both are requested separately, and the first new line makes it read the lines before it once more.
 */
export async function* tailThenFollow(read: Read, tail: number): AsyncGenerator<LogBatch> {
  const ending: LogLine[] = [];
  let count = 0;
  for await (const batch of read({ follow: false, tail })) {
    count += batch.length;
    for (const line of batch.slice(Math.max(0, batch.length - knownLines), batch.length)) ending.push(line);
    ending.splice(0, ending.length - knownLines);
    yield batch;
  }
  const isWhole = count < tail;
  let isChecked = false;
  for await (const batch of read({ follow: true, tail: 0 })) {
    if (!isChecked && batch.length > 0) {
      isChecked = true;
      const missed = await linesBetween(read, ending, isWhole, [...batch]);
      if (missed.length > 0) yield LogBatch.of(missed);
    }
    yield batch;
  }
}

/** None if the previous read and the next line cannot be found again, as in a rotated log. */
async function linesBetween(
  read: Read,
  ending: readonly LogLine[],
  isWhole: boolean,
  next: readonly LogLine[],
): Promise<readonly LogLine[]> {
  for (const tail of lookedAtLines) {
    const lines: LogLine[] = [];
    for await (const batch of read({ follow: false, tail })) lines.push(...batch);
    const isAll = lines.length < tail;
    // The closest pair: this way no duplicate of a line counts as missed.
    const ends = ending.length > 0 || !isWhole ? endsOf(lines, ending) : isAll ? [0] : [];
    let nearest: { end: number; start: number } | undefined;
    for (const start of startsOf(lines, next)) {
      const end = ends.findLast((position) => position <= start);
      if (end !== undefined && (!nearest || start - end < nearest.start - nearest.end)) nearest = { end, start };
    }
    if (nearest) return lines.slice(nearest.end, nearest.start);
    if (isAll) break;
  }
  return [];
}

/** Positions after each occurrence of `ending`. */
function endsOf(lines: readonly LogLine[], ending: readonly LogLine[]): number[] {
  if (ending.length === 0) return [];
  const starts = [...lines.keys()].filter((start) => ending.every((line, at) => isSame(line, lines[start + at])));
  return starts.map((start) => start + ending.length);
}

/** Positions where `next` begins; the log may end before it does. */
function startsOf(lines: readonly LogLine[], next: readonly LogLine[]): number[] {
  return [...lines.keys()].filter((start) => next.every((line, at) => start + at >= lines.length || isSame(line, lines[start + at])));
}

function isSame(one: LogLine, other: LogLine | undefined): boolean {
  return one.text === other?.text && one.stamp === other.stamp && one.stream === other.stream;
}
