import type { StatsSample } from './engine.ts';

export interface RawStats {
  read?: string;
  pids_stats?: { current?: number } | null;
  cpu_stats?: CpuStats;
  precpu_stats?: CpuStats;
  memory_stats?: { usage?: number; limit?: number; stats?: Record<string, number> | null } | null;
}

interface CpuStats {
  cpu_usage?: { total_usage?: number; percpu_usage?: number[] | null };
  system_cpu_usage?: number;
  online_cpus?: number;
}

/** Stopped, or without a cgroup of its own (rootless on cgroup v1): there Podman reports the memory of the whole machine instead. */
export function hasNoFigures({ read, pids_stats: pids, cpu_stats: cpu }: RawStats): boolean {
  return read === undefined || read.startsWith('0001-') || (!cpu?.cpu_usage?.total_usage && !pids?.current);
}

export function dockerSample(raw: RawStats, machineMemoryBytes: number): StatsSample {
  return { ...sampleOf(raw, machineMemoryBytes), cpuPercent: dockerCpuPercent(raw) };
}

function dockerCpuPercent({ cpu_stats: now, precpu_stats: before }: RawStats): number | undefined {
  const total = now?.cpu_usage?.total_usage;
  const totalBefore = before?.cpu_usage?.total_usage;
  const system = now?.system_cpu_usage;
  const systemBefore = before?.system_cpu_usage;
  if (total === undefined || totalBefore === undefined || !system || !systemBefore || system <= systemBefore) return undefined;
  const cpus = now?.online_cpus || now?.cpu_usage?.percpu_usage?.length || 1;
  return Math.max(0, ((total - totalBefore) / (system - systemBefore)) * cpus * 100);
}

/** `precpu` is zero, and `system_cpu_usage` counts something else: two readings of the container's own CPU time are compared instead. */
export function podmanSample(raw: RawStats, before: RawStats | undefined, machineMemoryBytes: number): StatsSample {
  const sample = sampleOf(raw, machineMemoryBytes);
  const total = raw.cpu_stats?.cpu_usage?.total_usage;
  const totalBefore = before?.cpu_stats?.cpu_usage?.total_usage;
  const elapsedNs = (sample.timeMs - Date.parse(before?.read ?? '')) * 1e6;
  const known = total !== undefined && totalBefore !== undefined && total >= totalBefore && elapsedNs > 0;
  return { ...sample, cpuPercent: known ? ((total - totalBefore) / elapsedNs) * 100 : undefined };
}

function sampleOf({ read, memory_stats: memory }: RawStats, machineMemoryBytes: number): StatsSample {
  const usage = memory?.usage ?? 0;
  // Reclaimable page cache does not count as used: `total_inactive_file` on cgroup v1, `inactive_file` on v2, as in the docker CLI.
  const cache = memory?.stats?.total_inactive_file ?? memory?.stats?.inactive_file ?? 0;
  const limit = memory?.limit ?? 0;
  return {
    timeMs: Date.parse(read ?? ''),
    cpuPercent: undefined,
    memoryBytes: cache < usage ? usage - cache : usage,
    // Without a limit the engine reports the memory of the machine, or a number near 2^63.
    memoryLimitBytes: (machineMemoryBytes > 0 && limit >= machineMemoryBytes) || limit > Number.MAX_SAFE_INTEGER ? 0 : limit,
  };
}
