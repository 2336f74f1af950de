import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Container } from './container.ts';
import { frame } from './container-log.ts';
import type { Machine } from './machine.ts';
import { Refusal } from './request.ts';
import { runProgram, runScript, type ShellContext } from './shell.ts';

export interface ExecRequest {
  argv: readonly string[];
  environment: Readonly<Record<string, string>>;
  attachStdin: boolean;
  tty: boolean;
  size: { rows: number; columns: number };
}

export interface ExecInstance extends ExecRequest {
  id: string;
  container: Container;
  running: boolean;
  exitCode: number | null;
}

/** Output and input of an exec: a hijacked connection, or a response without input. */
export interface ExecChannel {
  output: { write(bytes: Buffer): unknown; end(): unknown };
  input?: Duplex;
}

const keptInstances = 500;

export class Execs {
  readonly #byId = new Map<string, ExecInstance>();

  constructor(private readonly machine: Machine) {}

  create(container: Container, request: ExecRequest): ExecInstance {
    const { id, state } = container;
    if (state.status === 'paused') throw new Refusal(409, `Container ${id} is paused, unpause the container before exec`);
    if (state.status === 'restarting') throw new Refusal(409, `Container ${id} is restarting, wait until the container is running`);
    if (!container.isUp) throw new Refusal(409, `container ${id} is not running`);
    if (request.argv.length === 0) throw new Refusal(400, 'No exec command specified');
    const instance = { ...request, id: randomBytes(32).toString('hex'), container, running: false, exitCode: null };
    this.#byId.set(instance.id, instance);
    for (const [old, { running }] of this.#byId) if (this.#byId.size > keptInstances && !running) this.#byId.delete(old);
    this.machine.tell(container, `exec_create: ${request.argv.join(' ')}`, { execID: instance.id });
    return instance;
  }

  find(id: string): ExecInstance {
    const found = this.#byId.get(id);
    if (!found) throw new Refusal(404, `No such exec instance: ${id}`);
    return found;
  }

  /** Returns an exec that can be run: its connection is taken over only then. */
  findNew(id: string): ExecInstance {
    const instance = this.find(id);
    if (instance.running || instance.exitCode !== null) throw new Refusal(409, `exec ${id} has already run`);
    if (!instance.container.isUp) throw new Refusal(409, `container ${instance.container.id} is not running`);
    return instance;
  }

  async run(instance: ExecInstance, { output, input }: ExecChannel): Promise<void> {
    const { id, container, argv, tty, attachStdin } = instance;
    instance.running = true;
    this.machine.tell(container, `exec_start: ${argv.join(' ')}`, { execID: id });
    const closed = new AbortController();
    input?.once('close', () => closed.abort());
    const signal = container.run ? AbortSignal.any([closed.signal, container.run.signal]) : closed.signal;
    let read: Promise<string> | undefined;
    const context: ShellContext = {
      write: (written, stream) => {
        if (written !== '' && !signal.aborted)
          output.write(tty ? Buffer.from(written.replace(/\r?\n/g, '\r\n')) : frame(stream, Buffer.from(written)));
      },
      stdin: () => {
        read ??= input && attachStdin && !tty ? text(input).catch(() => '') : Promise.resolve('');
        return read;
      },
      environment: { ...container.spec.environment, ...instance.environment },
      files: container.files,
      processes: [...(container.program.processes ?? container.argv.slice(0, 1)), argv.join(' ')],
      size: instance.size,
      signal,
      exec: async (words) => container.program.exec?.(words, await context.stdin()),
    };
    try {
      instance.exitCode = await execute(argv, context, tty ? input : undefined).catch(() => 137);
    } finally {
      instance.running = false;
      this.machine.tell(container, 'exec_die', { execID: id, exitCode: String(instance.exitCode) });
      output.end();
    }
  }
}

async function execute(argv: readonly string[], context: ShellContext, terminal: Duplex | undefined): Promise<number> {
  const isShell = /^(?:\/bin\/|\/usr\/bin\/)?(?:sh|ash|bash)$/.test(argv[0] ?? '');
  // A console starts a script that becomes the best shell of the image.
  if (isShell && terminal && (!argv.includes('-c') || /\bexec (?:ba|a)?sh(?:; fi)?$/.test(argv.at(-1) ?? '')))
    return prompt(terminal, context);
  const code = await runProgram(argv, context);
  if (code !== undefined) return code;
  const missing = `exec: "${argv[0]}": executable file not found in $PATH`;
  context.write(`OCI runtime exec failed: exec failed: unable to start container process: ${missing}: unknown\r\n`, 'stdout');
  return 127;
}

/** Echoes what is typed; Enter runs the line, Ctrl-D on an empty line ends. */
async function prompt(terminal: Duplex, context: ShellContext): Promise<number> {
  const write = (written: string) => context.write(written, 'stdout');
  const decoder = new TextDecoder();
  let line = '';
  const begin = (before: string) => {
    line = '';
    write(`${before}/ # `);
  };
  const keys: Readonly<Record<string, () => unknown>> = {
    '\x03': () => begin('^C\n'),
    '\x7f': () => {
      if (line !== '') write('\b \b');
      line = line.slice(0, -1);
    },
  };
  begin('');
  // The same connection still has to carry the end of the output.
  for await (const chunk of terminal.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    for (const key of decoder.decode(chunk, { stream: true })) {
      if (key === '\x04' && line === '') return 0;
      if (key === '\r' || key === '\n') {
        write('\n');
        const { code, exited } = await runScript(line, context);
        if (exited) return code;
        begin('');
      } else if (key >= ' ' && key !== '\x7f') {
        line += key;
        write(key);
      } else keys[key]?.();
    }
  }
  return 0;
}
