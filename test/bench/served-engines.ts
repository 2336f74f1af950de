import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { node } from './programs.ts';

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
  return withServer('serve-containers.ts', [engines, containers, silent].map(String), (folder) => {
    const urls = (count: number, path: (at: number) => string) =>
      Array.from({ length: count }, (_, at) => `unix://${join(folder, path(at))}`);
    return use(
      urls(engines, (at) => `${at}/engine.sock`),
      urls(silent, (at) => `silent-${at}.sock`),
    );
  });
}

/** Runs a program of the bench that serves sockets in a folder of its own, and prints a line as soon as it does. */
export async function withServer<Result>(
  program: string,
  args: readonly string[],
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'qd-served-'));
  const argv = ['--import', 'tsx', fileURLToPath(new URL(program, import.meta.url)), folder, ...args];
  const child = spawn(node, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const ended = once(child, 'exit').then((): never => {
      throw new Error(`${program} ${args.join(' ')} ended`);
    });
    ended.catch(() => undefined);
    await Promise.race([once(child.stdout, 'data'), ended]);
    return await Promise.race([use(folder), ended]);
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}
