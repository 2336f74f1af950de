import { createContext, Script } from 'node:vm';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { compileExpression, type Expression, isProblem, isTemplateProblem, problemOf, readTemplate } from '../catalog/expressions.ts';
import { type State, stateId } from '../catalog/state.ts';
import type { CallAnswer } from './call.ts';

/** Variables of conditions and templates in component.yaml. Checks have the same, without the response of a call of their own. */
export interface ConditionFacts {
  /** Missing in checks. */
  answer?: Pick<CallAnswer, 'ok' | 'status' | 'json' | 'text' | 'headers' | 'failure'>;
  /** Seconds since the main container started. */
  ageSeconds: number;
  env: Readonly<Record<string, string>>;
  /** Never secret ones. */
  fields: Readonly<Record<string, string | number | boolean>>;
  ports: readonly { name: string; exposure: 'loopback' | 'lan' | 'public'; published: boolean }[];
  /**
   * A condition sees only `ok` and `failure` of a failed call, and nothing of a skipped one: all else that it uses is missing, so it is
   * not true. Two forms do not depend on the response: `a || b` is true if either is, and `!calls.x.ok` is true if x failed.
   */
  calls: Readonly<Record<string, Pick<CallAnswer, 'ok' | 'status' | 'json' | 'text' | 'headers'>>>;
  services: Readonly<Record<string, { state: string; health: string; uptime: number }>>;
}

/** Evaluates a condition. One that cannot be evaluated, takes too long or is not a boolean is not true, and has a reason. Never throws. */
export function holds(source: string, facts: ConditionFacts): { holds: boolean; reason?: string } {
  const { value, reason } = evaluate(source, facts);
  if (reason !== undefined) return { holds: false, reason };
  if (typeof value !== 'boolean') return { holds: false, reason: `"${source}" does not evaluate to true or false` };
  return { holds: value };
}

export function callsOf(source: string, scope: 'check' | 'probe' = 'check'): readonly string[] {
  const expression = compileExpression(source, scope);
  return isProblem(expression) ? [] : [...expression.names.calls.keys()];
}

/** Returns the value of an expression as plain data, or the reason why there is none. Never throws. */
export function evaluate(source: string, facts: ConditionFacts): { value?: unknown; reason?: string } {
  const expression = compileExpression(source, facts.answer === undefined ? 'check' : 'probe');
  if (isProblem(expression)) return { reason: expression.message };
  try {
    return { value: plain(runGuarded(expression, variablesOf(facts)), 0) };
  } catch (thrown) {
    return { reason: isTimeout(thrown) ? `the expression used more than ${limitMs} ms of CPU time` : problemOf(thrown).message };
  }
}

/** Parts that cannot be evaluated become `?`, so that the rest can be read. Never throws. Raw text: clean before showing. */
export function fillTemplate(text: string, facts: ConditionFacts): string {
  return (
    filledParts(text, facts)
      ?.map((part) => part ?? '?')
      .join('') ?? text
  );
}

/** Undefined for a value that is missing, and undefined for an invalid template. */
function filledParts(text: string, facts: ConditionFacts): (string | undefined)[] | undefined {
  const template = readTemplate(text);
  if (isTemplateProblem(template)) return undefined;
  return template.map((part) => {
    if (typeof part === 'string') return part;
    const { value } = evaluate(part.source, facts);
    return value === undefined || value === null ? undefined : textOf(value).slice(0, 500);
  });
}

/** Returns the first status line whose condition is true and whose values all exist. Raw text: clean before showing. */
export function statusLine({ probe }: Pick<CatalogEntry, 'probe'>, facts: ConditionFacts): string | undefined {
  for (const { when, text } of probe?.status ?? []) {
    const parts = holds(when, facts).holds ? filledParts(text, facts) : undefined;
    const line = parts?.includes(undefined) ? undefined : parts?.join('').trim();
    if (line) return line;
  }
  return undefined;
}

/** Returns the calls that the status lines of a probe use. The response of the probe's own call counts always. */
export function statusCalls({ probe }: Pick<CatalogEntry, 'probe'>): ReadonlySet<string> {
  const expressions = (probe?.status ?? []).flatMap(({ when, text }) => {
    const template = readTemplate(text);
    return isTemplateProblem(template) ? [] : [when, ...template.flatMap((part) => (typeof part === 'string' ? [] : [part.source]))];
  });
  return new Set([...(probe ? [probe.call] : []), ...expressions.flatMap((source) => callsOf(source, 'probe'))]);
}

/** Returns the first state of the probe whose condition is true, then the first default one; undefined if there is none. */
export function probedState(entry: CatalogEntry, facts: ConditionFacts): (State & { detail: string }) | undefined {
  const fits = ({ when }: { when: string }) => holds(when, facts).holds;
  const found = entry.probe?.states.find(fits) ?? defaultStates(entry).find(fits);
  return (
    found && {
      id: found.id ?? stateId(found.state),
      label: fillTemplate(found.state, facts),
      severity: found.severity,
      detail: fillTemplate(found.detail, facts),
    }
  );
}

type ProbeState = NonNullable<CatalogEntry['probe']>['states'][number];

const silent: readonly ProbeState[] = [
  { when: '!ok && age < 120', state: 'starting', severity: 'busy', detail: 'Started {age} seconds ago.' },
  { when: '!ok', state: 'unreachable', severity: 'error', detail: '{failure}' },
];

