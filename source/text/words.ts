/** What stands between blanks and commas. */
export function wordsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** What stands between commas, blanks inside kept. */
export function partsOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);
}

/** `db`, `db and cache`, `db, cache and web`. */
export function namesText(names: readonly string[]): string {
  if (names.length < 2) return names[0] ?? '';
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
