import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import type { State } from '../../source/catalog/state.ts';
import { Terminal } from '../pty/terminal.ts';
import { isLong } from '../required.ts';
import { runInProcess } from './in-process.ts';
import type { RealEngine } from './real-engines.ts';
import { runProgram, type ScriptOutcome } from './scripts.ts';

export const launcher = fileURLToPath(new URL('../../bin/quarterdeck', import.meta.url));

/** Someone who uses the built product on a real engine, with own files that are nobody else's. */
export interface Operator {
  /** The folder of their own files (QUARTERDECK_HOME). */
  home: string;
  /** What their programs see. */
  env: Readonly<Record<string, string | undefined>>;
  /** Runs a verb without a terminal and with no stdin. */
  run(args: readonly string[]): Promise<ScriptOutcome>;
  /** As `run`, must end with 0, and answers what its `--json` says. */
  json<T>(args: readonly string[]): Promise<T>;
  /** The console, or a verb, in a real terminal. */
  open(args?: readonly string[], size?: { columns: number; rows: number }): Terminal;
  /** Runs a verb under strace and answers the argv of every program that it and its children started. */
  traceExec(args: readonly string[]): Promise<{ outcome: ScriptOutcome; execs: string[] }>;
  /** Everything in their own files, as one text. */
  ownFiles(): Promise<string>;
  leave(): Promise<void>;
}

/** libsecret reads the environment of the process, and ssh holds on to it. QUARTERDECK_TEST_LONG=1 runs the program itself everywhere. */
const needsProcess = (more: Readonly<Record<string, string>>) => isLong || 'DBUS_SESSION_BUS_ADDRESS' in more || 'QUARTERDECK_SSH' in more;

/** @param more for their environment, in the place of what this process has */
export async function makeOperator(engine: RealEngine, more: Readonly<Record<string, string>> = {}): Promise<Operator> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-operator-'));
  const home = join(folder, 'home');
  const compiled = join(home, 'cache', 'compiled');
  await cp(inject('compiledCode'), compiled, { recursive: true }).catch(() => undefined);
  const env = { DOCKER_HOST: engine.url, QUARTERDECK_HOME: home, ...more };
  const run = async (args: readonly string[]): Promise<ScriptOutcome> =>
    needsProcess(more)
      ? await runProgram([launcher, ...args], { env, bare: true, limitMs: 120_000 })
      : await runInProcess(args, { HOME: process.env.HOME, PATH: process.env.PATH, ...env }, 120_000);
  return {
    home,
    env: { HOME: process.env.HOME, PATH: process.env.PATH, ...env },
    run,
    json: async <T>(args: readonly string[]) => {
      const outcome = await run([...args, '--json']);
      if (outcome.code !== 0)
        throw new Error(`quarterdeck ${args.join(' ')} ended with ${outcome.code}\n${outcome.stdout}${outcome.stderr}`);
      return JSON.parse(outcome.stdout) as T;
    },
    open: (args = [], size = { columns: 120, rows: 36 }) => Terminal.start([launcher, ...args], { ...size, env }),
    traceExec: async (args) => {
      const trace = join(folder, `trace-${Date.now()}`);
      const outcome = await runProgram(
        ['strace', '-f', '-qq', '-e', 'trace=execve,execveat', '-s', '65536', '-o', trace, launcher, ...args],
        { env, bare: true },
      );
      const execs = (await readFile(trace, 'utf8')).split('\n').filter((line) => /execve(at)?\(/.test(line));
      return { outcome, execs };
    },
    ownFiles: async () => {
      const names = await readdir(home, { recursive: true, withFileTypes: true });
      const texts = names
        .filter((name) => name.isFile())
        .map(async (name) => `== ${name.name}\n${await readFile(join(name.parentPath, name.name), 'utf8')}`);
      return (await Promise.all(texts)).join('\n');
    },
    leave: async () => {
      await leaveCompiled(compiled, inject('compiledCode'));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** For later operators: with an empty cache, V8 compiles the program again in each of the first three runs. */
async function leaveCompiled(from: string, to: string): Promise<void> {
  for (const file of await readdir(from, { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (!file.isFile()) continue;
    const build = join(to, basename(file.parentPath));
    await mkdir(build, { recursive: true, mode: 0o700 });
    await rename(join(file.parentPath, file.name), join(build, file.name)).catch(() => undefined);
  }
}

/** What `status --json` says of one component; the part that the tests look at. */
export interface StatusComponent {
  id: string;
  project: string;
  group: string;
  product: string;
  known: boolean;
  state: State;
  serviceState: string;
  detail: string;
  services: {
    name: string;
    image: string;
    state: State;
    detail: string;
    health: string;
    exitCode: number | null;
    restarts: number;
    ports: { address: string | null; host: number | null; container: number; protocol: string }[];
  }[];
}

export interface StatusAnswer {
  schema: number;
  hosts: {
    host: string;
    engine: { kind: string; version: string; reachable: boolean; rootless: boolean };
    components: StatusComponent[];
  }[];
}

export async function componentsOf(operator: Operator): Promise<Record<string, StatusComponent>> {
  const answer = await operator.json<StatusAnswer>(['status']);
  return Object.fromEntries((answer.hosts[0]?.components ?? []).map((component) => [component.id, component]));
}

/** Asks for the status until one component is as expected; fails with the last answer after the limit. */
export async function statusUntil(
  operator: Operator,
  id: string,
  right: (component: StatusComponent) => boolean,
  limitMs = 60_000,
): Promise<StatusComponent> {
  for (const end = Date.now() + limitMs; ; ) {
    const component = (await componentsOf(operator))[id];
    if (component && right(component)) return component;
    if (Date.now() > end) throw new Error(`${id} was never as expected within ${limitMs} ms; last: ${JSON.stringify(component, null, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
