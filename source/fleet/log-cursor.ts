import { Fault } from '../faults/fault.ts';
import type { Entries } from './entry-list.ts';
import { overlapLines } from './log-edge.ts';
import { isSameLine, type KeptEntry } from './log-entry.ts';
import { linesAfter, linesBefore } from './log-history.ts';
import type { LogRing } from './log-ring.ts';
import { scanBefore } from './log-scan.ts';
import type { LogPredicate } from './log-store.ts';
import type { LogTarget } from './log-targets.ts';

const requestsAtOnce = 8;
const fewestLines = 64;
/** An engine reads a log from its start for each page that is not counted from its end; Podman soon for the others too. So there are fewer, and larger ones. */
const farLines = 5_000;

interface CursorLane {
  target: LogTarget;
  known: readonly KeptEntry[];
  reached: boolean;
  /** Fetched, and not given yet. In the order of the log. */
  buffer: KeptEntry[];
  key: number;
  /** Lines that a search found in one go. */
  found: number;
}

interface Search {
  passes: LogPredicate;
  onProgress: (lines: number, timeMs: number | undefined) => void;
}

/**
 * Goes through the engine's history of some containers, in order of time, from where a reading ends. Whatever it gives has no gap: a line goes out
 * when every other container has been read as far, or has no more.
 */
export class LogCursor {
  readonly #ring: LogRing;
  readonly #direction: 'back' | 'forth';
  readonly #timeMs: number | undefined;
  readonly #lanes: CursorLane[];
  #pages = 0;
  #search: Search | undefined;

