import { mapTexts } from '../text/json-value.ts';

export interface Variable {
  name: string;
  /** `-` default, `?` required, `+` replacement; empty for the plain forms. */
  operator: '' | '-' | '?' | '+';
  /** With a colon an empty value counts as unset. */
  colon: boolean;
  /** The text after the operator: a default, a message or a replacement, as written. */
  word: string;
}

/** Parses compose interpolation. `$$` is a dollar sign. Never throws. */
export function readInterpolation(text: string): { parts: readonly (string | Variable)[]; error?: { offset: number; message: string } } {
  const parts: (string | Variable)[] = [];
  let plain = '';
  let at = 0;
  const flush = () => {
    if (plain !== '') parts.push(plain);
    plain = '';
  };
  while (at < text.length) {
    const dollar = text.indexOf('$', at);
    if (dollar < 0) break;
    plain += text.slice(at, dollar);
    at = dollar;
    const rest = text.slice(at);
    const short = /^\$([A-Za-z_]\w*)/.exec(rest);
    const long = /^\$\{([A-Za-z_]\w*)(?:(:?)([-?+]))?/.exec(rest);
    if (rest.startsWith('$$')) {
      plain += '$';
      at += 2;
    } else if (short) {
      flush();
      parts.push({ name: short[1] ?? '', operator: '', colon: false, word: '' });
      at += short[0].length;
    } else if (long) {
      const operator = (long[3] ?? '') as Variable['operator'];
      const end = closingBrace(text, at + long[0].length);
      const word = text.slice(at + long[0].length, end);
      if (end < 0) return { parts, error: { offset: at, message: 'the brace after the dollar sign is never closed' } };
      if (operator === '' && word !== '')
        return { parts, error: { offset: at, message: `"${text.slice(at, end + 1)}" is not a valid variable expression` } };
      flush();
      parts.push({ name: long[1] ?? '', operator, colon: long[2] === ':', word });
      at = end + 1;
    } else {
      return { parts, error: { offset: at, message: 'a dollar sign must be followed by a name or a brace; write $$ for a literal one' } };
    }
  }
  plain += text.slice(at);
  flush();
  return { parts };
}

export function variablesIn(text: string): Variable[] {
  return readInterpolation(text).parts.flatMap((part) =>
    typeof part === 'string' ? [] : [part, ...(part.word.includes('$') ? variablesIn(part.word) : [])],
  );
}

/** As compose does it. A required variable without a value becomes empty: its presence is checked elsewhere. */
export function interpolate(text: string, values: Readonly<Record<string, string>> = {}): string {
  return readInterpolation(text)
    .parts.map((part) => {
      if (typeof part === 'string') return part;
      const value = Object.hasOwn(values, part.name) ? values[part.name] : undefined;
      const set = value !== undefined && !(part.colon && value === '');
      if (part.operator === '+') return set ? interpolate(part.word, values) : '';
      if (set) return value;
      return part.operator === '-' ? interpolate(part.word, values) : '';
    })
    .join('');
}

/** Interpolates every text in a value. */
export function interpolateAll(value: unknown, values: Readonly<Record<string, string>> = {}): unknown {
  return mapTexts(value, (text) => interpolate(text, values));
}

function closingBrace(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '$' && text[at + 1] === '{') depth++;
    if (text[at] === '}' && depth-- === 0) return at;
  }
  return -1;
}
