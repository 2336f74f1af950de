import { type Document, isMap, isPair, isScalar, isSeq, LineCounter, type Node } from 'yaml';
import { parseYamlDocument } from '../text/yaml-text.ts';
import { aliasProblems, writeOutAliases } from './yaml-aliases.ts';
import { sentence, yamlSlips } from './yaml-slips.ts';

export interface Place {
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
}

export interface YamlProblem extends Place {
  message: string;
  remedy: string;
}

export type YamlPath = readonly PropertyKey[];

/** How often one anchor may be used, those inside of what it names counted with it. */
const maxAliasCount = 100;

/** A text scalar with what its spelling tells beyond its value. */
export interface WrittenScalar {
  value: unknown;
  /** Text here, and something else for a program that reads YAML 1.1: `on`, `no`, `22:22`, `2026-01-01`. */
  elsewhere: boolean;
  /** As it stands in the file, without its quotes. */
  written: string;
  quoted: boolean;
  /** Where the character at this offset of the value stands. Exact for one-line scalars without escapes, otherwise the scalar's start. */
  placeOf(offset: number): Place;
}

/**
 * A YAML text and where everything in it stands, aliases and `<<` written out: what they bring stands where its anchor is. This module loads the parser: import it lazily where start-up time counts.
 */
export class YamlDocument {
  readonly value: unknown;
  /** Syntax errors and duplicate keys. When there are any, `value` is what could be read. */
  readonly problems: readonly YamlProblem[];
  readonly #document: Document.Parsed;
  readonly #lines = new LineCounter();
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    this.#document = parseYamlDocument(text, { lineCounter: this.#lines, prettyErrors: false, logLevel: 'error' });
    const wrong = this.#document.errors.length > 0 || this.#document.warnings.length > 0;
    const problems = wrong ? yamlSlips(text) : [];
    // Of a text that could not be read whole nothing is known above.
    const unclear = wrong ? [] : aliasProblems(this.#document);
    problems.push(...unclear.map(({ offset, message, remedy }) => ({ ...this.#placeAt(offset), message, remedy })));
    let value: unknown;
    try {
      if (unclear.length === 0) {
        // Counts what a few aliases of aliases would become before they are written out.
        value = this.#document.toJS({ maxAliasCount });
        if (writeOutAliases(this.#document)) value = this.#document.toJS();
      }
    } catch (thrown) {
      if (!wrong)
        problems.push({
          line: 1,
          column: 1,
          message: sentence(thrown instanceof Error ? thrown.message : String(thrown)),
          remedy: 'Write aliases out, or use fewer of them.',
        });
    }
    this.value = value;
    this.problems = problems;
  }

  /** Where the value at this path stands, or its key; for what is missing, the nearest thing around it. */
  place(path: YamlPath, part: 'key' | 'value' = 'value'): Place {
    let node: unknown = this.#document.contents;
    let at = startOf(node) ?? 0;
    for (const [index, step] of path.entries()) {
      const found = this.#child(node, step);
      if (found === undefined) break;
      const key = startOf(found.key);
      // A block map starts at its first key: the key above it is where one looks.
      const wantsKey =
        (part === 'key' && index === path.length - 1) || (isMap(found.value) && !found.value.flow && typeof step !== 'number');
      at = (wantsKey ? key : startOf(found.value)) ?? key ?? at;
      node = found.value;
    }
    return this.#placeAt(at);
  }

  scalar(path: YamlPath): WrittenScalar | undefined {
    let node: unknown = this.#document.contents;
    for (const step of path) node = this.#child(node, step)?.value;
    if (!isScalar(node)) return undefined;
    const quoted = node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE';
    const start = node.range?.[0] ?? 0;
    const written = this.#text.slice(start, node.range?.[1] ?? start);
    const inner = quoted ? written.slice(1, -1) : written;
    const exact = inner === node.value;
    const value = node.value;
    const elsewhere = typeof value === 'string' && node.type === 'PLAIN' && typeof olderValue(written) !== 'string';
    return {
      value,
      written: inner,
      elsewhere,
      quoted,
      placeOf: (offset) => this.#placeAt(exact ? start + (quoted ? 1 : 0) + offset : start),
    };
  }

  /** Every text scalar with its path, keys included, in the order of the file. */
  *scalars(): Generator<{ path: PropertyKey[]; text: string; place: Place }> {
    yield* this.#walk(this.#document.contents, []);
  }

  *#walk(node: unknown, path: PropertyKey[]): Generator<{ path: PropertyKey[]; text: string; place: Place }> {
    if (isMap(node)) for (const pair of node.items) yield* this.#walk(pair.value, [...path, keyText(pair.key)]);
    else if (isSeq(node)) for (const [index, item] of node.items.entries()) yield* this.#walk(item, [...path, index]);
    else if (isScalar(node) && typeof node.value === 'string') {
      yield { path, text: node.value, place: this.#placeAt(startOf(node) ?? 0) };
    }
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

  #placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return line === 0 ? { line: 1, column: 1 } : { line, column: col };
  }
}

/** What a program makes of it that reads YAML 1.1, as those in Python do. */
function olderValue(written: string): unknown {
  // y and n are booleans for the standard of 1.1 and for nobody who reads it.
  const perhaps = /^[-+.]?\d|^(?:yes|no|on|off)$/i.test(written);
  return !perhaps ? written : parseYamlDocument(written, { version: '1.1', logLevel: 'silent' }).toJS();
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

function keyText(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}

/** Where zod or we speak of a place: `ports.web.exposure`, `fields[2].type`. */
export function fieldText(path: YamlPath): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`;
  return text;
}
