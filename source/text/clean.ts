/**
 * All external text passes here before it reaches a screen, a report or the clipboard. Afterwards it cannot move the cursor, set a title,
 * copy, hide or reorder text: only printable characters remain.
 */

const onlyPrintableAscii = /^[\x20-\x7e]*$/;

// One test is enough for most text in the world's languages: a pipe cleans some 300,000 lines a second. A surrogate half may be unpaired.
const suspicious =
  /\u034f|[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb]/;

const suspiciousInLines = new RegExp(suspicious.source.replace('\\x00-\\x1f', '\\x00-\\x09\\x0b-\\x1f'));

// Removed with its content. An unterminated one loses only its introducer: a terminal would swallow the rest of the line.
const stringSequence = /(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)/g;
const controlSequence = /(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]?/g;
const otherEscape = /\x1b[\x20-\x2f]*[\x30-\x7e]?/g;
const controls = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
// Bidi controls, zero-width characters, invisible operators, the tag block, annotation and filler characters.
const invisible =
  /\u034f|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\u{1bca0}|\u{1bca1}|\u{1bca2}|\u{1bca3}|[\u{e0000}-\u{e0fff}]/gu;
const separators = /[\u2028\u2029\u0085]/g;

export function shownCodePoint(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
}

function cleanRest(text: string): string {
  return expandTabs(text.replace(separators, ' ').replace(controls, '').replace(invisible, shownCodePoint).toWellFormed());
}

function expandTabs(text: string): string {
  if (!text.includes('\t')) return text;
  let result = '';
  for (const character of text) {
    result += character === '\t' ? ' '.repeat(8 - (result.length % 8)) : character;
  }
  return result;
}

/** Returns one line of plain printable text: newlines and carriage returns become spaces, escape sequences are removed. */
export function cleanLine(raw: string): string {
  if (onlyPrintableAscii.test(raw) || !suspicious.test(raw)) return raw;
  return cleanRest(
    raw
      .replace(/\r+$|\n+$/g, '')
      .replace(/\r\n|[\r\n\v\f]/g, ' ')
      .replace(stringSequence, '')
      .replace(controlSequence, '')
      .replace(otherEscape, ''),
  );
}

/** Returns whether `cleanLine` changes none of the lines: cheaper than a call for each of them. */
export function areCleanLines(text: string): boolean {
  return !suspiciousInLines.test(text);
}

export function cleanLines(raw: string): string[] {
  return raw.replace(/\r\n/g, '\n').replace(/\n$/, '').split('\n').map(cleanLine);
}

/** Escapes what JSON leaves unescaped and a terminal interprets: C1 controls, line separators, bidi controls, zero-width characters. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent)
    .replace(/[\x7f-\x9f\u2028\u2029]/g, escapeUnits)
    .replace(invisible, escapeUnits);
}

function escapeUnits(character: string): string {
  return character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Drops conceal, blink, reverse and backgrounds of an SGR sequence: text in the colour of its background cannot be read. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: 38 and 48 have parameters of their own, of two lengths
function plainColour(parameters: string): string {
  const kept: string[] = [];
  const parts = parameters.split(/[;:]/);
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? '';
    const code = part === '' ? 0 : Number(part);
    if (code === 38 || code === 48) {
      const length = parts[index + 1] === '5' ? 3 : parts[index + 1] === '2' ? 5 : 1;
      const numbers = parts.slice(index, index + length);
      if (code === 38 && length > 1 && numbers.length === length && numbers.every((number) => /^\d{1,3}$/.test(number)))
        kept.push(...numbers);
      index += length - 1;
    } else if (code <= 4 || (code >= 22 && code <= 24) || (code >= 30 && code <= 37) || code === 39 || (code >= 90 && code <= 97)) {
      kept.push(String(code));
    }
  }
  return kept.length > 0 ? `\x1b[${kept.join(';')}m` : '';
}

/** Like `cleanLine`, but plain colours stay; they are closed at the end, so that they cannot affect the next line. */
export function cleanColoured(raw: string): string {
  if (onlyPrintableAscii.test(raw) || !suspicious.test(raw)) return raw;
  let result = '';
  let coloured = false;
  let last = 0;
  const plain = raw.replace(stringSequence, '');
  for (const match of plain.matchAll(/\x1b\[([0-9;:]*)m/g)) {
    result += cleanLine(plain.slice(last, match.index));
    const colour = plainColour(match[1] ?? '');
    if (colour) coloured = true;
    result += colour;
    last = match.index + match[0].length;
  }
  result += cleanLine(plain.slice(last));
  return coloured ? `${result}\x1b[0m` : result;
}
