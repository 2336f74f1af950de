/** A line as it is kept: cleaned (`text/`), at most 16 Ki characters, copied out of its chunk. */
export interface LogEntry {
  /** Counts up per source, never reused: the identity of a line. */
  index: number;
  timeMs: number | undefined;
  service: string;
  stream: 'stdout' | 'stderr';
  text: string;
}

/** The log of one component: all its services, merged in time order, in a ring of bounded size. */
export interface LogSource {
  readonly componentKey: string;
  /** Oldest kept first. The array is replaced, never changed, at most 15 times a second. */
  entries(): readonly LogEntry[];
  /** Everything that ever arrived, also what fell out of the ring. */
  total(): number;
  state(): { following: boolean; message: string | undefined };
  subscribe(listener: () => void): () => void;
}

/** The second store: rings of log lines. A source follows for as long as somebody holds it. */
export interface Logs {
  open(componentKey: string): { source: LogSource; close: () => void };
  close(): void;
}
