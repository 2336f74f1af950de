/** The part of a shell's language that is understood in practice containers. Text is bytes in a string (latin1), as in a real shell. */
export type Node =
  | { kind: 'command'; words: readonly Word[]; assignments: readonly (readonly [string, Word])[]; redirections: readonly Redirection[] }
  | { kind: 'pipe'; parts: readonly Node[] }
  | { kind: 'list'; parts: readonly { node: Node; after: ';' | '&&' | '||' }[] }
  | { kind: 'loop'; until: boolean; condition: Node; body: Node }
  | { kind: 'if'; condition: Node; then: Node; otherwise: Node | undefined };

/** Pieces of a word: text that stands for itself, or what is to be filled in. */
export type Word = readonly (
  | { text: string }
  | { variable: string; quoted: boolean }
  | { sum: string }
  | { run: string; quoted: boolean }
)[];

export interface Redirection {
  from: 'stdout' | 'stderr';
  to: { stream: 'stdout' | 'stderr' } | { file: Word; add: boolean };
}

type Token = { word: Word; plain: string | undefined } | { mark: string };

export class SyntaxMistake extends Error {}

export function parseScript(script: string): Node {
  const parser = new Parser(tokens(script));
  const node = parser.list([]);
  if (parser.more()) throw new SyntaxMistake(`syntax error: unexpected "${parser.text()}"`);
  return node;
}

function tokens(script: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  while (at < script.length) {
    const rest = script.slice(at);
    const space = /^[ \t]+|^\\\n|^#[^\n]*/.exec(rest);
    if (space && !(space[0].startsWith('#') && at > 0 && /\S/.test(script[at - 1] ?? ''))) {
      at += space[0].length;
      continue;
    }
    const mark = /^(?:&&|\|\||2>&1|1?>&2|2?>>|[12]?>|[;|&\n]|<)/.exec(rest);
    if (mark) {
      found.push({ mark: mark[0] });
      at += mark[0].length;
      continue;
    }
    const { word, length } = readWord(rest);
    const [only] = word;
    found.push({ word, plain: word.length === 1 && only && 'text' in only && rest.slice(0, length) === only.text ? only.text : undefined });
    at += length;
  }
  return found;
}

