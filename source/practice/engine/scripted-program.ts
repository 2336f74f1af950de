import type { ExecAnswer, Program, Run } from './program.ts';
import { fromBytes, Shell, toBytes } from './shell.ts';

/** A container that somebody makes with a command of their own: a small shell plays it. */
export function scriptedProgram(argv: readonly string[], { hostname, tty }: { hostname: string; tty: boolean }): Program {
  let shell: Shell | undefined;
  let idle = false;
  return {
    start(run: Run) {
      const rest = { stdout: '', stderr: '' };
      const write = (bytes: string, stream: 'stdout' | 'stderr') => {
        const into = tty ? 'stdout' : stream;
        const lines = (rest[into] + bytes).split('\n');
        rest[into] = lines.pop() ?? '';
        for (const line of lines) run.log(fromBytes(line), into);
      };
      shell = new Shell({
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
        idle: (waiting) => {
          idle = waiting;
        },
      });
      shell.program(argv.map(toBytes)).then(
        (code) => {
          for (const stream of ['stdout', 'stderr'] as const) if (rest[stream]) run.write(fromBytes(rest[stream]), stream);
          run.exit(code ?? 127);
        },
        () => undefined,
      );
    },
    onSignal(signal) {
      // The first process of a container has no handlers but those it sets.
      const script = trapOf(argv, signal);
      return script === undefined ? undefined : { exitCode: script, afterMs: 20 };
    },
    figures: () => ({ cpuPercent: idle ? 0.05 : 97, memoryBytes: 3_200_000 }),
    processes: [argv.join(' ')],
  };
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
