import { positionAt } from '../text/position.ts';
import type { YamlPath } from '../yaml/document.ts';
import type { ConfigPart } from './config-text.ts';
import { type ConfigProblem, errorAt } from './problem.ts';

type Positions = Map<string, { key: number; value: number }>;

interface Token {
  kind: 'name' | 'text' | 'number' | 'sign' | 'end';
  text: string;
  at: number;
}

const depthLimit = 50;

/**
 * Parses HCL as its programs do (hashicorp/hcl, version 1): settings, blocks with labels, comments. Blocks of one name are a list of
 * maps; the text between name and brace is their `label`. Our own parser, because the Node ones support only version 2, or report no
 * positions. Reports only the first error: errors after it are guesses.
 */
export function readHcl(text: string): Pick<ConfigPart, 'value' | 'position'> & { problem?: ConfigProblem } {
  const positions: Positions = new Map();
  const position: ConfigPart['position'] = (path, part) => {
    for (let length = path.length; length > 0; length--) {
      const found = positions.get(JSON.stringify(path.slice(0, length)));
      if (found) return positionAt(text, length === path.length ? found[part] : found.key);
    }
    return { line: 1, column: 1 };
  };
  try {
    return { value: new Reader(text, positions).body([], 'end', 0), position };
  } catch (thrown) {
    if (!(thrown instanceof Mistake)) throw thrown;
    return { value: {}, problem: errorAt(positionAt(text, thrown.at), thrown.message, thrown.remedy), position };
  }
}

class Mistake extends Error {
  constructor(
    readonly at: number,
    message: string,
    readonly remedy: string,
  ) {
    super(message);
  }
}

/** In the order of matching. `${...}` in a text may contain quotes of its own. */
const tokens =
  /<<-?(?<mark>[A-Za-z_]\w*)\r?\n(?:(?<lines>[\s\S]*?)\n)??[ \t]*\k<mark>[ \t]*(?=\r?\n|$)|"(?<text>(?:\\[^\n]|\$\{[^}\n]*\}|[^"\\\n])*)"|(?<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.]))|(?<name>[A-Za-z_][\w.-]*)|(?<sign>[{}[\]=,])/y;

const isSign = (token: Token, sign: string) => token.kind === 'sign' && token.text === sign;

class Reader {
  #next = 0;

  constructor(
    private readonly text: string,
    private readonly positions: Positions,
  ) {}

