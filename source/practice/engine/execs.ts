import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Container } from './container.ts';
import { frame } from './container-log.ts';
import type { Machine } from './machine.ts';
import { Refusal } from './refusal.ts';
import { missingProgram } from './scripted-program.ts';
import { fromBytes, Shell, type ShellSurroundings, toBytes } from './shell.ts';

export interface ExecRequest {
  argv: readonly string[];
  environment: readonly string[];
  attachStdin: boolean;
  tty: boolean;
  size: { rows: number; columns: number };
}

export interface ExecInstance {
  id: string;
  container: Container;
  request: ExecRequest;
  running: boolean;
  started: boolean;
  exitCode: number | null;
  size: { rows: number; columns: number };
}

/** Where an exec's input and output go: a hijacked connection, or an answer without input. */
export interface ExecChannel {
  output: { write(bytes: Buffer): boolean; end(): void };
  input: Duplex | undefined;
}

export class Execs {
  readonly #machine: Machine;
  readonly #byId = new Map<string, ExecInstance>();

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  create(container: Container, request: ExecRequest): ExecInstance {
    if (container.state.status === 'paused')
      throw new Refusal(409, `Container ${container.id} is paused, unpause the container before exec`);
    if (container.state.status === 'restarting')
      throw new Refusal(409, `Container ${container.id} is restarting, wait until the container is running`);
    if (!container.isUp) throw new Refusal(409, `container ${container.id} is not running`);
    if (request.argv.length === 0) throw new Refusal(400, 'No exec command specified');
    const instance: ExecInstance = {
      id: randomBytes(32).toString('hex'),
      container,
      request,
      running: false,
      started: false,
      exitCode: null,
      size: request.size,
    };
    this.#byId.set(instance.id, instance);
    // Finished ones are asked for their exit code and then never again.
    if (this.#byId.size > 500) for (const [id, one] of [...this.#byId].slice(0, 250)) if (one.exitCode !== null) this.#byId.delete(id);
    this.#machine.tell(container, `exec_create: ${request.argv.join(' ')}`, { execID: instance.id });
    return instance;
  }

  find(id: string): ExecInstance {
    const found = this.#byId.get(id);
    if (!found) throw new Refusal(404, `No such exec instance: ${id}`);
    return found;
  }

  /** What must hold before the connection is taken over. */
  check(instance: ExecInstance): void {
    if (instance.started) throw new Refusal(409, `exec ${instance.id} has already run`);
    if (!instance.container.isUp) throw new Refusal(409, `container ${instance.container.id} is not running`);
  }

  async run(instance: ExecInstance, { output, input }: ExecChannel): Promise<void> {
    const { container, request } = instance;
    const { tty, argv } = request;
    instance.started = true;
    instance.running = true;
    this.#machine.tell(container, `exec_start: ${argv.join(' ')}`, { execID: instance.id });
    const ending = new AbortController();
    const stop = () => ending.abort();
    container.run?.signal.addEventListener('abort', stop, { once: true });
    input?.once('close', stop);
    const write = (text: string, stream: 'stdout' | 'stderr') => {
      const bytes = Buffer.from(text, 'latin1');
      if (bytes.length === 0 || ending.signal.aborted) return;
      output.write(tty ? Buffer.from(text.replace(/\r?\n/g, '\r\n'), 'latin1') : frame(stream, bytes));
    };
    const surroundings: ShellSurroundings = {
      write,
      stdin: () => (input && request.attachStdin ? wholeInput(input) : Promise.resolve('')),
      environment: new Map([...Object.entries(container.spec.environment), ...request.environment.map((one) => splitOnce(one))]),
      files: container.files,
      hostname: container.hostname,
      processes: [...(container.program.processes ?? container.argv.slice(0, 1)), argv.join(' ')],
      size: instance.size,
      signal: ending.signal,
      now: () => this.#machine.now(),
      exec: (words, stdin) => container.program.exec?.(words, stdin),
    };
    try {
      instance.exitCode = await this.#played(instance, surroundings, input, write);
    } catch {
      instance.exitCode = 137;
    } finally {
      instance.running = false;
      container.run?.signal.removeEventListener('abort', stop);
      this.#machine.tell(container, 'exec_die', { execID: instance.id, exitCode: String(instance.exitCode) });
      output.end();
    }
  }

  async #played(
    { request: { argv, tty, attachStdin }, container }: ExecInstance,
    around: ShellSurroundings,
    input: Duplex | undefined,
    write: ShellSurroundings['write'],
  ): Promise<number> {
    const shell = /^(?:\/bin\/|\/usr\/bin\/)?(?:sh|ash|bash)$/.test(argv[0] ?? '');
    // Consoles ask for the best shell that there is: a script that becomes one.
    const prompts = !argv.includes('-c') || /\bexec (?:ba|a)?sh(?:; fi)?$/.test(argv.at(-1) ?? '');
    if (shell && tty && input && prompts) return typed(new Shell(around), input, around);
    const own = container.program.exec?.(argv, attachStdin ? fromBytes(await around.stdin()) : '');
    if (own) {
      const answer = await own;
      write(toBytes(answer.stdout), 'stdout');
      write(toBytes(answer.stderr), 'stderr');
      return answer.exitCode;
    }
    const code = await new Shell(around).program(argv.map(toBytes));
    if (code !== undefined) return code;
    const missing = missingProgram(argv[0] ?? '');
    write(toBytes(missing.stdout), 'stdout');
    return missing.exitCode;
  }
}

function splitOnce(variable: string): [string, string] {
  const at = variable.indexOf('=');
  return at < 0 ? [variable, ''] : [variable.slice(0, at), variable.slice(at + 1)];
}

function wholeInput(input: Duplex): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    input.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    input.once('end', () => resolve(text));
    input.once('close', () => resolve(text));
    input.resume();
  });
}

/** A prompt: what is typed is echoed, Enter runs it, Ctrl-D on an empty line leaves. */
function typed(shell: Shell, input: Duplex, { write }: ShellSurroundings): Promise<number> {
  const prompt = '/ # ';
  write(prompt, 'stdout');
  return new Promise((resolve) => {
    let line = '';
    let busy = Promise.resolve();
    let over = false;
    const leave = (code: number) => {
      over = true;
      resolve(code);
    };
    const hear = async (one: string): Promise<void> => {
      if (over) return;
      if (one === '\r' || one === '\n') {
        write('\n', 'stdout');
        const script = line;
        line = '';
        const { left } = await shell.line(script);
        if (left !== undefined) leave(left);
        else write(prompt, 'stdout');
      } else if (one === '\x04') {
        if (line === '') {
          write('\n', 'stdout');
          leave(0);
        }
      } else if (one === '\x03') {
        line = '';
        write(`^C\n${prompt}`, 'stdout');
      } else if (one === '\x7f' || one === '\b') {
        if (line !== '') write('\b \b', 'stdout');
        line = line.slice(0, -1);
      } else if (one >= ' ') {
        line += one;
        write(one, 'stdout');
      }
    };
    input.on('data', (chunk: Buffer) => {
      for (const one of chunk.toString('latin1')) busy = busy.then(() => hear(one)).catch(() => leave(137));
    });
    input.once('close', () => leave(129));
    // Whoever read the request from it in pieces has paused it.
    input.resume();
    input.once('end', () => leave(0));
  });
}
