import type { CallAnswer, CallRequest, CallTarget, RunCall } from '../calls/call.ts';
import type { ConditionFacts } from '../calls/conditions.ts';
import { messageOf } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import { durationMs } from '../text/quantities.ts';
import type { FindingView, ProbeView } from './model.ts';
import { factsOf, sayingOf } from './probe-facts.ts';
import { type FindCredential, logIn } from './probe-login.ts';
import { renewedStatus, statusFrom } from './probe-status.ts';

export interface ProbeTarget extends Omit<CallTarget, 'name' | 'execAllowed'> {
  key: string;
  /** The name of its engine, and its own name there: secrets are stored under both. */
  engineName: string;
  id: string;
  hostAddresses: readonly string[];
  /** Offset by which the clock of the engine's start times is ahead of ours. */
  clockAheadMs?: number;
}

const usualIntervalMs = 15_000;

export const probeLimits = {
  /** On one host, so that a slow one does not keep others waiting. */
  atOnce: 4,
  /** Delay after a start or a change of health: the program needs a moment. */
  settleMs: 150,
  /** Interval while it is busy, or young and not responding yet. */
  eagerMs: 2_000,
  youngSeconds: 120,
  /** The interval of a component that is not shown grows with each failure up to this multiple: its recovery must not go unseen for long. */
  mostPatience: 2,
};

/** Pause before a program inside the container that gave no result is run again: first and longest. */
const stuckProgramMs = [30_000, 15 * 60_000] as const;
const wordColumns = 24;
const noFindings: readonly FindingView[] = [];
const noSetupTasks: ReadonlyMap<string, boolean> = new Map();

interface Asking {
  target: ProbeTarget;
  incarnation: string;
  timer: NodeJS.Timeout | undefined;
  running: AbortController | undefined;
  /** The pending response may be older than the change. */
  again: boolean;
  probe: ProbeView | undefined;
  findings: readonly FindingView[];
  setupTasks: ReadonlyMap<string, boolean>;
  kept: Map<string, { atMs: number; forMs: number; answer: CallAnswer }>;
  asked: boolean;
  /** Multiple of its usual interval after the last probe. */
  patience: number;
}

interface HostQueue {
  running: number;
  waiting: Set<Asking>;
}

interface ProbeWatchOptions {
  execAllowed: boolean;
  defaultIntervalMs?: number;
  /** Components that are shown are probed first. */
  isShown?: (key: string) => boolean;
  findCredential?: FindCredential | undefined;
}

/** Probes components in the background: never blocks the screen, each call with its own limit (R81). */
export class ProbeWatch {
  readonly #askings = new Map<string, Asking>();
  readonly #queues = new WeakMap<Host, HostQueue>();

  constructor(
    /** With the key of the component. `isNews`: it says something else than before, not only later. */
    private readonly probed: (key: string, isNews: boolean) => void,
    private readonly options: ProbeWatchOptions,
  ) {}

  probe(key: string): ProbeView | undefined {
    return this.#askings.get(key)?.probe;
  }

  findings(key: string): readonly FindingView[] {
    return this.#askings.get(key)?.findings ?? noFindings;
  }

  setupTasks(key: string): ReadonlyMap<string, boolean> {
    return this.#askings.get(key)?.setupTasks ?? noSetupTasks;
  }

