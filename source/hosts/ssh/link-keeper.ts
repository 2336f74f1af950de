import { Fault, isAbort } from '../../faults/fault.ts';
import { limited } from '../../faults/waits.ts';
import type { HostLink, HostLinkView } from '../host.ts';
import { ConnectFailure, type SshConnection } from './ssh-connection.ts';
import type { SshFailure } from './ssh-failures.ts';

/** First and longest wait before another attempt. */
const retryMs = [1_000, 30_000] as const;
/** Whoever asks has bad news already, and waits for nothing but its reason. */
const troubleLimitMs = 3_000;
/** A connection that stood for this long was a good one: the next break begins with the first wait again. */
const goodMs = 30_000;

/**
 * Keeps the one connection of a host: makes it when it is first needed, says how it is, and makes it anew after a break, with longer and longer waits. What
 * was refused is not tried again by itself: the far side counts failed logins, and bans.
 */
export class LinkKeeper implements HostLink {
  view: HostLinkView = { state: 'connecting', sinceMs: Date.now() };
  readonly #open: (signal: AbortSignal) => Promise<SshConnection>;
  readonly #listeners = new Set<() => void>();
  readonly #closing = new AbortController();
  #connection: SshConnection | undefined;
  #attempt: Promise<SshConnection> | undefined;
  #failures = 0;
  /** Why it was over the last time. */
  #lastFault: Fault | undefined;
  /** Since it was last there. */
  #awaySinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(open: (signal: AbortSignal) => Promise<SshConnection>) {
    this.#open = open;
  }

  subscribe(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  async ready(signal: AbortSignal): Promise<void> {
    await this.connection(signal);
  }

  retry(): void {
    if (this.#closing.signal.aborted || this.#connection || this.#attempt) return;
    this.#failures = 0;
    this.#start();
  }

  /** The connection that stands; waits for the attempt that is under way. Rejects at once while it is away. */
  async connection(signal: AbortSignal): Promise<SshConnection> {
    signal.throwIfAborted();
    if (this.#connection) return this.#connection;
    const { state, fault } = this.view;
    if (!this.#attempt && fault && (state === 'away' || state === 'refused')) throw fault;
    const attempt = this.#attempt ?? this.#start();
    // The attempt is everybody's: who goes away leaves it to the others.
    return new Promise((resolve, reject) => {
      const stop = () => reject(isAbort(signal.reason) ? (this.#waitingFor() ?? signal.reason) : signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      attempt.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  async trouble(signal: AbortSignal): Promise<Fault | undefined> {
    if (!this.#connection) return this.view.fault ?? this.#lastFault;
    try {
      await limited(signal, troubleLimitMs, () => this.#connection?.proveStands() ?? Promise.resolve());
      return undefined;
    } catch (thrown) {
      return thrown instanceof Fault ? thrown : undefined;
    }
  }

  /** ssh asks, or no longer does. */
  asking(isAsking: boolean): void {
    if (this.#attempt) this.#say({ state: isAsking ? 'asking' : 'connecting', sinceMs: Date.now() });
  }

  /** What keeps the attempt that is under way from coming to its end. */
  slow(fault: Fault): void {
    if (this.#attempt && this.view.state === 'connecting') this.#say({ ...this.view, fault });
  }

  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#connection?.close();
  }

  /** Told by a connection about itself. */
  roundTrip(ms: number): void {
    if (this.view.state === 'connected') this.#say({ ...this.view, roundTripMs: ms });
  }

  #waitingFor(): Fault | undefined {
    if (this.view.state !== 'asking') return undefined;
    return new Fault({
      code: 'unreachable.asking',
      message: 'ssh waits for an answer before it connects.',
      remedy: 'Answer its question.',
    });
  }

  #start(): Promise<SshConnection> {
    clearTimeout(this.#timer);
    this.#say({ state: 'connecting', sinceMs: Date.now() });
    const attempt = this.#open(this.#closing.signal).then(
      (connection) => {
        this.#attempt = undefined;
        this.#stand(connection);
        return connection;
      },
      (thrown: unknown) => {
        this.#attempt = undefined;
        if (this.#closing.signal.aborted) throw thrown;
        throw this.#fail(failureOf(thrown));
      },
    );
    attempt.catch(() => undefined);
    this.#attempt = attempt;
    return attempt;
  }

  #stand(connection: SshConnection): void {
    this.#connection = connection;
    const sinceMs = Date.now();
    this.#awaySinceMs = undefined;
    this.#say({ state: 'connected', sinceMs });
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
    if (needsOperator) this.#say({ state: 'refused', sinceMs: Date.now(), fault });
    else {
      this.#say({
        state: 'away',
        sinceMs: this.#awaySinceMs,
        fault,
        retryAtMs: Date.now() + waitMs,
      });
      this.#timer = setTimeout(() => this.#start(), waitMs);
    }
    return fault;
  }

  #say(view: HostLinkView): void {
    this.view = view;
    for (const changed of this.#listeners) changed();
  }
}

function failureOf(thrown: unknown): SshFailure {
  if (thrown instanceof ConnectFailure) return thrown.failure;
  if (thrown instanceof Fault) return { fault: thrown, needsOperator: thrown.kind !== 'unreachable' };
  throw thrown;
}
