import { addAbortListener } from 'node:events';
import { readFile, rm, stat, watch } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { Fault, isAbort } from '../../faults/fault.ts';
import { limited, pauseFor } from '../../faults/waits.ts';
import { type SshDestination, sshText } from './destination.ts';
import { Forwards } from './forwards.ts';
import { SendWindow } from './send-window.ts';
import { linkLost, type SessionAnswer, ShellSession, sessionCommand } from './shell-session.ts';
import { ShellSessionPool, sessionLimitMs } from './shell-session-pool.ts';
import { shellWord } from './shell-words.ts';
import { type KeptProgram, masterArguments, newerOptions, notStarted, resolvedConfig, type SshCommand, startKept } from './ssh-command.ts';
import { brokenLink, type SshFailure, silentShell, slowShell, sshFailure } from './ssh-failures.ts';

/** Time from the login to the shell. sshd itself may take 25 s: it waits that long for a login service that does not respond. */
const shellLimitMs = 30_000;
/** After this time, the caller is told the reason for the wait. */
const slowShellMs = 5_000;
const shellLookMs = 250;
/** Beyond this multiple of `sessionLimitMs`, a full line no longer explains a silent shell. */
const fullLineWaits = 6;
const pulseMs = 5_000;

export interface SshConnectionOptions {
  name: string;
  destination: SshDestination;
  folder: string;
  /** Distinguishes the sockets of this connection from others in the folder. */
  prefix: string;
  program: string;
  settings: SshSettings;
  /** The environment of ssh: the operator's own, and the askpass settings. */
  env: Readonly<Record<string, string | undefined>>;
  onRoundTrip?: (ms: number) => void;
  /** Called before the login: a command sent now is answered together with it. */
  onOpening?: (connection: SshConnection) => void;
  shellLimitMs?: number;
  /** The login was accepted a while ago, and no shell has answered yet. */
  onSlowShell?: (fault: Fault) => void;
}

/**
 * One open OpenSSH connection. Its own session is a shell for our own commands (`control`); programs run in further shells, opened when
 * first needed; any number of sockets is forwarded through it without sessions.
 */
