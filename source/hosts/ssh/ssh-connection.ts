import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault, isAbort } from '../../faults/fault.ts';
import { limited, pauseFor } from '../../faults/waits.ts';
import { cleanLine } from '../../text/clean.ts';
import type { DialAddress } from '../host.ts';
import type { SshDestination } from './destination.ts';
import { Forwards } from './forwards.ts';
import { type LaneAnswer, laneCommand, linkLost, ShellLane } from './shell-lane.ts';
import { laneLimitMs, ShellLanes } from './shell-lanes.ts';
import { askProgram, type KeptProgram, masterArguments, notStarted, type SshCommand, startKept } from './ssh-command.ts';
import { brokenLink, type SshFailure, sshFailure } from './ssh-failures.ts';

const configLimitMs = 5_000;
/** Between two looks at how long a round trip takes. */
const pulseMs = 5_000;

export interface SshConnectionOptions {
  /** What the operator calls the host. */
  name: string;
  destination: SshDestination;
  /** Private to this process. */
  folder: string;
  /** Tells the sockets of this connection apart from those of others in the folder. */
  prefix: string;
  program: string;
  /** The environment of ssh: the operator's own, and where to ask. */
  env: Readonly<Record<string, string | undefined>>;
  onRoundTrip?: (ms: number) => void;
}

/**
 * One OpenSSH connection that stands. Its own session is a shell for what we ask ourselves (`control`); programs run in further shells, opened when first
 * needed; sockets are led through it without a session each, as many as there are.
 */
export class SshConnection {
  readonly name: string;
  readonly command: SshCommand;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly forwards: Forwards;
  /** Resolves when the connection is over, with the reason. Never rejects. */
  readonly ended: Promise<SshFailure>;
  /** The last one that was measured. */
  roundTripMs: number | undefined;
  /** Shells for programs. */
  readonly lanes: ShellLanes;
  readonly #first: ShellLane;
  #control: ShellLane;
  readonly #kept: KeptProgram;
  readonly #onRoundTrip: ((ms: number) => void) | undefined;
  readonly #closing = new AbortController();
  #hasStood = false;

