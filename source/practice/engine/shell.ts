import { posix } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ExecAnswer } from '../answers.ts';
import type { ContainerFiles } from './container-files.ts';

export interface ShellContext {
  write(text: string, stream: 'stdout' | 'stderr'): void;
  stdin(): Promise<string>;
  environment: Readonly<Record<string, string>>;
  files: ContainerFiles;
  processes: readonly string[];
  size: { rows: number; columns: number };
  signal: AbortSignal;
  /** Runs a program of the image; undefined where the image has none of that name. */
  exec(argv: readonly string[]): Promise<ExecAnswer | undefined>;
  /** Called when a wait begins and ends: a waiting program uses no CPU. */
  idle?(waiting: boolean): void;
}

/** Runs a list of commands with quotes and variables. `exited` is true where the script ended with `exit`: a prompt ends too. */
export async function runScript(script: string, context: ShellContext): Promise<{ code: number; exited: boolean }> {
  const commands = commandsOf(script);
  if (typeof commands === 'string') return { code: complain(context, `sh: ${commands}`, 2), exited: false };
  let code = 0;
  for (const { words, toStderr } of commands) {
    context.signal.throwIfAborted();
    const [name = '', ...args] = words.map((word) => expanded(word, context.environment));
    if (name === 'exit') return { code: Number(args[0] ?? code) & 255, exited: true };
    const redirected = toStderr ? { ...context, write: (text: string) => context.write(text, 'stderr') } : context;
    code = (await runProgram([name, ...args], redirected)) ?? complain(context, `sh: ${name}: not found`, 127);
  }
  return { code, exited: false };
}

/** Returns the exit code of a program; undefined where there is none of that name. */
export async function runProgram(argv: readonly string[], context: ShellContext): Promise<number | undefined> {
  const answer = await context.exec(argv);
  if (answer) {
    context.write(answer.stdout, 'stdout');
    context.write(answer.stderr, 'stderr');
    return answer.exitCode;
  }
  const [name = '', ...args] = argv;
  const printed = await programs[posix.basename(name)]?.(args, context);
  if (typeof printed !== 'string') return printed;
  context.write(printed, 'stdout');
  return 0;
}

function complain({ write }: ShellContext, text: string, code: number): number {
  write(`${text}\n`, 'stderr');
  return code;
}

function expanded(word: string, environment: ShellContext['environment']): string {
  const value = (name: string) => environment[name] ?? '';
  const within = (text: string) => text.replace(/\\(["\\$`])|\$\{?(\w+)\}?/g, (_, escaped?: string, name = '') => escaped ?? value(name));
  return word.replace(
    /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|\$\{?(\w+)\}?/gs,
    (_, single?: string, double?: string, escaped?: string, name = '') =>
      double === undefined ? (single ?? escaped ?? value(name)) : within(double),
  );
}

/** Prints the text, or ends with the exit code. */
type SmallProgram = (args: readonly string[], context: ShellContext) => Promise<string | number> | string | number;

const sh: SmallProgram = async ([option, script = ''], context) =>
  (await runScript(option === '-c' ? script : await context.stdin(), context)).code;

const programs: Readonly<Record<string, SmallProgram>> = {
  sh,
  ash: sh,
  bash: sh,
  true: () => 0,
  // `scripted-program.ts` reads it from the script before it runs.
  trap: () => 0,
  false: () => 1,
  echo: (args) => `${args.join(' ')}\n`,
  printf: ([format = '', ...rest]) => format.replaceAll('\\n', '\n').replace(/%[sd]/g, () => rest.shift() ?? ''),
  sleep: async ([seconds = ''], { idle, signal }) => {
    idle?.(true);
    await wait(seconds === 'infinity' ? 2 ** 31 - 1 : Number.parseFloat(seconds) * 1000 || 0, undefined, { signal });
    idle?.(false);
    return 0;
  },
  /** Keeps the CPU busy until it is ended. */
  dd: async (_, { signal }) => wait(2 ** 31 - 1, 0, { signal }),
  cat: async ([path], context) =>
    path === undefined
      ? context.stdin()
      : (context.files.file(path)?.content.toString() ?? complain(context, `cat: can't open '${path}': No such file or directory`, 1)),
  wc: async (_, { stdin }) => `${Buffer.byteLength(await stdin())}\n`,
  ls: (args, context) => {
    const path = args.find((arg) => !arg.startsWith('-')) ?? '/';
    const names = context.files.list(path) ?? (context.files.file(path) ? [path] : undefined);
    return names?.map((name) => `${name}\n`).join('') ?? complain(context, `ls: ${path}: No such file or directory`, 1);
  },
  stty: (_, { size }) => `${size.rows} ${size.columns}\n`,
  env: (_, { environment }) =>
    Object.entries(environment)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  ps: (_, { processes }) => ['PID   COMMAND', ...processes.map((command, index) => `${index + 1}`.padEnd(6) + command), ''].join('\n'),
};

/** A separator, a redirection, a word of which parts may be quoted, or what this shell does not understand: pipes, for one. */
const tokens = /([;\n])|1?(>&2)|((?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s;|&<>'"\\])+)|(\S)/gs;

/** Returns a syntax error as text. */
function commandsOf(script: string): { words: readonly string[]; toStderr: boolean }[] | string {
  const commands: { words: string[]; toStderr: boolean }[] = [];
  let command = { words: [] as string[], toStderr: false };
  for (const [, separator, redirected, word, other] of [...script.matchAll(tokens), ['', ';']]) {
    if (other !== undefined) return `syntax error: unexpected "${other}"`;
    if (word !== undefined) command.words.push(word);
    if (redirected !== undefined) command.toStderr = true;
    if (separator === undefined) continue;
    if (command.words.length > 0) commands.push(command);
    command = { words: [], toStderr: false };
  }
  return commands;
}
