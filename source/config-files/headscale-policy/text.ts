import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { cleanLine } from '../../text/clean.ts';
import { isTooDeep, nestingProblem } from '../../text/nesting.ts';
import { positionAt } from '../../text/position.ts';
import type { ConfigProblem } from '../problem.ts';

/** The server would refuse an error. */
export type PolicyFinding = Pick<ConfigProblem, 'level' | 'message' | 'line' | 'column'>;

/** A policy in HuJSON (JSON with comments and trailing commas), with the problems found so far. */
export class PolicyText {
  readonly root: Node | undefined;
  readonly findings: PolicyFinding[] = [];

  constructor(readonly text: string) {
    if (isTooDeep(text)) {
      this.root = undefined;
      this.report('error', 0, nestingProblem);
      return;
    }
    const errors: ParseError[] = [];
    this.root = parseTree(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    const lineStart = first === undefined ? -1 : text.lastIndexOf('\n', first.offset - 1) + 1;
    // Otherwise each word of such a line would be reported separately.
    if (first && /^[ \t]*#/.test(text.slice(lineStart))) this.report('error', first.offset, 'Comments must begin with //, not #.');
    else
      for (const error of errors) {
        const code = printParseErrorCode(error.error);
        this.report('error', this.#position(error), syntaxWords[code] ?? `Syntax error (${code}).`);
      }
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
    this.findings.push({ level, message: cleanLine(message), ...positionAt(this.text, offset) });
  }

  /** A missing sign is detected at the next token, which may be lines away: report the end of the previous token. */
  #position({ error, offset }: ParseError): number {
    const isMissing = /Expected$/.test(printParseErrorCode(error));
    return isMissing && offset >= this.text.length ? this.text.trimEnd().length : Math.min(offset, this.text.length);
  }
}

export function membersOf(node: Node | undefined): readonly { name: string; key: Node; value: Node }[] {
  if (node?.type !== 'object') return [];
  return (node.children ?? []).flatMap(({ children = [] }) => {
    const [key, value] = children;
    return key && value ? [{ name: String(key.value), key, value }] : [];
  });
}

export const memberOf = (node: Node | undefined, name: string): Node | undefined =>
  membersOf(node).findLast((member) => member.name === name)?.value;

export const partsOf = (node: Node | undefined): readonly Node[] => (node?.type === 'array' ? (node.children ?? []) : []);

export const textOf = (node: Node | undefined): string | undefined => (node?.type === 'string' ? String(node.value) : undefined);

const syntaxWords: Readonly<Record<string, string>> = {
  InvalidSymbol: 'Unexpected word: strings must be in double quotes.',
  InvalidNumberFormat: 'This is not a valid number.',
  PropertyNameExpected: 'Expected a name in double quotes.',
  ValueExpected: 'Expected a value.',
  ColonExpected: 'Expected a colon.',
  CommaExpected: 'Expected a comma before this.',
  CloseBraceExpected: 'A closing } is missing.',
  CloseBracketExpected: 'A closing ] is missing.',
  EndOfFileExpected: 'Unexpected text after the last }.',
  UnexpectedEndOfComment: 'This comment is not closed.',
  UnexpectedEndOfString: 'This string is not closed: a double quote is missing.',
  UnexpectedEndOfNumber: 'This number is incomplete.',
  InvalidUnicode: 'This \\u requires four hexadecimal digits.',
  InvalidEscapeCharacter: 'Invalid escape: this character cannot follow a backslash.',
  InvalidCharacter: 'This character is not allowed in a string.',
};
