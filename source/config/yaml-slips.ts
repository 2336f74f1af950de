import { isCollection, isScalar, type Node, visit } from 'yaml';
import { placeAt } from '../text/text-place.ts';
import { parseYamlDocument } from '../text/yaml-text.ts';
import type { YamlProblem } from './yaml-document.ts';
import {
  isEntry,
  isTextHeader,
  type Line,
  lineAt,
  nextLine,
  type ParserError,
  previousLine,
  type Repair,
  repairs,
  type YamlSlip,
} from './yaml-repairs.ts';

/** More than so many at once nobody puts right at once. */
const slipLimit = 5;
/** Of all that is read again to find out what was meant: each slip costs up to a dozen readings. */
const readingLimitCharacters = 512 * 1024;
/** Errors that are looked at one by one; of a text that is no YAML at all there are thousands. */
const errorLimit = 20;

/**
 * What keeps a text from being YAML: the first slip, and of what the parser says besides only what is still wrong once that is put right. One quote or space can make
 * it stumble at each line that follows.
 */
export function yamlSlips(text: string): YamlProblem[] {
  const slips: YamlProblem[] = [];
  let left = text;
  let errors = errorsOf(left);
  let unread = readingLimitCharacters;
  while (errors.length > 0 && slips.length < slipLimit) {
    const [first] = errors as [ParserError];
    const whole = wholeFile(left, errors);
    if (whole) return [...slips, placed(left, whole)];
    const slip = slipOf(left, first);
    let best: { repair: Repair; errors: ParserError[] } | undefined;
    for (const repair of repairs(left, first)) {
      unread -= repair.text.length;
      if (unread < 0) break;
      const remaining = errorsOf(repair.text);
      if (best === undefined || remaining.length < best.errors.length) best = { repair, errors: remaining };
      if (remaining.length === 0) break;
    }
    slips.push(placed(left, { ...slip, ...(best && best.errors.length < errors.length && told(best.repair)) }));
    // Nothing helps: what comes behind it may all follow from it.
    if (best === undefined || best.errors.length >= errors.length) break;
    left = best.repair.text;
    errors = best.errors;
  }
  return slips.sort((one, other) => one.line - other.line || one.column - other.column);
}

/** By line and column, which what is put right elsewhere does not move. */
function placed(text: string, { offset, message, remedy }: YamlSlip): YamlProblem {
  return { ...placeAt(text, offset), message, remedy };
}

const told = ({ text: _, ...slip }: Repair): Partial<YamlSlip> => slip;

/** What the parser says, in the order of the text; an open quote where it begins. */
function errorsOf(text: string): ParserError[] {
  const document = parseYamlDocument(text, { prettyErrors: false, logLevel: 'error' });
  const all = [...document.errors, ...document.warnings].sort((one, other) => one.pos[0] - other.pos[0]);
  const errors = all.map(({ code, message, pos }, index): ParserError => {
    if (index >= errorLimit) return { code, message, offset: pos[0], opener: undefined };
    const opener = code === 'MISSING_CHAR' || code === 'BAD_INDENT' ? openerAt(document.contents, text, message, pos[0]) : undefined;
    return { code, message, offset: opener?.offset ?? pos[0], opener };
  });
  // A quote that is open swallows the bracket behind it.
  const quotes = errors.filter(({ opener }) => opener && /["']/.test(opener.end)).map(({ offset }) => offset);
  for (const error of errors)
    if (error.opener && !quotes.includes(error.offset)) error.offset = quotes.find((quote) => quote > error.offset) ?? error.offset;
  // Of several at one place the first says most.
  return errors
    .map((error, index) => ({ error, index }))
    .sort((a, b) => a.error.offset - b.error.offset || a.index - b.index)
    .map(({ error }) => error);
}

function openerAt(contents: unknown, text: string, message: string, at: number): ParserError['opener'] {
  const quote = /^Missing closing (["'])/.exec(message)?.[1];
  const bracket = /must be sufficiently indented and end with a ([\]}])|^Flow .* expected .*([\]}])/.exec(message);
  const end = quote ?? bracket?.[1] ?? bracket?.[2];
  if (end === undefined) return undefined;
  let found: Node | undefined;
  visit(contents as Node, {
    Node(_, node) {
      const [from = 0, , to = 0] = node.range ?? [];
      const fits =
        quote === undefined
          ? isCollection(node) && node.flow === true && text[from] === (end === ']' ? '[' : '{')
          : isScalar(node) && text[from] === quote;
      if (fits && from <= at && at <= to + 1) found = node;
    },
  });
  return found?.range ? { offset: found.range[0], end } : undefined;
}

