import { type HeldLock, holdFileLock } from '../config/file-lock.ts';
import { writeOwnFile } from '../config/own-files.ts';
import type { NotificationSettings } from '../config/settings.ts';
import { Fault } from '../faults/fault.ts';
import { endingWith, limited, pauseFor } from '../faults/waits.ts';
import type { Fleet } from '../fleet/model.ts';
import type { Host } from '../hosts/host.ts';
import type { Logs } from '../logs/store.ts';
import { evaluate, type Facts } from './evaluate.ts';
import { fleetFacts } from './facts.ts';
import { LogMatches } from './log-matches.ts';
import { type EventJson, eventText, type Message, ruleMessage } from './message.ts';
import { dueMessages, enqueue, settle } from './outbox.ts';
import { type ReadableHost, Readings } from './readings.ts';
import { type SendResult, send, usesSecret } from './send.ts';
import { emptyState, type NotificationState, readState, stateText } from './state-file.ts';

export interface WatchParts {
  settings: NotificationSettings;
  fleet: Fleet;
  logs: Logs;
  /** This machine: certificates are read, and messages sent, from here. */
  local: Host;
  /** The hosts of all engines that can be reached now. */
  readable(): readonly ReadableHost[];
  /** Whether every host of the settings is followed. */
  isWhole: boolean;
  /** `notifications.json` in the state folder, shared by all processes. */
  file: string;
  /** Token or password of a target. Throws a Fault if the secrets cannot be read. */
  secretOf(target: string, signal: AbortSignal): Promise<string | undefined>;
}

/** One line of the watch: an event, the result of a delivery, or what it does otherwise. */
export type Report =
  | { kind: 'event'; message: string; event: EventJson }
  | { kind: 'delivery'; message: string; target: string; state: SendResult['state'] }
  | { kind: 'note'; message: string };

const tickMs = 1_000;
/** Ages and durations change without any news. */
const evaluateMs = 10_000;
/** A host that never responds must not delay the others. */
const settleLimitMs = 20_000;

/**
 * Evaluates the rules and sends messages, in the one process that holds the lock; the others wait for it. The console and `watch` run the
 * same.
 */
export class NotificationWatch {
  #state: NotificationState = emptyState;
  #written = '';
  readonly #readings: Readings;
  /** Engines that answered when the fleet was last complete, with the start of their connection. */
  #settled = '';
  readonly #sending = new Map<string, Promise<void>>();
  /** A bug in a delivery, thrown by the loop. */
  #broken: { thrown: unknown } | undefined;

  private constructor(
    private readonly parts: WatchParts,
    private readonly logMatches: LogMatches,
    private readonly report: (report: Report) => void,
  ) {
    this.#readings = new Readings(parts.settings.rules, parts.local);
  }

  /** Throws `config.invalid` for a rule that cannot be evaluated. */
  static async open(parts: WatchParts, report: (report: Report) => void): Promise<NotificationWatch> {
    return new NotificationWatch(parts, await LogMatches.open(parts.settings.rules, parts.logs), report);
  }