  complete(): boolean {
    return [...this.#askings.values()].every((asking) => asking.asked);
  }

  /** Sets the components to probe, replacing the previous ones. One that was restarted or changed its health is probed at once. */
  follow(targets: readonly ProbeTarget[]): void {
    const wanted = new Set<string>();
    for (const target of targets) {
      const { probe, checks, firstRun } = target.entry;
      if (!probe && checks.length === 0 && firstRun.every(({ done }) => done === undefined)) continue;
      wanted.add(target.key);
      const incarnation = incarnationOf(target);
      const known = this.#askings.get(target.key);
      if (known?.incarnation === incarnation) {
        known.target = target;
        continue;
      }
      // Results from before a restart say nothing about the program now.
      const kept = known && sameProgram(known.incarnation, incarnation) ? known : undefined;
      if (known && !kept) this.probed(target.key, true);
      known?.running?.abort();
      clearTimeout(known?.timer);
      const nothing = { probe: undefined, findings: noFindings, setupTasks: noSetupTasks, asked: false, kept: new Map(), patience: 1 };
      const results = kept ?? nothing;
      const asking: Asking = { ...results, target, incarnation, timer: undefined, running: undefined, again: false };
      this.#askings.set(target.key, asking);
      this.#later(asking, known === undefined ? 0 : probeLimits.settleMs);
    }
    for (const [key, asking] of this.#askings) if (!wanted.has(key)) this.#forget(key, asking);
  }

  refresh(key?: string): void {
    for (const asking of this.#askings.values()) {
      if (key !== undefined && asking.target.key !== key) continue;
      asking.kept.clear();
      if (asking.running) asking.again = true;
      else this.#later(asking, 0);
    }
  }

  close(): void {
    for (const [key, asking] of this.#askings) this.#forget(key, asking);
  }

  #forget(key: string, asking: Asking): void {
    clearTimeout(asking.timer);
    asking.running?.abort();
    this.#askings.delete(key);
    this.probed(key, true);
  }

  #later(asking: Asking, ms: number): void {
    clearTimeout(asking.timer);
    asking.timer = setTimeout(() => {
      asking.timer = undefined;
      const { host } = asking.target;
      const queue = this.#queues.get(host) ?? { running: 0, waiting: new Set() };
      this.#queues.set(host, queue);
      queue.waiting.add(asking);
      this.#askNext(queue);
    }, ms);
  }

  #isShown({ target }: Asking): boolean {
    return this.options.isShown?.(target.key) === true;
  }

