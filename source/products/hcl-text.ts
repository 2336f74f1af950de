import type { YamlPath } from '../config/yaml-document.ts';
import { placeAt } from '../text/text-place.ts';
import type { ConfigProblem } from './config-problem.ts';

/**
 * A text in HCL, as its programs read it (hashicorp/hcl, version 1): settings, blocks with labels, comments. Blocks of one name are a list of maps; what stands between
 * name and brace is `label` in them. Of our own, since the readers there are for Node know version 2 alone, or say nothing of places.
 */
export interface HclText {
  value: Readonly<Record<string, unknown>>;
  /** The first mistake alone: what follows one is guessed. */
  problem?: ConfigProblem;
  /** Where it stands; of what is not there, what holds it. */
  place(path: YamlPath, part: 'key' | 'value'): { line: number; column: number };
}

type Body = Record<string, unknown>;
interface Token {
  kind: 'name' | 'text' | 'number' | 'sign' | 'end';
  text: string;
  at: number;
}

const depthLimit = 50;

export function readHcl(text: string): HclText {
  const places = new Map<string, { key: number; value: number }>();
  const place = (offset: number) => placeAt(text, offset);
  const reader = new Reader(text, places);
  const placeOf = (path: YamlPath, part: 'key' | 'value') => {
    for (let length = path.length; length > 0; length--) {
      const found = places.get(JSON.stringify(path.slice(0, length)));
      if (found) return place(length === path.length ? found[part] : found.key);
    }
    return { line: 1, column: 1 };
  };
  try {
    return { value: reader.body([], 'end', 0), place: placeOf };
  } catch (thrown) {
    if (!(thrown instanceof Mistake)) throw thrown;
    return {
      value: {},
      problem: { level: 'error', ...place(thrown.at), field: '', message: thrown.message, remedy: thrown.remedy },
      place: placeOf,
    };
  }
}

class Mistake extends Error {
  readonly at: number;
  readonly remedy: string;
  constructor(at: number, message: string, remedy: string) {
    super(message);
    this.at = at;
    this.remedy = remedy;
  }
}

class Reader {
  readonly #text: string;
  readonly #places: Map<string, { key: number; value: number }>;
  #next = 0;

  constructor(text: string, places: Map<string, { key: number; value: number }>) {
    this.#text = text;
    this.#places = places;
  }

  /** What stands between braces, or the whole text. `opened` is where the brace stands. */
  body(path: YamlPath, until: '}' | 'end', depth: number, opened = 0): Body {
    const found: Body = {};
    for (;;) {
      const token = this.#token();
      if (token.kind === 'sign' && token.text === until) return found;
      if (token.kind === 'end') {
        if (until === 'end') return found;
        throw new Mistake(opened, 'This brace is never closed.', 'Add } where the block ends.');
      }
      if (token.kind === 'sign' && token.text === ',' && until === '}') continue;
      if (token.kind !== 'name' && token.kind !== 'text')
        throw new Mistake(
          token.at,
          `"${token.text}" stands where a name has to.`,
          token.text === '}' ? 'Remove it: no block is open.' : 'Write name = value, or a block: name { ... }',
        );
      this.#item(found, token, path, depth);
    }
  }

