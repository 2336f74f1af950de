import { lookup } from 'node:dns/promises';
import { limited } from '../../faults/waits.ts';
import { parseDestination } from './destination.ts';
import { resolvedConfig } from './ssh-command.ts';

const lookupLimitMs = 5_000;

/** Returns the names or addresses that ssh connects to for a destination: the host itself first, then its jump hosts. */
export async function jumpHosts(
  { program, env, destination }: { program: string; env: Readonly<Record<string, string | undefined>>; destination: string },
  signal: AbortSignal,
): Promise<string[]> {
  const parsed = parseDestination(destination);
  const plain = parsed.target.slice(parsed.target.lastIndexOf('@') + 1);
  try {
    const { exitCode, stdout } = await resolvedConfig(program, parsed, env, signal);
    if (exitCode !== 0) return [plain];
    const host = /^hostname (.+)$/im.exec(stdout)?.[1] ?? plain;
    const jumps = /^proxyjump (.+)$/im.exec(stdout)?.[1] ?? '';
    const over = jumps === '' || jumps === 'none' ? [] : jumps.split(',').map((jump) => parseDestination(jump).target);
    return [host, ...over.map((one) => one.slice(one.lastIndexOf('@') + 1))];
  } catch {
    signal.throwIfAborted();
    return [plain];
  }
}

/** Resolves a name on this machine; empty if that fails. */
export async function addressesOfName(name: string, signal: AbortSignal): Promise<string[]> {
  try {
    const found = await limited(signal, lookupLimitMs, () => lookup(name, { all: true }));
    return found.map(({ address }) => address);
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
