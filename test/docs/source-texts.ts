import { readFileSync } from 'node:fs';
import { parseAst } from 'vitest/node';

export interface SourceText {
  /** `source/products/crowdsec/ban.ts:12`. */
  where: string;
  text: string;
}

/** Stands for what is only known when the program runs. */
export const placeholder = 'SOME';
/** Of one text with several values that can be either this or that. */
const variantsAtMost = 64;

interface Node {
  type: string;
  start: number;
  [member: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
const nodesIn = (value: unknown): Node[] => (Array.isArray(value) ? value : [value]).filter(isNode);

/** Every text in a source file as the program prints it, comments left out. */
export function textsInSource(file: string, where: string): SourceText[] {
  return textsInCode(readFileSync(file, 'utf8'), where);
}

/**
 * Templates with a placeholder for each value, or with each of the texts that the value can be: of a condition, or of a constant where the text is. Conditions with the same test agree. Texts that are joined with `+` or `join` are one.
 */
export function textsInCode(code: string, where: string): SourceText[] {
  const program = parseAst(code, { lang: where.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node;
  const reader = new TextReader(code, program);
  const lines = lineFinder(code);
  const found: SourceText[] = [];
  const visit = (node: Node): void => {
    if (/^(?:Import|ExportAll|TSLiteralType|TSEnum)/.test(node.type)) return;
    // Names of steps and actions, for code and answer files.
    if (node.type === 'Property' && isNode(node['key']) && node['key']['name'] === 'id') return;
    if (isText(node)) for (const text of reader.textsOf(node)) found.push({ where: `${where}:${lines(node.start)}`, text });
    else if (node.type === 'JSXText') found.push({ where: `${where}:${lines(node.start)}`, text: String(node['value']) });
    for (const inner of isText(node) ? valuesIn(node) : Object.values(node).flatMap(nodesIn)) visit(inner);
  };
  visit(program);
  return found;
}

function lineFinder(code: string): (position: number) => number {
  const starts = [...code.matchAll(/^/gm)].map(({ index }) => index);
  return (position) => {
    let [first, last] = [0, starts.length];
    while (first < last) {
      const middle = (first + last) >> 1;
      if ((starts[middle] ?? 0) <= position) first = middle + 1;
      else last = middle;
    }
    return first;
  };
}

const isString = ({ type, value }: Node) => type === 'Literal' && typeof value === 'string';
const isSum = ({ type, operator }: Node) => type === 'BinaryExpression' && operator === '+';

function isJoin(node: Node): boolean {
  const { callee } = node as { callee?: { property?: { name?: string }; object?: Node } };
  return node.type === 'CallExpression' && callee?.property?.name === 'join' && callee.object?.type === 'ArrayExpression';
}

function isText(node: Node): boolean {
  if (isSum(node)) return nodesIn([node['left'], node['right']]).some(isText);
  return isString(node) || node.type === 'TemplateLiteral' || isJoin(node);
}

/** What is put together to the text, in order; between two of them `glue`. */
function partsOf(node: Node): { parts: readonly (string | Node)[]; glue: string } {
  if (isSum(node)) return { parts: nodesIn([node['left'], node['right']]), glue: '' };
  if (isJoin(node)) {
    const { callee, arguments: given } = node as unknown as { callee: { object: { elements: Node[] } }; arguments: Node[] };
    return { parts: callee.object.elements, glue: given[0] && isString(given[0]) ? String(given[0]['value']) : ',' };
  }
  const { quasis, expressions } = node as unknown as { quasis: { value: { cooked: string } }[]; expressions: Node[] };
  return { parts: quasis.flatMap(({ value }, at) => [value.cooked, ...(expressions[at] ? [expressions[at]] : [])]), glue: '' };
}

/** A text, and how the conditions in it were decided. */
interface Variant {
  text: string;
  decided: ReadonlyMap<string, boolean>;
}

/** A name and the part of the file in which it has this value. `value` is undefined for parameters and parts of objects. */
interface Binding {
  value: Node | undefined;
  start: number;
  end: number;
}

const undecided: ReadonlyMap<string, boolean> = new Map();
const unknown: readonly Variant[] = [{ text: placeholder, decided: undecided }];

class TextReader {
  readonly #bindings = new Map<string, Binding[]>();
  readonly #reading = new Set<Node>();

  constructor(
    private readonly code: string,
    program: Node,
  ) {
    this.#bind(program, program);
  }

  textsOf(node: Node): readonly string[] {
    return [...new Set(this.#variantsOf(node).map(({ text }) => text))];
  }

  #bind(node: Node, scope: Node): void {
    const inner = /^(?:Program|BlockStatement|StaticBlock|For\w*Statement|SwitchStatement|CatchClause|\w*Function\w*)$/.test(node.type)
      ? node
      : scope;
    const [name, value] = [node['id'], node['init']];
    if (node.type === 'VariableDeclarator' && isNode(name)) {
      if (name.type === 'Identifier') this.#add(name, isNode(value) ? value : undefined, scope);
      else for (const part of namesIn(name)) this.#add(part, undefined, scope);
    }
    for (const parameter of nodesIn(node['params'])) for (const part of namesIn(parameter)) this.#add(part, undefined, node);
    for (const each of Object.values(node).flatMap(nodesIn)) this.#bind(each, inner);
  }

  #add(name: Node, value: Node | undefined, { start, end }: Node): void {
    const label = String(name['name']);
    this.#bindings.set(label, [...(this.#bindings.get(label) ?? []), { value, start, end: Number(end) }]);
  }

  #valueOf({ name, start }: Node): Node | undefined {
    const around = (this.#bindings.get(String(name)) ?? []).filter((each) => each.start <= start && start <= each.end);
    return around.sort((one, other) => one.end - one.start - (other.end - other.start))[0]?.value;
  }

  #variantsOf(node: Node): readonly Variant[] {
    if (isString(node)) return [{ text: String(node['value']), decided: undecided }];
    const [inner, test, first, second] = ['expression', 'test', 'consequent', 'alternate']
      .map((name) => node[name])
      .map((one) => (isNode(one) ? one : undefined));
    if (/^(?:Parenthesized|TSAs|TSSatisfies|TSNonNull)/.test(node.type) && inner) return this.#variantsOf(inner);
    if (node.type === 'ConditionalExpression' && test && first && second)
      return [...this.#if(test, true, first), ...this.#if(test, false, second)];
    if (node.type === 'LogicalExpression') return this.#either(node);
    if (node.type === 'Identifier') return this.#named(node);
    if (!isText(node)) return unknown;
    const { parts, glue } = partsOf(node);
    return parts.reduce<readonly Variant[]>(
      (begun, part, at) => {
        const ends = typeof part === 'string' ? [{ text: part, decided: undecided }] : this.#variantsOf(part);
        return begun.flatMap((one) => ends.flatMap((end) => together(one, at === 0 ? '' : glue, end))).slice(0, variantsAtMost);
      },
      [{ text: '', decided: undecided }],
    );
  }

  #if(test: Node, isTrue: boolean, branch: Node): readonly Variant[] {
    const asked = this.code.slice(test.start, Number(test['end'])).replaceAll(/\s+/g, ' ');
    return this.#variantsOf(branch).flatMap(({ text, decided }) =>
      together({ text: '', decided: new Map([[asked, isTrue]]) }, '', { text, decided }),
    );
  }

  #either(node: Node): readonly Variant[] {
    const [left, right] = nodesIn([node['left'], node['right']]);
    if (!left || !right) return unknown;
    if (node['operator'] === '&&') return this.#variantsOf(right);
    const [before, after] = [this.#variantsOf(left), this.#variantsOf(right)];
    // An empty text instead of a missing value is there for the compiler.
    if (before.every(({ text }) => text === placeholder) && after.every(({ text }) => text === '')) return before;
    return [...before, ...after];
  }

  #named(node: Node): readonly Variant[] {
    const value = this.#valueOf(node);
    if (!value || this.#reading.has(value)) return unknown;
    this.#reading.add(value);
    const variants = this.#variantsOf(value);
    this.#reading.delete(value);
    return variants;
  }
}

/** Both texts as one, unless they decided the same condition differently. */
function together(one: Variant, glue: string, other: Variant): Variant[] {
  for (const [test, isTrue] of other.decided) if ((one.decided.get(test) ?? isTrue) !== isTrue) return [];
  return [{ text: one.text + glue + other.text, decided: new Map([...one.decided, ...other.decided]) }];
}

/** Names that a pattern binds, such as `{ a, b: [c = 1] }`. */
function namesIn(pattern: Node): Node[] {
  if (pattern.type === 'Identifier') return [pattern];
  if (pattern.type === 'Property') return nodesIn(pattern['value']).flatMap(namesIn);
  if (pattern.type === 'AssignmentPattern') return nodesIn(pattern['left']).flatMap(namesIn);
  return [pattern['properties'], pattern['elements'], pattern['argument'], pattern['parameter']].flatMap(nodesIn).flatMap(namesIn);
}

/** What stands inside a text and may hold others. */
function valuesIn(node: Node): Node[] {
  if (isString(node)) return [];
  return partsOf(node).parts.flatMap((part) => (typeof part === 'string' || isString(part) ? [] : isText(part) ? valuesIn(part) : [part]));
}
