import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { cleanLine } from '../text/clean.ts';
import { isTooDeep, nestingProblem } from '../text/nesting.ts';

/** What is wrong with a policy, or worth a thought, and where. Lines and columns count from 1, columns in characters. */
export interface PolicyFinding {
  /** What is an error its server would refuse. */
  level: 'error' | 'warning';
  message: string;
  line: number;
  column: number;
}

/** A policy in HuJSON, that is JSON with comments and trailing commas, and what was found in it so far. */
export class PolicyText {
  readonly text: string;
  readonly root: Node | undefined;
  readonly findings: PolicyFinding[] = [];
  readonly #lineStarts: readonly number[];

  constructor(text: string) {
    this.text = text;
    const starts = [0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#lineStarts = starts;
    if (isTooDeep(text)) {
      this.root = undefined;
      this.report('error', 0, nestingProblem);
      return;
    }
    const errors: ParseError[] = [];
    this.root = parseTree(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    const lineStart = first === undefined ? -1 : text.lastIndexOf('\n', first.offset - 1) + 1;
    // Each word of such a line would be told by itself.
    if (first && /^[ \t]*#/.test(text.slice(lineStart)))
      this.report('error', first.offset, 'Here # begins no comment: write // in front of it.');
    else for (const error of errors) this.report('error', this.#place(error), syntaxWords(printParseErrorCode(error.error)));
  }

  get isReadable(): boolean {
    return this.findings.every(({ level }) => level !== 'error');
  }

  wrong(node: Node, message: string): void {
    this.report('error', node.offset, message);
  }

  warn(node: Node | undefined, message: string): void {
    this.report('warning', node?.offset ?? 0, message);
  }

  report(level: PolicyFinding['level'], offset: number, message: string): void {
    this.findings.push({ level, message: cleanLine(message), ...this.placeOf(offset) });
  }

  placeOf(offset: number): { line: number; column: number } {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#lineStarts[low] ?? 0) + 1 };
  }

  /** A complaint of the server, with the place where what it quotes stands: it names one for syntax alone. */
  told(line: string): PolicyFinding {
    const syntax = /line (\d+), column (\d+)/.exec(line);
    if (syntax) return { level: 'error', message: line, line: Number(syntax[1]), column: Number(syntax[2]) };
    // A destination is quoted without its ports.
    const written = [...line.matchAll(/"([^"]{1,200})"/g)].flatMap(([, word = '']) => [`"${word}"`, `"${word}:`]);
    const quoted = written.map((text) => this.text.indexOf(text)).find((offset) => offset >= 0);
    return { level: 'error', message: line, ...this.placeOf(quoted ?? 0) };
  }

  /** What is missing is noticed at the thing behind it, which may be lines away: what counts is where the last thing before it ends. */
  #place({ error, offset }: ParseError): number {
    const isMissing = /Expected$/.test(printParseErrorCode(error));
    return isMissing && offset >= this.text.length ? this.text.trimEnd().length : Math.min(offset, this.text.length);
  }
}

/** Name and value of each member of an object; nothing for what is none. */
export function membersOf(node: Node | undefined): readonly { name: string; key: Node; value: Node }[] {
  if (node?.type !== 'object') return [];
  return (node.children ?? []).flatMap(({ children = [] }) => {
    const [key, value] = children;
    return key && value ? [{ name: String(key.value), key, value }] : [];
  });
}

export function memberOf(node: Node | undefined, name: string): Node | undefined {
  return membersOf(node).findLast((member) => member.name === name)?.value;
}

/** The parts of a list; nothing for what is none. */
export function partsOf(node: Node | undefined): readonly Node[] {
  return node?.type === 'array' ? (node.children ?? []) : [];
}

export function textOf(node: Node | undefined): string | undefined {
  return node?.type === 'string' ? String(node.value) : undefined;
}

function syntaxWords(code: string): string {
  const words: Readonly<Record<string, string>> = {
    InvalidSymbol: 'This is no word of JSON: texts stand in double quotes.',
    InvalidNumberFormat: 'This is no number.',
    PropertyNameExpected: 'A name in double quotes is expected here.',
    ValueExpected: 'A value is expected here.',
    ColonExpected: 'A colon is expected here.',
    CommaExpected: 'A comma is expected before this.',
    CloseBraceExpected: 'A closing } is missing.',
    CloseBracketExpected: 'A closing ] is missing.',
    EndOfFileExpected: 'The policy ends before this: something stands behind its last }.',
    UnexpectedEndOfComment: 'This comment is not closed.',
    UnexpectedEndOfString: 'This text is not closed: a double quote is missing.',
    UnexpectedEndOfNumber: 'This number ends too early.',
    InvalidUnicode: 'This \\u needs four hexadecimal digits.',
    InvalidEscapeCharacter: 'A backslash does not stand before this.',
    InvalidCharacter: 'This character cannot stand in a text.',
  };
  return words[code] ?? `This cannot be read (${code}).`;
}
