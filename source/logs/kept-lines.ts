import { type LogBatch, textOf } from '../engine/log-batch.ts';
import { type KeptEntry, keptEntry, lineLimitCharacters } from './entry.ts';
import { type Entries, EntryList } from './entry-list.ts';
import type { LogOrigin } from './targets.ts';

/** Size of an allocation; the first one is smaller, because most logs are short. */
const pageBytes = 64 * 1024;
const firstPageBytes = 4 * 1024;
/** A page is also full when it has one line per this many bytes of it. */
const bytesPerLine = 128;
/** Limit of cached entries that were created on access: those on screen are read with each frame. */
const mostMade = 1024;

/** Lines, one after the other, in one buffer, with numbers about each: none of that is on the heap. */
class Page {
  readonly bytes: Buffer;
  usedBytes = 0;
  lines = 0;
  readonly timesMs: Float64Array;
  readonly ordinals: Float64Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** The container, the stream, and whether the line was cut. */
  readonly kinds: Int32Array;

  constructor(
    sizeBytes: number /** Size of its first line; the others follow. */,
    readonly firstIndex: number,
  ) {
    const most = Math.ceil(sizeBytes / bytesPerLine);
    this.bytes = Buffer.allocUnsafeSlow(sizeBytes);
    this.timesMs = new Float64Array(most);
    this.ordinals = new Float64Array(most);
    this.starts = new Int32Array(most);
    this.ends = new Int32Array(most);
    this.kinds = new Int32Array(most);
  }

  get freeBytes(): number {
    return this.bytes.length - this.usedBytes;
  }

  get freeLines(): number {
    return this.ends.length - this.lines;
  }
}

const stderrBit = 1;
const cutBit = 2;
const originShift = 2;

/**
 * The newest lines of a log as bytes, outside of the garbage-collected heap: a busy log replaces all of them within a second, and an
 * entry for each would have to be created, moved twice and collected. An entry is created on access.
 */
export class KeptLines {
  #pages: Page[] = [];
  #firstIndex = 0;
  #endIndex = 0;
  sizeBytes = 0;
  #entries: KeptEntries | undefined;
  readonly #made = new Map<number, KeptEntry>();
  readonly #origins: LogOrigin[] = [];
  readonly #numbers = new Map<LogOrigin, number>();

  get length(): number {
    return this.#endIndex - this.#firstIndex;
  }

  /** Returns the same list until lines are added or dropped; a list never changes. */
  entries(): Entries<KeptEntry> {
    this.#entries ??= new KeptEntries([...this.#pages], this.#origins, this.#firstIndex, this.#endIndex, this.#made);
    return this.#entries;
  }

  /** `ordinal` is that of the first line. */
  add(lines: LogBatch, origin: LogOrigin, ordinal: number): void {
    this.#entries = undefined;
    const whose = this.#numberOf(origin) << originShift;
    for (let at = 0; at < lines.length; ) {
      const start = lines.start(at);
      const firstEnd = keptEnd(lines, start, lines.end(at));
      const page = this.#pageFor(firstEnd - start);
      // As many lines as fit are copied in one go, including the bytes between them: timestamps and frames of the log.
      const mostEnd = start + page.freeBytes;
      const most = Math.min(lines.length, at + page.freeLines);
      let end = at + 1;
      if (firstEnd === lines.end(at))
        while (end < most && lines.start(end) >= start && lines.sizeBytes(end) <= lineLimitCharacters && lines.end(end) <= mostEnd) end++;
      const lastEnd = end === at + 1 ? firstEnd : lines.end(end - 1);
      lines.bytes.copy(page.bytes, page.usedBytes, start, lastEnd);
      const shift = page.usedBytes - start;
      for (; at < end; at++) {
        const row = page.lines++;
        const lineEnd = Math.min(lines.end(at), lastEnd);
        const isCut = lineEnd < lines.end(at) || lines.isCut(at);
        page.timesMs[row] = lines.timeMs(at) ?? Number.NaN;
        page.ordinals[row] = ordinal++;
        page.starts[row] = lines.start(at) + shift;
        page.ends[row] = lineEnd + shift;
        page.kinds[row] = whose | (lines.stream(at) === 'stderr' ? stderrBit : 0) | (isCut ? cutBit : 0);
        this.sizeBytes += lineEnd - lines.start(at);
      }
      this.#endIndex = page.firstIndex + page.lines;
      page.usedBytes += lastEnd - start;
    }
  }

