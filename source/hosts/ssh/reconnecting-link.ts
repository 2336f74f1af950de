import { Fault, isAbort } from '../../faults/fault.ts';
import { createListeners } from '../../faults/listeners.ts';
import { limited } from '../../faults/waits.ts';
import type { HostLink, HostLinkView } from '../host.ts';
import { ConnectFailure, type SshConnection } from './ssh-connection.ts';
import { failureOf, type SshFailure } from './ssh-failures.ts';

/** First and longest wait before another attempt. */
const retryMs = [1_000, 30_000] as const;
/** Limit for a caller that has already lost its connection and only waits for the reason. */
const troubleLimitMs = 3_000;
/** A connection that was up for this long counts as good: the next break starts with the first wait again. */
const goodMs = 30_000;

/**
 * Keeps the one connection of a host: connects when first needed, reports its state, and reconnects after a break, with longer and longer
 * waits. After a refusal it does not retry by itself: the remote side counts failed logins, and bans.
 */
export class ReconnectingLink implements HostLink {
  view: HostLinkView = { state: 'connecting', sinceMs: Date.now() };
  readonly #listeners = createListeners();
  readonly subscribe = this.#listeners.subscribe;
  readonly #closing = new AbortController();
  #connection: SshConnection | undefined;
  #attempt: Promise<SshConnection> | undefined;
  #failures = 0;
  #lastFault: Fault | undefined;
  #awaySinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly open: (signal: AbortSignal) => Promise<SshConnection>) {}

  async ready(signal: AbortSignal): Promise<void> {
    await this.connection(signal);
  }

  retry(): void {
    if (this.#closing.signal.aborted || this.#connection || this.#attempt) return;
    this.#failures = 0;
    this.#start();
  }

  /** Returns the current connection; waits for the attempt in progress. Rejects at once while the host is unreachable. */
  async connection(signal: AbortSignal): Promise<SshConnection> {
    signal.throwIfAborted();
    if (this.#connection) return this.#connection;
    const { state, fault } = this.view;
    if (!this.#attempt && fault && (state === 'away' || state === 'refused')) throw fault;
    const attempt = this.#attempt ?? this.#start();
    // All callers share the attempt: one that cancels leaves it to the others.
    return new Promise((resolve, reject) => {
      const stop = () => reject(isAbort(signal.reason) ? (this.#waitingFor() ?? signal.reason) : signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      attempt.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  async trouble(signal: AbortSignal): Promise<Fault | undefined> {
    if (!this.#connection) return this.view.fault ?? this.#lastFault;
    try {
      await limited(signal, troubleLimitMs, () => this.#connection?.verifyAlive() ?? Promise.resolve());
      return undefined;
    } catch (thrown) {
      return thrown instanceof Fault ? thrown : undefined;
    }
  }

  asking(isAsking: boolean): void {
    if (this.#attempt) this.#setView({ state: isAsking ? 'asking' : 'connecting', sinceMs: Date.now() });
  }

  /** The reason why the attempt in progress cannot complete. */
  slow(fault: Fault): void {
    if (this.#attempt && this.view.state === 'connecting') this.#setView({ ...this.view, fault });
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#connection?.close();
  }

  roundTrip(ms: number): void {
    if (this.view.state === 'connected') this.#setView({ ...this.view, roundTripMs: ms });
  }

  #waitingFor(): Fault | undefined {
    if (this.view.state !== 'asking') return undefined;
    return new Fault('unreachable.asking', 'ssh is waiting for an answer before it connects.', 'Answer the ssh prompt.');
  }

  #start(): Promise<SshConnection> {
    clearTimeout(this.#timer);
    this.#setView({ state: 'connecting', sinceMs: Date.now() });
    const attempt = this.open(this.#closing.signal).then(
      (connection) => {
        this.#attempt = undefined;
        this.#setConnected(connection);
        return connection;
      },
      (thrown: unknown) => {
        this.#attempt = undefined;
        if (this.#closing.signal.aborted) throw thrown;
        throw this.#fail(failureIn(thrown));
      },
    );
    attempt.catch(() => undefined);
    this.#attempt = attempt;
    return attempt;
  }

  #setConnected(connection: SshConnection): void {
    this.#connection = connection;
    const sinceMs = Date.now();
    this.#awaySinceMs = undefined;
    this.#setView({ state: 'connected', sinceMs });
    void connection.ended.then((failure) => {
      this.#connection = undefined;
      if (this.#closing.signal.aborted) return;
      if (Date.now() - sinceMs >= goodMs) this.#failures = 0;
      this.#fail({ ...failure, needsOperator: false });
    });
  }

  #fail({ fault, needsOperator }: SshFailure): Fault {
    const [first, longest] = retryMs;
    const waitMs = Math.min(longest, first * 2 ** this.#failures);
    this.#failures += 1;
    this.#awaySinceMs ??= Date.now();
    this.#lastFault = fault;
    if (needsOperator) this.#setView({ state: 'refused', sinceMs: Date.now(), fault });
    else {
      this.#setView({ state: 'away', sinceMs: this.#awaySinceMs, fault, retryAtMs: Date.now() + waitMs });
      this.#timer = setTimeout(() => this.#start(), waitMs);
    }
    return fault;
  }

  #setView(view: HostLinkView): void {
    this.view = view;
    this.#listeners.notify();
  }
}

function failureIn(thrown: unknown): SshFailure {
  if (thrown instanceof ConnectFailure) return thrown.failure;
  if (thrown instanceof Fault) return failureOf(thrown);
  throw thrown;
}
