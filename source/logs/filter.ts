import type { RE2JS } from 're2js';
import { cleanLine } from '../text/clean.ts';

/**
 * A log filter as an operator types it: a text, `/a regular expression/`, and either with a leading `!` for the lines that do not match.
 * Capitals make it case-sensitive (smart case); `\!` and `\/` at the start are literal.
 */
export interface LogFilter {
  passes(text: string): boolean;
  /** Match ranges for highlighting: start and end, ascending. Empty for a filter with `!`. At most 100. */
  ranges(text: string): readonly (readonly [number, number])[];
}

/**
 * `loading`: it contains a regular expression, whose library is still loading; check again when `ready` resolves, which it always does.
 * `problem`: a message with the error and the fix.
 */
export type LogFilterAnswer =
  | { state: 'ready'; filter: LogFilter; hint?: string }
  | { state: 'problem'; problem: string }
  | { state: 'loading'; ready: Promise<void> };

const rangeLimit = 100;
const typedLimit = 1_000;
/** Limit of instructions of a compiled expression. The maximum cost of a line is this times the line's length. */
const programLimit = 300;
/** Limit of steps for highlighting a line: about 20 ms. The rest of the line is not highlighted. */
const highlightSteps = 1_000_000;

const tooLarge = 'The regular expression is too large: use fewer repetitions, for example .* instead of .{500}.';

type Library = typeof RE2JS;
let library: Library | 'missing' | undefined;
let loading: Promise<void> | undefined;

/**
 * RE2 runs in time linear in the line's length, whatever the expression: none can freeze us. A quarter of a megabyte, so it is loaded on
 * first use.
 */
function load(): Promise<void> {
  loading ??= import('re2js').then(
    ({ RE2JS: loaded }) => {
      library = loaded;
    },
    () => {
      library = 'missing';
    },
  );
  return loading;
}

/** Parses a filter and never throws. Empty input, or nothing after `!`, is a filter that matches every line. */
export function parseLogFilter(typed: string): LogFilterAnswer {
  if (typed.length > typedLimit) return { state: 'problem', problem: `A filter can have at most ${typedLimit} characters.` };
  const inverted = typed.startsWith('!');
  const wanted = inverted ? typed.slice(1) : typed;
  // Between two slashes; an escaped slash does not close it.
  const source = /^\/((?:[^\\]|\\.)*)\/$/su.exec(wanted)?.[1];
  if (source === undefined) {
    const filter = filterOf(inverted, textMatcher(/^\\[!/]/.test(wanted) ? wanted.slice(1) : wanted));
    return wanted.startsWith('/')
      ? { state: 'ready', filter, hint: 'The filter is plain text. For a regular expression, add / at the end.' }
      : { state: 'ready', filter };
  }
  if (source === '') return { state: 'ready', filter: everything };
  if (library === undefined) return { state: 'loading', ready: load() };
  if (library === 'missing') {
    return {
      state: 'problem',
      problem: 'Support for regular expressions could not be loaded. Restart Quarterdeck, or filter by text.',
    };
  }
  const matcher = expressionMatcher(source, library);
  return typeof matcher === 'string' ? { state: 'problem', problem: matcher } : { state: 'ready', filter: filterOf(inverted, matcher) };
}

export async function loadLogFilter(typed: string): Promise<Exclude<LogFilterAnswer, { state: 'loading' }>> {
  for (;;) {
    const answer = parseLogFilter(typed);
    if (answer.state !== 'loading') return answer;
    await answer.ready;
  }
}

const everything: LogFilter = { passes: () => true, ranges: () => [] };

function filterOf(inverted: boolean, matcher: LogFilter): LogFilter {
  return inverted && matcher !== everything ? { passes: (text) => !matcher.passes(text), ranges: () => [] } : matcher;
}

function textMatcher(wanted: string): LogFilter {
  if (wanted === '') return everything;
  const exact = /\p{Lu}/u.test(wanted);
  // Lowercasing can change a text's length, so that positions would be wrong: the engine's own folding does not. Escaped, the pattern
  // cannot backtrack.
  const flags = exact ? 'g' : /^[\x00-\x7f]*$/.test(wanted) ? 'gi' : 'giu';
  const expression = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags);
  return {
    passes(text) {
      if (exact) return text.includes(wanted);
      expression.lastIndex = 0;
      return expression.test(text);
    },
    ranges(text) {
      const found: [number, number][] = [];
      // Starts where the last test ended.
      expression.lastIndex = 0;
      for (const match of text.matchAll(expression)) {
        found.push([match.index, match.index + match[0].length]);
        if (found.length === rangeLimit) break;
      }
      return found;
    },
  };
}

