import { findNodeAtLocation, type JSONPath, type ParseError, parseTree } from 'jsonc-parser';
import { tooDeepAt } from '../../text/nesting.ts';
import { placeAt, type TextPlace } from '../../text/text-place.ts';

/** Where a JSON text that does not parse goes wrong. The parser's own words tell no place in a short text. */
export function placeOfJsonError(text: string): TextPlace {
  const deep = tooDeepAt(text);
  if (deep !== undefined) return placeAt(text, deep);
  const errors: ParseError[] = [];
  parseTree(text, errors);
  return placeAt(text, errors[0]?.offset ?? text.trimEnd().length);
}

/** Finds places in one JSON text. Reads it a second time, and only when something has to be found. */
export class JsonPlaces {
  readonly #text: string;
  #tree: ReturnType<typeof parseTree>;

  constructor(text: string) {
    this.#text = text;
  }

  /** Of a value, or of the nearest one around it where there is none. */
  find(path: JSONPath): TextPlace {
    this.#tree ??= parseTree(this.#text);
    for (let length = path.length; this.#tree && length >= 0; length--) {
      const node = findNodeAtLocation(this.#tree, path.slice(0, length));
      if (node) return placeAt(this.#text, node.offset);
    }
    return { line: 1, column: 1 };
  }
}
