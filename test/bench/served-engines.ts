import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { node } from './programs.ts';

const program = fileURLToPath(new URL('serve-containers.ts', import.meta.url));

export interface ServedEngines {
  /** Containers of each. */
  containers: number;
  engines?: number;
  /** Beside them, engines that accept connections and never answer. */
  silent?: number;
}

/** Engines of the practice stack in a process of their own: for counts that no Docker on this machine can run. */
export async function withServedEngines<Result>(
  { containers, engines = 1, silent = 0 }: ServedEngines,
  use: (urls: readonly string[], silentUrls: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'qd-served-'));
  const argv = ['--import', 'tsx', program, folder, ...[engines, containers, silent].map(String)];
  const child = spawn(node, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the ${engines} engines with ${containers} containers ended`);
    });
    ended.catch(() => undefined);
    await Promise.race([once(child.stdout, 'data'), ended]);
    const urls = (count: number, path: (at: number) => string) =>
      Array.from({ length: count }, (_, at) => `unix://${join(folder, path(at))}`);
    return await use(
      urls(engines, (at) => `${at}/engine.sock`),
      urls(silent, (at) => `silent-${at}.sock`),
    );
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}
