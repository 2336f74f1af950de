const characters = 60;

/** JSON, truncated: the beginning is enough to find it. */
export function shownValue(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > characters ? `${text.slice(0, characters - 3)}...` : text;
}
