import { spawn } from 'node:child_process';
import { copyFile, lstat, mkdir, mkdtemp, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const checkout = fileURLToPath(new URL('../../', import.meta.url));

/** What a test run and `npm test` put into the environment; the machine's own settings (proxies, registries) stay. */
const ofTheRun =
  /^(npm_(lifecycle|package|command|execpath|node_execpath|config_(prefix|global_prefix|local_prefix|user_agent|noproxy|npm_version|node_gyp|init_module))|VITEST|NODE_ENV$|NODE_OPTIONS$|NODE_CHANNEL|INIT_CWD$|TEST$|MODE$|DEV$|PROD$|SSR$|BASE_URL$|FORCE_COLOR$|NO_COLOR$|COLUMNS$|LINES$|DOCKER_HOST$|CONTAINER_HOST$|DOCKER_CONTEXT$|QUARTERDECK_)/;

/** The environment of a person's shell on this machine, with node and npm as they are found outside of the checkout. */
export function machineEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined && !ofTheRun.test(pair[0]));
  const PATH = (process.env.PATH ?? '')
    .split(':')
    .filter((folder) => !folder.includes('node_modules'))
    .join(':');
  return { ...Object.fromEntries(kept), PATH };
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Started {
  /** The leader of a process group of its own. */
  pid: number;
  ended: Promise<Ended>;
}

/** Starts a program without a terminal and without stdin, in a process group of its own. */
export function startProgram(argv: readonly string[], options: { cwd: string; env?: Readonly<Record<string, string>> }): Started {
  const child = spawn(argv[0] ?? '', argv.slice(1), {
    cwd: options.cwd,
    env: { ...machineEnvironment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { pid: child.pid ?? 0, ended };
}

export const runProgram = async (
  argv: readonly string[],
  options: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<Ended> => await startProgram(argv, options).ended;

/** A temporary folder, and the way to remove it. */
export async function makeFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'qd-packaging-'));
  return { path, remove: async () => await rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** A copy of the checkout as a clone of it would be were everything committed now: tracked and new files, nothing ignored. */
export async function copyCheckout(to: string): Promise<void> {
  const listed = await runProgram(
    ['git', '-c', `safe.directory=${checkout.replace(/\/$/, '')}`, 'ls-files', '-co', '--exclude-standard', '-z'],
    { cwd: checkout },
  );
  if (listed.code !== 0) throw new Error(`git ls-files failed: ${listed.stderr}`);
  for (const name of listed.stdout.split('\0').filter(Boolean)) {
    const [from, target] = [join(checkout, name), join(to, name)];
    const facts = await lstat(from).catch(() => undefined);
    // Deleted, and not yet committed.
    if (!facts) continue;
    await mkdir(dirname(target), { recursive: true });
    if (facts.isSymbolicLink()) await symlink(await readlink(from), target);
    else await copyFile(from, target);
  }
}
