import { type ASTNode, TypeError as CheckError, Environment, EvaluationError, ParseError, type ParseResult } from '@marcbachmann/cel-js';
import { namesLoopback } from '../text/loopback.ts';
import { bytesText, numberText } from '../text/quantities.ts';

/** Position of an expression, which decides its variables. */
export type ExpressionScope = 'probe' | 'check' | 'config' | 'entry';

const shared = ['age', 'env', 'fields', 'ports', 'services', 'calls'] as const;
const answer = ['ok', 'status', 'json', 'text', 'headers', 'failure'] as const;

/** Variables of each scope. `calls/conditions.ts` fills them. */
export const scopeVariables: Readonly<Record<ExpressionScope, readonly string[]>> = {
  probe: [...answer, ...shared],
  check: shared,
  config: ['config'],
  entry: ['config', 'one', 'key'],
};

const members: Readonly<Record<string, readonly string[]>> = { calls: answer, services: ['state', 'health', 'uptime'] };
const scalars: ReadonlySet<string> = new Set(['ok', 'status', 'text', 'failure', 'age']);

interface ExpressionProblem {
  message: string;
  offset: number;
}

export interface Expression {
  /** `bool`, `string`, or `dyn` if only the data decides. */
  readonly type: string;
  /** Names after `calls.`, `fields.`, `services.` and `env.`, as far as they are literal. */
  readonly names: Readonly<Record<'calls' | 'fields' | 'services' | 'env', ReadonlyMap<string, number>>>;
  /** Loops over data or matches patterns: hostile data can make it slow. */
  readonly slow: boolean;
  run(variables: Readonly<Record<string, unknown>>): unknown;
}

const loops = new Set('all exists exists_one existsOne map filter matches split transformList transformMap sortBy'.split(' '));
const sourceLimit = 2000;

const environments = new Map<ExpressionScope, Environment>();
const compiled = new Map<string, Expression | ExpressionProblem>();

function environmentOf(scope: ExpressionScope): Environment {
  let environment = environments.get(scope);
  if (environment === undefined) {
    environment = new Environment({
      unlistedVariablesAreDyn: false,
      homogeneousAggregateLiterals: false,
      enableOptionalTypes: true,
      limits: { maxAstNodes: 2000, maxDepth: 60, maxListElements: 200, maxMapEntries: 200, maxCallArguments: 16 },
    });
    for (const name of scopeVariables[scope]) environment.registerVariable(name, 'dyn');
    // External values may have any type: a value that is not text refers to no name.
    environment.registerFunction('namesLoopback(dyn): bool', (address: unknown) => typeof address === 'string' && namesLoopback(address));
    environment.registerFunction('count(dyn, string): string', (of: unknown, one: unknown) => counted(of, `${one}`, `${one}s`));
    environment.registerFunction('count(dyn, string, string): string', (of: unknown, one: unknown, many: unknown) =>
      counted(of, `${one}`, `${many}`),
    );
    environment.registerFunction('percent(dyn, dyn): string', (part: unknown, whole: unknown) => {
      const share = numberIn(whole) === 0 ? 0 : (numberIn(part) / numberIn(whole)) * 100;
      return `${share > 0 && share < 9.95 ? share.toFixed(1) : Math.round(share)} %`;
    });
    environment.registerFunction('dataSize(dyn): string', (size: unknown) => bytesText(numberIn(size)));
    // 500m and 2Gi can be compared only as numbers.
    if (scope === 'config' || scope === 'entry')
      environment.registerFunction('quantity(dyn): double', (written: unknown) => quantityValue(String(written)));
    environments.set(scope, environment);
  }
  return environment;
}

/** External values may have any type; products also write numbers as text, and a list counts its entries. Throws a plain Error otherwise. */
function numberIn(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  const number = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value);
  if (value === null || typeof value === 'object' || typeof value === 'boolean' || !Number.isFinite(number))
    throw new Error('not a number');
  return number;
}

function counted(of: unknown, one: string, many: string): string {
  const number = Math.round(numberIn(of));
  return `${numberText(number)} ${number === 1 ? one : many}`;
}

/** Never throws: errors are returned as a problem with its position. Results are cached. */
export function compileExpression(source: string, scope: ExpressionScope): Expression | ExpressionProblem {
  const key = `${scope} ${source}`;
  const known = compiled.get(key) ?? compileAnew(source, scope);
  compiled.set(key, known);
  return known;
}

export function isProblem(result: Expression | ExpressionProblem): result is ExpressionProblem {
  return 'offset' in result;
}

