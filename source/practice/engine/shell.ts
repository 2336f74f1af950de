import { posix } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { ContainerFiles } from './container-files.ts';
import type { ExecAnswer } from './program.ts';
import { type Node, parseScript, type Redirection, SyntaxMistake, type Word } from './shell-syntax.ts';

/** Where a practice shell runs. Text is bytes in a string. */
export interface ShellSurroundings {
  write(text: string, stream: 'stdout' | 'stderr'): void;
  stdin(): Promise<string>;
  environment: Map<string, string>;
  files: ContainerFiles;
  hostname: string;
  processes: readonly string[];
  size: { rows: number; columns: number };
  signal: AbortSignal;
  now(): number;
  /** Programs of the image. */
  exec(argv: readonly string[], stdin: string): Promise<ExecAnswer> | undefined;
  /** Called when it begins and ends to wait: what waits uses no CPU. */
  idle?(waiting: boolean): void;
}

class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super('exit');
    this.code = code;
  }
}

/** How long a turn of a loop that does nothing takes: it must not keep us busy. */
const turnMs = 5;

/** A program of an image that only this small shell plays. */
export class Shell {
  readonly #around: ShellSurroundings;
  #folder = '/';
  #status = 0;

  constructor(around: ShellSurroundings) {
    this.#around = around;
  }

  /** Runs a script to its end. Answers the exit code. */
  async run(script: string): Promise<number> {
    try {
      await this.#run(parseScript(script), this.#around);
      return this.#status;
    } catch (thrown) {
      if (thrown instanceof Exit) return thrown.code;
      if (thrown instanceof SyntaxMistake) {
        this.#around.write(`sh: ${thrown.message}\n`, 'stderr');
        return 2;
      }
      throw thrown;
    }
  }

  /** As `run`, but tells an exit apart from an end: for a prompt. */
  async line(script: string): Promise<{ left: number | undefined }> {
    try {
      await this.#run(parseScript(script), this.#around);
    } catch (thrown) {
      if (thrown instanceof Exit) return { left: thrown.code };
      if (!(thrown instanceof SyntaxMistake)) throw thrown;
      this.#around.write(`sh: ${thrown.message}\n`, 'stderr');
      this.#status = 2;
    }
    return { left: undefined };
  }

  /** Runs one program. Undefined where there is none of that name. */
  async program(argv: readonly string[]): Promise<number | undefined> {
    try {
      return await this.#call(argv, this.#around);
    } catch (thrown) {
      if (thrown instanceof Exit) return thrown.code;
      throw thrown;
    }
  }

