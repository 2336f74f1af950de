import { type Document, isMap, isPair, isScalar, isSeq, LineCounter, type Node } from 'yaml';
import { messageOf } from '../faults/fault.ts';
import type { TextPosition } from '../text/position.ts';
import { aliasProblems, keyText, writeOutAliases } from './aliases.ts';
import { sentence, yamlSlips } from './slips.ts';
import { parseYamlDocument } from './text.ts';

export interface YamlProblem extends TextPosition {
  message: string;
  remedy: string;
}

export type YamlPath = readonly PropertyKey[];

/** Maximum number of uses of one anchor, including the uses inside its target. */
const maxAliasCount = 100;

/** Aliases and `<<` are expanded: their content has the position of its anchor. Loads the parser: import it lazily at start-up. */
export class YamlDocument {
  readonly value: unknown;
  /** Syntax errors and duplicate keys. If there are any, `value` is the readable part. */
  readonly problems: readonly YamlProblem[];
  readonly #document: Document.Parsed;
  readonly #lines = new LineCounter();
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    this.#document = parseYamlDocument(text, { lineCounter: this.#lines, prettyErrors: false, logLevel: 'error' });
    const wrong = this.#document.errors.length > 0 || this.#document.warnings.length > 0;
    const problems = wrong ? yamlSlips(text) : [];
    // Nothing is known about a text that could not be read completely.
    const unclear = wrong ? [] : aliasProblems(this.#document);
    problems.push(...unclear.map(({ offset, message, remedy }) => ({ ...this.#positionAt(offset), message, remedy })));
    let value: unknown;
    try {
      if (unclear.length === 0) {
        // Counts the size of nested aliases before they are expanded.
        value = this.#document.toJS({ maxAliasCount });
        if (writeOutAliases(this.#document)) value = this.#document.toJS();
      }
    } catch (thrown) {
      if (!wrong) problems.push({ line: 1, column: 1, message: sentence(messageOf(thrown)), remedy: 'Use fewer aliases.' });
    }
    this.value = value;
    this.problems = problems;
  }

  /** Returns the position of the value at this path, or of its key; for a missing value, that of its nearest parent. */
  position(path: YamlPath, part: 'key' | 'value' = 'value'): TextPosition {
    let node: unknown = this.#document.contents;
    let at = startOf(node) ?? 0;
    for (const [index, step] of path.entries()) {
      const found = this.#child(node, step);
      if (found === undefined) break;
      const key = startOf(found.key);
      // A block map starts at its first key: readers look at the key above it.
      const wantsKey =
        (part === 'key' && index === path.length - 1) || (isMap(found.value) && !found.value.flow && typeof step !== 'number');
      at = (wantsKey ? key : startOf(found.value)) ?? key ?? at;
      node = found.value;
    }
    return this.#positionAt(at);
  }

  /** Returns a scalar with the information in its spelling. */
  scalar(path: YamlPath) {
    let node: unknown = this.#document.contents;
    for (const step of path) node = this.#child(node, step)?.value;
    if (!isScalar(node)) return undefined;
    const quoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
    const start = node.range?.[0] ?? 0;
    const written = this.#text.slice(start, node.range?.[1] ?? start);
    const inner = quoted ? written.slice(1, -1) : written;
    const { value } = node;
    const exact = inner === value;
    return {
      value,
      /** As written in the file, without its quotes. */
      written: inner,
      /** A text here, and another type for a program that reads YAML 1.1: `on`, `no`, `22:22`, `2026-01-01`. */
      elsewhere: typeof value === 'string' && node.type === 'PLAIN' && typeof olderValue(written) !== 'string',
      quoted,
      /** Position of a character of the value. Exact for one-line scalars without escapes, otherwise the scalar's start. */
      positionOf: (offset: number) => this.#positionAt(exact ? start + (quoted ? 1 : 0) + offset : start),
    };
  }

  /** Yields every text scalar in the order of the file. */
  scalars(): Generator<{ path: PropertyKey[]; text: string }> {
    return textsIn(this.#document.contents, []);
  }

  #child(node: unknown, step: PropertyKey): { key: unknown; value: unknown } | undefined {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => keyText(key) === String(step));
      return pair && { key: pair.key, value: pair.value };
    }
    if (isSeq(node) && typeof step === 'number') {
      const item = node.items[step];
      return item === undefined ? undefined : isPair(item) ? { key: item.key, value: item.value } : { key: item, value: item };
    }
    return undefined;
  }

  #positionAt(offset: number): TextPosition {
    const { line, col } = this.#lines.linePos(offset);
    return line === 0 ? { line: 1, column: 1 } : { line, column: col };
  }
}

function* textsIn(node: unknown, path: PropertyKey[]): Generator<{ path: PropertyKey[]; text: string }> {
  if (isMap(node)) for (const pair of node.items) yield* textsIn(pair.value, [...path, keyText(pair.key)]);
  else if (isSeq(node)) for (const [index, item] of node.items.entries()) yield* textsIn(item, [...path, index]);
  else if (isScalar(node) && typeof node.value === 'string') yield { path, text: node.value };
}

/** Returns the value in a program that reads YAML 1.1, such as those in Python. */
function olderValue(written: string): unknown {
  // y and n are booleans in the 1.1 standard, but in none of its parsers.
  const perhaps = /^[-+.]?\d|^(?:yes|no|on|off)$/i.test(written);
  return !perhaps ? written : parseYamlDocument(written, { version: '1.1', logLevel: 'silent' }).toJS();
}

const startOf = (node: unknown): number | undefined => (node as Node | null | undefined)?.range?.[0];

/** Formats a path as zod and our messages do: `ports.web.exposure`, `fields[2].type`. */
export function fieldText(path: YamlPath): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`;
  return text;
}
