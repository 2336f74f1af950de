import { setTimeout as wait } from 'node:timers/promises';
import type { ExecAnswer, Program, Run } from './program.ts';
import { fromBytes, Shell, type ShellSurroundings, toBytes } from './shell.ts';

interface Script {
  argv: readonly string[];
  hostname: string;
  tty: boolean;
  healthcheck: { test: readonly string[]; intervalMs: number } | undefined;
}

const failuresUntilUnhealthy = 3;
const shortestIntervalMs = 200;

/** A container that somebody makes with a command of their own: a small shell plays it, and its health check. */
export function scriptedProgram({ argv, hostname, tty, healthcheck }: Script): Program {
  let idle = false;
  const shellIn = (run: Run, write: ShellSurroundings['write'], heard?: (waiting: boolean) => void) =>
    new Shell({
      write,
      stdin: async () => '',
      environment: new Map(Object.entries(run.environment)),
      files: run.files,
      hostname,
      processes: [argv.join(' ')],
      size: { rows: 24, columns: 80 },
      signal: run.signal,
      now: run.now,
      exec: () => undefined,
      ...(heard && { idle: heard }),
    });
  return {
    start(run: Run) {
      const rest = { stdout: '', stderr: '' };
      const write = (bytes: string, stream: 'stdout' | 'stderr') => {
        const into = tty ? 'stdout' : stream;
        const lines = (rest[into] + bytes).split('\n');
        rest[into] = lines.pop() ?? '';
        for (const line of lines) run.log(fromBytes(line), into);
      };
      // The program of an image that nobody plays: it runs, and says nothing.
      if (argv.length === 0) {
        idle = true;
        return;
      }
      const shell = shellIn(run, write, (waiting) => {
        idle = waiting;
      });
      shell.program(argv.map(toBytes)).then(
        (code) => {
          for (const stream of ['stdout', 'stderr'] as const) if (rest[stream]) run.write(fromBytes(rest[stream]), stream);
          run.exit(code ?? 127);
        },
        () => undefined,
      );
      if (healthcheck) void watchHealth(run, healthcheck, (output) => shellIn(run, output));
    },
    onSignal(signal) {
      if (argv.length === 0) return { exitCode: 0, afterMs: 100 };
      // The first process of a container has no handlers but those it sets.
      const exitCode = trapOf(argv, signal);
      return exitCode === undefined ? undefined : { exitCode, afterMs: 20 };
    },
    figures: () => ({ cpuPercent: idle ? 0.05 : 97, memoryBytes: 3_200_000 }),
    processes: [argv.join(' ')],
  };
}

async function watchHealth(
  run: Run,
  { test, intervalMs }: { test: readonly string[]; intervalMs: number },
  shellWith: (write: ShellSurroundings['write']) => Shell,
): Promise<void> {
  const [form = '', ...words] = test;
  const argv = form === 'CMD-SHELL' ? ['sh', '-c', ...words] : words;
  let failures = 0;
  try {
    for (;;) {
      await wait(Math.max(intervalMs, shortestIntervalMs), undefined, { signal: run.signal });
      let output = '';
      const code = await shellWith((text) => {
        output += text;
      }).program(argv.map(toBytes));
      failures = code === 0 ? 0 : failures + 1;
      if (failures === 0) run.health('healthy', fromBytes(output));
      else if (failures >= failuresUntilUnhealthy) run.health('unhealthy', fromBytes(output));
    }
  } catch {
    // The run is over.
  }
}

/** `trap "exit 3" TERM` of the script, as an exit code. */
function trapOf(argv: readonly string[], signal: string): number | undefined {
  const [, code] = new RegExp(`trap ["']exit (\\d+)["'][^;]*\\b${signal.replace(/^SIG/, '')}\\b`).exec(argv.join(' ')) ?? [];
  return code === undefined ? undefined : Number(code);
}

/** No program of that name: as the runtime words it. */
export function missingProgram(name: string): ExecAnswer {
  return {
    exitCode: 127,
    stdout: `OCI runtime exec failed: exec failed: unable to start container process: exec: "${name}": executable file not found in $PATH: unknown\r\n`,
    stderr: '',
  };
}
