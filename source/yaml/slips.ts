import { isCollection, isScalar, type Node, visit } from 'yaml';
import { positionAt } from '../text/position.ts';
import type { YamlProblem } from './document.ts';
import { parseYamlDocument } from './text.ts';

/** Number of errors that are examined individually; a text that is not YAML at all has thousands. */
const errorLimit = 20;

interface ParserError {
  code: string;
  message: string;
  offset: number;
  /** For an open quote or bracket: the character that closes it. */
  closing?: string | undefined;
}

/** Returns the first error that makes a text invalid YAML. One quote or space can make the parser fail at each line that follows. */
export function yamlSlips(text: string): YamlProblem[] {
  const errors = errorsOf(text);
  const [first] = errors;
  if (first === undefined) return [];
  const { offset, message, remedy } = slipOfFile(text, errors) ?? slipAt(text, first);
  return [{ ...positionAt(text, offset), message, remedy }];
}

const slip = (offset: number, message: string, remedy: string) => ({ offset, message, remedy });

type Slip = ReturnType<typeof slip>;

/** Returns the errors in the order of the text; an open quote at its start. Of several at one position, the first is the most specific. */
function errorsOf(text: string): ParserError[] {
  const document = parseYamlDocument(text, { prettyErrors: false, logLevel: 'error' });
  const all = [...document.errors, ...document.warnings].sort((one, other) => one.pos[0] - other.pos[0]);
  const errors = all.map(({ code, message, pos: [offset] }, index): ParserError => {
    const mayBeOpen = index < errorLimit && (code === 'MISSING_CHAR' || code === 'BAD_INDENT');
    return { code, message, offset, ...(mayBeOpen && openedAt(document.contents, text, message, offset)) };
  });
  // An open quote swallows the bracket after it.
  const quotes = errors.filter(({ closing = '' }) => /["']/.test(closing)).map(({ offset }) => offset);
  for (const error of errors)
    if (error.closing && !quotes.includes(error.offset)) error.offset = quotes.find((quote) => quote > error.offset) ?? error.offset;
  return errors.sort((one, other) => one.offset - other.offset);
}

/** Returns the position of the quote or bracket that is not closed. */
function openedAt(contents: unknown, text: string, message: string, at: number): Pick<ParserError, 'offset' | 'closing'> | undefined {
  const quote = /^Missing closing (["'])/.exec(message)?.[1];
  const bracket = /must be sufficiently indented and end with a ([\]}])|^Flow .* expected .*([\]}])/.exec(message);
  const closing = quote ?? bracket?.[1] ?? bracket?.[2];
  if (closing === undefined) return undefined;
  const opening = { ']': '[', '}': '{' }[closing] ?? closing;
  let found: number | undefined;
  visit(contents as Node, {
    Node(_, node) {
      const [from = 0, , to = 0] = node.range ?? [];
      const isKind = quote === undefined ? isCollection(node) && node.flow === true : isScalar(node);
      if (isKind && text[from] === opening && from <= at && at <= to + 1) found = from;
    },
  });
  return found === undefined ? undefined : { offset: found, closing };
}