  /** Evaluates once and sends what is due. Returns false if another process does this. */
  async once(signal: AbortSignal): Promise<boolean> {
    const lock = await holdFileLock(this.parts.file);
    if (!lock) return false;
    try {
      await this.#load();
      await this.#evaluate(signal);
      this.#deliver(signal);
      await Promise.all(this.#sending.values());
      await this.#save();
    } finally {
      this.logMatches.close();
      await lock.release();
    }
    return true;
  }

  /** Evaluates until the signal. Rejects with its reason, and with faults of the state file. */
  async run(signal: AbortSignal): Promise<void> {
    let isWaiting = false;
    try {
      for (;;) {
        const lock = await holdFileLock(this.parts.file);
        if (lock) await this.#runWith(lock, signal);
        else if (!isWaiting) this.#note('Another Quarterdeck process is evaluating the rules. Waiting for it to end.');
        isWaiting = true;
        await pauseFor(tickMs, signal);
      }
    } finally {
      this.logMatches.close();
    }
  }

  async #runWith(lock: HeldLock, signal: AbortSignal): Promise<void> {
    using ending = endingWith(signal, lock.lost);
    try {
      await this.#load();
      this.#note('Evaluating the rules.');
      let revision = -1;
      let evaluatedMs = Number.NEGATIVE_INFINITY;
      for (;;) {
        const now = performance.now();
        const current = this.parts.fleet.snapshot().revision;
        if (current !== revision || now - evaluatedMs >= evaluateMs) {
          revision = current;
          evaluatedMs = now;
          await this.#evaluate(ending.signal);
        }
        this.#deliver(ending.signal);
        await this.#save();
        await pauseFor(tickMs, ending.signal);
      }
    } catch (thrown) {
      signal.throwIfAborted();
      if (!lock.lost.aborted) throw thrown;
    } finally {
      // What was being sent is either done or still in the queue.
      await Promise.allSettled(this.#sending.values());
      if (!lock.lost.aborted) await this.#save();
      await lock.release();
    }
  }

  async #evaluate(signal: AbortSignal): Promise<void> {
    const facts = await this.#facts(signal);
    const nowMs = Date.now();
    const { settings } = this.parts;
    const { events, memory } = evaluate(settings, this.#state.memory, facts, nowMs);
    this.#state = { ...this.#state, memory };
    for (const { name, urgent, targets } of settings.rules) {
      const reported = events.filter(({ rule }) => rule === name);
      if (reported.length === 0) continue;
      const message = ruleMessage(name, urgent, reported);
      this.#state = { ...this.#state, ...enqueue(this.#state, targets, message, nowMs) };
      for (const event of message.events) this.report({ kind: 'event', event, message: `${event.rule}: ${eventText(event)}` });
    }
  }

  async #facts(signal: AbortSignal): Promise<Facts> {
    const { fleet, isWhole, readable } = this.parts;
    const connected = fleet
      .snapshot()
      .engines.filter(({ engine }) => engine.reachable)
      .map(({ name, link }) => `${name} ${link.sinceMs}`)
      .join('\n');
    // Until the probes have answered, a component looks better than it is, and its problem would seem resolved.
    if (connected !== this.#settled || connected === '')
      await limited(signal, settleLimitMs, (limit) => fleet.settle(limit, 'complete')).catch(() => signal.throwIfAborted());
    this.#settled = connected;
    const nowMs = Date.now();
    const snapshot = fleet.snapshot();
    this.logMatches.follow(snapshot);
    await this.#readings.refresh(readable(), nowMs, signal);
    const { facts, unknown } = fleetFacts(snapshot, nowMs);
    const { latest } = this.#readings;
    return {
      facts: [...facts, ...latest.facts, ...this.logMatches.take()],
      unknown: new Set([...unknown, ...latest.unknown]),
      hosts: isWhole ? new Set(snapshot.engines.map(({ name }) => name)) : undefined,
    };
  }

  /** Starts sending what is due; one message at a time to each target. */
  #deliver(signal: AbortSignal): void {
    if (this.#broken) throw this.#broken.thrown;
    const { targets } = this.parts.settings;
    for (const queued of dueMessages(this.#state, targets, Date.now())) {
      const name = queued.target;
      if (this.#sending.has(name)) continue;
      const sending = sendTo(this.parts, name, queued.message, signal)
        .then((result) => {
          this.#state = { ...this.#state, ...settle(this.#state, queued, result, Date.now()) };
          const isKept = this.#state.queue.some(({ target, message }) => target === name && message === queued.message);
          this.report({ kind: 'delivery', target: name, state: result.state, message: resultText(name, result, isKept) });
        })
        .catch((thrown: unknown) => {
          if (!signal.aborted) this.#broken = { thrown };
        })
        .finally(() => this.#sending.delete(name));
      this.#sending.set(name, sending);
    }
  }

  async #load(): Promise<void> {
    const { state, damaged } = await readState(this.parts.file);
    this.#state = state;
    this.#written = '';
    if (damaged !== undefined)
      this.#note(`The list of open problems was damaged and was moved to ${damaged}. Open problems are reported again.`);
  }

  async #save(): Promise<void> {
    const text = stateText(this.#state);
    if (text === this.#written) return;
    await writeOwnFile(this.parts.file, text);
    this.#written = text;
  }

  #note(message: string): void {
    this.report({ kind: 'note', message });
  }
}

/** Reads the secret of a target, if it uses one, and sends one message once. */
export async function sendTo(
  { settings, local, secretOf }: Pick<WatchParts, 'settings' | 'local' | 'secretOf'>,
  name: string,
  message: Message,
  signal: AbortSignal,
): Promise<SendResult> {
  const target = settings.targets[name];
  if (!target) return { state: 'skipped', reason: 'the target was removed from the configuration' };
  try {
    const secret = usesSecret(target) ? await secretOf(name, signal) : undefined;
    return await send({ name, target, message, secret, host: local, signal });
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return { state: 'failed', fault: thrown, retry: true };
    throw thrown;
  }
}

export function resultText(name: string, result: SendResult, isKept: boolean): string {
  if (result.state === 'sent') return `Sent to ${name}.`;
  if (result.state === 'skipped') return `Not sent to ${name}: ${result.reason}.`;
  return `Not sent to ${name}${isKept ? ' yet' : ''}: ${result.fault.message} ${result.fault.remedy}`;
}
