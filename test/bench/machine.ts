import { existsSync, readFileSync } from 'node:fs';
import { arch, cpus, release, totalmem, type } from 'node:os';
import { median } from './statistics.ts';

/** What was measured on, without what would name the machine. */
export function machineFacts(): string[] {
  const [first] = cpus();
  const system = existsSync('/etc/os-release') ? /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] : undefined;
  return [
    `processor: ${first?.model.trim() ?? 'unknown'} (${arch()}), ${cpus().length} cores`,
    `memory: ${Math.round(totalmem() / 1e9)} GB`,
    `system: ${system ? `${system}, ` : ''}${type()} ${release().replace(/^(\d+\.\d+(\.\d+)?).*/, '$1')}`,
  ];
}

/** How long a fixed piece of work takes here, in ms: says how fast the machine is, and, before and after a run, how evenly. */
export function paceMs(): number {
  return median(
    Array.from({ length: 5 }, () => {
      const startedMs = performance.now();
      let sum = 0;
      for (let i = 0; i < 30_000_000; i++) sum = (sum * 31 + i) % 1_000_003;
      return performance.now() - startedMs + (sum === -1 ? 1 : 0);
    }),
  );
}