function readWord(script: string): { word: Word; length: number } {
  const pieces: Word[number][] = [];
  let text: string | undefined;
  let at = 0;
  const add = (more: string) => {
    text = (text ?? '') + more;
  };
  const piece = (one: Word[number]) => {
    if (text) pieces.push({ text });
    text = undefined;
    pieces.push(one);
  };
  const dollar = (quoted: boolean): void => {
    const rest = script.slice(at);
    const sum = /^\$\(\((.*?)\)\)/s.exec(rest);
    const variable = /^\$(?:\{(\w+)[^}]*\}|(\w+|[?$#@]))/.exec(rest);
    if (sum) {
      piece({ sum: sum[1] ?? '' });
      at += sum[0].length;
    } else if (rest.startsWith('$(')) {
      const end = script.indexOf(')', at);
      if (end < 0) throw new SyntaxMistake('syntax error: unterminated $(');
      piece({ run: script.slice(at + 2, end), quoted });
      at = end + 1;
    } else if (variable) {
      piece({ variable: variable[1] ?? variable[2] ?? '', quoted });
      at += variable[0].length;
    } else {
      add('$');
      at++;
    }
  };
  while (at < script.length) {
    const one = script[at] ?? '';
    if (/[\s;|&<>]/.test(one)) break;
    if (one === "'") {
      const end = script.indexOf("'", at + 1);
      if (end < 0) throw new SyntaxMistake('syntax error: unterminated quoted string');
      add(script.slice(at + 1, end));
      at = end + 1;
    } else if (one === '"') {
      add('');
      for (at++; script[at] !== '"'; ) {
        if (at >= script.length) throw new SyntaxMistake('syntax error: unterminated quoted string');
        if (script[at] === '\\' && /["\\$`]/.test(script[at + 1] ?? '')) {
          add(script[at + 1] ?? '');
          at += 2;
        } else if (script[at] === '$') dollar(true);
        else {
          add(script[at] ?? '');
          at++;
        }
      }
      at++;
    } else if (one === '\\') {
      add(script[at + 1] ?? '');
      at += 2;
    } else if (one === '$') dollar(false);
    else {
      add(one);
      at++;
    }
  }
  if (text !== undefined) pieces.push({ text });
  return { word: pieces, length: at };
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  more(): boolean {
    return this.#at < this.#tokens.length;
  }

  text(): string {
    const token = this.#tokens[this.#at];
    return token === undefined ? 'end of file' : 'mark' in token ? token.mark : (token.plain ?? 'word');
  }

  #is(...words: readonly string[]): boolean {
    const token = this.#tokens[this.#at];
    return token !== undefined && words.includes('mark' in token ? token.mark : (token.plain ?? ''));
  }

  #expect(word: string): void {
    if (!this.#is(word)) throw new SyntaxMistake(`syntax error: unexpected "${this.text()}" (expecting "${word}")`);
    this.#at++;
  }

  list(ends: readonly string[]): Node {
    const parts: { node: Node; after: ';' | '&&' | '||' }[] = [];
    for (;;) {
      while (this.#is(';', '\n', '&')) this.#at++;
      if (!this.more() || this.#is(...ends)) break;
      const node = this.#pipe();
      const after = this.#is('&&', '||') ? (this.text() as '&&' | '||') : ';';
      if (after !== ';') this.#at++;
      parts.push({ node, after });
      if (after === ';' && this.more() && !this.#is(';', '\n', '&', ...ends)) break;
    }
    return { kind: 'list', parts };
  }

  #pipe(): Node {
    const parts = [this.#one()];
    while (this.#is('|')) {
      this.#at++;
      parts.push(this.#one());
    }
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'pipe', parts };
  }

  #one(): Node {
    if (this.#is('while', 'until')) {
      const until = this.#is('until');
      this.#at++;
      const condition = this.list(['do']);
      this.#expect('do');
      const body = this.list(['done']);
      this.#expect('done');
      return { kind: 'loop', until, condition, body };
    }
    if (this.#is('if')) {
      this.#at++;
      const condition = this.list(['then']);
      this.#expect('then');
      const then = this.list(['else', 'fi']);
      let otherwise: Node | undefined;
      if (this.#is('else')) {
        this.#at++;
        otherwise = this.list(['fi']);
      }
      this.#expect('fi');
      return { kind: 'if', condition, then, otherwise };
    }
    return this.#command();
  }

  #command(): Node {
    const words: Word[] = [];
    const assignments: (readonly [string, Word])[] = [];
    const redirections: Redirection[] = [];
    for (let token = this.#tokens[this.#at]; token !== undefined; token = this.#tokens[this.#at]) {
      if ('word' in token) {
        const [first, ...rest] = token.word;
        const [, name, value = ''] =
          words.length === 0 && first && 'text' in first ? (/^([A-Za-z_]\w*)=(.*)$/s.exec(first.text) ?? []) : [];
        if (name !== undefined) assignments.push([name, value === '' ? rest : [{ text: value }, ...rest]]);
        else words.push(token.word);
        this.#at++;
        continue;
      }
      if (token.mark === '2>&1') redirections.push({ from: 'stderr', to: { stream: 'stdout' } });
      else if (/^1?>&2$/.test(token.mark)) redirections.push({ from: 'stdout', to: { stream: 'stderr' } });
      else if (/>/.test(token.mark)) {
        this.#at++;
        const target = this.#tokens[this.#at];
        if (target === undefined || !('word' in target)) throw new SyntaxMistake(`syntax error: unexpected "${this.text()}"`);
        redirections.push({
          from: token.mark.startsWith('2') ? 'stderr' : 'stdout',
          to: { file: target.word, add: token.mark.endsWith('>>') },
        });
      } else break;
      this.#at++;
    }
    if (words.length === 0 && assignments.length === 0) throw new SyntaxMistake(`syntax error: unexpected "${this.text()}"`);
    return { kind: 'command', words, assignments, redirections };
  }
}