/** Returns an error of the whole file, which makes the parser fail at any position. */
function slipOfFile(text: string, errors: readonly ParserError[]): Slip | undefined {
  const tab = errors.find(({ code }) => code === 'TAB_AS_INDENT');
  if (tab) return slip(tab.offset, 'Tabs are not allowed as indentation.', 'Indent with spaces, here and below.');
  const [before = '', indent = ''] = /^(?:\s*#.*\n|[^\S\n]*\n)*( +)(?=[^\s#])/.exec(text) ?? [];
  if (indent !== '' && /^[^\s#]/m.test(text))
    return slip(before.length, 'The first line is indented, but others are not.', 'Align the first line with the others.');
  const conflict = /^<{7} .*$/m.exec(text);
  if (conflict && /^>{7} /m.test(text)) {
    const remedy = 'Choose one version, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>.';
    return slip(conflict.index, 'This file has an unresolved merge conflict here.', remedy);
  }
  const odd = /^ *([\u00a0\u2000-\u200b\u202f\u3000\ufeff])/m.exec(text.slice(1));
  if (!odd || odd.index >= lineAt(text, errors[0]?.offset ?? 0).to) return undefined;
  const message = 'A character here looks like a space, but is not one.';
  return slip(odd.index + odd[0].length, message, 'Retype the indentation with the space bar.');
}

function slipAt(text: string, { code, message, offset, closing }: ParserError): Slip {
  if (closing !== undefined) {
    const what = { ']': 'A bracket', '}': 'A brace' }[closing];
    const remedy = `Add ${closing} at the end of the ${what === undefined ? 'value' : 'content'}.`;
    return slip(offset, `${what ?? 'A quote'} opened here is not closed.`, remedy);
  }
  const line = lineAt(text, offset);
  if (code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'MULTILINE_IMPLICIT_KEY') return slipOfKey(text, offset, line);
  if (code === 'UNEXPECTED_TOKEN' && /^Unexpected scalar at node end/.test(message)) return slipBehind(text, offset, line);
  if (code === 'BAD_SCALAR_START') return slip(offset, `Text cannot begin with ${text.charAt(offset)}.`, 'Quote it.');
  if (code === 'DUPLICATE_KEY') {
    const key = /^(?:"[^"\n]*"|'[^'\n]*'|[^:\s][^:\n]{0,60})/.exec(text.slice(offset, offset + 80))?.[0].replaceAll(/^["']|["']$/g, '');
    return slip(offset, `"${key ?? ''}" is set twice.`, key === '<<' ? 'Merge both in one: <<: [*one, *other].' : 'Keep one of the two.');
  }
  const isOther = code === 'MISSING_CHAR' && !/^Implicit map keys/.test(message);
  const [plain = '', remedy = 'Check the spelling, quotes and indentation here.'] = (isOther ? undefined : words[code]) ?? [];
  return slip(code === 'BAD_INDENT' ? line.from + line.indent : offset, plain === '' ? sentence(message) : plain, remedy);
}

/** Describes text that is not a key, or not alone in its line. */
function slipOfKey(text: string, offset: number, line: Line): Slip {
  const from = line.from + line.indent;
  const above = nextLine(text, line, -1);
  // `key: |` and similar: a text of several lines follows.
  if (above && /[:-]\s+[|>][+-]?\d*\s*$/.test(above.text)) {
    const message = 'The lines of a multi-line text must be indented deeper than the key above them.';
    return slip(from, message, 'Indent this line and the rest of the text.');
  }
  if (/^\s*-(?:\s|$)/.test(line.text)) {
    const message = 'Unexpected list entry: keys are expected here.';
    return slip(from, message, 'Remove the dash, or turn all keys into list entries.');
  }
  if (!/:(?:\s|$)/.test(line.text)) {
    const [, key = 'KEY', rest] = /^\s*(?:- +)?([A-Za-z_][\w.-]*)(.*?)\s*$/.exec(line.text) ?? [];
    if (rest?.startsWith(':')) return slip(from, `Missing space after "${key}:".`, `Use ${key}: VALUE.`);
    return slip(from, 'This line has no colon.', `Use ${key}: value, or remove the line.`);
  }
  if (/:\s/.test(text.slice(offset, line.to))) return slip(offset, 'This line has more than one key.', 'Quote text that contains ": ".');
  const next = nextLine(text, line, 1);
  if (next === undefined || next.indent <= line.indent) {
    const remedy = 'Add a colon after the key, or check the quotes and the indentation around this line.';
    return slip(offset, 'A key and its colon must be on the same line.', remedy);
  }
  const message = 'This line is indented deeper than the one above, which already has a value.';
  return slip(next.from + next.indent, message, 'Align this line with the lines around it, or remove the value above.');
}

/** Describes text that continues after the end of a value. */
function slipBehind(text: string, offset: number, { from }: Line): Slip {
  const before = text.slice(from, offset).trimEnd();
  if (/["']$/.test(before)) {
    const remedy = 'Use the other kind of quotes around the whole text, or double the quotes inside.';
    return slip(offset, 'Text follows the closing quote.', remedy);
  }
  const sign = /(?:^|[:-] +)([*&!])\S*$/.exec(before)?.[1];
  if (sign !== undefined) return slip(from + before.lastIndexOf(sign), `Text cannot begin with ${sign}.`, 'Quote it.');
  return slip(offset, 'Unexpected text after the value.', 'Quote the whole text.');
}

/** Message, where the parser's is for programmers, and remedy. */
const words: Readonly<Record<string, readonly [message: string, remedy: string]>> = {
  BAD_INDENT: ['This line is not aligned with those above.', 'Align this line with the lines around it.'],
  BLOCK_IN_FLOW: [
    'A comma or a quote is missing: a second key begins inside the brackets.',
    'Add a comma between the two, or quote text that contains a colon.',
  ],
  BAD_DQ_ESCAPE: ['', 'Use single quotes, or double each backslash.'],
  MISSING_CHAR: ['A key and its colon must be on the same line.', 'Close the quote, bracket or brace, or add a colon after the key.'],
  MULTIPLE_DOCS: ['This file has more than one document.', 'Keep one document per file, and remove the --- line.'],
  BAD_ALIAS: ['', 'Write the alias without a colon at the end, or quote the text.'],
  TAG_RESOLVE_FAILED: ['', 'Remove the tag (the exclamation mark and the word after it), or quote the text.'],
};

export function sentence(message: string): string {
  const first = message.split('\n', 1)[0]?.trim() ?? '';
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

type Line = ReturnType<typeof lineAt>;

/** `to` is the position of its line feed. */
function lineAt(text: string, offset: number) {
  // From -1, the search would still include the first character.
  const from = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  const to = end < 0 ? text.length : end;
  const own = text.slice(from, to);
  return { from, to, text: own, indent: own.length - own.trimStart().length };
}

/** Returns the nearest line below or above that is neither empty nor a comment. */
function nextLine(text: string, line: Line, step: 1 | -1): Line | undefined {
  for (let next = line; ; ) {
    const at = step > 0 ? next.to + 1 : next.from - 1;
    if (at < 0 || at >= text.length) return undefined;
    next = lineAt(text, at);
    if (/^\s*[^\s#]/.test(next.text)) return next;
  }
}
