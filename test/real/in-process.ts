import { AsyncLocalStorage } from 'node:async_hooks';
import { createApp } from '../../source/app/create-app.ts';
import { runCommandLine } from '../../source/cli/run-command-line.ts';
import { ownPaths } from '../../source/config/paths.ts';
import { inputStream, OutputStream } from '../doubles/streams.ts';
import type { ScriptOutcome } from './scripts.ts';

type Environment = Record<string, string | undefined>;

const environments = new AsyncLocalStorage<Environment>();
const ownEnvironment = process.env;
const current = (): Environment => environments.getStore() ?? ownEnvironment;

// Each run has an environment of its own, as its process would, also where two runs overlap.
process.env = new Proxy(ownEnvironment, {
  get: (_, name) => (typeof name === 'string' ? current()[name] : undefined),
  set: (_, name, value) => Reflect.set(current(), name, value),
  has: (_, name) => Reflect.has(current(), name),
  deleteProperty: (_, name) => Reflect.deleteProperty(current(), name),
  ownKeys: () => Reflect.ownKeys(current()),
  getOwnPropertyDescriptor: (_, name) => {
    const value = typeof name === 'string' ? current()[name] : undefined;
    return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
  },
});

/**
 * Runs a verb in this process, with `env` as its whole environment, without a terminal and with no stdin. Starting the program takes several times as
 * long as most verbs, and what the program itself adds (its bundle, signals, the end of the process) is proved by the tests that open it.
 */
export async function runInProcess(args: readonly string[], env: Environment, limitMs: number): Promise<ScriptOutcome> {
  return await environments.run({ ...env }, async () => {
    const [stdout, stderr, stdin] = [new OutputStream(), new OutputStream(), inputStream({ terminal: false })];
    stdin.end();
    let late: NodeJS.Timeout | undefined;
    let isLate = false;
    const code = await runCommandLine(args, {
      stdin: stdin as never,
      stdout: stdout as never,
      stderr: stderr as never,
      env,
      paths: ownPaths(env, env['HOME'] ?? ''),
      version: '0.0.0',
      createApp,
      openConsole: () => Promise.reject(new Error('there is no terminal')),
      onSignal: (heard) => {
        late = setTimeout(() => {
          isLate = true;
          heard();
        }, limitMs);
        return () => clearTimeout(late);
      },
    });
    if (isLate) throw new Error(`quarterdeck ${args.join(' ')} took longer than ${limitMs} ms\n${stdout.text}${stderr.text}`);
    return { code, stdout: stdout.text, stderr: stderr.text };
  });
}