  #item(found: Body, key: Token, path: YamlPath, depth: number): void {
    const name = key.text;
    const labels: string[] = [];
    let token = this.#token();
    while (token.kind === 'text' || token.kind === 'name') {
      labels.push(token.text);
      token = this.#token();
    }
    if (token.kind === 'sign' && token.text === '{') {
      if (depth >= depthLimit)
        throw new Mistake(token.at, `Blocks are nested too deep (more than ${depthLimit} levels).`, 'Remove some levels.');
      const same = Object.hasOwn(found, name) ? found[name] : [];
      if (!Array.isArray(same)) throw new Mistake(key.at, `"${name}" is there as a value already.`, 'Keep one of the two.');
      const list: unknown[] = same;
      const here = [...path, name, list.length];
      if (list.length === 0) this.#places.set(JSON.stringify([...path, name]), { key: key.at, value: key.at });
      this.#places.set(JSON.stringify(here), { key: key.at, value: key.at });
      const inner = this.body(here, '}', depth + 1, token.at);
      list.push(labels.length === 0 ? inner : { label: labels.join(' '), ...inner });
      found[name] = list;
      return;
    }
    if (labels.length > 0 || token.kind !== 'sign' || token.text !== '=')
      throw new Mistake(key.at, `Behind "${name}" there is neither = nor a block.`, `Write ${name} = value, or ${name} { ... }`);
    if (Object.hasOwn(found, name)) throw new Mistake(key.at, `"${name}" is there twice.`, 'Keep one of the two.');
    const value = this.#token();
    const here = [...path, name];
    this.#places.set(JSON.stringify(here), { key: key.at, value: value.at });
    found[name] = this.#value(value, here, depth);
  }

  #value(token: Token, path: YamlPath, depth: number): unknown {
    if (token.kind === 'text') return token.text;
    if (token.kind === 'number') return Number(token.text);
    if (token.kind === 'name') {
      if (token.text === 'true' || token.text === 'false') return token.text === 'true';
      throw new Mistake(token.at, `"${token.text}" is no value.`, `Put it into quotes: "${token.text}"`);
    }
    if (depth >= depthLimit)
      throw new Mistake(token.at, `Values are nested too deep (more than ${depthLimit} levels).`, 'Remove some levels.');
    if (token.text === '{') return this.body(path, '}', depth + 1, token.at);
    if (token.text === '[') return this.#list(path, depth + 1, token.at);
    throw new Mistake(token.at, 'The value is missing.', 'Write it behind =; an empty one is "".');
  }

  #list(path: YamlPath, depth: number, opened: number): unknown[] {
    const list: unknown[] = [];
    for (;;) {
      const token = this.#token();
      if (token.kind === 'sign' && token.text === ']') return list;
      if (token.kind === 'end') throw new Mistake(opened, 'This bracket is never closed.', 'Add ] where the list ends.');
      const here = [...path, list.length];
      this.#places.set(JSON.stringify(here), { key: token.at, value: token.at });
      list.push(this.#value(token, here, depth));
      const after = this.#token();
      if (after.kind === 'sign' && after.text === ']') return list;
      if (after.kind === 'end') throw new Mistake(opened, 'This bracket is never closed.', 'Add ] where the list ends.');
      if (after.text !== ',' || after.kind !== 'sign')
        throw new Mistake(after.at, 'A comma is missing in the list.', 'Write it in front of this.');
    }
  }

  #token(): Token {
    const blank = /(?:\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
    blank.lastIndex = this.#next;
    this.#next += blank.exec(this.#text)?.[0].length ?? 0;
    const at = this.#next;
    const take = (expression: RegExp) => {
      expression.lastIndex = at;
      const found = expression.exec(this.#text);
      if (found) this.#next = at + found[0].length;
      return found;
    };
    if (at >= this.#text.length) return { kind: 'end', text: '', at };
    const heredoc = take(/<<(-?)([A-Za-z_]\w*)\r?\n(?:([\s\S]*?)\n)??[ \t]*\2[ \t]*(?=\r?\n|$)/y);
    if (heredoc) return { kind: 'text', text: heredoc[3] ?? '', at };
    if (this.#text[at] === '"') return { kind: 'text', text: this.#quoted(at), at };
    const number = take(/-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y);
    if (number) return { kind: 'number', text: number[0], at };
    const name = take(/[A-Za-z_][\w.-]*/y);
    if (name) return { kind: 'name', text: name[0], at };
    const sign = take(/[{}[\]=,]/y);
    if (sign) return { kind: 'sign', text: sign[0], at };
    const word = /[^\s{}[\]=,]+/y;
    word.lastIndex = at;
    const written = word.exec(this.#text)?.[0] ?? this.#text.slice(at, at + 1);
    throw new Mistake(at, `"${written}" is no value.`, written.startsWith("'") ? 'Use " instead of \'.' : 'Put it into quotes.');
  }

  #quoted(at: number): string {
    // What ${...} holds may have quotes of its own.
    const expression = /"((?:\\[^\n]|\$\{[^}\n]*\}|[^"\\\n])*)"/y;
    expression.lastIndex = at;
    const found = expression.exec(this.#text);
    if (!found)
      throw new Mistake(at, 'This quote is not closed in its line.', 'Write " at the end of the value; \\" stands for one in it.');
    this.#next = at + found[0].length;
    return (found[1] ?? '').replaceAll(/\\(["\\nrt])/g, (_, sign: string) => ({ n: '\n', r: '\r', t: '\t' })[sign] ?? sign);
  }
}