  /** `edge` holds what is known at the edge, with nothing left out, oldest first; `timeMs` is for containers of which it has no line. */
  constructor(ring: LogRing, direction: 'back' | 'forth', edge: Entries<KeptEntry>, timeMs: number | undefined) {
    this.#ring = ring;
    this.#direction = direction;
    this.#timeMs = timeMs;
    const known = knownLines(edge, direction, ring.targets.all);
    const start = direction === 'back' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
    this.#lanes = [...ring.targets.all].map((target) => ({
      target,
      known: known.get(target.container) ?? [],
      reached: false,
      buffer: [],
      key: start,
      found: 0,
    }));
  }

  get reached(): boolean {
    return this.#lanes.every((lane) => lane.reached && lane.buffer.length === 0);
  }

  /** Where the engine had no more, it is asked again. */
  resume(): void {
    for (const lane of this.#lanes) lane.reached = false;
  }

  /**
   * Where the ring goes on from what was given last: up to which index it holds lines of each container that were given. Undefined when it does
   * not reach back, or not forth, to there.
   */
  meet(): ReadonlyMap<string, number> | undefined {
    const all = this.#ring.entries();
    const oldest = all.at(0);
    const met = new Map<string, number>();
    const last = new Map(this.#lanes.map(({ target, known }) => [target.container, known.at(-1)]));
    for (let at = all.length - 1; at >= 0 && met.size < last.size; at--) {
      const entry = all.at(at) as KeptEntry;
      const given = last.get(entry.container);
      if (given && !met.has(entry.container) && isSameLine(entry, given)) met.set(entry.container, entry.index);
    }
    for (const [container, given] of last) {
      if (met.has(container)) continue;
      if (given && oldest && (given.timeMs ?? 0) >= (oldest.timeMs ?? 0)) return undefined;
      met.set(container, (oldest?.index ?? this.#ring.total()) - 1);
    }
    return met;
  }

  /** About `count` lines, oldest first; fewer only where there are no more or the signal aborts. Throws where no container can be asked. */
  async next(count: number, signal: AbortSignal): Promise<KeptEntry[]> {
    const out: KeptEntry[] = [];
    while (out.length < count) {
      try {
        await this.#fill(count, signal);
      } catch (thrown) {
        // What was taken off the buffers would be a gap.
        if (out.length === 0) throw thrown;
        break;
      }
      const before = out.length;
      for (let lane = this.#nextLane(); lane && out.length < count; lane = this.#nextLane()) {
        const entry = (this.#direction === 'back' ? lane.buffer.pop() : lane.buffer.shift()) as KeptEntry;
        lane.key = this.#keyOf(lane, entry);
        out.push(entry);
        if (lane.buffer.length === 0 && !lane.reached) break;
      }
      if (out.length === before) break;
    }
    return this.#direction === 'back' ? out.reverse() : out;
  }

  /**
   * Goes back for what passes, for one predicate only: first all lines of the near pages, later, from one scan of the whole log, up to `count`
   * of those that pass. `onProgress` is told what was looked at.
   */
  async search(search: Search, count: number, signal: AbortSignal): Promise<KeptEntry[]> {
    const page = this.#ring.limits.searchPages[this.#pages];
    if (page !== undefined) {
      const looked = await this.next(Math.max(page, count), signal);
      this.#pages++;
      search.onProgress(looked.length, looked[0]?.timeMs);
      return looked;
    }
    // Pages can have left some of what they fetched.
    if (!this.#search) for (const lane of this.#lanes) lane.buffer = lane.buffer.filter(search.passes);
    this.#search = search;
    return this.next(count, signal);
  }

  #keyOf({ key }: CursorLane, { timeMs }: KeptEntry): number {
    if (timeMs === undefined) return key;
    return this.#direction === 'back' ? Math.min(key, timeMs) : Math.max(key, timeMs);
  }

  #nextLane(): CursorLane | undefined {
    let best: CursorLane | undefined;
    let bestKey = 0;
    for (const lane of this.#lanes) {
      const head = this.#direction === 'back' ? lane.buffer.at(-1) : lane.buffer[0];
      if (!head) continue;
      const key = this.#keyOf(lane, head);
      if (best && (this.#direction === 'back' ? key < bestKey : key >= bestKey)) continue;
      best = lane;
      bestKey = key;
    }
    return best;
  }

  async #fill(count: number, signal: AbortSignal): Promise<void> {
    const empty = this.#lanes.filter((lane) => !lane.reached && lane.buffer.length === 0);
    const size = Math.max(fewestLines, Math.ceil((count * 2) / this.#lanes.length));
    const refused: CursorLane[] = [];
    let failed: unknown;
    let fine = this.#lanes.length - empty.length;
    const next = async (): Promise<void> => {
      for (let lane = empty.shift(); lane; lane = empty.shift()) {
        try {
          await this.#fetch(lane, this.#lanes.length === 1 ? count : size, signal);
          fine++;
        } catch (thrown) {
          signal.throwIfAborted();
          // One that is gone, or whose log driver keeps nothing, keeps nobody from the others.
          const isRefused = thrown instanceof Fault && (thrown.code === 'engine.logDriver' || thrown.code === 'engine.noContainer');
          if (!isRefused) throw thrown;
          failed = thrown;
          refused.push(lane);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(requestsAtOnce, empty.length) }, next));
    if (failed && fine === 0) throw failed;
    for (const lane of refused) lane.reached = true;
  }

  async #fetch(lane: CursorLane, count: number, signal: AbortSignal): Promise<void> {
    const target = this.#ring.targets.get(lane.target.container);
    // Removed meanwhile: what the engine does not have, nobody has.
    if (!target) {
      lane.reached = true;
      return;
    }
    if (!target.engine) {
      const { message, remedy } = this.#ring.targets.away ?? { message: 'The engine is away.', remedy: 'Try again.' };
      throw new Fault({ code: 'unreachable.engine', message, remedy });
    }
    const isBack = this.#direction === 'back';
    const edge = isBack ? lane.known[0] : lane.known.at(-1);
    const arrived = this.#ring.arrived(target.container);
    const behind = edge?.ordinal === undefined ? (edge || !isBack ? undefined : arrived) : arrived - edge.ordinal;
    if (this.#search) {
      const most = Math.ceil(this.#ring.limits.foundLines / this.#lanes.length);
      const scan = { ...this.#search, most, given: lane.found, signal };
      const { lines, reached } = await scanBefore(target, { known: lane.known, beforeMs: this.#timeMs, behind }, scan);
      lane.reached = reached || lines.length === 0;
      lane.buffer = lines;
      lane.found += lines.length;
      return;
    }
    const isFar =
      this.#lanes.length === 1 && edge !== undefined && (behind === undefined || (target.kind === 'podman' && behind > farLines / 2));
    const size = isFar ? Math.max(count, farLines) : count;
    const { lines, reached } = isBack
      ? await linesBefore(target, { known: lane.known, beforeMs: this.#timeMs, behind }, size, signal)
      : await linesAfter(target, { known: lane.known, afterMs: this.#timeMs, behind }, size, signal);
    lane.reached = reached || lines.length === 0;
    lane.buffer = lines;
    if (lines.length === 0) return;
    if (isBack) lane.known = [...lines, ...lane.known].slice(0, overlapLines);
    else lane.known = [...lane.known, ...lines].slice(-overlapLines);
  }
}

/** The first or last lines of each container. */
function knownLines(
  edge: Entries<KeptEntry>,
  direction: 'back' | 'forth',
  targets: Iterable<LogTarget>,
): ReadonlyMap<string, readonly KeptEntry[]> {
  const known = new Map<string, KeptEntry[]>();
  const unfilled = new Set(Array.from(targets, ({ container }) => container));
  const step = direction === 'back' ? 1 : -1;
  for (let at = direction === 'back' ? 0 : edge.length - 1; at >= 0 && at < edge.length && unfilled.size > 0; at += step) {
    const entry = edge.at(at) as KeptEntry;
    const lines = known.get(entry.container);
    if (!lines) known.set(entry.container, [entry]);
    else if (lines.length < overlapLines) lines.push(entry);
    else unfilled.delete(entry.container);
  }
  if (direction === 'forth') for (const lines of known.values()) lines.reverse();
  return known;
}
