import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts the time of processes in hundredths of a second, whatever the kernel's own clock does. */
const msPerTick = 10;

function fieldsOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, can hold anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** A process and all below it. */
export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const parent = pid > 0 ? Number(fieldsOf(pid)?.[1] ?? 0) : 0;
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** CPU time of a process tree since its start, in ms, children that have ended included. */
export function cpuMs(root: number): number {
  const ticks = treeOf(root).map((pid) => {
    const fields = fieldsOf(pid);
    return fields ? [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0) : 0;
  });
  return ticks.reduce((sum, one) => sum + one, 0) * msPerTick;
}

/** What a process tree has in memory, in bytes. */
export function rssBytes(root: number): number {
  return treeOf(root).reduce((sum, pid) => sum + statusBytes(pid, 'VmRSS'), 0);
}

/** The most that the process itself ever had in memory, in bytes. */
export function peakBytes(pid: number): number {
  return statusBytes(pid, 'VmHWM');
}

function statusBytes(pid: number, field: string): number {
  try {
    const [, kib] = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}