  /**
   * Connects and waits until commands can be run. Asks what ssh asks.
   * @throws the fault of `SshFailure`, wrapped in a `ConnectFailure`
   */
  static async open(options: SshConnectionOptions, signal: AbortSignal): Promise<SshConnection> {
    const { folder, prefix, program, destination, env } = options;
    const command: SshCommand = { program, destination, control: join(folder, `${prefix}c`), log: join(folder, `${prefix}l`) };
    await rm(command.log, { force: true });
    const strict = await strictness(command, env, signal);
    const connection = new SshConnection(
      options,
      command,
      startKept(program, masterArguments(command, { strict, remote: laneCommand }), env),
    );
    const stop = () => connection.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      await connection.#first.open(signal);
    } catch (thrown) {
      connection.close();
      signal.throwIfAborted();
      if (thrown instanceof Fault && thrown.code === 'unreachable.shell') throw new ConnectFailure({ fault: thrown, needsOperator: true });
      throw new ConnectFailure(await connection.ended);
    } finally {
      signal.removeEventListener('abort', stop);
    }
    connection.#hasStood = true;
    void connection.#pulse();
    return connection;
  }

  private constructor({ name, env, folder, prefix, onRoundTrip }: SshConnectionOptions, command: SshCommand, kept: KeptProgram) {
    this.name = name;
    this.env = env;
    this.command = command;
    this.#kept = kept;
    this.#onRoundTrip = onRoundTrip;
    this.forwards = new Forwards(name, command, folder, prefix, env);
    this.lanes = new ShellLanes(name, command, env);
    this.#first = new ShellLane(kept);
    this.#control = this.#first;
    this.ended = new Promise((resolve) => {
      kept.child.once('error', (cause) => resolve({ fault: notStarted('/bin/sh', cause), needsOperator: true }));
      kept.child.once('close', (exitCode) => void this.#reason(exitCode).then(resolve));
    });
    void this.ended.then(() => this.close());
  }

  /** Runs one of our own short scripts, which changes nothing. It ends by `qd_end NUMBER CODE`. Several at once cost one round trip. */
  async control(
    script: (number: number) => string,
    { signal, limitMs, limitBytes = 1024 * 1024 }: { signal: AbortSignal; limitMs: number; limitBytes?: number },
  ): Promise<LaneAnswer> {
    return limited(signal, limitMs, () => this.#control.ask(script, limitBytes));
  }

  /** Ends a program and what it started, wherever it runs there. */
  async kill(pid: number, name: 'TERM' | 'KILL'): Promise<void> {
    const script = (number: number) => `kill -${name} -${pid} 2>/dev/null || kill -${name} ${pid} 2>/dev/null\nqd_end ${number} 0`;
    await this.control(script, { signal: this.#closing.signal, limitMs: laneLimitMs }).catch(() => undefined);
  }

  /** Asks for something that only a connection that stands can answer. @throws Fault of the broken link */
  async proveStands(): Promise<void> {
    await this.control((number) => `qd_end ${number} 0`, { signal: this.#closing.signal, limitMs: laneLimitMs }).catch(
      async (thrown: unknown) => {
        // The shell there may be held; ssh has its own way to find out.
        if (!isAbort(thrown)) throw (await this.ended).fault;
      },
    );
  }

  /** The local socket that leads to an address there. */
  async forward(address: DialAddress, signal: AbortSignal): Promise<string> {
    return this.forwards.to(address, signal);
  }

  /**
   * As `forward`, and sees once whether sshd lets it through: ssh takes a connection first, and ends it afterwards without a word.
   * @throws Fault `refused.forwarding`, or `unreachable.*` where the other end is not this machine's and says no
   */
  async openForward(address: DialAddress, signal: AbortSignal): Promise<string> {
    return this.forwards.proven(address, signal, () => this.proveStands());
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(linkLost());
    this.lanes.close();
    this.#control.close();
    this.#kept.end();
  }

  async #pulse(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      try {
        const startedMs = performance.now();
        await this.control((number) => `qd_end ${number} 0`, { signal, limitMs: laneLimitMs });
        this.roundTripMs = performance.now() - startedMs;
        this.#onRoundTrip?.(this.roundTripMs);
        await pauseFor(pulseMs, signal);
      } catch {
        if (signal.aborted) return;
        // ssh itself gets answers, or it would have ended: the line is full of what we send, or the shell is held, by a disk that does not answer, say. Then
        // another one takes its place.
        const next = await this.lanes.openJoined();
        if (signal.aborted || (!next && this.#control.isClosed)) {
          next?.close();
          this.close();
          return;
        }
        if (!next) continue;
        if (this.#control !== this.#first) this.#control.close();
        this.#control = next;
      }
    }
  }

  async #reason(exitCode: number | null): Promise<SshFailure> {
    const log = await readFile(this.command.log, 'utf8').catch(() => '');
    if (this.#hasStood) return brokenLink(this.name, log);
    const { before } = this.#first;
    const greeting = cleanLine(before.trim().split(/\r?\n/).at(-1) ?? '').trim();
    return sshFailure(this.name, `${log}\n${before}`, { exitCode, greeting });
  }
}

/** A connection that did not come about. */
export class ConnectFailure extends Error {
  readonly failure: SshFailure;

  constructor(failure: SshFailure) {
    super(failure.fault.message);
    this.failure = failure;
  }
}

/** Who has told ssh to refuse unknown keys without asking keeps that. Everybody else is asked. */
async function strictness(
  { program, destination }: SshCommand,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<'ask' | 'yes'> {
  const port = destination.port === undefined ? [] : ['-p', String(destination.port)];
  const { exitCode, stdout, stderr } = await limited(signal, configLimitMs, (limit) =>
    askProgram(program, ['-G', ...port, '--', destination.target], env, limit),
  );
  if (exitCode !== 0) throw new ConnectFailure(sshFailure(destination.target, stderr, { exitCode: 255, greeting: '' }));
  return /^stricthostkeychecking (?:yes|true)$/im.test(stdout) ? 'yes' : 'ask';
}
