import type { CallAnswer, CallTarget, RunCall } from '../calls/call.ts';
import type { ConditionFacts } from '../calls/conditions.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ContainerDetail, Engine, EngineFacts } from '../engine/engine.ts';
import { messageOf } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import type { FindingView, ProbeView } from './model.ts';
import { factsOf, sayingOf } from './probe-facts.ts';

/** A running component whose catalog entry says how to ask it. */
export interface ProbeTarget {
  key: string;
  entry: CatalogEntry;
  host: Host;
  hostAddresses: readonly string[];
  /** How far the clock is ahead of ours by which the engine says since when something runs. */
  clockAheadMs?: number;
  engine: Engine;
  engineFacts: EngineFacts | undefined;
  /** By the catalog's service names. */
  containers: ReadonlyMap<string, ContainerDetail>;
  /** Containers of other projects in whose network one of these is (R15). */
  gateways?: readonly ContainerDetail[];
}

export interface ProbeLimits {
  /** Components asked at the same time. */
  atOnce: number;
  /** After a start or a change of health: the program needs a moment. */
  settleMs: number;
  /** While it is busy, or young and not answering yet. */
  eagerMs: number;
  youngSeconds: number;
}

export const probeLimits: ProbeLimits = { atOnce: 4, settleMs: 150, eagerMs: 2_000, youngSeconds: 120 };

/** Before a program inside that gave no answer is run again: at first, and at most. */
const stuckProgramMs = [30_000, 15 * 60_000] as const;
const wordColumns = 24;
const noFindings: readonly FindingView[] = [];
const noDuties: ReadonlyMap<string, boolean> = new Map();

interface Asking {
  target: ProbeTarget;
  incarnation: string;
  timer: NodeJS.Timeout | undefined;
  running: AbortController | undefined;
  /** To be asked again as soon as the answer on its way is there: that one may be older than what was changed. */
  again: boolean;
  probe: ProbeView | undefined;
  findings: readonly FindingView[];
  /** First-run duties that can be observed: done or not, as far as it was told. */
  duties: ReadonlyMap<string, boolean>;
  /** Answers that stand for a while, by the name of their call. */
  kept: Map<string, { atMs: number; forMs: number; answer: CallAnswer }>;
  /** Has it been asked since it started? */
  asked: boolean;
}

/** Asks components how they are, in the background: never blocks the screen, never holds a credential, each call with its own limit (R81). */
export class ProbeWatch {
  readonly #changed: () => void;
  readonly #execAllowed: boolean;
  readonly #limits: ProbeLimits;
  readonly #defaultIntervalMs: number;
  readonly #askings = new Map<string, Asking>();
  readonly #queue: Asking[] = [];
  #active = 0;
  #closed = false;

  constructor(
    changed: () => void,
    {
      execAllowed,
      defaultIntervalMs = 15_000,
      limits = probeLimits,
    }: { execAllowed: boolean; defaultIntervalMs?: number; limits?: ProbeLimits },
  ) {
    this.#defaultIntervalMs = defaultIntervalMs;
    this.#changed = changed;
    this.#execAllowed = execAllowed;
    this.#limits = limits;
  }

  probe(key: string): ProbeView | undefined {
    return this.#askings.get(key)?.probe;
  }

  findings(key: string): readonly FindingView[] {
    return this.#askings.get(key)?.findings ?? noFindings;
  }

  duties(key: string): ReadonlyMap<string, boolean> {
    return this.#askings.get(key)?.duties ?? noDuties;
  }

  /** Has everybody been asked at least once? */
  complete(): boolean {
    return [...this.#askings.values()].every((asking) => asking.asked);
  }

  /** From now on these are asked, and no others. One that was restarted or changed its health is asked at once. */
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
      const sameContainers = known !== undefined && sameProgram(known.incarnation, incarnation);
      known?.running?.abort();
      clearTimeout(known?.timer);
      const asking: Asking = {
        target,
        incarnation,
        timer: undefined,
        running: undefined,
        again: false,
        // What was said about the program before its restart says nothing about it now.
        probe: sameContainers ? known.probe : undefined,
        findings: sameContainers ? known.findings : noFindings,
        duties: sameContainers ? known.duties : noDuties,
        asked: sameContainers && known.asked,
        kept: sameContainers ? known.kept : new Map(),
      };
      this.#askings.set(target.key, asking);
      this.#later(asking, known === undefined ? 0 : this.#limits.settleMs);
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
    this.#closed = true;
    for (const [key, asking] of this.#askings) this.#forget(key, asking);
  }

  #forget(key: string, asking: Asking): void {
    clearTimeout(asking.timer);
    asking.running?.abort();
    this.#askings.delete(key);
  }

