import { Fault } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import { laneCommand, linkLost, ShellLane } from './shell-lane.ts';
import { type KeptProgram, ownArguments, type SshCommand, sessionArguments, startJoined, startKept } from './ssh-command.ts';

/** Beside the connection's own shell: sshd allows ten sessions on one connection by default, and what flows needs some too. */
const lanesAtMost = 6;
/** Connections of their own, where sshd allows no further session on the one that stands: each is a login. */
const ownAtMost = 3;
export const laneLimitMs = 10_000;

/** Shells in which programs run, one at a time in each: opened when first needed, and kept. */
export class ShellLanes {
  readonly #host: string;
  readonly #command: SshCommand;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #closing = new AbortController();
  readonly #all = new Set<ShellLane>();
  #free: ShellLane[] = [];
  #waiting: (() => void)[] = [];
  #opening = 0;
  #most = lanesAtMost;
  /** sshd gives no session more on the connection that stands. */
  #isOwn = false;

  constructor(host: string, command: SshCommand, env: Readonly<Record<string, string | undefined>>) {
    this.#host = host;
    this.#command = command;
    this.#env = env;
  }

  /** Works in a shell that is free, or in a further one; where there may be no more, waits for the next that becomes free. */
  async use<T>(signal: AbortSignal, work: (lane: ShellLane) => Promise<T>): Promise<T> {
    const lane = await this.#take(signal);
    try {
      return await work(lane);
    } finally {
      if (lane.isClosed) this.#all.delete(lane);
      else this.#free.push(lane);
      this.#waiting.shift()?.();
    }
  }

  /** A shell on the connection that stands, outside of those that are counted. */
  openJoined(): Promise<ShellLane | undefined> {
    return this.#tried(this.startJoined(laneCommand));
  }

  /** @throws Fault `unreachable.session` */
  async #open(): Promise<ShellLane> {
    if (!this.#isOwn) {
      const joined = await this.openJoined();
      if (joined) return joined;
      this.#closing.signal.throwIfAborted();
      this.#isOwn = true;
      this.#most = Math.min(lanesAtMost, Math.max(this.#all.size, ownAtMost));
    }
    const own = await this.#tried(this.startOwn(laneCommand));
    if (own) return own;
    this.#closing.signal.throwIfAborted();
    throw noSession(this.#host);
  }

  startJoined(remote: string): KeptProgram {
    const child = startJoined(this.#command.program, sessionArguments(this.#command, remote), this.#env);
    return { child, end: () => child.kill('SIGTERM') };
  }

  /** Over a connection of its own, for which nobody is asked. */
  startOwn(remote: string): KeptProgram {
    return startKept(this.#command.program, ownArguments(this.#command, remote), this.#env);
  }

  /** Ends the shells in which nothing runs: their sessions are needed. @returns how many there were */
  endFree(): number {
    const ended = this.#free.splice(0);
    for (const lane of ended) {
      this.#all.delete(lane);
      lane.close();
    }
    return ended.length;
  }

  close(): void {
    this.#closing.abort(linkLost(this.#host));
    for (const lane of this.#all) lane.close();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #take(signal: AbortSignal): Promise<ShellLane> {
    for (;;) {
      signal.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      const lane = this.#free.pop();
      if (lane && !lane.isClosed) return lane;
      if (lane) {
        this.#all.delete(lane);
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
      const lane = await this.#open();
      this.#all.add(lane);
      this.#free.push(lane);
      void lane.gone.then(() => this.#all.delete(lane));
    } catch (thrown) {
      // What is there must do.
      if (this.#all.size === 0) throw thrown;
      this.#most = this.#all.size;
    } finally {
      this.#opening -= 1;
      this.#waiting.shift()?.();
    }
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      const stop = () => {
        this.#waiting = this.#waiting.filter((one) => one !== wake);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', stop, { once: true });
      this.#waiting.push(wake);
    });
  }

  async #tried(kept: KeptProgram): Promise<ShellLane | undefined> {
    const lane = new ShellLane(kept, this.#host);
    try {
      await limited(this.#closing.signal, laneLimitMs, (limit) => lane.open(limit));
      return lane;
    } catch {
      lane.close();
      return undefined;
    }
  }
}

export function noSession(host: string): Fault {
  return new Fault({
    code: 'unreachable.session',
    message: `sshd on ${host} allows no further session on its connection, and a second connection cannot be made without asking.`,
    remedy: 'Set MaxSessions to 10 in sshd_config there, as it is by default; or try again when less is under way.',
  });
}
