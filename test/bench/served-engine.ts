import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { node } from './programs.ts';

const program = fileURLToPath(new URL('serve-containers.ts', import.meta.url));

/** The practice stack's engine with that many containers, in a process of its own; for counts that no Docker on this machine can run. */
export async function withServedEngine<Result>(count: number, use: (url: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'qd-served-'));
  const child = spawn(node, ['--import', 'tsx', program, folder, String(count)], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the engine with ${count} containers ended`);
    });
    ended.catch(() => undefined);
    await Promise.race([once(child.stdout, 'data'), ended]);
    return await use(`unix://${join(folder, 'engine.sock')}`);
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}
