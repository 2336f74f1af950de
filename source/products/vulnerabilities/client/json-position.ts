import { findNodeAtLocation, type JSONPath, type ParseError, parseTree } from 'jsonc-parser';
import { tooDeepAt } from '../../../text/nesting.ts';
import { positionAt, type TextPosition } from '../../../text/position.ts';

/** Returns the position of the error in invalid JSON. The parser's message has no position for a short text. */
export function positionOfJsonError(text: string): TextPosition {
  const deep = tooDeepAt(text);
  if (deep !== undefined) return positionAt(text, deep);
  const errors: ParseError[] = [];
  parseTree(text, errors);
  return positionAt(text, errors[0]?.offset ?? text.trimEnd().length);
}

/** Returns the position of a value, or of its nearest existing parent. */
export type FindPosition = (path: JSONPath) => TextPosition;

/** Finds positions in one JSON text. Parses it a second time, and only when a position is required. */
export function jsonPositions(text: string): FindPosition {
  let tree: ReturnType<typeof parseTree>;
  return (path) => {
    tree ??= parseTree(text);
    for (let length = path.length; tree && length >= 0; length--) {
      const node = findNodeAtLocation(tree, path.slice(0, length));
      if (node) return positionAt(text, node.offset);
    }
    return { line: 1, column: 1 };
  };
}
