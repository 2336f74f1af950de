import type { Host } from '../../hosts/host.ts';
import type { LockHolder } from './transaction.ts';

const limitMs = 10_000;
const smallBytes = 64 * 1024;

/** Returns the process that works on this stack, or that worked on it until it died. `lock-script.ts` documents `.quarterdeck/lock/`. */
export async function readLock(host: Host, stackFolder: string, signal: AbortSignal): Promise<LockHolder | undefined> {
  const folder = `${stackFolder}/.quarterdeck/lock`;
  for (const name of (await host.files.list(folder, signal)) ?? []) {
    if (!name.startsWith('owner-')) continue;
    const owner = pairs(await textOf(host, `${folder}/${name}`, signal));
    // The lock was released during the read.
    if (owner.run === undefined) continue;
    const child = (await textOf(host, `${stackFolder}/.quarterdeck/runs/${owner.run}/child`, signal))?.trim().split(' ') ?? [];
    const alive =
      owner.boot === (await bootOf(host, signal)) &&
      ((await isRunning(host, owner.pid, owner.start, signal)) || (await isRunning(host, child[0], child.slice(1).join(' '), signal)));
    return { run: owner.run, by: owner.by ?? '', since: owner.since ?? '', alive };
  }
  return undefined;
}

async function isRunning(host: Host, pid: string | undefined, start: string | undefined, signal: AbortSignal): Promise<boolean> {
  if (pid === undefined || !/^\d+$/.test(pid) || !start) return false;
  if ((await host.files.facts('/proc/self/stat', signal)) === undefined) {
    const { stdout } = await host.exec(['ps', '-o', 'lstart=', '-p', pid], { signal, limitMs });
    return Buffer.from(stdout).toString().trim() === start.trim();
  }
  // The name in brackets may contain anything; the relevant fields follow it: state, and 19 fields later the start time.
  const fields = (await textOf(host, `/proc/${pid}/stat`, signal))?.replace(/^.*\) /s, '').split(' ') ?? [];
  return fields[19] === start && !['Z', 'X', 'x'].includes(fields[0] ?? '');
}

async function bootOf(host: Host, signal: AbortSignal): Promise<string> {
  const id = await textOf(host, '/proc/sys/kernel/random/boot_id', signal);
  if (id !== undefined) return id.trim();
  const { stdout } = await host.exec(['sysctl', '-n', 'kern.boottime'], { signal, limitMs });
  return Buffer.from(stdout).toString().trim();
}

async function textOf(host: Host, path: string, signal: AbortSignal): Promise<string | undefined> {
  const bytes = await host.files.read(path, { signal, limitBytes: smallBytes });
  return bytes && Buffer.from(bytes).toString();
}

function pairs(text: string | undefined): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries((text ?? '').split('\n').map((line) => line.split(/=(.*)/s, 2) as [string, string]));
}