  #later(asking: Asking, ms: number): void {
    clearTimeout(asking.timer);
    asking.timer = setTimeout(() => {
      asking.timer = undefined;
      this.#queue.push(asking);
      void this.#work();
    }, ms);
  }

  async #work(): Promise<void> {
    if (this.#active >= this.#limits.atOnce) return;
    this.#active++;
    try {
      for (let asking = this.#queue.shift(); asking !== undefined && !this.#closed; asking = this.#queue.shift()) {
        if (this.#askings.get(asking.target.key) === asking && !asking.running) await this.#ask(asking);
      }
    } finally {
      this.#active--;
    }
  }

  async #ask(asking: Asking): Promise<void> {
    const { target } = asking;
    const { entry } = target;
    asking.running = new AbortController();
    asking.again = false;
    const { signal } = asking.running;
    const say = sayingOf(target);
    let eager = false;
    try {
      // Both pull in libraries that the first frame does not need.
      const [{ runCall }, conditions] = await Promise.all([import('../calls/run-call.ts'), import('../calls/conditions.ts')]);
      const duties = entry.firstRun.flatMap(({ id, done }) => (done === undefined ? [] : [{ id, done, calls: conditions.callsOf(done) }]));
      const answers = await this.#answers(
        asking,
        runCall,
        duties.flatMap(({ calls }) => calls),
        signal,
      );
      if (signal.aborted) return;
      const facts = factsOf(target, answers);
      const seen = () => JSON.stringify([asking.probe && { ...asking.probe, atMs: 0 }, asking.findings, [...asking.duties]]);
      const before = seen();
      if (entry.probe) {
        const answer = answers[entry.probe.call];
        const probing: ConditionFacts = { ...facts, ...(answer && { answer }) };
        const said = answer && conditions.sayingOf(entry, probing);
        const version = answer?.ok && entry.probe.version ? conditions.evaluate(entry.probe.version, probing).value : undefined;
        asking.probe = {
          word: say(said?.word ?? '', wordColumns),
          tone: said?.tone ?? 'good',
          detail: say(said?.detail ?? ''),
          atMs: Date.now(),
          version: typeof version === 'string' && version !== '' ? say(version, wordColumns) : asking.probe?.version,
          failure: answer && !answer.ok ? say(answer.failure) : undefined,
        };
        eager = asking.probe.tone === 'busy' || (asking.probe.failure !== undefined && facts.ageSeconds < this.#limits.youngSeconds);
      }
      asking.findings = entry.checks
        .filter((check) => conditions.holds(check.when, facts).holds)
        .map((check) => ({
          check: check.id,
          level: check.level,
          message: say(conditions.fillTemplate(check.message, facts)),
          remedy: say(conditions.fillTemplate(check.remedy, facts)),
          rule: check.rule,
        }));
      // What gave no answer says neither that it is done nor that it is not.
      const told = duties.filter(({ calls }) => calls.every((name) => answers[name]?.ok));
      asking.duties = new Map([...asking.duties, ...told.map(({ id, done }) => [id, conditions.holds(done, facts).holds] as const)]);
      const first = !asking.asked;
      asking.asked = true;
      if (first || seen() !== before) this.#changed();
    } finally {
      asking.running = undefined;
      if (asking.again) asking.kept.clear();
      if (!this.#closed && this.#askings.get(target.key) === asking) {
        this.#later(
          asking,
          asking.again ? 0 : eager ? this.#limits.eagerMs : entry.probe?.every ? intervalMs(entry.probe.every) : this.#defaultIntervalMs,
        );
      }
    }
  }

  /** Each call once, whoever uses its answer; one that was asked dearly not again before it is due. */
  async #answers(
    { target, kept }: Asking,
    runCall: RunCall,
    more: readonly string[],
    signal: AbortSignal,
  ): Promise<Record<string, CallAnswer>> {
    const { entry, host, engine, engineFacts, containers, gateways } = target;
    const callTarget: CallTarget = {
      ...{ entry, host, engine, containers, execAllowed: this.#execAllowed },
      ...(engineFacts && { engineFacts }),
      ...(gateways && { gateways }),
    };
    const names = new Set([
      ...(entry.probe ? [entry.probe.call, ...entry.probe.also] : []),
      ...entry.checks.flatMap((check) => check.calls),
      ...more,
    ]);
    const answers: Record<string, CallAnswer> = {};
    const ask = async (name: string): Promise<void> => {
      const call = entry.calls[name];
      // The lint refuses such entries; an operator's own catalog may be newer than its last check.
      if (!call?.reads || call.auth !== 'none') return;
      const before = kept.get(name);
      if (before && Date.now() - before.atMs < before.forMs) {
        answers[name] = before.answer;
        return;
      }
      try {
        const answer = await runCall(callTarget, { name, call, signal });
        answers[name] = answer;
        const forMs = answer.ok ? keepMs(call.keep) : call.exec && answer.status === 0 ? patienceMs(before) : 0;
        kept.set(name, { atMs: Date.now(), forMs, answer });
      } catch (thrown) {
        answers[name] = { ok: false, status: 0, json: undefined, text: '', headers: {}, failure: messageOf(thrown), tookMs: 0 };
      }
    };
    await Promise.all([...names].map(ask));
    return answers;
  }
}

function incarnationOf({ containers, entry }: ProbeTarget): string {
  const programs = [...containers].map(([name, container]) => `${name}=${container.id}@${container.startedMs ?? 0}`).join(',');
  const healths = [...containers.values()].map((container) => `${container.state}/${container.health}`).join(',');
  return `${entry.folder}\n${programs}\n${healths}`;
}

/** The same processes, perhaps in another health? */
function sameProgram(one: string, other: string): boolean {
  const program = (incarnation: string) => incarnation.split('\n').slice(0, 2).join('\n');
  return program(one) === program(other);
}

/** No engine can end a program in a container: one that gave no answer goes on there, and is joined by others ever more rarely. */
function patienceMs(before: { forMs: number; answer: CallAnswer } | undefined): number {
  const [first, longest] = stuckProgramMs;
  return before && !before.answer.ok ? Math.min(longest, before.forMs * 2) : first;
}

function keepMs(keep: string): number {
  return intervalMs(keep.endsWith('h') ? `${Number.parseInt(keep, 10) * 60}m` : keep);
}

function intervalMs(every: string): number {
  const number = Number.parseInt(every, 10);
  return every.endsWith('m') ? number * 60_000 : number * 1000;
}