function compileAnew(source: string, scope: ExpressionScope): Expression | ExpressionProblem {
  if (source.length > sourceLimit) return { message: `the expression is longer than ${sourceLimit} characters`, offset: 0 };
  let parsed: ParseResult;
  try {
    parsed = environmentOf(scope).parse(source);
  } catch (thrown) {
    return problemOf(thrown);
  }
  const check = parsed.check();
  if (!check.valid) return problemOf(check.error);
  const names = {
    calls: new Map<string, number>(),
    fields: new Map<string, number>(),
    services: new Map<string, number>(),
    env: new Map<string, number>(),
  };
  let slow = false;
  let problem: ExpressionProblem | undefined;
  visit(parsed.ast, (node) => {
    problem ??= memberProblem(node);
    const access = accessOf(node);
    if (access && Object.hasOwn(names, access.root)) {
      const found = names[access.root as keyof typeof names];
      if (!found.has(access.name)) found.set(access.name, node.start);
    }
    if ((node.op === 'rcall' || node.op === 'call') && loops.has(node.args[0])) slow = true;
  });
  if (problem) return problem;
  return { type: check.type ?? 'dyn', names, slow, run: (variables) => parsed(variables) as unknown };
}

/** `calls.page.jsn`, `status.code` */
function memberProblem(node: ASTNode): ExpressionProblem | undefined {
  const { of, name } = partsOf(node) ?? {};
  if (!of) return undefined;
  if (of.op === 'id') return scalars.has(of.args) ? { message: `${of.args} has no "${name}"`, offset: node.start } : undefined;
  const root = accessOf(of)?.root ?? '';
  const known = Object.hasOwn(members, root) ? members[root] : undefined;
  if (!known || known.includes(name ?? '')) return undefined;
  return { message: `${root} has no "${name}", only ${known.join(', ')}`, offset: node.start };
}

/** `calls.status`, `calls.?status`, `calls["status"]` */
function accessOf(node: ASTNode): { root: string; name: string } | undefined {
  const parts = partsOf(node);
  return parts?.of.op === 'id' ? { root: parts.of.args, name: parts.name } : undefined;
}

function partsOf(node: ASTNode): { of: ASTNode; name: string } | undefined {
  if (node.op !== '.' && node.op !== '.?' && node.op !== '[]' && node.op !== '[?]') return undefined;
  const [of, member] = node.args;
  if (typeof member === 'string') return { of, name: member };
  return member.op === 'value' && typeof member.args === 'string' ? { of, name: member.args } : undefined;
}

function visit(value: unknown, each: (node: ASTNode) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, each);
  } else if (isNode(value)) {
    each(value);
    visit(value.args, each);
  }
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
}

/** Without the library's source listing. */
export function problemOf(thrown: unknown): ExpressionProblem {
  if (thrown instanceof ParseError || thrown instanceof CheckError || thrown instanceof EvaluationError)
    return { message: thrown.summary, offset: thrown.range?.start ?? 0 };
  return { message: thrown instanceof Error ? (thrown.message.split('\n', 1)[0] ?? '') : String(thrown), offset: 0 };
}

const units: Readonly<Record<string, number>> = { '': 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 };
const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** `500m` is 0.5, `2Gi` is 2147483648. Throws a plain Error for an invalid one. */
export function quantityValue(written: string): number {
  const [, digits = '', unit = ''] = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(written.trim()) ?? [];
  const factor = binary.includes(unit) ? 1024 ** (binary.indexOf(unit) + 1) : units[unit];
  if (digits === '' || factor === undefined) throw new Error(`quantity must be a number such as 2Gi, not ${JSON.stringify(written)}`);
  return Number(digits) * factor;
}

/** Text with `{expression}` in it; `{{` and `}}` are literal braces. */
type Template = readonly (string | { source: string; offset: number })[];

/** Respects braces and quotes inside an expression. */
export function readTemplate(text: string): Template | ExpressionProblem {
  const parts: Template[number][] = [];
  let plain = '';
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if ((sign === '{' || sign === '}') && text[at + 1] === sign) {
      plain += sign;
      at++;
    } else if (sign === '}') {
      return { message: 'unmatched closing brace; write }} for a literal one', offset: at };
    } else if (sign === '{') {
      const end = closingBrace(text, at + 1);
      if (end < 0) return { message: 'this brace is never closed; write {{ for a literal one', offset: at };
      if (plain !== '') parts.push(plain);
      plain = '';
      parts.push({ source: text.slice(at + 1, end), offset: at + 1 });
      at = end;
    } else {
      plain += sign;
    }
  }
  if (plain !== '') parts.push(plain);
  return parts;
}

export function isTemplateProblem(result: Template | ExpressionProblem): result is ExpressionProblem {
  return !Array.isArray(result);
}

function closingBrace(text: string, from: number): number {
  let depth = 0;
  let quote = '';
  for (let at = from; at < text.length; at++) {
    const sign = text[at] ?? '';
    if (quote !== '') {
      if (sign === '\\') at++;
      else if (sign === quote) quote = '';
    } else if (sign === '"' || sign === "'") quote = sign;
    else if (sign === '{') depth++;
    else if (sign === '}' && depth-- === 0) return at;
  }
  return -1;
}
