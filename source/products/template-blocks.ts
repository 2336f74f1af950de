import { placeAt } from '../text/text-place.ts';

/** A private character: no file has it, so that it is known again in what was read. */
const mark = '\uE000';

export interface MaskedTemplate {
  /** As long as the text, line by line, with something neutral wherever the program fills something in. */
  text: string;
  /** Where the first thing is that had to be masked; undefined where the text can be read as it is. */
  firstLine: number | undefined;
  /** Are there parts that come only perhaps, or several times? */
  hasBlocks: boolean;
  /** What the program refuses before it fills anything in. */
  problem?: { line: number; column: number; message: string; remedy: string };
}

interface Action {
  at: number;
  end: number;
  /** `if`, `end`, ... ; empty for what writes a value; `nothing` for comments and assignments. */
  word: string;
}

const openers = new Set(['if', 'range', 'with', 'define', 'block']);
const words = new Set([...openers, 'else', 'end', 'template', 'break', 'continue', 'nothing']);

export const holdsPlaceholder = (text: string) => text.includes(mark);
export const withoutPlaceholders = (text: string) => text.replaceAll(new RegExp(`${mark}+`, 'g'), '{{...}}');

/**
 * A text in Go's template language (text/template), made such that it can be read as YAML or JSON without being filled in: lines with nothing but blocks are left out, of
 * `{{ if }}` the first branch stands, values become a placeholder. In quotes and in comments nothing has to be done: those are read as they are.
 */
export function maskTemplate(text: string, form: 'yaml' | 'json'): MaskedTemplate {
  const { actions, unclosed } = actionsIn(text);
  const problem =
    unclosed === undefined
      ? blockProblem(text, actions)
      : problemAt(text, unclosed, 'These double braces are never closed.', 'Write }} behind it.');
  const untouched: MaskedTemplate = { text, firstLine: undefined, hasBlocks: false, ...(problem && { problem }) };
  const ends = new Map(actions.map(({ at, end }) => [at, end]));
  const bare = new Set(actions.filter((action) => !isQuoted(text, action, ends)));
  const [first] = [...bare];
  if (problem || first === undefined) return untouched;
  const placeholder = (length: number) => (form === 'json' ? `"${mark.repeat(length - 2)}"` : mark.repeat(length));
  const lines: string[] = [];
  let [offset, next] = [0, 0];
  let hasBlocks = false;
  const branches: ('first' | 'other')[] = [];
  for (const line of text.split('\n')) {
    const [from, to] = [offset, offset + line.length];
    offset = to + 1;
    while ((actions[next]?.end ?? text.length) <= from && next < actions.length) next++;
    let last = next;
    while ((actions[last]?.at ?? text.length) < to) last++;
    const here = actions.slice(next, last);
    const wasLeftOut = branches.includes('other');
    const depth = branches.length;
    let lowest = depth;
    for (const { word, end } of here) {
      // An action over several lines counts where it ends.
      if (end > to) continue;
      if (openers.has(word)) branches.push(word === 'define' ? 'other' : 'first');
      else if (word === 'else') branches.splice(-1, 1, 'other');
      else if (word === 'end') branches.pop();
      lowest = Math.min(lowest, word === 'else' ? branches.length - 1 : branches.length);
    }
    hasBlocks ||= here.some(({ word }) => openers.has(word) || word === 'template');
    let rest = line;
    for (const { at, end } of here.toReversed())
      rest = rest.slice(0, Math.max(0, at - from)) + rest.slice(Math.min(line.length, end - from));
    const isControl = here.length > 0 && here.every(({ word }) => words.has(word)) && /^\s*#?\s*$/.test(rest);
    const shown = here.filter((action) => bare.has(action));
    if (wasLeftOut || isControl) lines.push('');
    else if (shown.length === 0) lines.push(line);
    else {
      const inLine = shown.map(({ at, end, word }) => ({ word, at: Math.max(0, at - from), end: Math.min(line.length, end - from) }));
      // A block that begins and ends in this line writes one value.
      const whole = inLine.some(({ word }) => words.has(word)) && lowest === depth && branches.length === depth;
      const masked = whole ? [{ word: '', at: inLine[0]?.at ?? 0, end: inLine.at(-1)?.end ?? 0 }] : inLine;
      let made = line;
      for (const { at, end, word } of masked.toReversed())
        made = made.slice(0, at) + (words.has(word) ? ' '.repeat(end - at) : placeholder(end - at)) + made.slice(end);
      lines.push(made);
    }
  }
  return { text: lines.join('\n'), firstLine: placeAt(text, first.at).line, hasBlocks };
}

function actionsIn(text: string): { actions: Action[]; unclosed?: number } {
  const actions: Action[] = [];
  const expression = /\{\{(?:-?\s*\/\*[\s\S]*?\*\/\s*-?\}\}|((?:"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])*'|(?!\}\})[^"`'])*)\}\})/y;
  for (let at = text.indexOf('{{'); at >= 0; ) {
    expression.lastIndex = at;
    const found = expression.exec(text);
    if (!found) return { actions, unclosed: at };
    const end = at + found[0].length;
    const inner = found[1]?.replace(/^-\s/, '').trim();
    const first = inner === undefined || /^\$\w*\s*:?=/.test(inner) ? 'nothing' : (/^[a-z]+\b/.exec(inner)?.[0] ?? '');
    actions.push({ at, end, word: words.has(first) ? first : '' });
    at = text.indexOf('{{', end);
  }
  return { actions };
}

function blockProblem(text: string, actions: readonly Action[]): MaskedTemplate['problem'] {
  const open: Action[] = [];
  for (const action of actions) {
    if (openers.has(action.word)) open.push(action);
    else if ((action.word === 'end' || action.word === 'else') && open.length === 0)
      return problemAt(text, action.at, `{{ ${action.word} }} stands here without a block.`, 'Remove it, or write the block above.');
    else if (action.word === 'end') open.pop();
  }
  const last = open.at(-1);
  return last && problemAt(text, last.at, `This {{ ${last.word} }} has no {{ end }}.`, 'Write {{ end }} where it ends.');
}

function problemAt(text: string, offset: number, message: string, remedy: string): NonNullable<MaskedTemplate['problem']> {
  return { ...placeAt(text, offset), message, remedy };
}

/** Does it stand in quotes or in a comment, as far as its line tells? */
function isQuoted(text: string, { at }: Action, ends: ReadonlyMap<number, number>): boolean {
  const begin = text.lastIndexOf('\n', at - 1) + 1;
  let quote = '';
  for (let index = begin; index < at; index++) {
    const end = ends.get(index);
    if (end !== undefined) {
      index = end - 1;
      continue;
    }
    const sign = text[index] ?? '';
    if (quote !== '') {
      if (sign === '\\' && quote === '"') index++;
      else if (sign === quote) quote = '';
    } else if (/^["']$/.test(sign) && /^(?:[\s[{,:-]|)$/.test(index === begin ? '' : (text[index - 1] ?? ''))) quote = sign;
    else if (sign === '#' && (index === begin || /\s/.test(text[index - 1] ?? ''))) return true;
  }
  return quote !== '';
}
