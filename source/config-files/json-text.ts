import { findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { cleanLine } from '../text/clean.ts';
import { isTooDeep, nestingProblem } from '../text/nesting.ts';
import { positionAt } from '../text/position.ts';
import type { YamlPath } from '../yaml/document.ts';
import type { ConfigPart, ConfigText } from './config-text.ts';
import { type ConfigProblem, errorAt } from './problem.ts';

/** Parses JSON as most programs do: without comments, and without trailing commas. */
export function readJson(text: string): Partial<ConfigText> {
  if (isTooDeep(text)) return { problems: [errorAt({ line: 1, column: 1 }, nestingProblem, 'Check that this is the right file.')] };
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: false, disallowComments: true });
  const [error] = errors;
  if (error || root === undefined) return { problems: [syntaxProblem(text, error)] };
  const twice = duplicatesIn(root).map((key) =>
    errorAt(positionAt(text, key.offset), `"${cleanLine(String(key.value))}" is set twice.`, 'Keep one of the two.'),
  );
  if (twice.length > 0) return { problems: twice };
  const position: ConfigPart['position'] = (path, part) => positionAt(text, offsetOf(root, path, part));
  return { parts: [{ value: getNodeValue(root) as unknown, doubts: [], position }] };
}

function syntaxProblem(text: string, error: ParseError | undefined): ConfigProblem {
  const at = positionAt(text, error?.offset ?? 0);
  const code = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
  if (code === 'InvalidCommentToken') return errorAt(at, 'Comments are not allowed, because the product reads strict JSON.', 'Remove it.');
  if (/^[}\]]/.test(text.slice(error?.offset)) && /,\s*$/.test(text.slice(0, error?.offset)))
    return errorAt(at, 'Trailing comma.', 'Remove the comma after the last entry.');
  const words = code.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`).trim();
  return errorAt(at, `Not valid JSON: ${words}.`, 'Check commas, quotes and brackets here and on the line above.');
}

function duplicatesIn(node: Node): Node[] {
  const { type, children: members = [] } = node;
  const keys = type === 'object' ? members.flatMap(({ children: [key] = [] }) => key ?? []) : [];
  const twice = [...Map.groupBy(keys, ({ value }) => String(value)).values()].flatMap(([, ...others]) => others);
  return [...twice, ...members.flatMap(duplicatesIn)];
}

/** Returns the position of the value at this path, or of its key; for a missing value, that of its nearest parent. */
export function offsetOf(root: Node, path: YamlPath, part: 'key' | 'value'): number {
  for (let length = path.length; length > 0; length--) {
    const node = findNodeAtLocation(root, path.slice(0, length) as (string | number)[]);
    if (!node) continue;
    const wantsKey = part === 'key' && length === path.length && node.parent?.type === 'property';
    return (wantsKey ? node.parent?.offset : undefined) ?? node.offset;
  }
  return root.offset;
}

/** Parses JSON as Kea does (dhcp4_lexer.ll): comments of three kinds, trailing commas, C++ numbers. Included files are not read. */
export function readKeaJson(text: string): Partial<ConfigText> {
  const outsideQuotes = (from: string, what: RegExp, into: (found: string) => string) =>
    from.replaceAll(
      new RegExp(`("(?:\\\\.|[^"\\\\\n])*")|${what.source}`, 'g'),
      (found, quoted: string | undefined) => quoted ?? into(found),
    );
  const code = outsideQuotes(text, /#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\//, (comment) => comment.replaceAll(/[^\n]/g, ' '));
  const include = /<\?\s*include\s*"/.exec(code);
  if (include) {
    const message = 'This file includes other files, which are not read; only Kea itself can check it.';
    return { unjudged: [{ line: positionAt(text, include.index).line, message }] };
  }
  const plain = outsideQuotes(code, /,(?=[\s,]*[}\]])|(?<=[\s:[,])\+(?=[\d.])/, () => ' ');
  return readJson(outsideQuotes(plain, /(?<=[\s:[,-])\.(?=\d)|(?<=\d)\.(?!\d)/, (dot) => `0${dot}0`));
}
