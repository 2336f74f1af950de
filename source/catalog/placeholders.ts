const pattern = /<([A-Za-z][\w-]*)>/g;

export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '');
}

/** Names unknown to `value` stay unchanged. */
export function fillPlaceholders(text: string, value: (name: string) => string | undefined): string {
  return text.replaceAll(pattern, (written, name: string) => value(name) ?? written);
}