  #askNext(queue: HostQueue): void {
    while (queue.running < probeLimits.atOnce) {
      const waiting = [...queue.waiting];
      const asking = waiting.find((one) => this.#isShown(one)) ?? waiting[0];
      if (!asking) return;
      queue.waiting.delete(asking);
      if (this.#askings.get(asking.target.key) !== asking || asking.running) continue;
      queue.running++;
      void this.#ask(asking).finally(() => {
        queue.running--;
        this.#askNext(queue);
      });
    }
  }

  async #ask(asking: Asking): Promise<void> {
    const { target } = asking;
    const { entry } = target;
    asking.running = new AbortController();
    asking.again = false;
    const { signal } = asking.running;
    let eager = false;
    try {
      // Both load libraries that the first frame does not need.
      const [{ runCall }, conditions] = await Promise.all([import('../calls/run-call.ts'), import('../calls/conditions.ts')]);
      const setupTasks = entry.firstRun.flatMap(({ id, done }) =>
        done === undefined ? [] : [{ id, done, calls: conditions.callsOf(done) }],
      );
      const more = setupTasks.flatMap(({ calls }) => calls);
      const answers = await this.#answers(asking, runCall, more, signal);
      if (signal.aborted) return;
      const own = entry.probe && answers[entry.probe.call];
      const login = await logIn(target, { ...factsOf(target, answers), ...(own && { answer: own }) }, conditions, {
        find: this.options.findCredential,
        answer: (request) => this.#answer(asking, runCall, { ...request, signal }),
      });
      if (signal.aborted) return;
      const say = sayingOf(target, login.secrets);
      const facts = factsOf(target, { ...answers, ...login.answers });
      const seen = () => JSON.stringify([asking.probe && { ...asking.probe, atMs: 0 }, asking.findings, [...asking.setupTasks]]);
      const before = seen();
      conditions.guardedTogether(() => {
        if (entry.probe) {
          const probing: ConditionFacts = { ...facts, ...(own && { answer: own }) };
          const said = own && conditions.probedState(entry, probing);
          const version = own?.ok && entry.probe.version ? conditions.evaluate(entry.probe.version, probing).value : undefined;
          asking.probe = {
            state: said && { id: said.id, label: say(said.label, wordColumns), severity: said.severity },
            detail: say(said?.detail ?? ''),
            atMs: Date.now(),
            version: typeof version === 'string' && version !== '' ? say(version, wordColumns) : asking.probe?.version,
            failure: own && !own.ok ? say(own.failure) : undefined,
            status: renewedStatus(asking.probe, statusFrom(entry, probing, conditions, login), say),
          };
          eager =
            asking.probe.state?.severity === 'busy' || (asking.probe.failure !== undefined && facts.ageSeconds < probeLimits.youngSeconds);
        }
        const findings = entry.checks
          .filter((check) => conditions.holds(check.when, facts).holds)
          .map((check) => ({
            check: check.id,
            level: check.level,
            message: say(conditions.fillTemplate(check.message, facts)),
            remedy: say(conditions.fillTemplate(check.remedy, facts)),
            ...(check.run !== undefined && { operation: check.run }),
          }));
        asking.findings = [...findings, ...login.findings];
        // A call without a response says neither that the task is done nor that it is not.
        const reported = setupTasks.filter(({ calls }) => calls.every((name) => answers[name]?.ok));
        asking.setupTasks = new Map([
          ...asking.setupTasks,
          ...reported.map(({ id, done }) => [id, conditions.holds(done, facts).holds] as const),
        ]);
      });
      asking.patience = asking.probe?.failure === undefined ? 1 : Math.min(2 * asking.patience, probeLimits.mostPatience);
      const first = !asking.asked;
      asking.asked = true;
      this.probed(target.key, first || seen() !== before);
    } finally {
      asking.running = undefined;
      if (asking.again) asking.kept.clear();
      if (this.#askings.get(target.key) === asking) {
        const usualMs = entry.probe?.every ? durationMs(entry.probe.every) : (this.options.defaultIntervalMs ?? usualIntervalMs);
        const patience = this.#isShown(asking) ? 1 : asking.patience;
        this.#later(asking, asking.again ? 0 : eager ? probeLimits.eagerMs : patience * usualMs);
      }
    }
  }

  /** Runs each call once, for all users of its response. */
  async #answers(asking: Asking, runCall: RunCall, more: readonly string[], signal: AbortSignal): Promise<Record<string, CallAnswer>> {
    const { entry } = asking.target;
    const names = new Set([
      ...(entry.probe ? [entry.probe.call, ...entry.probe.also] : []),
      ...entry.checks.flatMap((check) => check.calls),
      ...more,
    ]);
    const answers: Record<string, CallAnswer> = {};
    const ask = async (name: string): Promise<void> => {
      const call = entry.calls[name];
      // The lint refuses such entries; an operator's own catalog may be newer than its last check.
      if (call?.reads && call.auth === 'none') answers[name] = await this.#answer(asking, runCall, { name, call, signal });
    };
    await Promise.all([...names].map(ask));
    return answers;
  }

  /** An expensive call is not repeated before it is due. */
  async #answer({ target, kept }: Asking, runCall: RunCall, request: CallRequest): Promise<CallAnswer> {
    const { name, call } = request;
    const before = kept.get(name);
    if (before && Date.now() - before.atMs < before.forMs) return before.answer;
    try {
      const answer = await runCall({ ...target, execAllowed: this.options.execAllowed }, request);
      const forMs = answer.ok ? durationMs(call.keep) : call.exec && answer.status === 0 ? patienceMs(before) : 0;
      kept.set(name, { atMs: Date.now(), forMs, answer });
      return answer;
    } catch (thrown) {
      return { ok: false, status: 0, json: undefined, text: '', headers: {}, failure: messageOf(thrown), tookMs: 0 };
    }
  }
}

function incarnationOf({ containers, entry }: ProbeTarget): string {
  const programs = [...containers].map(([name, container]) => `${name}=${container.id}@${container.startedMs ?? 0}`).join(',');
  const healths = [...containers.values()].map((container) => `${container.state}/${container.health}`).join(',');
  return `${entry.folder}\n${programs}\n${healths}`;
}

/** Returns whether the processes are the same, perhaps with another health. */
function sameProgram(one: string, other: string): boolean {
  const program = (incarnation: string) => incarnation.split('\n').slice(0, 2).join('\n');
  return program(one) === program(other);
}

/** No engine can end a program in a container: one that gave no result keeps running there, so it is started ever more rarely. */
function patienceMs(before: { forMs: number; answer: CallAnswer } | undefined): number {
  const [first, longest] = stuckProgramMs;
  return before && !before.answer.ok ? Math.min(longest, before.forMs * 2) : first;
}