/** Returns an error as text. */
function expressionMatcher(source: string, re2: Library): LogFilter | string {
  let expression: RE2JS;
  try {
    expression = re2.compile(source, hasCapitals(source) ? 0 : re2.CASE_INSENSITIVE);
  } catch (thrown) {
    return problemOf(thrown, source);
  }
  const size = expression.programSize();
  if (size > programLimit) return tooLarge;
  const highlighted = Math.max(200, Math.floor(highlightSteps / size));
  return {
    passes: (text) => expression.test(text),
    ranges(text) {
      const found: [number, number][] = [];
      // The rest of the line can decide whether it matches at all: `$`.
      if (!expression.test(text)) return found;
      const matcher = expression.matcher(text.length > highlighted ? text.slice(0, highlighted) : text);
      for (let steps = 0; found.length < rangeLimit && steps < 10 * rangeLimit && matcher.find(); steps++) {
        // `x*` also matches the empty string between two characters.
        if (matcher.end() > matcher.start()) found.push([matcher.start(), matcher.end()]);
      }
      return found;
    },
  };
}

/** Literal capitals: not those of `\S`, `\pL`, `\x{1F}`, `[[:Alpha:]]`, `(?P<Name>` and `(?U)`. */
function hasCapitals(source: string): boolean {
  const plain = source.replace(
    /\\[pP](?:\{[^}]*\}|.)|\\x(?:\{[^}]*\}|..)|\\[^QE]|\\[QE]|\[:\^?\w+:\]|\(\?P?<\w+>|\(\?[a-zA-Z-]+[:)]/gsu,
    '',
  );
  return /\p{Lu}/u.test(plain);
}

/** Keyed by RE2's messages. `part` is the rejected part, `shown` the same if it is short. */
const problems: Readonly<Record<string, (part: string, shown: string | undefined) => string>> = {
  'missing closing )': () => 'A ) is missing; type \\( for a literal one.',
  'unexpected )': () => 'Unmatched ); type \\) for a literal one.',
  'missing closing ]': () => 'A ] is missing; type \\[ for a literal one.',
  'missing argument to repetition operator': (part) =>
    `${part.slice(0, 1)} has nothing to repeat; type \\${part.slice(0, 1)} for a literal one.`,
  'invalid nested repetition operator': (_, shown) => `${shown ?? 'A part'} has two repetition operators in a row: remove one.`,
  'invalid repeat count': (_, shown) =>
    `${shown ?? 'A part'} repeats too many times: the limit is 1000, with nested repetitions multiplied.`,
  'trailing backslash at end of expression': () => 'The \\ at the end escapes nothing; type \\\\ for a literal one.',
  'invalid escape sequence': (_, shown) => `${shown ?? 'An escape'} is not a known escape: omit the \\, or type \\\\ for a literal one.`,
  'invalid character class range': (_, shown) =>
    `${shown ?? 'A set'} is not a valid set of characters: put the lower end of a range first, and write classes as \\d, \\pL or [[:alpha:]].`,
  'duplicate capture group name': (_, shown) => `Two groups are named ${shown ?? 'the same'}: omit the names.`,
  'invalid or unsupported Perl syntax': (_, shown) => `${shown ?? 'A group'} is not supported: use (...), (?:...) or (?P<name>...).`,
  'invalid named capture': (_, shown) => `${shown ?? 'A group'} is not supported: use (...), (?:...) or (?P<name>...).`,
  'expression too large': () => tooLarge,
  'expression nests too deeply': () => tooLarge,
};

function problemOf(thrown: unknown, source: string): string {
  const { error = '', input } = thrown as { error?: string; input?: string | null };
  const part = typeof input === 'string' ? cleanLine(input) : '';
  const shown = part !== '' && part.length < 40 ? part : undefined;
  if (/^\(\?<?[=!]/.test(part)) {
    return 'Lookahead and lookbehind are not supported, because they can take too long: match the whole text, or use ! to exclude lines.';
  }
  if (error === 'invalid escape sequence' && /^\\[1-9k]/.test(part)) {
    return 'Backreferences are not supported, because they can take too long: write out the text to match.';
  }
  return (
    problems[error]?.(part, shown) ??
    (source.length > 200 ? tooLarge : 'Invalid regular expression: correct it, or omit the slashes to search for the text.')
  );
}