/** Slips of the whole file, which make the parser stumble anywhere. */
function wholeFile(text: string, errors: readonly ParserError[]): YamlSlip | undefined {
  const tab = errors.find(({ code }) => code === 'TAB_AS_INDENT');
  if (tab) return { offset: tab.offset, message: 'Tabs are not allowed as indentation.', remedy: 'Indent with spaces, here and below.' };
  const [top] = /^ +(?=[^\s#])/m.exec(text) ?? [];
  if (top !== undefined && /^\s*$/.test(text.slice(0, text.indexOf(top)).replaceAll(/^\s*#.*$/gm, '')) && /^[^\s#]/m.test(text))
    return {
      offset: text.indexOf(top) + top.length,
      message: 'The first line is indented, and others are not.',
      remedy: 'Begin it where the others begin.',
    };
  const conflict = /^<{7} .*$/m.exec(text);
  if (conflict && /^>{7} /m.test(text))
    return {
      offset: conflict.index,
      message: 'Two versions of this file stand in one another here.',
      remedy: 'Choose one, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>.',
    };
  const odd = /^ *([\u00a0\u2000-\u200b\u202f\u3000\ufeff])/m.exec(text.slice(1));
  if (odd && odd.index < lineAt(text, errors[0]?.offset ?? 0).to)
    return {
      offset: odd.index + odd[0].length,
      message: 'What looks like a space here is another character.',
      remedy: 'Write this indentation anew, with the space bar.',
    };
  return undefined;
}

/** What an error says by itself. */
function slipOf(text: string, { code, message, offset, opener }: ParserError): YamlSlip {
  if (opener && /["']/.test(opener.end))
    return { offset, message: `A quote is opened here and not closed.`, remedy: `Put ${opener.end} behind what it begins.` };
  if (opener)
    return {
      offset,
      message: `${opener.end === ']' ? 'A bracket' : 'A brace'} is opened here and not closed.`,
      remedy: `Put ${opener.end} behind what belongs into it.`,
    };
  const line = lineAt(text, offset);
  const word = wordAt(text, offset);
  switch (code) {
    case 'DUPLICATE_KEY':
      return {
        offset,
        message: `"${word}" is there twice.`,
        remedy: word === '<<' ? 'Name both in one: <<: [*one, *other].' : 'Keep one of the two.',
      };
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return keySlip(text, offset, line);
    case 'BAD_SCALAR_START':
      return { offset, message: `Text cannot begin with ${text.slice(offset, offset + 1)}.`, remedy: 'Put it into quotes.' };
    case 'UNEXPECTED_TOKEN':
      if (/^Unexpected scalar at node end/.test(message)) return behind(text, offset);
      break;
  }
  return {
    offset,
    message: messages[code] ?? sentence(message),
    remedy: remedies[code] ?? 'Check the spelling, quotes and indentation here.',
  };
}

/** At what is no key, or not alone in its line. */
function keySlip(text: string, offset: number, line: Line): YamlSlip {
  const from = line.from + line.indent;
  const above = previousLine(text, line);
  if (above && isTextHeader(above.text))
    return {
      offset: from,
      message: 'The lines of a text are indented deeper than the key above them.',
      remedy: 'Indent this line, and those that belong to it.',
    };
  if (isEntry(line.text))
    return {
      offset: from,
      message: 'A dash begins an entry of a list here, where keys are expected.',
      remedy: 'Remove the dash, or make all of it a list.',
    };
  if (!/:(?:\s|$)/.test(line.text))
    return { offset: from, message: 'There is no colon in this line.', remedy: 'Write KEY: value, or remove it.' };
  if (/:\s/.test(text.slice(offset, line.to)))
    return { offset, message: 'A second key and its colon stand in the line of another.', remedy: 'Put text that holds ": " into quotes.' };
  return (
    deeper(text, line) ?? { offset, message: 'A key and its colon stand on one line.', remedy: remedies['MULTILINE_IMPLICIT_KEY'] ?? '' }
  );
}

/** Text that goes on where a value has ended. */
function behind(text: string, offset: number): YamlSlip {
  const { from } = lineAt(text, offset);
  const before = text.slice(from, offset).trimEnd();
  if (/["']$/.test(before))
    return {
      offset,
      message: 'The text goes on behind its closing quote.',
      remedy: 'Put all of it into quotes of the other kind, or double those inside.',
    };
  const sign = /(?:^|[:-] +)([*&!])\S*$/.exec(before)?.[1];
  if (sign !== undefined)
    return {
      offset: from + before.lastIndexOf(sign),
      message: `Text cannot begin with ${sign}.`,
      remedy: 'Put it into quotes.',
    };
  return { offset, message: 'Something follows where the value has ended.', remedy: 'Put all of it into quotes.' };
}

/** A line that is indented under one that has its value already. */
function deeper(text: string, line: Line): YamlSlip | undefined {
  const next = nextLine(text, line);
  if (next === undefined || next.indent <= line.indent) return undefined;
  return {
    offset: next.from + next.indent,
    message: 'This line is indented deeper than the one above, which has its value already.',
    remedy: 'Line it up with its neighbours, or remove the value above.',
  };
}

/** The key that begins there, as it is written. */
function wordAt(text: string, offset: number): string {
  return /^(?:"[^"\n]*"|'[^'\n]*'|[^:\s][^:\n]{0,60})/.exec(text.slice(offset, offset + 80))?.[0].replaceAll(/^["']|["']$/g, '') ?? '';
}

/** Where the parser speaks to programmers. */
const messages: Record<string, string> = {
  BAD_INDENT: 'This line does not line up with those above.',
  BLOCK_IN_FLOW: 'A comma is missing, or a quote: a second key begins inside of brackets.',
  MISSING_CHAR: 'A key and its colon stand on one line.',
  MULTIPLE_DOCS: 'There is a second document in this file.',
};

const remedies: Record<string, string> = {
  TAB_AS_INDENT: 'Indent with spaces, here and below.',
  BAD_INDENT: 'Line it up with its neighbours.',
  BLOCK_IN_FLOW: 'Put a comma between the two, or quotes around text that holds a colon.',
  BAD_DQ_ESCAPE: 'Use single quotes, or write each backslash twice.',
  MISSING_CHAR: 'Close the quote, bracket or brace, or put a colon behind the key.',
  MULTIPLE_DOCS: 'Keep one document per file: remove the line ---.',
  BAD_ALIAS: 'Define the anchor before it is used.',
  BLOCK_AS_IMPLICIT_KEY: 'Put text that holds ": " into quotes, or check the indentation of the next line.',
  MULTILINE_IMPLICIT_KEY: 'Put a colon behind the key, or check the quotes and the indentation around this line.',
  TAG_RESOLVE_FAILED: 'Remove the tag: the word that begins with an exclamation mark.',
};

export function sentence(message: string): string {
  const first = message.split('\n', 1)[0]?.trim() ?? '';
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
