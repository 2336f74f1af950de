import { spawn } from 'node:child_process';
import { within } from './bench-row.ts';

const limitMs = 120_000;

/** Runs a program from just before the fork to its end, and counts the lines that it prints. Without `counted` they go to /dev/null. */
export async function runToEnd(
  argv: readonly string[],
  { env, counted = false }: { env: Readonly<Record<string, string>>; counted?: boolean },
): Promise<{ lines: number; tookMs: number }> {
  const startedMs = performance.now();
  const child = spawn(argv[0] ?? '', argv.slice(1), { env, stdio: ['ignore', counted ? 'pipe' : 'ignore', 'pipe'] });
  let count = 0;
  let said = '';
  child.stdout?.on('data', (data: Buffer) => {
    for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, at + 1)) count++;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-300);
  });
  try {
    const code = await within(limitMs, new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve)));
    if (code !== 0) throw new Error(`ended with ${code}: ${said.trim().replaceAll('\n', ' ')}`);
    return { lines: count, tookMs: performance.now() - startedMs };
  } finally {
    child.kill('SIGKILL');
  }
}
