const characters = 60;

/** A value from outside in a sentence: as JSON, and cut, since enough to find it again is enough. */
export function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > characters ? `${text.slice(0, characters - 3)}...` : text;
}
