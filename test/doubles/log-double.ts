import type { EngineKind, LogLine, LogOptions } from '../../source/engine/engine.ts';
import { LogBatch } from '../../source/engine/log-batch.ts';
import type { Fault } from '../../source/faults/fault.ts';
import type { ComponentRuntime, OpenFleet } from '../../source/fleet/open-fleet.ts';
import type { LogRun } from '../../source/logs/merge.ts';
import type { LogOrigin } from '../../source/logs/targets.ts';
import { containerDetail } from './container-facts.ts';

/** A line of a stream, raw, with its container. */
export type StreamedLine = LogOrigin & Omit<LogLine, 'stamp'>;

export function linesOf({ origin, lines }: LogRun<LogOrigin>): StreamedLine[] {
  return Array.from(lines, ({ stamp: _, ...line }) => ({ ...origin, ...line }));
}

/** Consecutive lines of one container are one run, as after a merge. */
export function runsOf(lines: readonly StreamedLine[]): LogRun<LogOrigin>[] {
  const runs: { origin: LogOrigin; lines: LogLine[] }[] = [];
  for (const { component, container, service, ...line } of lines) {
    let run = runs.at(-1);
    if (run?.origin.container !== container || run.origin.component !== component) {
      run = { origin: { component, container, service }, lines: [] };
      runs.push(run);
    }
    run.lines.push({ stamp: '', ...line });
  }
  return runs.map(({ origin, lines: ofOne }) => ({ origin, lines: LogBatch.of(ofOne) }));
}

/**
 * A log as an engine keeps it: lines that can be read from the end or from a time on, and followed. `tail` counts from the end, and only
 * then `since` and `until` leave out (both engines, seen). Docker ends at the first line beyond `until`, Podman leaves those out one by one; Podman 4 tells
 * whole seconds of the times that it compares.
 */
export class LogDouble {
  readonly lines: { timeMs: number; line: LogLine }[] = [];
  readonly asked: LogOptions[] = [];
  /** Lines that were handed out. */
  given = 0;
  failure: Fault | undefined;
  /** The engine has not begun to answer: a request that is given up meanwhile is thrown, as a real one is. */
  silent: Promise<void> | undefined;
  batchLines = Number.POSITIVE_INFINITY;
  readonly kind: EngineKind;
  #wake: (() => void)[] = [];
  #generation = 0;

  constructor(kind: EngineKind = 'docker') {
    this.kind = kind;
  }

  write(stamp: string, text: string, stream: LogLine['stream'] = 'stdout'): void {
    this.lines.push({ timeMs: Date.parse(stamp), line: { stamp, timeMs: Date.parse(stamp), text, stream } });
    this.#ring();
  }

  /** As this kind of engine would stamp it. */
  writeAt(timeMs: number, text: string, stream: LogLine['stream'] = 'stdout'): void {
    const reportedMs = this.kind === 'podman' ? Math.floor(timeMs / 1000) * 1000 : timeMs;
    const written = new Date(reportedMs).toISOString();
    const stamp = this.kind === 'podman' ? written.replace('.000', '') : written.replace('Z', '000000Z');
    this.lines.push({ timeMs, line: { stamp, timeMs: reportedMs, text, stream } });
    this.#ring();
  }

  /** The connection breaks or the container ends: every stream ends. */
  end(): void {
    this.#generation++;
    this.#ring();
  }

  async *read(options: LogOptions): AsyncGenerator<LogBatch> {
    this.asked.push(options);
    await Promise.resolve();
    if (this.failure) throw this.failure;
    if (this.silent) await this.#answered(this.silent, options.signal);
    const generation = this.#generation;
    const { sinceMs = Number.NEGATIVE_INFINITY, untilMs = Number.POSITIVE_INFINITY, tail, follow, signal } = options;
    let at = tail === undefined ? 0 : Math.max(0, this.lines.length - tail);
    for (;;) {
      const batch: LogLine[] = [];
      for (; at < this.lines.length && batch.length < this.batchLines; at++) {
        const { timeMs, line } = this.lines[at] as (typeof this.lines)[number];
        if (timeMs < sinceMs) continue;
        if (this.kind === 'docker' ? timeMs > untilMs : timeMs >= untilMs) {
          if (this.kind === 'podman') continue;
          if (batch.length > 0) yield LogBatch.of(batch);
          return;
        }
        batch.push(line);
      }
      if (signal.aborted) return;
      this.given += batch.length;
      if (batch.length > 0) yield LogBatch.of(batch);
      if (at < this.lines.length) continue;
      if (!follow || signal.aborted || generation !== this.#generation) return;
      await new Promise<void>((resolve) => {
        this.#wake.push(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  #answered(silent: Promise<void>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      void silent.then(resolve);
    });
  }

  #ring(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

export interface LoggingContainer {
  log: LogDouble;
  running: boolean;
  startedMs: number;
  /** One and the same for all where it is missing. */
  component?: string;
}

/** The part of a fleet that logs need: by default one component, `key`, with a service for each container. */
export function loggingFleet(containers: Record<string, LoggingContainer>) {
  const listeners = new Set<() => void>();
  const link = { state: 'connected' as 'connected' | 'away', sinceMs: 1, message: 'Nobody listens on the socket.', remedy: 'Start it.' };
  const detail = (id: string) => {
    const known = containers[id];
    return known && containerDetail({ id, name: id, state: known.running ? 'running' : 'exited', startedMs: known.startedMs });
  };
  const engine = { logs: (id: string, options: LogOptions) => containers[id]?.log.read(options) };
  const fleet = {
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    runtime: (key: string) => {
      const ids = Object.keys(containers).filter((id) => (containers[id]?.component ?? 'key') === key);
      const members = ids.map((id) => ({ container: detail(id), service: id, known: undefined, main: true }));
      const facts = { kind: containers[ids[0] ?? '']?.log.kind ?? 'docker' };
      return {
        watch: { name: 'local', host: { name: 'local' }, clockAheadMs: 0, link, facts, detail, engine },
        group: { members },
      } as unknown as ComponentRuntime;
    },
  } as unknown as OpenFleet;
  const commit = () => {
    for (const listener of [...listeners]) listener();
  };
  return { fleet, link, commit };
}
