/** How a day of the row `day` runs. What serves it, what follows it and what publishes it share this. */
export const dayRates = {
  /** A day takes this many times less. */
  faster: 100,
  containers: 40,
  /** Of them, those that have a probe. */
  probed: 20,
  /** One container of all changes so often, in normal time. */
  changeEveryMs: 30_000,
  /** The container whose log is followed is restarted so often, in normal time. */
  restartEveryMs: 3_600_000,
  /** Of the log that is followed, in normal time. */
  linesPerSecond: 10,
  /** Written before the day begins: more than a console keeps, whose memory is then what it stays. */
  linesBefore: 60_000,
};

/** Its probe is one request. */
export const probedEntry = 'pdf-tools';
export const probedImage = 'stirlingtools/stirling-pdf:latest';

export const dayEngine = 'practice';
export const writerName = 'bench-writer';

/** What the engine answers to `GET /day`. */
export interface DayTally {
  /** The day is over, and what it began has ended. */
  over: boolean;
  events: number;
  lines: number;
  probes: number;
  /** Containers with a probe that run, and were not probed in the last seconds of the day. */
  unprobed: readonly string[];
  containers: readonly { id: string; name: string; running: boolean; health: string }[];
}

/** What `day-looker.ts` prints. */
export interface DayLook extends Omit<DayTally, 'over' | 'containers'> {
  tenthMb: number;
  endMb: number;
  eventsSeen: number;
  linesSeen: number;
  /** How often the stream of events was opened. */
  streams: number;
  /** Names of containers whose state is not the engine's. */
  differing: readonly string[];
  cpuPercent: number;
}
