export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** Keeps blanks inside. */
export function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}

export function namesText(names: readonly string[]): string {
  if (names.length < 2) return names[0] ?? '';
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
