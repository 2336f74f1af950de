import { createContext, Script } from 'node:vm';
import type { CatalogEntry } from '../catalog/catalog.ts';
import {
  compileExpression,
  type Expression,
  type ExpressionScope,
  evaluationReason,
  isProblem,
  isTemplateProblem,
  readTemplate,
} from '../catalog/expressions.ts';
import type { CallAnswer } from './call.ts';
import { usualSayings } from './usual-sayings.ts';

/** What conditions and templates of component.yaml can ask about. Checks see the same without the answer of a call of their own. */
export interface ConditionFacts {
  /** Of the probe's own call; missing in checks. */
  answer?: Pick<CallAnswer, 'ok' | 'status' | 'json' | 'text' | 'headers' | 'failure'>;
  /** Seconds since the main container started. */
  ageSeconds: number;
  /** Environment of the main service. */
  env: Readonly<Record<string, string>>;
  /** Values of fields, as far as they are known. Never of secret ones. */
  fields: Readonly<Record<string, string | number | boolean>>;
  ports: readonly { name: string; exposure: 'loopback' | 'lan' | 'public'; published: boolean }[];
  /** Answers by the name of the call. */
  calls: Readonly<Record<string, Pick<CallAnswer, 'ok' | 'status' | 'json' | 'text' | 'headers'>>>;
  services: Readonly<Record<string, { state: string; health: string; uptime: number }>>;
}

export interface Verdict {
  holds: boolean;
  /** Why it could not be told; then it does not hold. */
  reason?: string;
}

/** Does the condition hold? What cannot be evaluated, takes too long or is no yes or no does not hold, and says why. Never throws. */
export function holds(source: string, facts: ConditionFacts): Verdict {
  const result = evaluate(source, facts);
  if (result.reason !== undefined) return { holds: false, reason: result.reason };
  if (typeof result.value !== 'boolean') return { holds: false, reason: `"${source}" is neither true nor false` };
  return { holds: result.value };
}

/** Names of the calls whose answers a check's condition asks about. */
export function callsOf(source: string): readonly string[] {
  const expression = compileExpression(source, 'check');
  return isProblem(expression) ? [] : [...expression.names.calls.keys()];
}

/** The value of an expression as plain data, or the reason why there is none. Never throws. */
export function evaluate(source: string, facts: ConditionFacts): { value?: unknown; reason?: string } {
  const expression = compileExpression(source, scopeOf(facts));
  if (isProblem(expression)) return { reason: expression.message };
  try {
    return { value: plain(runGuarded(expression, variablesOf(facts)), 0) };
  } catch (thrown) {
    return { reason: isTimeout(thrown) ? `took longer than ${limitMs} ms` : evaluationReason(thrown) };
  }
}

/** Fills a template. What cannot be evaluated becomes `?`, so that the rest can be read. Never throws. Raw text: clean before showing. */
export function fillTemplate(text: string, facts: ConditionFacts): string {
  const template = readTemplate(text);
  if (isTemplateProblem(template)) return text;
  return template
    .map((part) => {
      if (typeof part === 'string') return part;
      const { value } = evaluate(part.source, facts);
      return value === undefined ? '?' : textOf(value).slice(0, 500);
    })
    .join('');
}

/** What a probe says: the first of its sayings that holds, then of the usual ones; undefined when none does. */
export function sayingOf(
  entry: CatalogEntry,
  facts: ConditionFacts,
): { word: string; tone: 'good' | 'busy' | 'warn' | 'bad' | 'idle' | 'unknown'; detail: string } | undefined {
  const fits = ({ when }: { when: string }) => holds(when, facts).holds;
  const said = entry.probe?.says.find(fits) ?? usualSayings(entry).find(fits);
  return said && { word: fillTemplate(said.word, facts), tone: said.tone, detail: fillTemplate(said.detail, facts) };
}

function scopeOf(facts: ConditionFacts): ExpressionScope {
  return facts.answer === undefined ? 'check' : 'probe';
}

const variables = new WeakMap<ConditionFacts, Record<string, unknown>>();

/** Facts as CEL wants them. One set of facts is asked many conditions, so it is kept as long as the facts are. */
function variablesOf(facts: ConditionFacts): Record<string, unknown> {
  let known = variables.get(facts);
  if (known === undefined) {
    const { answer, ageSeconds, ...rest } = facts;
    const budget = { left: nodeLimit };
    known = { age: celValue(ageSeconds, budget, 0) };
    for (const [name, value] of Object.entries(rest)) known[name] = celValue(value, budget, 0);
    if (answer)
      for (const name of ['ok', 'status', 'json', 'text', 'headers', 'failure'] as const)
        known[name] = celValue(answer[name] ?? null, budget, 0);
    variables.set(facts, known);
  }
  return known;
}

/** An answer of 64 KiB has fewer values than this unless it is rubbish. */
const nodeLimit = 20_000;
const depthLimit = 40;

/**
 * JSON has one kind of number, CEL has two that do not mix in sums: whole numbers become CEL's int, others its double (comparisons work
 * between both). Objects lose their prototype. Beyond the limits values are missing, and what asks for them does not hold.
 */
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
  if (
    typeof value === 'object' &&
    value !== null &&
    (Object.getPrototypeOf(value) === null || Object.getPrototypeOf(value) === Object.prototype)
  ) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member, depth + 1)]));
  }
  return value;
}

function textOf(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : String(Math.round(value * 100) / 100);
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) return JSON.stringify(value);
  return String(value);
}

const limitMs = 100;
let guard: { context: { task: (() => unknown) | undefined }; script: Script } | undefined;

/**
 * Loops over an answer and patterns matched against it can take for ever when the answer is hostile. The clock of `node:vm` is the one
 * thing that interrupts them; it costs a tenth of a millisecond, so the others run without.
 */
export function runGuarded(expression: Expression, known: Record<string, unknown>, limit = limitMs): unknown {
  if (!expression.slow) return expression.run(known);
  guard ??= { context: createContext({ task: undefined }) as { task: (() => unknown) | undefined }, script: new Script('task()') };
  guard.context.task = () => expression.run(known);
  try {
    return guard.script.runInContext(guard.context, { timeout: limit });
  } finally {
    guard.context.task = undefined;
  }
}

function isTimeout(thrown: unknown): boolean {
  // Made in the other context, so it is no Error of ours.
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && thrown.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