export class SshConnection {
  readonly name: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly forwards: Forwards;
  /** Resolves with the reason when the connection has ended. Never rejects. */
  readonly ended: Promise<SshFailure>;
  roundTripMs: number | undefined;
  readonly shells: ShellSessionPool;
  /** Controls the data sent over the connection, except short data. */
  readonly sending = new SendWindow(() => this.#nothing());
  readonly #first: ShellSession;
  #control: ShellSession;
  readonly #onRoundTrip: ((ms: number) => void) | undefined;
  readonly #closing = new AbortController();
  #wasConnected = false;
  #isShellReady = false;

  /**
   * Connects and waits until commands can be run. Passes on the prompts of ssh.
   * @throws the fault of `SshFailure`, wrapped in a `ConnectFailure`
   */
  static async open(options: SshConnectionOptions, signal: AbortSignal): Promise<SshConnection> {
    const { folder, prefix, program, destination, env, settings } = options;
    const asked: SshCommand = { program, destination, control: join(folder, `${prefix}c`), log: join(folder, `${prefix}l`) };
    await rm(asked.log, { force: true });
    signal.throwIfAborted();
    const { strict, newer } = settings;
    const command: SshCommand = { ...asked, newer };
    const connection = new SshConnection(
      options,
      command,
      startKept(program, masterArguments(command, { strict, remote: sessionCommand }), env),
    );
    using _stop = addAbortListener(signal, () => connection.close());
    const patience = new AbortController();
    try {
      void connection.#watchShell(options, patience);
      const opening = connection.#first.open(AbortSignal.any([signal, patience.signal]));
      options.onOpening?.(connection);
      await opening;
    } catch (thrown) {
      connection.close();
      signal.throwIfAborted();
      if (patience.signal.aborted) throw new ConnectFailure(silentShell(options.name, connection.#first.before));
      if (thrown instanceof Fault && thrown.code === 'unreachable.shell') throw new ConnectFailure({ fault: thrown, needsOperator: true });
      throw new ConnectFailure(await connection.ended);
    } finally {
      connection.#isShellReady = true;
    }
    connection.#wasConnected = true;
    void connection.#pulse();
    return connection;
  }

  private constructor(
    { name, env, folder, prefix, onRoundTrip }: SshConnectionOptions,
    readonly command: SshCommand,
    private readonly kept: KeptProgram,
  ) {
    this.name = name;
    this.env = env;
    this.#onRoundTrip = onRoundTrip;
    this.forwards = new Forwards(this, folder, prefix);
    this.shells = new ShellSessionPool(name, command, env);
    this.#first = new ShellSession(kept, name);
    this.#control = this.#first;
    this.ended = new Promise((resolve) => {
      kept.child.once('error', (cause) => resolve({ fault: notStarted('/bin/sh', cause), needsOperator: true }));
      kept.child.once('close', (exitCode) => void this.#reason(exitCode).then(resolve));
    });
    void this.ended.then(() => this.close());
  }

  /** Resolves when the login is accepted: ssh creates its control socket, and can forward. The shell is ready two round trips later. */
  async loggedIn(): Promise<void> {
    const { dir, base } = parse(this.command.control);
    for await (const { filename } of watch(dir, { signal: this.#closing.signal })) if (filename === base) return;
  }

  /** Runs one of our own short read-only scripts; the ending is its exit code. Several at once cost one round trip. */
  async control(
    script: string,
    { signal, limitMs, limitBytes = 1024 * 1024 }: { signal: AbortSignal; limitMs: number; limitBytes?: number },
  ): Promise<SessionAnswer> {
    try {
      return await limited(signal, limitMs, () => this.#control.ask((number) => `${script}\nqd_end ${number} "$?"`, limitBytes));
    } catch (thrown) {
      if (signal.aborted || !isAbort(thrown)) throw thrown;
      const message = `${this.name} did not respond within ${limitMs / 1000} s, although it is connected.`;
      throw new Fault('failed.limit', message, 'The network may be congested, or a disk on the host may not respond. Try again.');
    }
  }

  async kill(pid: number, name: 'TERM' | 'KILL'): Promise<void> {
    const script = `kill -${name} -${pid} 2>/dev/null || kill -${name} ${pid} 2>/dev/null`;
    await this.control(script, { signal: this.#closing.signal, limitMs: sessionLimitMs }).catch(() => undefined);
  }

  /** Sends a query that only a live connection can answer. @throws Fault of the broken connection */
  async verifyAlive(): Promise<void> {
    await this.#nothing().catch(async (thrown: unknown) => {
      // The shell may be blocked; ssh has its own way to check.
      if (!isAbort(thrown)) throw (await this.ended).fault;
    });
  }

  /** Costs one round trip, which concurrent callers share. */
  #nothing(): Promise<unknown> {
    return limited(this.#closing.signal, sessionLimitMs, () => this.#control.ask((number) => `qd_end ${number} 0`, 1024));
  }

  /**
   * Returns the path of a remote socket that is known to listen and that this user may use: the given one, or any. The kernel's table has
   * no sockets of other network namespaces, so a missing entry proves nothing.
   */
  async listening(signal: AbortSignal, socket?: string): Promise<string | undefined> {
    const isIt = socket === undefined ? '[ -S "$qd_f" ] && [ -w "$qd_f" ]' : `[ "$qd_f" -ef ${shellWord(socket)} ]`;
    const script = `( sed -n 's/^[^ ]* [^ ]* [^ ]* 00010000 0001 .* \\(\\/[^ ]*\\)$/\\1/p' /proc/net/unix 2>/dev/null |
while IFS= read -r qd_f; do if ${isIt}; then printf '%s' "$qd_f"; break; fi; done )`;
    const { stdout } = await this.control(script, { signal, limitMs: sessionLimitMs });
    return Buffer.from(stdout).toString('utf8') || undefined;
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(linkLost(this.name));
    this.sending.close();
    this.shells.close();
    this.#control.close();
    this.kept.end();
  }

  /** On a full line, the response is queued behind other data: wait for it. */
  async #pulseBeat(): Promise<void> {
    const { signal } = this.#closing;
    const asked = this.#control.ask((number) => `qd_end ${number} 0`, 1024);
    for (let waits = 1; ; waits++) {
      const before = this.sending.receivedBytes;
      try {
        await limited(signal, sessionLimitMs, () => asked);
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
        this.sending.recordRoundTrip(this.roundTripMs);
        this.#onRoundTrip?.(this.roundTripMs);
        await pauseFor(pulseMs, signal);
      } catch {
        if (signal.aborted) return;
        // ssh itself gets responses, or it would have ended: the shell is blocked, for example by a disk that does not respond. Another
        // shell replaces it.
        const next = await this.shells.openJoined();
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

  /** Gives up on a login after which no shell answers: a profile that prompts, or does not end. Before the login, ssh has its own limit. */
  async #watchShell({ shellLimitMs: limitMs = shellLimitMs, onSlowShell }: SshConnectionOptions, patience: AbortController): Promise<void> {
    let sinceMs: number | undefined;
    let isReported = false;
    while (!this.#isShellReady && !this.#closing.signal.aborted) {
      // ssh creates its control socket once the login is accepted.
      if (sinceMs === undefined && (await stat(this.command.control).catch(() => undefined))) sinceMs = performance.now();
      const waitedMs = sinceMs === undefined ? 0 : performance.now() - sinceMs;
      if (waitedMs >= limitMs) return patience.abort(new DOMException('no shell', 'TimeoutError'));
      if (!isReported && waitedMs >= Math.min(slowShellMs, limitMs / 2)) {
        isReported = true;
        onSlowShell?.(slowShell(this.name, this.#first.before));
      }
      await pauseFor(shellLookMs, this.#closing.signal).catch(() => undefined);
    }
  }

  async #reason(exitCode: number | null): Promise<SshFailure> {
    const log = await readFile(this.command.log, 'utf8').catch(() => '');
    const ssh = sshText(this.command.destination);
    if (this.#wasConnected) return brokenLink(this.name, log, ssh);
    return sshFailure(this.name, log, { exitCode, before: this.#first.before, ssh });
  }
}

export class ConnectFailure extends Error {
  constructor(readonly failure: SshFailure) {
    super(failure.fault.message);
  }
}

export interface SshSettings {
  strict: 'ask' | 'yes';
  newer: string[];
}

/** Reads the configuration that ssh resolves. An operator whose ssh refuses unknown keys keeps that; all others are prompted. */
export async function readSshSettings(
  { program, destination, env }: Pick<SshConnectionOptions, 'program' | 'destination' | 'env'>,
  signal: AbortSignal,
): Promise<SshSettings> {
  const { exitCode, stdout, stderr } = await resolvedConfig(program, destination, env, signal);
  if (exitCode !== 0) throw new ConnectFailure(sshFailure(destination.target, stderr, { exitCode: 255, ssh: sshText(destination) }));
  return {
    strict: /^stricthostkeychecking (?:yes|true)$/im.test(stdout) ? 'yes' : 'ask',
    newer: Object.entries(newerOptions).flatMap(([word, option]) => (new RegExp(`^${word} `, 'im').test(stdout) ? [option] : [])),
  };
}
