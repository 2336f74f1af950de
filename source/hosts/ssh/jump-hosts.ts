import { lookup } from 'node:dns/promises';
import { limited } from '../../faults/waits.ts';
import { runProgram } from '../program.ts';
import { parseDestination } from './destination.ts';

const configLimitMs = 5_000;
const lookupLimitMs = 5_000;

/** Returns the names or addresses that ssh connects to for a destination: the host itself first, then its jump hosts. */
export async function jumpHosts(
  { program, env, destination }: { program: string; env: Readonly<Record<string, string | undefined>>; destination: string },
  signal: AbortSignal,
): Promise<string[]> {
  const { target, port } = parseDestination(destination);
  const plain = target.slice(target.lastIndexOf('@') + 1);
  try {
    const portWords = port === undefined ? [] : ['-p', String(port)];
    const given = Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));
    const { exitCode, stdout } = await runProgram([program, '-G', ...portWords, '--', target], {
      signal,
      limitMs: configLimitMs,
      env: given,
    });
    if (exitCode !== 0) return [plain];
    const text = new TextDecoder().decode(stdout);
    const host = /^hostname (.+)$/im.exec(text)?.[1] ?? plain;
    const jumps = /^proxyjump (.+)$/im.exec(text)?.[1] ?? '';
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
