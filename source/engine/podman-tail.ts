import type { LogLine } from './engine.ts';
import { LogBatch } from './log-batch.ts';

/** What one request for a log asks for, beyond what all requests of this reading have in common. */
export interface TailRequest {
  follow: boolean;
  /** Lines from the end. */
  tail: number;
}

/** By so many lines at its end what was read is found again. */
const knownLines = 64;
/** Asked for when the first new line is there: few, and more where what was read does not lie among them. Podman takes a time for it that grows with its square. */
const lookedAtLines = [1_000, 8_000];

/**
 * The end of a log, and what follows it, without a gap. Podman (4.3 to 5, seen in 4.3 and read in its `GetLogFile`) reads the end of the file first and goes to the
 * file's end afterwards, to follow it from there: what is written between is in neither. So both are asked for apart, and when the first new line comes,
 * the log is looked at once more for what stands before it.
 */
export async function* tailThenFollow(read: (request: TailRequest) => AsyncIterable<LogBatch>, tail: number): AsyncGenerator<LogBatch> {
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
      const missed = await linesBetween(read, { ending, isWhole }, [...batch]);
      if (missed.length > 0) yield LogBatch.of(missed);
    }
    yield batch;
  }
}

interface KnownEnd {
  /** The last lines that were read. */
  ending: readonly LogLine[];
  /** Was all of the log read? */
  isWhole: boolean;
}

/** Lines that stand in the log behind what was read and before what came next. None where the two cannot be found again, as in a log that was rotated. */
async function linesBetween(
  read: (request: TailRequest) => AsyncIterable<LogBatch>,
  { ending, isWhole }: KnownEnd,
  next: readonly LogLine[],
): Promise<readonly LogLine[]> {
  for (const tail of lookedAtLines) {
    const lines: LogLine[] = [];
    for await (const batch of read({ follow: false, tail })) lines.push(...batch);
    const isAll = lines.length < tail;
    // The nearest to each other: of lines that are alike none is taken for one that was missed.
    const ends = ending.length > 0 || !isWhole ? endsOf(lines, ending) : isAll ? [0] : [];
    let nearest: { end: number; start: number } | undefined;
    for (const start of startsOf(lines, next)) {
      const end = ends.findLast((one) => one <= start);
      if (end !== undefined && (!nearest || start - end < nearest.start - nearest.end)) nearest = { end, start };
    }
    if (nearest) return lines.slice(nearest.end, nearest.start);
    if (isAll) break;
  }
  return [];
}

/** Where behind each occurrence of `ending`. */
function endsOf(lines: readonly LogLine[], ending: readonly LogLine[]): number[] {
  const ends: number[] = [];
  if (ending.length === 0) return ends;
  for (let end = ending.length; end <= lines.length; end++)
    if (ending.every((line, at) => isSame(line, lines[end - ending.length + at]))) ends.push(end);
  return ends;
}

/** Where `next` begins; the log may end before it does. */
function startsOf(lines: readonly LogLine[], next: readonly LogLine[]): number[] {
  const starts: number[] = [];
  for (let start = 0; start < lines.length; start++)
    if (next.every((line, at) => start + at >= lines.length || isSame(line, lines[start + at]))) starts.push(start);
  return starts;
}

function isSame(one: LogLine, other: LogLine | undefined): boolean {
  return one.text === other?.text && one.stamp === other.stamp && one.stream === other.stream;
}
