import { addAbortListener } from 'node:events';
import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { startProgram } from '../program.ts';
import { linkLost, ShellSession, sessionCommand } from './shell-session.ts';
import { type KeptProgram, ownArguments, type SshCommand, sessionArguments, startKept } from './ssh-command.ts';

/** Beside the connection's own shell: sshd allows ten sessions per connection by default, and streamed programs need some too. */
const sessionsAtMost = 6;
/** Further connections, where sshd allows no more sessions on the current one: each is a login. */
const ownAtMost = 3;
export const sessionLimitMs = 10_000;

/** Shells that run programs, one at a time in each: opened when first needed, and kept. */
export class ShellSessionPool {
  readonly #closing = new AbortController();
  readonly #all = new Set<ShellSession>();
  #free: ShellSession[] = [];
  #waiting: (() => void)[] = [];
  #opening = 0;
  #most = sessionsAtMost;
  /** sshd allows no more sessions on the current connection. */
  #isOwn = false;

  constructor(
    private readonly host: string,
    private readonly command: SshCommand,
    private readonly env: Readonly<Record<string, string | undefined>>,
  ) {}

  /** Runs work in a free shell, or in a new one; at the limit, waits for the next shell that becomes free. */
  async use<T>(signal: AbortSignal, work: (shell: ShellSession) => Promise<T>): Promise<T> {
    const shell = await this.#take(signal);
    try {
      return await work(shell);
    } finally {
      if (shell.isClosed) this.#all.delete(shell);
      else this.#free.push(shell);
      this.#waiting.shift()?.();
    }
  }

  /** Opens a shell on the current connection, outside the count. */
  openJoined(): Promise<ShellSession | undefined> {
    return this.#tried(this.startJoined(sessionCommand));
  }

  async #open(): Promise<ShellSession> {
    if (!this.#isOwn) {
      const joined = await this.openJoined();
      if (joined) return joined;
      this.#closing.signal.throwIfAborted();
      this.#isOwn = true;
      this.#most = Math.min(sessionsAtMost, Math.max(this.#all.size, ownAtMost));
    }
    const own = await this.#tried(this.startOwn(sessionCommand));
    if (own) return own;
    this.#closing.signal.throwIfAborted();
    throw noSession(this.host);
  }

  startJoined(remote: string): KeptProgram {
    const child = startProgram(this.command.program, sessionArguments(this.command, remote), { env: this.env, bare: true });
    return { child, end: () => child.kill('SIGTERM') };
  }

  /** Opens a shell over a connection of its own, without prompts. */
  startOwn(remote: string): KeptProgram {
    return startKept(this.command.program, ownArguments(this.command, remote), this.env);
  }

  /** Closes idle shells, because their sessions are needed. @returns how many there were */
  endFree(): number {
    const ended = this.#free.splice(0);
    for (const shell of ended) {
      this.#all.delete(shell);
      shell.close();
    }
    return ended.length;
  }

  close(): void {
    this.#closing.abort(linkLost(this.host));
    for (const shell of this.#all) shell.close();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #take(signal: AbortSignal): Promise<ShellSession> {
    for (;;) {
      signal.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      const shell = this.#free.pop();
      if (shell && !shell.isClosed) return shell;
      if (shell) {
        this.#all.delete(shell);
        continue;
      }
      if (this.#all.size + this.#opening < this.#most) {
        await this.#add();
        continue;
      }
      await this.#next(signal);
    }
  }

  async #add(): Promise<void> {
    this.#opening += 1;
    try {
      const shell = await this.#open();
      this.#all.add(shell);
      this.#free.push(shell);
      void shell.gone.then(() => this.#all.delete(shell));
    } catch (thrown) {
      // The existing shells have to do.
      if (this.#all.size === 0) throw thrown;
      this.#most = this.#all.size;
    } finally {
      this.#opening -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #next(signal: AbortSignal): Promise<void> {
    const { promise, resolve: wake, reject } = Promise.withResolvers<void>();
    using _stop = addAbortListener(signal, () => {
      this.#waiting = this.#waiting.filter((one) => one !== wake);
      reject(signal.reason);
    });
    this.#waiting.push(wake);
    await promise;
  }

  async #tried(kept: KeptProgram): Promise<ShellSession | undefined> {
    const shell = new ShellSession(kept, this.host);
    try {
      await limited(this.#closing.signal, sessionLimitMs, (limit) => shell.open(limit));
      return shell;
    } catch {
      shell.close();
      return undefined;
    }
  }
}

export function noSession(host: string): Fault {
  const message = `The sshd on ${host} allows no more sessions, and a second connection without a prompt failed.`;
  const remedy = 'Set MaxSessions to 10 (the default) in sshd_config on the host, or try again when fewer operations are running.';
  return new Fault('unreachable.session', message, remedy);
}
