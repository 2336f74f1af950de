import { setTimeout as wait } from 'node:timers/promises';
import type { ContainerSpec } from './container.ts';
import type { Program, Run } from './program.ts';
import { runProgram, type ShellContext } from './shell.ts';

const failuresUntilUnhealthy = 3;
const shortestIntervalMs = 200;

/** A container with a command of its own: a small shell runs it, and its health check. */
export function scriptedProgram({ entrypoint, command, healthcheck }: ContainerSpec): Program {
  const argv = [...entrypoint, ...command];
  const processes = [argv.join(' ')];
  let idle = false;
  const contextOf = (run: Run, write: ShellContext['write']): ShellContext => ({
    write,
    stdin: async () => '',
    environment: run.environment,
    files: run.files,
    processes,
    size: { rows: 24, columns: 80 },
    signal: run.signal,
    exec: async () => undefined,
  });
  return {
    start(run) {
      // The program of an image that the practice does not know: it runs, and logs nothing.
      if (argv.length === 0) {
        idle = true;
        return;
      }
      const context: ShellContext = {
        ...contextOf(run, run.write),
        idle: (waiting) => {
          idle = waiting;
        },
      };
      runProgram(argv, context).then(
        (code) => run.exit(code ?? 127),
        () => undefined,
      );
      if (healthcheck) void watchHealth(run, healthcheck, (write) => contextOf(run, write));
    },
    onTerminate() {
      if (argv.length === 0) return { exitCode: 0, afterMs: 100 };
      // The first process of a container has no handlers but those it sets: `trap "exit 3" TERM`.
      const trap = /trap ["']exit (\d+)["'][^;]*\bTERM\b/.exec(argv.join(' '));
      return trap ? { exitCode: Number(trap[1]), afterMs: 20 } : undefined;
    },
    figures: () => ({ cpuPercent: idle ? 0.05 : 97, memoryBytes: 3_200_000 }),
    processes,
  };
}

async function watchHealth(
  run: Run,
  { test, intervalMs }: NonNullable<ContainerSpec['healthcheck']>,
  contextWith: (write: ShellContext['write']) => ShellContext,
): Promise<void> {
  const [form = '', ...words] = test;
  const argv = form === 'CMD-SHELL' ? ['sh', '-c', ...words] : words;
  let failures = 0;
  try {
    for (;;) {
      await wait(Math.max(intervalMs, shortestIntervalMs), undefined, { signal: run.signal });
      let output = '';
      const context = contextWith((text) => {
        output += text;
      });
      failures = (await runProgram(argv, context)) === 0 ? 0 : failures + 1;
      if (failures === 0) run.health('healthy', output);
      else if (failures >= failuresUntilUnhealthy) run.health('unhealthy', output);
    }
  } catch {
    // The run is over.
  }
}
