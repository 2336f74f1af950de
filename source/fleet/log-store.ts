import type { Entries } from './entry-list.ts';

/** A line as it is kept: cleaned (`text/`), at most 16 Ki characters. */
export interface LogEntry {
  /** Orders the lines of one reading and names them there, never reused. What the engine's history gives counts down from the oldest known. */
  index: number;
  /** Undefined where the engine gave none. */
  timeMs: number | undefined;
  /** Key of the component. */
  component: string;
  /** Id of the container. */
  container: string;
  service: string;
  stream: 'stdout' | 'stderr';
  /** Plain. What is searched, saved and copied. */
  text: string;
  /** The same text with the plain colours that the program wrote; missing where it wrote none. */
  styled?: string;
}

/** Does a line pass? Never throws, and takes time linear in the line's length. */
export type LogPredicate = (entry: LogEntry) => boolean;

/** What lies beyond the first or the last line of a reading. `reached`: nothing more is there. */
export type LogEdge =
  | { state: 'more' | 'reached' }
  | {
      state: 'loading';
      /** Lines looked at so far. */
      searched: number;
      /** How far the search has come. */
      timeMs: number | undefined;
    }
  | { state: 'failed'; message: string };

/**
 * A log as it is read: it follows the end, or stands still. What stands still never moves by itself, whatever arrives or falls out of the
 * ring, and grows in either direction out of the ring or, beyond that, out of the engine's history.
 */
export interface LogReading {
  readonly following: boolean;
  /** Oldest first, only what passes the predicate. The list is replaced, never changed, at most 15 times a second. */
  entries(): Entries<LogEntry>;
  edges(): { back: LogEdge; forth: LogEdge };
  /** While it stands still: lines that arrived after its last one and pass the predicate. 0 while it follows. */
  waiting(): number;
  /**
   * Loads about `count` more lines that pass, before the first or after the last. Does nothing where something is loading or the edge was
   * reached. With a predicate this searches the history until enough were found.
   */
  more(direction: 'back' | 'forth', count: number): void;
  /** Ends what is loading; what was found stays. */
  stop(): void;
  pause(): void;
  /** Follows the end again; what was loaded from the history before the ring is let go. */
  follow(): void;
  /** Stands still at the first line at or after this time. Resolves with its index when it is there; undefined when there is none so late. */
  jump(timeMs: number, signal: AbortSignal): Promise<number | undefined>;
  /** Stands still with this line, which can come from another reading of the same source, among its neighbours. Resolves with its index here. */
  around(entry: LogEntry, signal: AbortSignal): Promise<number | undefined>;
  subscribe(listener: () => void): () => void;
  close(): void;
}

/** The log of one component, or of several: all their services, merged in time order, in a ring of bounded size. */
export interface LogSource {
  readonly componentKeys: readonly string[];
  /** What the ring holds, oldest first. The list is replaced, never changed, at most 15 times a second. */
  entries(): Entries<LogEntry>;
  /** Everything that ever arrived, also what fell out of the ring. */
  total(): number;
  state(): { following: boolean; message: string | undefined };
  subscribe(listener: () => void): () => void;
  /** Begins to read, following. Without a predicate every line passes. */
  read(passes?: LogPredicate): LogReading;
}

/** A line on its way through a pipe: as the program wrote it, not cleaned. */
export interface StreamedLine {
  component: string;
  container: string;
  service: string;
  timeMs: number | undefined;
  stream: 'stdout' | 'stderr';
  /** Raw: clean before showing. */
  text: string;
  /** Longer than the limit of a line, and cut there. */
  cut: boolean;
}

export interface LogStreamOptions {
  componentKeys: readonly string[];
  /** Of these services only; missing means all. */
  services?: readonly string[];
  /** Goes on for as long as the signal lets it, over restarts of containers and engines, and to containers that are made later. */
  follow: boolean;
  /** Lines from the end, of every service; undefined is all. */
  tail?: number;
  sinceMs?: number;
  untilMs?: number;
  signal: AbortSignal;
  /** Told what the operator should know meanwhile, in a sentence: the engine is away, a log cannot be read. */
  onNotice?: (message: string) => void;
}

/** The second store: rings of log lines. A source follows for as long as somebody holds it. */
export interface Logs {
  /** Several keys are one source, merged by time. */
  open(componentKeys: string | readonly string[]): { source: LogSource; close: () => void };
  /**
   * Lines merged by time, each exactly once, in batches. Whoever takes them slowly slows the engine down: nothing piles up here. Without
   * `follow` it ends with the logs. Throws what keeps every one of them from being read.
   */
  stream(options: LogStreamOptions): AsyncIterable<readonly StreamedLine[]>;
  close(): void;
}
