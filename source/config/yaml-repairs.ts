/** What is wrong in a text that is no YAML. */
export interface YamlSlip {
  offset: number;
  message: string;
  remedy: string;
}

/** What the parser stumbles at. */
export interface ParserError {
  code: string;
  message: string;
  offset: number;
  /** Of an open quote or bracket: where it begins. */
  opener: { offset: number; end: string } | undefined;
}

/** A text that would be nearer to YAML, and what is wrong if it is what was meant. */
export interface Repair extends Partial<YamlSlip> {
  text: string;
}

/** Errors that a wrong indentation or a colon that is missing leads to. */
const ofLines = new Set(['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY', 'MISSING_CHAR']);

/** What may have been meant, the likeliest first. */
export function* repairs(text: string, { code, offset, opener }: ParserError): Generator<Repair> {
  const line = lineAt(text, offset);
  if (opener) {
    yield { text: `${text.slice(0, line.to)}${opener.end}${text.slice(line.to)}` };
    // The quote is closed where the list of the line goes on.
    const comma = /[,}\]]/.exec(text.slice(offset + 1, line.to));
    if (comma && /["']/.test(opener.end)) {
      const at = offset + 1 + comma.index;
      yield { text: `${text.slice(0, at)}${opener.end}${text.slice(at)}` };
    }
  }
  const near = [line, nextLine(text, line), previousLine(text, line)].filter((one) => one !== undefined);
  if (ofLines.has(code) && !opener) {
    for (const one of near) yield* spelled(text, one);
    // Whose indentation the file has more rarely is more likely to be the one at fault.
    const indents = text.split('\n').map((one) => one.length - one.trimStart().length);
    const often = (one: Line) => indents.filter((indent) => indent === one.indent).length;
    const tries = [...near.map((one) => ({ one, repairs: () => indented(text, one) })), ...above(text, line)];
    for (const { repairs } of tries.sort((a, b) => often(a.one) - often(b.one))) yield* repairs();
  }
  yield { text: without(text, line, false) };
  yield { text: without(text, line, true) };
}

/** A colon, or the space behind it. */
function* spelled(text: string, line: Line): Generator<Repair> {
  const above = previousLine(text, line);
  if (above && isEntry(above.text) && above.indent === line.indent && !isEntry(line.text))
    yield {
      text: `${text.slice(0, line.from + line.indent)}- ${text.slice(line.from + line.indent)}`,
      offset: line.from + line.indent,
      message: 'The lines above are entries of a list, and this is none.',
      remedy: 'Begin it with a dash, or line it up with the key above the list.',
    };
  const [, lead = '', key = '', rest = ''] = /^(\s*(?:- +)?)([A-Za-z_][\w.-]*)(.*?)\s*$/.exec(line.text) ?? [];
  const offset = line.from + lead.length;
  const write = (written: string) => `${text.slice(0, line.from)}${written}${text.slice(line.to)}`;
  if (key === '' || /:(?:\s|$)/.test(line.text) || (above && isTextHeader(above.text))) return;
  const message = `There is no colon behind "${key}".`;
  if (rest === '') yield { text: write(`${lead}${key}:`), offset, message, remedy: `Write ${key}: here, or remove it.` };
  else if (/^ +\S/.test(rest))
    yield { text: write(`${lead}${key}:${rest}`), offset, message, remedy: `Write ${key}:${rest.length > 40 ? ' ...' : rest}` };
  else if (/^:\S/.test(rest))
    yield {
      text: write(`${lead}${key}: ${rest.slice(1)}`),
      offset,
      message: `There is no space behind the colon of "${key}".`,
      remedy: `Write ${key}: and then the value.`,
    };
}

/** Alone, or with all that is below it. */
function* indented(text: string, line: Line): Generator<Repair> {
  const near = [previousLine(text, line), nextLine(text, line)].flatMap((one) => (one ? [one.indent, one.indent + 2, one.indent - 2] : []));
  for (const indent of new Set(near)) {
    if (indent < 0 || indent === line.indent) continue;
    yield moved(text, line, indent, []);
    yield moved(text, line, indent, below(text, line));
  }
}

/** What a line does not fit into may be at fault itself: the keys above it, and what comes first below them. */
function above(text: string, line: Line): { one: Line; repairs: () => Repair[] }[] {
  const found: Line[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (let one = previousLine(text, line); one !== undefined && least > 0; one = previousLine(text, one)) {
    if (one.indent >= least) continue;
    least = one.indent;
    const first = nextLine(text, one);
    found.push(one, ...(first && first.from !== line.from ? [first] : []));
  }
  return found.filter(({ indent }) => indent !== line.indent).map((one) => ({ one, repairs: () => [moved(text, one, line.indent, [])] }));
}

function moved(text: string, line: Line, indent: number, withIt: readonly Line[]): Repair {
  let left = text;
  for (const one of [line, ...withIt].reverse())
    left = `${left.slice(0, one.from)}${' '.repeat(Math.max(0, one.indent + indent - line.indent))}${left.slice(one.from + one.indent)}`;
  return {
    text: left,
    offset: line.from + line.indent,
    message: `This line is indented by ${spaces(line.indent)}, which fits none of its neighbours.`,
    remedy: `Indent it by ${indent}, if it belongs to those that are.`,
  };
}

export interface Line {
  from: number;
  /** Where its line feed is. */
  to: number;
  text: string;
  indent: number;
}

export function lineAt(text: string, offset: number): Line {
  // From -1 it would look at the first character all the same.
  const from = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  const to = end < 0 ? text.length : end;
  const own = text.slice(from, to);
  return { from, to, text: own, indent: own.length - own.trimStart().length };
}

/** Neither empty nor a comment. */
const counts = ({ text }: Line) => /^\s*[^\s#]/.test(text);

export function nextLine(text: string, line: Line): Line | undefined {
  for (let at = line.to + 1; at < text.length; ) {
    const next = lineAt(text, at);
    if (counts(next)) return next;
    at = next.to + 1;
  }
  return undefined;
}

export function previousLine(text: string, line: Line): Line | undefined {
  for (let at = line.from - 1; at >= 0; ) {
    const before = lineAt(text, at);
    if (counts(before)) return before;
    at = before.from - 1;
  }
  return undefined;
}

function below(text: string, line: Line): Line[] {
  const lines: Line[] = [];
  for (let next = nextLine(text, line); next !== undefined && next.indent > line.indent; next = nextLine(text, next)) lines.push(next);
  return lines;
}

/** With nothing in its place, so that all others keep theirs. */
function without(text: string, line: Line, withBelow: boolean): string {
  let left = text;
  for (const { from, to } of [line, ...(withBelow ? below(text, line) : [])])
    left = `${left.slice(0, from)}${' '.repeat(to - from)}${left.slice(to)}`;
  return left;
}

/** `key: |` and its like: what follows is a text of several lines. */
export const isTextHeader = (line: string) => /[:-]\s+[|>][+-]?\d*\s*$/.test(line);
export const isEntry = (line: string) => /^\s*-(?:\s|$)/.test(line);
const spaces = (count: number) => (count === 0 ? 'no space' : count === 1 ? 'one space' : `${count} spaces`);