/** R34: a component that requires a login or is overloaded is up. */
const answering: readonly ProbeState[] = [
  {
    when: 'status == 401 || status == 403',
    ...{ state: 'login required', id: 'up-login-needed' },
    severity: 'ok',
    detail: 'The component responds and requires a login for this request.',
  },
  {
    when: 'status == 404',
    ...{ state: 'different path', id: 'up-other-path' },
    severity: 'warning',
    detail: 'The component does not respond at this path. It may be another version, or another program may be using the port.',
  },
  { when: 'status == 429 || status == 503', state: 'busy', severity: 'warning', detail: 'Requests are rejected (status {status}).' },
  { when: 'status >= 500', state: 'unhealthy', severity: 'error', detail: 'The component responds with status {status}; check its log.' },
];

/**
 * For responses that match none of a probe's own states, unless it sets `defaults: false`. For an opened port: only for a missing response;
 * for a call inside a container: none, because it is skipped in read-only mode.
 */
function defaultStates({ probe, calls, product }: Pick<CatalogEntry, 'probe' | 'calls' | 'product'>): readonly ProbeState[] {
  if (!probe?.defaults) return [];
  const call = calls[probe.call];
  if (call?.tcp) return silent;
  if (!call?.http) return [];
  const detail = `The port responds with status {status}, but the response is not from ${product.name.replaceAll(/[{}]/g, '')}.`;
  return [...silent, ...answering, { when: 'true', state: 'unexpected response', id: 'strange-answer', severity: 'warning', detail }];
}

const variables = new WeakMap<ConditionFacts, Record<string, unknown>>();

/** Converts facts for CEL. Many conditions use one set of facts, so the result is cached as long as the facts are. */
function variablesOf(facts: ConditionFacts): Record<string, unknown> {
  let known = variables.get(facts);
  if (known === undefined) {
    const { answer, ageSeconds, ...rest } = facts;
    const budget = { left: nodeLimit };
    known = { age: celValue(ageSeconds, budget, 0) };
    for (const [name, value] of Object.entries({ ...rest, calls: withoutFailed(rest.calls) })) known[name] = celValue(value, budget, 0);
    if (answer)
      for (const name of ['ok', 'status', 'json', 'text', 'headers', 'failure'] as const)
        known[name] = celValue(answer[name] ?? null, budget, 0);
    variables.set(facts, known);
  }
  return known;
}

/** See `ConditionFacts.calls`. */
function withoutFailed(calls: ConditionFacts['calls']): Readonly<Record<string, object>> {
  const seen = (answer: Partial<CallAnswer>) => (answer.ok ? answer : { ok: false, failure: answer.failure });
  return Object.fromEntries(Object.entries(calls).map(([name, answer]) => [name, seen(answer)]));
}

/** A response of 64 KiB has fewer values than this unless it is invalid. */
const nodeLimit = 20_000;
const depthLimit = 40;

/** Whole numbers become CEL's int, others its double. Objects lose their prototype. Beyond the limits values are missing. */
export function celValue(value: unknown, budget: { left: number }, depth: number): unknown {
  if (--budget.left < 0 || depth > depthLimit) return null;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.slice(0, Math.max(0, budget.left)).map((item) => celValue(item, budget, depth + 1));
  if (typeof value === 'object' && value !== null) {
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, member] of Object.entries(value)) {
      if (budget.left <= 0) break;
      if (member !== undefined) copy[key] = celValue(member, budget, depth + 1);
    }
    return copy;
  }
  return value ?? null;
}

function plain(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (depth > depthLimit) return null;
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member, depth + 1)]));
  const prototype: unknown = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined;
  if (prototype === null || prototype === Object.prototype)
    return Object.fromEntries(Object.entries(value as object).map(([key, member]) => [key, plain(member, depth + 1)]));
  return value;
}

function textOf(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Math.round(value * 100) / 100);
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) return JSON.stringify(value);
  return String(value);
}

/** CPU time: on a busy machine, wall-clock time would stop fast conditions. */
const limitMs = 100;
const longestWaitMs = 64 * limitMs;
let guard: { context: { task: (() => unknown) | undefined }; script: Script } | undefined;

/**
 * Loops over a hostile response and patterns matched against it can run forever. Only the timeout of `node:vm` interrupts them; it costs a
 * thread, so other expressions run without it. A run stopped before its CPU time is used up is repeated with a longer one.
 */
export function runGuarded({ slow, run }: Pick<Expression, 'slow' | 'run'>, known: Record<string, unknown>, limit = limitMs): unknown {
  if (!slow || guard?.context.task) return run(known);
  guard ??= { context: createContext({ task: undefined }) as { task: (() => unknown) | undefined }, script: new Script('task()') };
  guard.context.task = () => run(known);
  try {
    for (let timeout = limit; ; timeout *= 4) {
      const before = processorMs();
      try {
        return guard.script.runInContext(guard.context, { timeout });
      } catch (thrown) {
        if (!isTimeout(thrown) || processorMs() - before >= limit || timeout >= longestWaitMs) throw thrown;
      }
    }
  } finally {
    guard.context.task = undefined;
  }
}

/** Runs work that evaluates many expressions under one timeout. If that is exceeded, it runs again, with a timeout for each expression. */
export function guardedTogether(work: () => void): void {
  try {
    runGuarded({ slow: true, run: work }, {});
  } catch (thrown) {
    if (!isTimeout(thrown)) throw thrown;
    work();
  }
}

export function processorMs(): number {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1000;
}

function isTimeout(thrown: unknown): boolean {
  // Created in the other context, so it is not an instance of our Error.
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
