const pattern = /<([A-Za-z][\w-]*)>/g;

/** Names of the inputs that a text of a call asks for: `<name>`. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '');
}

/** The text with each `<name>` replaced; names that `value` does not know stay as they are. */
export function fillPlaceholders(text: string, value: (name: string) => string | undefined): string {
  return text.replaceAll(pattern, (written, name: string) => value(name) ?? written);
}
