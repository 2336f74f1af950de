import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault, isAbort } from '../../faults/fault.ts';
import { limited, pauseFor } from '../../faults/waits.ts';
import type { DialAddress } from '../host.ts';
import type { SshDestination } from './destination.ts';
import { Forwards, type Led } from './forwards.ts';
import { SendWindow } from './send-window.ts';
import { type LaneAnswer, laneCommand, linkLost, ShellLane } from './shell-lane.ts';
import { laneLimitMs, ShellLanes } from './shell-lanes.ts';
import { shellWord } from './shell-words.ts';
import { askProgram, type KeptProgram, masterArguments, newerOptions, notStarted, type SshCommand, startKept } from './ssh-command.ts';
import { brokenLink, type SshFailure, silentShell, slowShell, sshFailure } from './ssh-failures.ts';

const configLimitMs = 5_000;
/** From the login to the shell. sshd itself may take 25 s: so long it waits for a login service that does not answer. */
const shellLimitMs = 30_000;
/** Then whoever waits is told what for. */
const slowShellMs = 5_000;
const shellLookMs = 250;
/** A line that is full for longer, in times of `laneLimitMs`, does not explain that a shell is silent. */
const fullLineWaits = 6;
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
  /** Until a shell has to answer behind the login. */
  shellLimitMs?: number;
  /** The login was let in a while ago, and no shell has answered yet. */
  onSlowShell?: (fault: Fault) => void;
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
  /** What goes out over it, but for what is short. */
  readonly sending = new SendWindow(() => this.#nothing());
  readonly #first: ShellLane;
  #control: ShellLane;
  readonly #kept: KeptProgram;
  readonly #onRoundTrip: ((ms: number) => void) | undefined;
  readonly #closing = new AbortController();
  #hasStood = false;
  #isShellThere = false;

  /**
   * Connects and waits until commands can be run. Asks what ssh asks.
   * @throws the fault of `SshFailure`, wrapped in a `ConnectFailure`
   */
  static async open(options: SshConnectionOptions, signal: AbortSignal): Promise<SshConnection> {
    const { folder, prefix, program, destination, env } = options;
    const asked: SshCommand = { program, destination, control: join(folder, `${prefix}c`), log: join(folder, `${prefix}l`) };
    await rm(asked.log, { force: true });
    const { strict, newer } = await settingsOf(asked, env, signal);
    const command: SshCommand = { ...asked, newer };
    const connection = new SshConnection(
      options,
      command,
      startKept(program, masterArguments(command, { strict, remote: laneCommand }), env),
    );
    const stop = () => connection.close();
    signal.addEventListener('abort', stop, { once: true });
    const patience = new AbortController();
    try {
      void connection.#watchShell(options, patience);
      await connection.#first.open(AbortSignal.any([signal, patience.signal]));
    } catch (thrown) {
      connection.close();
      signal.throwIfAborted();
      if (patience.signal.aborted) throw new ConnectFailure(silentShell(options.name, connection.#first.before));
      if (thrown instanceof Fault && thrown.code === 'unreachable.shell') throw new ConnectFailure({ fault: thrown, needsOperator: true });
      throw new ConnectFailure(await connection.ended);
    } finally {
      signal.removeEventListener('abort', stop);
      connection.#isShellThere = true;
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
    this.#first = new ShellLane(kept, name);
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
    try {
      return await limited(signal, limitMs, () => this.#control.ask(script, limitBytes));
    } catch (thrown) {
      if (signal.aborted || !isAbort(thrown)) throw thrown;
      throw new Fault({
        code: 'failed.limit',
        message: `${this.name} gave no answer within ${limitMs / 1000} s, though the connection to it stands.`,
        remedy: 'The line may be full, or a disk there does not answer: try again.',
      });
    }
  }

  /** Ends a program and what it started, wherever it runs there. */
  async kill(pid: number, name: 'TERM' | 'KILL'): Promise<void> {
    const script = (number: number) => `kill -${name} -${pid} 2>/dev/null || kill -${name} ${pid} 2>/dev/null\nqd_end ${number} 0`;
    await this.control(script, { signal: this.#closing.signal, limitMs: laneLimitMs }).catch(() => undefined);
  }

  /** Asks for something that only a connection that stands can answer. @throws Fault of the broken link */
  async proveStands(): Promise<void> {
    await this.#nothing().catch(async (thrown: unknown) => {
      // The shell there may be held; ssh has its own way to find out.
      if (!isAbort(thrown)) throw (await this.ended).fault;
    });
  }

  /** Costs a round trip, and whoever else asks at the same time shares it. */
  #nothing(): Promise<unknown> {
    return limited(this.#closing.signal, laneLimitMs, () => this.#control.ask((number) => `qd_end ${number} 0`, 1024));
  }

  /** The local socket that leads to an address there. */
  async forward(address: DialAddress, signal: AbortSignal): Promise<string> {
    return this.forwards.to(address, signal);
  }

  /** A connection to an address there, made by `connect` to the path here. As `Forwards.lead`. */
  async lead<T extends Led>(address: DialAddress, signal: AbortSignal, connect: (path: string) => Promise<T>): Promise<T> {
    return this.forwards.lead(address, signal, {
      connect,
      roundTrip: () => this.proveStands(),
      listens: async (socket) => (await this.listening(signal, socket)) !== undefined,
    });
  }

  /**
   * The path of a socket there that is known to listen, and that this user may use: this one, or any. The kernel's table has no sockets of other network
   * namespaces, so none is no proof.
   */
  async listening(signal: AbortSignal, socket?: string): Promise<string | undefined> {
    const isIt = socket === undefined ? '[ -S "$qd_f" ] && [ -w "$qd_f" ]' : `[ "$qd_f" -ef ${shellWord(socket)} ]`;
    const script = `( sed -n 's/^[^ ]* [^ ]* [^ ]* 00010000 0001 .* \\(\\/[^ ]*\\)$/\\1/p' /proc/net/unix 2>/dev/null |
while IFS= read -r qd_f; do if ${isIt}; then printf '%s' "$qd_f"; break; fi; done )`;
    const { stdout } = await this.control((number) => `${script}\nqd_end ${number} 0`, { signal, limitMs: laneLimitMs });
    return Buffer.from(stdout).toString('utf8') || undefined;
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(linkLost(this.name));
    this.sending.close();
    this.lanes.close();
    this.#control.close();
    this.#kept.end();
  }

  /** Where a line is full the answer stands behind what else comes: that is waited for. */
  async #pulseBeat(): Promise<void> {
    const { signal } = this.#closing;
    const asked = this.#control.ask((number) => `qd_end ${number} 0`, 1024);
    for (let waits = 1; ; waits++) {
      const before = this.sending.receivedBytes;
      try {
        await limited(signal, laneLimitMs, () => asked);
        return;
      } catch (thrown) {
        if (signal.aborted || !isAbort(thrown) || this.sending.receivedBytes === before || waits >= fullLineWaits) throw thrown;
      }
    }
  }

  async #pulse(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      try {
        const startedMs = performance.now();
        await this.#pulseBeat();
        this.roundTripMs = performance.now() - startedMs;
        this.sending.heard(this.roundTripMs);
        this.#onRoundTrip?.(this.roundTripMs);
        await pauseFor(pulseMs, signal);
      } catch {
        if (signal.aborted) return;
        // ssh itself gets answers, or it would have ended: the shell is held, by a disk that does not answer, say. Another one takes its place.
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

  /** Gives up on a login behind which no shell answers: a profile that asks something, or does not end. Before the login ssh has its own limit. */
  async #watchShell({ shellLimitMs: limitMs = shellLimitMs, onSlowShell }: SshConnectionOptions, patience: AbortController): Promise<void> {
    let sinceMs: number | undefined;
    let isTold = false;
    while (!this.#isShellThere && !this.#closing.signal.aborted) {
      // ssh makes its socket as soon as it is let in.
      if (sinceMs === undefined && (await stat(this.command.control).catch(() => undefined))) sinceMs = performance.now();
      const waitedMs = sinceMs === undefined ? 0 : performance.now() - sinceMs;
      if (waitedMs >= limitMs) return patience.abort(new DOMException('no shell', 'TimeoutError'));
      if (!isTold && waitedMs >= Math.min(slowShellMs, limitMs / 2)) {
        isTold = true;
        onSlowShell?.(slowShell(this.name, this.#first.before));
      }
      await pauseFor(shellLookMs, this.#closing.signal).catch(() => undefined);
    }
  }

  async #reason(exitCode: number | null): Promise<SshFailure> {
    const log = await readFile(this.command.log, 'utf8').catch(() => '');
    if (this.#hasStood) return brokenLink(this.name, log);
    return sshFailure(this.name, log, { exitCode, before: this.#first.before });
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

/** What ssh makes of its configuration. Who has told it to refuse unknown keys without asking keeps that; everybody else is asked. */
async function settingsOf(
  { program, destination }: SshCommand,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<{ strict: 'ask' | 'yes'; newer: string[] }> {
  const port = destination.port === undefined ? [] : ['-p', String(destination.port)];
  const { exitCode, stdout, stderr } = await limited(signal, configLimitMs, (limit) =>
    askProgram(program, ['-G', ...port, '--', destination.target], env, limit),
  );
  if (exitCode !== 0) throw new ConnectFailure(sshFailure(destination.target, stderr, { exitCode: 255 }));
  return {
    strict: /^stricthostkeychecking (?:yes|true)$/im.test(stdout) ? 'yes' : 'ask',
    newer: Object.entries(newerOptions).flatMap(([word, option]) => (new RegExp(`^${word} `, 'im').test(stdout) ? [option] : [])),
  };
}
