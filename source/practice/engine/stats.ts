import type { Container } from './container.ts';
import { momentText } from './durations.ts';
import type { Machine } from './machine.ts';

interface Reading {
  ms: number;
  cpuNanoseconds: number;
  systemNanoseconds: number;
}

/** Brings what a container has used so far up to now. */
function read(container: Container, machine: Machine): Reading & { memoryBytes: number } {
  const { usage, state } = container;
  const nowMs = machine.now();
  const startedMs = state.startedMs ?? nowMs;
  const figures = container.program.figures?.(nowMs - startedMs) ?? { cpuPercent: 0.2, memoryBytes: 12_000_000 };
  // What ran before anybody looked, at the rate of now.
  const sinceMs = usage.readMs || Math.max(startedMs, nowMs - 3_600_000);
  const elapsedMs = nowMs - sinceMs;
  if (state.status === 'running') {
    usage.cpuNanoseconds += (figures.cpuPercent / 100) * elapsedMs * 1e6;
    usage.receivedBytes += ((figures.receivedPerSecond ?? 900) * elapsedMs) / 1000;
    usage.sentBytes += ((figures.sentPerSecond ?? 700) * elapsedMs) / 1000;
  }
  usage.readMs = nowMs;
  return {
    ms: nowMs,
    cpuNanoseconds: Math.round(usage.cpuNanoseconds),
    systemNanoseconds: Math.round((nowMs - machine.bootMs) * 1e6 * machine.cpus),
    memoryBytes: figures.memoryBytes,
  };
}

const emptyCpu = {
  cpu_usage: { total_usage: 0, usage_in_kernelmode: 0, usage_in_usermode: 0 },
  throttling_data: { periods: 0, throttled_periods: 0, throttled_time: 0 },
};

function cpuJson({ cpuNanoseconds, systemNanoseconds }: Reading, machine: Machine): object {
  return {
    cpu_usage: {
      total_usage: cpuNanoseconds,
      usage_in_kernelmode: Math.round(cpuNanoseconds * 0.3),
      usage_in_usermode: Math.round(cpuNanoseconds * 0.7),
    },
    system_cpu_usage: systemNanoseconds,
    online_cpus: machine.cpus,
    throttling_data: { periods: 0, throttled_periods: 0, throttled_time: 0 },
  };
}

/** Answers of `GET /containers/{id}/stats`, each with the one before in it. */
export class StatsReader {
  readonly #container: Container;
  readonly #machine: Machine;
  #before: Reading | undefined;

  constructor(container: Container, machine: Machine) {
    this.#container = container;
    this.#machine = machine;
  }

  next(): object {
    const container = this.#container;
    const names = { name: `/${container.name}`, id: container.id, os_type: 'linux' };
    if (!container.isUp) {
      return {
        ...names,
        read: momentText(undefined),
        preread: momentText(undefined),
        num_procs: 0,
        pids_stats: {},
        blkio_stats: {},
        storage_stats: {},
        cpu_stats: emptyCpu,
        precpu_stats: emptyCpu,
        memory_stats: {},
      };
    }
    const before = this.#before;
    const now = read(container, this.#machine);
    this.#before = now;
    const { receivedBytes, sentBytes } = container.usage;
    const cacheBytes = Math.round(now.memoryBytes * 0.18);
    const limit = container.spec.memoryLimitBytes || this.#machine.memoryBytes;
    return {
      ...names,
      read: momentText(now.ms, 300_117),
      preread: momentText(before?.ms, 300_117),
      num_procs: 0,
      pids_stats: { current: Math.max(1, container.program.processes?.length ?? 1) + 6 },
      blkio_stats: { io_service_bytes_recursive: null },
      storage_stats: {},
      cpu_stats: cpuJson(now, this.#machine),
      precpu_stats: before ? cpuJson(before, this.#machine) : emptyCpu,
      memory_stats: {
        usage: now.memoryBytes + cacheBytes,
        limit,
        stats: { active_file: 0, inactive_file: cacheBytes, anon: now.memoryBytes, file: cacheBytes },
      },
      ...(container.hasNetwork && {
        networks: {
          eth0: {
            rx_bytes: Math.round(receivedBytes),
            rx_packets: Math.round(receivedBytes / 600),
            rx_errors: 0,
            rx_dropped: 0,
            tx_bytes: Math.round(sentBytes),
            tx_packets: Math.round(sentBytes / 700),
            tx_errors: 0,
            tx_dropped: 0,
          },
        },
      }),
    };
  }
}
