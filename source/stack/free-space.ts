import { Fault } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { ExecOutcome, Host } from '../hosts/host.ts';

/** A disk in standby needs some time; one that hangs is not waited for. */
const limitMs = 3_000;
/** A path that does not exist yet will be created in the nearest existing folder above. */
const dfScript = 'for p; do while [ ! -e "$p" ] && [ "$p" != / ]; do p=$(dirname -- "$p"); done; df -Pk -- "$p" | tail -n 1; done';

/** Returns the free space on the filesystems of these paths. Throws `failed.df` if it cannot be determined. */
export async function freeSpace(host: Host, paths: readonly string[], signal: AbortSignal) {
  const { stdout, exitCode } = await run(host, ['sh', '-c', dfScript, 'df', ...paths], signal, limitMs);
  const lines = text(stdout).trim().split('\n');
  const spaces = lines.flatMap((line, index) => {
    const [, used, free, mount] = /\s(\d+)\s+(\d+)\s+\d+%\s+(\/.*)$/.exec(line) ?? [];
    if (free === undefined || mount === undefined) return [];
    const freeBytes = Number(free) * 1024;
    // Without the share that only root can use.
    return [{ path: paths[index] ?? '', freeBytes, usableBytes: Number(used) * 1024 + freeBytes, mount }];
  });
  if (exitCode !== 0 || spaces.length === 0)
    throw new Fault('failed.df', 'df did not report the free space.', 'Check the free space on the host: df -h');
  return spaces;
}

/** With the C locale. Over SSH every answer crosses the network first. */
export async function run(host: Host, argv: readonly string[], signal: AbortSignal, limitMs: number): Promise<ExecOutcome> {
  const most = host.kind === 'ssh' ? limitMs + 2_000 : limitMs;
  return limited(signal, most, (limit) => host.exec(argv, { signal: limit, limitMs: most, limitBytes: 64 * 1024, env: { LC_ALL: 'C' } }));
}

export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