  /** Parses the content of braces, or the whole text. `opened` is the position of the brace. */
  body(path: YamlPath, until: '}' | 'end', depth: number, opened = 0): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    for (;;) {
      const token = this.#token();
      if (token.text === until && (token.kind === 'sign' || token.kind === 'end')) return found;
      if (token.kind === 'end') throw new Mistake(opened, 'This brace is never closed.', 'Add } at the end of the block.');
      if (isSign(token, ',') && until === '}') continue;
      const remedy = token.text === '}' ? 'Remove the }: no block is open.' : 'Use name = value, or a block: name { ... }';
      if (token.kind === 'sign' || token.kind === 'number') throw new Mistake(token.at, `Expected a name, not "${token.text}".`, remedy);
      this.#item(found, token, path, depth);
    }
  }

  #item(found: Record<string, unknown>, key: Token, path: YamlPath, depth: number): void {
    const name = key.text;
    const labels: string[] = [];
    let token = this.#token();
    for (; token.kind === 'text' || token.kind === 'name'; token = this.#token()) labels.push(token.text);
    if (isSign(token, '{')) {
      const same = Object.hasOwn(found, name) ? found[name] : [];
      if (!Array.isArray(same)) throw new Mistake(key.at, `"${name}" is already set, and is not a block.`, 'Keep one of the two.');
      const here = [...path, name, same.length];
      if (same.length === 0) this.#record([...path, name], key.at);
      this.#record(here, key.at);
      const inner = this.#nested(token, here, depth);
      found[name] = [...(same as unknown[]), labels.length === 0 ? inner : { label: labels.join(' '), ...inner }];
      return;
    }
    if (labels.length > 0 || !isSign(token, '='))
      throw new Mistake(key.at, `Expected = or a block after "${name}".`, `Use ${name} = value, or ${name} { ... }`);
    if (Object.hasOwn(found, name)) throw new Mistake(key.at, `"${name}" is set twice.`, 'Keep one of the two.');
    const value = this.#token();
    this.#record([...path, name], key.at, value.at);
    found[name] = this.#value(value, [...path, name], depth);
  }

  #value(token: Token, path: YamlPath, depth: number): unknown {
    if (token.kind === 'text') return token.text;
    if (token.kind === 'number') return Number(token.text);
    if (token.text === 'true' || token.text === 'false') return token.text === 'true';
    if (token.kind === 'name') throw new Mistake(token.at, `"${token.text}" is not a valid value.`, `Quote the value: "${token.text}"`);
    if (token.text === '{') return this.#nested(token, path, depth);
    if (token.text === '[') return this.#list(path, depth, token.at);
    throw new Mistake(token.at, 'The value is missing.', 'Add a value after the =, or use "" for an empty one.');
  }

  #nested(brace: Token, path: YamlPath, depth: number): Record<string, unknown> {
    this.#limit(brace.at, depth);
    return this.body(path, '}', depth + 1, brace.at);
  }

  #list(path: YamlPath, depth: number, opened: number): unknown[] {
    this.#limit(opened, depth);
    const list: unknown[] = [];
    for (let token = this.#token(); ; ) {
      if (isSign(token, ']')) return list;
      if (token.kind === 'end') throw new Mistake(opened, 'This bracket is never closed.', 'Add ] at the end of the list.');
      this.#record([...path, list.length], token.at);
      list.push(this.#value(token, [...path, list.length], depth + 1));
      token = this.#token();
      if (isSign(token, ',')) token = this.#token();
      else if (!isSign(token, ']') && token.kind !== 'end')
        throw new Mistake(token.at, 'A comma is missing in the list.', 'Add a comma before this value.');
    }
  }

  #limit(at: number, depth: number): void {
    if (depth >= depthLimit) throw new Mistake(at, `Nested more than ${depthLimit} levels deep.`, 'Reduce the nesting.');
  }

  #record(path: YamlPath, key: number, value = key): void {
    this.positions.set(JSON.stringify(path), { key, value });
  }

  #token(): Token {
    const blank = /(?:\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
    blank.lastIndex = this.#next;
    const at = this.#next + (blank.exec(this.text)?.[0].length ?? 0);
    if (at >= this.text.length) return { kind: 'end', text: 'end', at };
    tokens.lastIndex = at;
    const { mark, lines = '', text, number, name, sign } = tokens.exec(this.text)?.groups ?? {};
    this.#next = tokens.lastIndex;
    if (mark !== undefined) return { kind: 'text', text: lines, at };
    const unescaped = { n: '\n', r: '\r', t: '\t' } as const;
    if (text !== undefined)
      return { kind: 'text', text: text.replaceAll(/\\(["\\nrt])/g, (_, letter: string) => unescaped[letter as 'n'] ?? letter), at };
    for (const [kind, found] of Object.entries({ number, name, sign } as const))
      if (found !== undefined) return { kind: kind as Token['kind'], text: found, at };
    if (this.text[at] === '"')
      throw new Mistake(at, 'This quote is not closed on the same line.', 'End the value with "; write \\" for a quote inside it.');
    if (this.text.startsWith('/*', at)) throw new Mistake(at, 'This comment is never closed.', 'Add */ at its end.');
    const [, mark_] = /^<<-?([A-Za-z_]\w*)/.exec(this.text.slice(at)) ?? [];
    if (mark_ !== undefined) throw new Mistake(at, 'This heredoc is never closed.', `Add ${mark_} on a line of its own after the text.`);
    const [word = ''] = /^[^\s{}[\]=,]+/.exec(this.text.slice(at, at + 100)) ?? [];
    throw new Mistake(at, `"${word}" is not a valid value.`, word.startsWith("'") ? 'Use " instead of \'.' : 'Quote it.');
  }
}
