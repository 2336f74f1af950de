import type { Entries } from './entry-list.ts';
import type { LogRun } from './merge.ts';
import type { LogOrigin } from './targets.ts';

/** A stored line: cleaned (`text/`), at most 16 Ki characters. */
export interface LogEntry extends LogOrigin {
  /** Order and id of a line within one reading, never reused. Lines from the engine's history count down from the oldest known. */
  index: number;
  /** Undefined if the engine sent none. */
  timeMs: number | undefined;
  stream: 'stdout' | 'stderr';
  /** Plain text, used for searching, saving and copying. */
  text: string;
  /** The same text with the program's basic colours; missing if it wrote none. */
  styled?: string;
}

/** Checks whether a line matches. Never throws, and runs in time linear in the line's length. */
export type LogPredicate = (entry: LogEntry) => boolean;

/** State beyond the first or the last line of a reading. `reached`: there are no more lines. */
export type LogEdge =
  | { state: 'more' | 'reached' }
  | { state: 'loading'; searched: number; timeMs: number | undefined }
  | { state: 'failed'; message: string };

/**
 * A view of a log: it follows the end, or is paused. A paused view never moves by itself, whatever arrives or drops out of the ring, and
 * grows in either direction from the ring or, beyond that, from the engine's history.
 */
export interface LogReading {
  readonly following: boolean;
  /** Oldest first, matching lines only. The list is replaced, never changed, at most 15 times a second. */
  entries(): Entries<LogEntry>;
  edges(): { back: LogEdge; forth: LogEdge };
  /** While paused: matching lines that arrived after its last one. 0 while it follows. */
  waiting(): number;
  /**
   * Loads about `count` more matching lines, before the first or after the last. Does nothing during another load or if the edge was
   * reached. With a predicate, this searches the history until enough were found.
   */
  more(direction: 'back' | 'forth', count: number): void;
  /** Cancels a load; lines already found stay. */
  stop(): void;
  pause(): void;
  /** Follows the end again; lines loaded from the history before the ring are dropped. */
  follow(): void;
  /** Pauses at the first line at or after this time. Resolves with its index; undefined if there is no such line. */
  jump(timeMs: number, signal: AbortSignal): Promise<number | undefined>;
  /** Pauses at this line, which may come from another reading of the same source, and shows its context. Resolves with its index here. */
  around(entry: LogEntry, signal: AbortSignal): Promise<number | undefined>;
  subscribe(listener: () => void): () => void;
  close(): void;
}

/** The log of one component, or of several: all their services, merged by time, in a ring of bounded size. */
export interface LogSource {
  readonly componentKeys: readonly string[];
  /** Content of the ring, oldest first. The list is replaced, never changed, at most 15 times a second. */
  entries(): Entries<LogEntry>;
  total(): number;
  state(): { following: boolean; message: string | undefined };
  subscribe(listener: () => void): () => void;
  /** Starts a view that follows. */
  read(passes?: LogPredicate): LogReading;
}

export interface LogStreamOptions {
  componentKeys: readonly string[];
  services?: readonly string[];
  /** Continues until the signal aborts, over restarts of containers and engines, and includes containers that are created later. */
  follow: boolean;
  /** Lines from the end, for every service; undefined reads all. */
  tail?: number;
  sinceMs?: number;
  untilMs?: number;
  /** The lines' times are not used. They are omitted where nothing is followed or merged. */
  untimed?: boolean;
  signal: AbortSignal;
  /** Messages for the operator: the engine is unreachable, a log cannot be read. */
  onNotice?: (message: string) => void;
}

/** The second store: rings of log lines. A source follows for as long as it has a holder. */
export interface Logs {
  /** Several keys are one source, merged by time. */
  open(componentKeys: string | readonly string[]): { source: LogSource; close: () => void };
  /**
   * Lines merged by time, each exactly once, raw as the program wrote them: clean them before they are shown. A slow consumer slows the
   * engine down: nothing accumulates here. Without `follow` it ends with the logs. Throws the error if none of them can be read.
   */
  stream(options: LogStreamOptions): AsyncIterable<LogRun<LogOrigin>>;
  close(): void;
}
