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
 * Templates with a placeholder for each value, or with each of the texts that the value can be: of a condition, or of a constant in the same file. Texts that are joined with `+` or
 * `join` are one.
 */
export function textsInCode(code: string, where: string): SourceText[] {
  const program = parseAst(code, { lang: where.endsWith('x') ? 'tsx' : 'ts' }) as unknown as Node;
  const constants = constantsIn(program);
  const lines = lineFinder(code);
  const found: SourceText[] = [];
  const visit = (node: Node): void => {
    if (/^(?:Import|ExportAll|TSLiteralType|TSEnum)/.test(node.type)) return;
    if (isText(node)) for (const text of textsOf(node, constants)) found.push({ where: `${where}:${lines(node.start)}`, text });
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

function textsOf(node: Node, constants: ReadonlyMap<string, readonly string[]>): readonly string[] {
  if (isString(node)) return [String(node['value'])];
  const [inner, first, second] = ['expression', 'consequent', 'alternate']
    .map((name) => node[name])
    .map((one) => (isNode(one) ? one : undefined));
  if (/^(?:Parenthesized|TSAs|TSSatisfies|TSNonNull)/.test(node.type) && inner) return textsOf(inner, constants);
  if (node.type === 'ConditionalExpression' && first && second) return [...textsOf(first, constants), ...textsOf(second, constants)];
  if (node.type === 'LogicalExpression')
    return nodesIn(node['operator'] === '&&' ? node['right'] : [node['left'], node['right']]).flatMap((side) => textsOf(side, constants));
  if (node.type === 'Identifier') return constants.get(String(node['name'])) ?? [placeholder];
  if (!isText(node)) return [placeholder];
  const { parts, glue } = partsOf(node);
  return parts.reduce<readonly string[]>(
    (begun, part, at) => {
      const ends = typeof part === 'string' ? [part] : textsOf(part, constants);
      return begun.flatMap((text) => ends.map((end) => (at === 0 ? end : text + glue + end))).slice(0, variantsAtMost);
    },
    [''],
  );
}

/** What stands inside a text and may hold others. */
function valuesIn(node: Node): Node[] {
  if (isString(node)) return [];
  return partsOf(node).parts.flatMap((part) => (typeof part === 'string' || isString(part) ? [] : isText(part) ? valuesIn(part) : [part]));
}

/** Names that are one text, or one of a few, wherever they stand in the file. */
function constantsIn(program: Node): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  const visit = (node: Node): void => {
    const [name, value] = [node['id'], node['init']];
    if (node.type === 'VariableDeclarator' && isNode(name) && isNode(value) && name.type === 'Identifier') {
      const texts = textsOf(value, found);
      const label = String(name['name']);
      found.set(label, found.has(label) ? [...new Set([...(found.get(label) ?? []), ...texts])] : texts);
    }
    for (const inner of Object.values(node).flatMap(nodesIn)) visit(inner);
  };
  visit(program);
  return found;
}
