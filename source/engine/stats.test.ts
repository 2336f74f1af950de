import { expect, test } from 'vitest';
import { memoryBytes } from '../../test/engine/recordings.ts';
import { dockerSample, hasNoFigures, podmanSample, type RawStats } from './stats.ts';

const cpu = (total: number, system: number) => ({ cpu_usage: { total_usage: total, percpu_usage: [1, 2] }, system_cpu_usage: system });

test('Docker: share of the CPU as docker stats counts it, 100 for one core', () => {
  // Half of the time that two cores had together is one core.
  const raw: RawStats = {
    read: '2026-11-20T09:47:54Z',
    cpu_stats: { ...cpu(2_000, 10_000), online_cpus: 2 },
    precpu_stats: cpu(1_000, 8_000),
  };
  expect(dockerSample(raw, memoryBytes).cpuPercent).toBe(100);
});

test('Docker on cgroup v1 without online_cpus counts the cores it tells of', () => {
  expect(dockerSample({ read: '2026-11-20T09:47:54Z', cpu_stats: cpu(2_000, 10_000), precpu_stats: cpu(1_000, 8_000) }, 0).cpuPercent).toBe(
    100,
  );
});

test('Docker: the first sample has none before it', () => {
  const raw: RawStats = {
    read: '2026-11-20T09:47:53Z',
    cpu_stats: cpu(823_898_103, 2_762_850_000_000),
    precpu_stats: { cpu_usage: { total_usage: 0 } },
  };
  expect(dockerSample(raw, memoryBytes).cpuPercent).toBeUndefined();
});

test('Podman: two readings against the clock, because its system figure is no jiffies', () => {
  const at = (read: string, total: number): RawStats => ({
    read,
    cpu_stats: { ...cpu(total, 204_191_258_564), online_cpus: 2 },
    precpu_stats: { cpu_usage: { total_usage: 0 } },
  });
  const first = at('2026-11-20T09:47:48.000Z', 95_344_042);
  expect(podmanSample(first, undefined, memoryBytes).cpuPercent).toBeUndefined();
  expect(podmanSample(at('2026-11-20T09:47:50.000Z', 95_344_042 + 500_000_000), first, memoryBytes).cpuPercent).toBe(25);
  // Restarted in between: the counter began again.
  expect(podmanSample(at('2026-11-20T09:47:50.000Z', 5), first, memoryBytes).cpuPercent).toBeUndefined();
});

test.each([
  ['cgroup v1', { inactive_file: 1, total_inactive_file: 300 }, 700],
  ['cgroup v2', { inactive_file: 400 }, 600],
  ['Podman, which tells none', null, 1_000],
])('memory without the cache that can be dropped: %s', (_, stats, expected) => {
  expect(dockerSample({ read: '2026-11-20T09:47:54Z', memory_stats: { usage: 1_000, limit: 2_000, stats } }, memoryBytes)).toMatchObject({
    memoryBytes: expected,
    memoryLimitBytes: 2_000,
  });
});

test('the memory of the machine, or a number near 2^63, is no limit', () => {
  for (const limit of [memoryBytes, Number('9223372036854771712')]) {
    expect(dockerSample({ read: '2026-11-20T09:47:54Z', memory_stats: { usage: 1, limit } }, memoryBytes).memoryLimitBytes).toBe(0);
  }
});

test('a stopped container has no figures: Docker says zeros, its time too, Podman no CPU time', () => {
  expect(hasNoFigures({ read: '0001-01-01T00:00:00Z', cpu_stats: cpu(0, 0), memory_stats: {} })).toBe(true);
  expect(hasNoFigures({})).toBe(true);
  expect(hasNoFigures({ read: '2026-11-20T09:47:54Z', pids_stats: { current: 1 }, cpu_stats: cpu(0, 0) })).toBe(false);
});

test('nor has one without a cgroup of its own, for which Podman tells the memory of the whole machine', () => {
  const raw: RawStats = {
    read: '2026-11-20T10:20:11.60920249Z',
    pids_stats: {},
    cpu_stats: { cpu_usage: { total_usage: 0 }, system_cpu_usage: 1_909_044_877_242 },
    memory_stats: { usage: 1_220_857_856, limit: memoryBytes },
  };
  expect(hasNoFigures(raw)).toBe(true);
});
