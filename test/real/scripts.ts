import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { makeShortFolder } from '../short-folder.ts';

export interface ScriptOutcome {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs a program to its end and keeps what it printed. Rejects only when it cannot be started or takes longer than `limitMs`.
 * `bare` hides this process's environment but for HOME and PATH: a test run sets much in it, even BASE_URL.
 */
export async function runProgram(
  argv: readonly string[],
  options: { env?: Readonly<Record<string, string | undefined>>; bare?: boolean; cwd?: string; limitMs?: number; input?: string } = {},
): Promise<ScriptOutcome> {
  const [program = '', ...args] = argv;
  return await new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...(options.bare ? { HOME: process.env.HOME, PATH: process.env.PATH } : process.env), ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: options.limitMs ?? 120_000,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === null)
        reject(new Error(`${argv.join(' ')} was ended by ${signal} (limit ${options.limitMs ?? 120_000} ms)\n${stdout}${stderr}`));
      else resolve({ code, stdout, stderr });
    });
  });
}

/** As `runProgram`, and throws with everything it printed when it failed. */
export async function runOrThrow(argv: readonly string[], options: Parameters<typeof runProgram>[1] = {}): Promise<string> {
  const outcome = await runProgram(argv, options);
  if (outcome.code !== 0) throw new Error(`${argv.join(' ')} ended with ${outcome.code}\n${outcome.stdout}${outcome.stderr}`);
  return outcome.stdout;
}

export const enginesScript = fileURLToPath(new URL('engines', import.meta.url));
export const imagesScript = fileURLToPath(new URL('images', import.meta.url));

/** The lines `NAME=value` that a script printed. */
export function variablesOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/^(QUARTERDECK_TEST_[A-Z_]+)=(.+)$/gm)].map(([, name, value]) => [name, value]));
}

/** A short path: sockets lie in it. */
export async function makeEnginesFolder(): Promise<string> {
  return await makeShortFolder('qd-real-');
}
