/** Both from 1. */
export interface TextPlace {
  line: number;
  column: number;
}

/** Where this character of a text stands. */
export function placeAt(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
}