  async #run(node: Node, around: ShellSurroundings): Promise<void> {
    around.signal.throwIfAborted();
    switch (node.kind) {
      case 'list': {
        let skip = false;
        for (const { node: part, after } of node.parts) {
          if (!skip) await this.#run(part, around);
          skip = after === '&&' ? this.#status !== 0 : after === '||' ? this.#status === 0 : false;
        }
        return;
      }
      case 'pipe': {
        let input: string | undefined;
        for (const [index, part] of node.parts.entries()) {
          const given = input;
          let output = '';
          const last = index === node.parts.length - 1;
          await this.#run(part, {
            ...around,
            ...(given !== undefined && { stdin: async () => given }),
            write: (text, stream) => {
              if (last || stream === 'stderr') around.write(text, stream);
              else output += text;
            },
          });
          input = output;
        }
        return;
      }
      case 'loop':
        for (;;) {
          await this.#run(node.condition, around);
          if ((this.#status === 0) === node.until) break;
          const begin = performance.now();
          await this.#run(node.body, around);
          if (performance.now() - begin < turnMs) await wait(turnMs, undefined, { signal: around.signal });
        }
        this.#status = 0;
        return;
      case 'if':
        await this.#run(node.condition, around);
        if (this.#status === 0) await this.#run(node.then, around);
        else if (node.otherwise) await this.#run(node.otherwise, around);
        else this.#status = 0;
        return;
      case 'command':
        return this.#command(node, around);
    }
  }

  async #command(node: Node & { kind: 'command' }, around: ShellSurroundings): Promise<void> {
    const words: string[] = [];
    for (const word of node.words) words.push(...(await this.#words(word, around)));
    for (const [name, word] of node.assignments) around.environment.set(name, (await this.#words(word, around)).join(' '));
    if (words.length === 0) {
      this.#status = 0;
      return;
    }
    const { write, finish } = await this.#redirected(node.redirections, around);
    const status = await this.#call(words, { ...around, write });
    finish();
    if (status === undefined) {
      around.write(`sh: ${words[0]}: not found\n`, 'stderr');
      this.#status = 127;
    } else this.#status = status;
  }

  async #redirected(
    redirections: readonly Redirection[],
    around: ShellSurroundings,
  ): Promise<{ write: ShellSurroundings['write']; finish: () => void }> {
    const targets = new Map<string, 'stdout' | 'stderr' | { path: string; add: boolean; text: string }>();
    for (const { from, to } of redirections) {
      targets.set(from, 'stream' in to ? to.stream : { path: (await this.#words(to.file, around)).join(' '), add: to.add, text: '' });
    }
    return {
      write: (text, stream) => {
        const target = targets.get(stream) ?? stream;
        if (typeof target === 'string') around.write(text, target);
        else target.text += text;
      },
      finish: () => {
        for (const target of targets.values()) {
          if (typeof target === 'string' || target.path.startsWith('/dev/')) continue;
          const path = posix.resolve(this.#folder, target.path);
          const before = target.add ? (around.files.file(path)?.content.toString('latin1') ?? '') : '';
          around.files.write(path, Buffer.from(before + target.text, 'latin1'), around.now());
        }
      },
    };
  }

  async #words(word: Word, around: ShellSurroundings): Promise<string[]> {
    let text = '';
    let quoted = word.length === 0;
    for (const piece of word) {
      if ('text' in piece) {
        text += piece.text;
        quoted = true;
      } else if ('sum' in piece) text += String(sum(piece.sum, around.environment));
      else if ('variable' in piece) {
        text += piece.variable === '?' ? String(this.#status) : (around.environment.get(piece.variable) ?? '');
        quoted ||= piece.quoted;
      } else {
        let output = '';
        await this.#run(parseScript(piece.run), {
          ...around,
          write: (more, stream) => {
            if (stream === 'stdout') output += more;
            else around.write(more, stream);
          },
        });
        text += output.replace(/\n+$/, '');
        quoted ||= piece.quoted;
      }
    }
    return quoted ? [text] : text.split(/\s+/).filter(Boolean);
  }

  async #call(argv: readonly string[], around: ShellSurroundings): Promise<number | undefined> {
    const [name = '', ...args] = argv;
    const say = (text: string) => around.write(text, 'stdout');
    const complain = (text: string, code = 1) => {
      around.write(`${text}\n`, 'stderr');
      return code;
    };
    const at = (path: string) => posix.resolve(this.#folder, path);
    const read = async (paths: readonly string[]): Promise<string | undefined> => {
      if (paths.length === 0) return around.stdin();
      let text = '';
      for (const path of paths) {
        const file = around.files.file(at(path));
        if (!file) {
          complain(
            `${name}: ${around.files.isFolder(at(path)) ? 'read error: Is a directory' : `can't open '${path}': No such file or directory`}`,
          );
          return undefined;
        }
        text += file.content.toString('latin1');
      }
      return text;
    };
    switch (posix.basename(name)) {
      case ':':
      case 'true':
        return 0;
      case 'false':
        return 1;
      case 'exit':
        throw new Exit(Number(args[0] ?? this.#status) & 255);
      case 'echo': {
        const [flag] = args;
        const plain = flag === '-n' || flag === '-e' ? args.slice(1) : args;
        say(`${flag === '-e' ? escaped(plain.join(' ')) : plain.join(' ')}${flag === '-n' ? '' : '\n'}`);
        return 0;
      }
      case 'printf': {
        const [form = '', ...values] = args;
        say(escaped(form).replace(/%[sd]/g, () => values.shift() ?? ''));
        return 0;
      }
      case 'sleep':
        around.idle?.(true);
        await wait(
          Math.min(Number.parseFloat(args[0] ?? '0') * 1000 || (args[0] === 'infinity' ? 2 ** 31 - 1 : 0), 2 ** 31 - 1),
          undefined,
          {
            signal: around.signal,
          },
        );
        around.idle?.(false);
        return 0;
      case 'trap':
        // Heard by `scripted-program.ts`, out of the script.
        return 0;
      case 'sh':
      case 'ash':
      case 'bash': {
        const script = args[0] === '-c' ? args[1] : undefined;
        if (script === undefined && args.length > 0 && !/^-/.test(args[0] ?? ''))
          return complain(`${name}: can't open '${args[0]}': No such file or directory`, 2);
        const inner = new Shell({ ...around, environment: new Map(around.environment) });
        inner.#folder = this.#folder;
        const code = await inner.run(script ?? (await around.stdin()));
        return code;
      }
      case 'cd':
        if (!around.files.isFolder(at(args[0] ?? '/'))) return complain(`sh: cd: can't cd to ${args[0]}: No such file or directory`, 2);
        this.#folder = at(args[0] ?? '/');
        return 0;
      case 'pwd':
        say(`${this.#folder}\n`);
        return 0;
      case 'cat': {
        const text = await read(args);
        if (text === undefined) return 1;
        say(text);
        return 0;
      }
      case 'head': {
        const bytes = args[0] === '-c' ? Number(args[1]) : undefined;
        const lines = args[0] === '-n' ? Number(args[1]) : 10;
        const paths = args.filter((one, index) => !one.startsWith('-') && !/^-[cn]$/.test(args[index - 1] ?? ''));
        const text = paths[0] === '/dev/zero' ? '\0'.repeat(Math.min(bytes ?? 0, 16 * 1024 * 1024)) : await read(paths);
        if (text === undefined) return 1;
        say(
          bytes === undefined
            ? text
                .split(/(?<=\n)/)
                .slice(0, lines)
                .join('')
            : text.slice(0, bytes),
        );
        return 0;
      }
      case 'tr': {
        const text = await around.stdin();
        say(text.replaceAll(escaped(args[0] ?? ''), args[1] ?? ''));
        return 0;
      }
      case 'wc': {
        const text = await read(args.filter((one) => !one.startsWith('-')));
        if (text === undefined) return 1;
        say(`${args[0] === '-l' ? text.split('\n').length - 1 : text.length}\n`);
        return 0;
      }
      case 'grep': {
        const [pattern = '', ...paths] = args.filter((one) => !one.startsWith('-'));
        const found = ((await read(paths)) ?? '').split('\n').filter((line) => line.includes(pattern));
        if (found.length > 0) say(`${found.join('\n')}\n`);
        return found.length > 0 ? 0 : 1;
      }
      case 'ls': {
        const path = args.find((one) => !one.startsWith('-')) ?? '.';
        const names = around.files.list(at(path));
        if (!names) {
          if (!around.files.file(at(path))) return complain(`ls: ${path}: No such file or directory`);
          say(`${path}\n`);
        } else if (names.length > 0) say(`${names.join('\n')}\n`);
        return 0;
      }
      case 'rm':
        for (const path of args.filter((one) => !one.startsWith('-'))) around.files.remove(at(path));
        return 0;
      case 'mkdir':
        for (const path of args.filter((one) => !one.startsWith('-'))) around.files.makeFolder(at(path));
        return 0;
      case 'touch':
        for (const path of args) around.files.write(at(path), around.files.file(at(path))?.content ?? '', around.now());
        return 0;
      case 'test':
      case '[':
        return tested(
          args.filter((one) => one !== ']'),
          (path) => around.files.file(at(path)) !== undefined || around.files.isFolder(at(path)),
        )
          ? 0
          : 1;
      case 'stty':
        say(`${around.size.rows} ${around.size.columns}\n`);
        return 0;
      case 'hostname':
        say(`${around.hostname}\n`);
        return 0;
      case 'whoami':
        say('root\n');
        return 0;
      case 'id':
        say('uid=0(root) gid=0(root) groups=0(root)\n');
        return 0;
      case 'uname':
        say(args[0] === '-a' ? `Linux ${around.hostname} 6.12.48 #1 SMP x86_64 Linux\n` : 'Linux\n');
        return 0;
      case 'date':
        say(`${new Date(around.now()).toUTCString().replace('GMT', 'UTC')}\n`);
        return 0;
      case 'env':
      case 'printenv':
        say([...around.environment].map(([key, value]) => `${key}=${value}\n`).join(''));
        return 0;
      case 'export':
        for (const one of args) around.environment.set(one.split('=')[0] ?? '', one.includes('=') ? one.slice(one.indexOf('=') + 1) : '');
        return 0;
      case 'ps':
        say(
          [
            'PID   USER     TIME  COMMAND',
            ...around.processes.map((command, index) => `${String(index === 0 ? 1 : index + 6).padStart(5)} root      0:00 ${command}`),
          ]
            .join('\n')
            .concat('\n'),
        );
        return 0;
      case 'kill':
        return 0;
      default: {
        const answering = around.exec(argv.map(fromBytes), '');
        if (!answering) return undefined;
        const answer = await answering;
        around.write(toBytes(answer.stdout), 'stdout');
        around.write(toBytes(answer.stderr), 'stderr');
        return answer.exitCode;
      }
    }
  }
}

/** Is there a program of this name in every practice image? */
export function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

export function fromBytes(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}

function escaped(text: string): string {
  return text.replace(/\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))/gs, (_, octal?: string, hex?: string, other?: string) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return { n: '\n', t: '\t', r: '\r', e: '\x1b', a: '\x07', '\\': '\\' }[other ?? ''] ?? `\\${other}`;
  });
}

function sum(text: string, environment: ReadonlyMap<string, string>): number {
  const filled = text.replace(/\$?\{?([A-Za-z_]\w*)\}?/g, (_, name: string) => environment.get(name) || '0');
  let total = 0;
  for (const [, sign = '+', number = '0'] of filled.matchAll(/([+-]?)\s*(\d+)/g)) total += (sign === '-' ? -1 : 1) * Number(number);
  return total;
}

function tested(words: readonly string[], exists: (path: string) => boolean): boolean {
  const [first = '', second, third = ''] = words;
  if (first === '!') return !tested(words.slice(1), exists);
  if (/^-[efdrwx]$/.test(first)) return exists(second ?? '');
  if (first === '-n') return (second ?? '') !== '';
  if (first === '-z') return (second ?? '') === '';
  if (second === '=' || second === '==') return first === third;
  if (second === '!=') return first !== third;
  const [a, b] = [Number(first), Number(third)];
  return { '-eq': a === b, '-ne': a !== b, '-lt': a < b, '-le': a <= b, '-gt': a > b, '-ge': a >= b }[second ?? ''] ?? first !== '';
}