  /** Returns false if nothing had to be dropped. */
  shrink(lines: number, sizeBytes: number): boolean {
    const before = this.#firstIndex;
    let [page] = this.#pages;
    while (page && (this.length > lines || (this.sizeBytes > sizeBytes && this.length > 1))) {
      const at = this.#firstIndex++ - page.firstIndex;
      this.sizeBytes -= (page.ends[at] as number) - (page.starts[at] as number);
      if (at < page.lines - 1) continue;
      this.#pages.shift();
      [page] = this.#pages;
    }
    if (this.#firstIndex === before) return false;
    this.#entries = undefined;
    return true;
  }

  #pageFor(sizeBytes: number): Page {
    const last = this.#pages.at(-1);
    if (last && last.freeLines > 0 && last.freeBytes >= sizeBytes) return last;
    const page = new Page(Math.max(sizeBytes, last ? pageBytes : firstPageBytes), this.#endIndex);
    this.#pages.push(page);
    return page;
  }

  #numberOf(origin: LogOrigin): number {
    let number = this.#numbers.get(origin);
    if (number === undefined) {
      number = this.#origins.push(origin) - 1;
      this.#numbers.set(origin, number);
    }
    return number;
  }
}

function keptEnd({ bytes }: LogBatch, start: number, end: number): number {
  if (end - start <= lineLimitCharacters) return end;
  let characters = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    // A continuation byte starts no character; a four-byte character is two units in a string.
    if (byte < 0x80 || byte >= 0xc0) characters += byte >= 0xf0 ? 2 : 1;
    if (characters > lineLimitCharacters) return at;
  }
  return end;
}

/** The lines kept at one moment. Pages are append-only, so it does not change. */
class KeptEntries extends EntryList<KeptEntry> {
  readonly length: number;

  constructor(
    private readonly pages: readonly Page[],
    private readonly origins: readonly LogOrigin[],
    private readonly firstIndex: number,
    endIndex: number,
    private readonly made: Map<number, KeptEntry>,
  ) {
    super();
    this.length = endIndex - firstIndex;
  }

  override at(position: number): KeptEntry | undefined {
    const offset = position < 0 ? this.length + position : position;
    // Bounds are checked first: the cache may still contain entries of dropped lines.
    if (!(offset >= 0 && offset < this.length)) return undefined;
    const index = this.firstIndex + offset;
    const made = this.made.get(index);
    if (made) return made;
    const entry = super.at(position);
    if (this.made.size >= mostMade) this.made.clear();
    if (entry) this.made.set(index, entry);
    return entry;
  }

  protected entry(position: number): KeptEntry {
    const index = this.firstIndex + position;
    let low = 0;
    let high = this.pages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.pages[middle] as Page).firstIndex <= index) low = middle;
      else high = middle - 1;
    }
    const page = this.pages[low] as Page;
    const at = index - page.firstIndex;
    const kind = page.kinds[at] as number;
    const timeMs = page.timesMs[at] as number;
    const cut = (kind & cutBit) > 0;
    const line = {
      timeMs: Number.isNaN(timeMs) ? undefined : timeMs,
      stream: kind & stderrBit ? ('stderr' as const) : ('stdout' as const),
      text: textOf(page.bytes, page.starts[at] as number, page.ends[at] as number, cut),
      cut,
    };
    return keptEntry(line, this.origins[kind >> originShift] as LogOrigin, index, page.ordinals[at]);
  }
}
