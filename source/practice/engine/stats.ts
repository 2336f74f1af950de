import type { Container } from './container.ts';
import { momentText } from './durations.ts';
import type { Machine } from './machine.ts';

const emptyCpu = { cpu_usage: { total_usage: 0 } };

/** Returns a function for the answers of `GET /containers/{id}/stats`, each with the previous one in it. */
export function statsOf(container: Container, { bootMs, cpus, memoryBytes }: Machine): () => object {
  let previous: { ms: number; cpuNanoseconds: number; json: object } | undefined;
  return () => {
    const { state, program, spec } = container;
    const names = { name: `/${container.name}`, id: container.id, os_type: 'linux' };
    if (!container.isUp) {
      const nothing = { pids_stats: {}, cpu_stats: emptyCpu, precpu_stats: emptyCpu, memory_stats: {} };
      return { ...names, read: momentText(undefined), preread: momentText(undefined), ...nothing };
    }
    const ms = Date.now();
    const startedMs = state.startedMs ?? ms;
    const figures = program.figures?.(ms - startedMs) ?? { cpuPercent: 0.2, memoryBytes: 12_000_000 };
    const usedMs = state.status === 'running' ? ms - (previous?.ms ?? startedMs) : 0;
    const cpuNanoseconds = (previous?.cpuNanoseconds ?? 0) + Math.round((figures.cpuPercent / 100) * usedMs * 1e6);
    const systemNanoseconds = Math.round((ms - bootMs) * 1e6 * cpus);
    const json = { cpu_usage: { total_usage: cpuNanoseconds }, system_cpu_usage: systemNanoseconds, online_cpus: cpus };
    const cacheBytes = Math.round(figures.memoryBytes * 0.18);
    const answer = {
      ...names,
      read: momentText(ms, 300_117),
      preread: momentText(previous?.ms, 300_117),
      pids_stats: { current: Math.max(1, program.processes?.length ?? 1) + 6 },
      cpu_stats: json,
      precpu_stats: previous?.json ?? emptyCpu,
      memory_stats: {
        usage: figures.memoryBytes + cacheBytes,
        limit: spec.memoryLimitBytes || memoryBytes,
        stats: { inactive_file: cacheBytes },
      },
    };
    previous = { ms, cpuNanoseconds, json };
    return answer;
  };
}
