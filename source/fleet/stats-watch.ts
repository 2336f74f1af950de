import { untilSecondMs } from '../faults/waits.ts';
import type { StatsHistory } from './model.ts';
import type { ComponentRuntime } from './open-fleet.ts';

const kept = 120;
/** Samples per update: figures that change faster than they can be read cost half of what an idle console costs. */
const samplesReported = 2;

interface Series {
  users: number;
  history: StatsHistory;
  /** Sampled and not yet reported: a redraw for another reason uses the same values. */
  untold: { cpuPercent: number; memoryBytes: number; memoryLimitBytes: number }[];
  streams: Map<string, StatsStream>;
}

interface StatsStream {
  stop: AbortController;
  cpuPercent: number;
  /** Undefined until the engine has reported it. */
  memoryBytes: number | undefined;
  limitBytes: number;
}

/** CPU and memory of components, sampled only while they are shown: a stats stream costs the engine a read of cgroups every second. */
export class StatsWatch {
  readonly #series = new Map<string, Series>();
  /** One timer for all, so that a screen of fifty components is drawn once in two seconds and not fifty times. */
  #beat: NodeJS.Timeout | undefined;
  #untold = 0;

  constructor(private readonly changed: () => void) {}

  watch(key: string, runtime: ComponentRuntime | undefined): () => void {
    const series = this.#series.get(key) ?? this.#open(key);
    series.users++;
    this.#feed(series, runtime);
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      series.users--;
      if (series.users === 0) this.#close(key, series);
    };
  }

  isWatched(key: string): boolean {
    return this.#series.has(key);
  }

  history(key: string): StatsHistory | undefined {
    const series = this.#series.get(key);
    if (!series || series.history.memoryBytes.length === 0) return undefined;
    return series.history;
  }

  follow(runtimes: ReadonlyMap<string, ComponentRuntime>): void {
    for (const [key, series] of this.#series) this.#feed(series, runtimes.get(key));
  }

  close(): void {
    for (const [key, series] of this.#series) this.#close(key, series);
  }

  #open(key: string): Series {
    const series: Series = {
      users: 0,
      history: { cpuPercent: [], memoryBytes: [], memoryLimitBytes: 0 },
      untold: [],
      streams: new Map(),
    };
    this.#series.set(key, series);
    if (!this.#beat) this.#nextBeat();
    return series;
  }

  #close(key: string, series: Series): void {
    for (const stream of series.streams.values()) stream.stop.abort();
    this.#series.delete(key);
    if (this.#series.size > 0) return;
    clearTimeout(this.#beat);
    this.#beat = undefined;
  }

  /** Aligned to the machine's seconds, like the clock on screen: both are drawn together. */
  #nextBeat(): void {
    this.#beat = setTimeout(() => {
      this.#nextBeat();
      this.#sampleAll();
    }, untilSecondMs());
  }

  #sampleAll(): void {
    let sampled = false;
    for (const series of this.#series.values()) if (this.#sample(series)) sampled = true;
    if (!sampled || ++this.#untold < samplesReported) return;
    this.#untold = 0;
    for (const series of this.#series.values()) this.#tell(series);
    this.changed();
  }

  #sample(series: Series): boolean {
    const streams = [...series.streams.values()].filter((stream) => stream.memoryBytes !== undefined);
    if (streams.length === 0) return false;
    const sum = (pick: (stream: StatsStream) => number) => streams.reduce((total, stream) => total + pick(stream), 0);
    series.untold.push({
      cpuPercent: sum((stream) => stream.cpuPercent),
      memoryBytes: sum((stream) => stream.memoryBytes ?? 0),
      // Without a limit, a container can use all memory of the machine.
      memoryLimitBytes: streams.some((stream) => stream.limitBytes === 0) ? 0 : sum((stream) => stream.limitBytes),
    });
    return true;
  }

  #tell(series: Series): void {
    const latest = series.untold.at(-1);
    if (!latest) return;
    // New arrays: the screen compares by identity.
    series.history = {
      cpuPercent: [...series.history.cpuPercent, ...series.untold.map(({ cpuPercent }) => cpuPercent)].slice(-kept),
      memoryBytes: [...series.history.memoryBytes, ...series.untold.map(({ memoryBytes }) => memoryBytes)].slice(-kept),
      memoryLimitBytes: latest.memoryLimitBytes,
    };
    series.untold = [];
  }

  #feed(series: Series, runtime: ComponentRuntime | undefined): void {
    const running = new Set<string>();
    for (const { container } of runtime?.group.members ?? []) if (container.state === 'running') running.add(container.id);
    for (const [id, stream] of series.streams) {
      if (running.has(id)) continue;
      stream.stop.abort();
      series.streams.delete(id);
    }
    const engine = runtime?.watch.link.state === 'connected' ? runtime.watch.engine : undefined;
    if (!engine) return;
    for (const id of running) {
      if (series.streams.has(id)) continue;
      const stream: StatsStream = { stop: new AbortController(), cpuPercent: 0, memoryBytes: undefined, limitBytes: 0 };
      series.streams.set(id, stream);
      void (async () => {
        try {
          for await (const sample of engine.stats(id, stream.stop.signal)) {
            if (sample.cpuPercent !== undefined) stream.cpuPercent = sample.cpuPercent;
            stream.memoryBytes = sample.memoryBytes;
            stream.limitBytes = sample.memoryLimitBytes;
            if (series.history.memoryBytes.length > 0 || !this.#sample(series)) continue;
            this.#tell(series);
            this.changed();
          }
        } catch {
          // Stopped, or the engine is unreachable: the next snapshot reopens it.
        } finally {
          if (series.streams.get(id) === stream) series.streams.delete(id);
        }
      })();
    }
  }
}
