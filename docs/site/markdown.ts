/** Escapes a text from the program for Markdown. Its code spans stay; addresses in it are examples, and no links. */
export function prose(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .split(/(`[^`]+`)/)
    .map((part, index) =>
      index % 2 === 1 ? code(part.slice(1, -1)) : part.replaceAll(/[\\*_[\]<>|~&#`]|:(?=\/\/)/g, (sign) => `&#${sign.charCodeAt(0)};`),
    )
    .join('');
}

/** Returns the text with a capital and a period. */
export function sentence(text: string | undefined): string {
  const trimmed = text?.trim() ?? '';
  if (trimmed === '') return '';
  // `mTLS`, `scheme://…` and paths stay as they are.
  const first = trimmed.split(/\s/, 1)[0] ?? '';
  const capital = /^[a-z]+[,;:]?$/.test(first) ? trimmed.slice(0, 1).toUpperCase() + trimmed.slice(1) : trimmed;
  return prose(/[.?!…:]$/.test(capital) ? capital : `${capital}.`);
}

/** Returns inline code that is safe in a table cell too. */
export function code(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return '';
  const fence = '`'.repeat(1 + Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length)));
  const padding = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${padding}${line.replaceAll('|', '\\|')}${padding}${fence}`;
}

export const block = (text: string, language = '') => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

/** Returns a table, or nothing without rows. Columns that are empty in every row are left out. */
export function table(columns: readonly string[], rows: readonly (readonly (string | undefined | false)[])[]): string {
  if (rows.length === 0) return '';
  const used = columns.map((_, index) => index).filter((index) => rows.some((row) => row[index]));
  const line = (cells: readonly (string | undefined | false)[]) => `| ${used.map((index) => cells[index] || '').join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Returns a table of names and values without headings. Empty values are left out. */
export const facts = (rows: readonly (readonly [name: string, value: string | undefined | false])[]) =>
  `<div class="facts">\n\n${table(
    ['', ''],
    rows.flatMap(([name, value]) => (value ? [[`**${name}**`, value]] : [])),
  )}\n\n</div>`;

export const cell = (...parts: readonly (string | undefined | false)[]) => parts.filter(Boolean).join('<br>');

/** Returns a heading and its content, or nothing without content. */
export const section = (title: string, ...content: readonly string[]) => {
  const filled = content.filter((text) => text !== '');
  return filled.length === 0 ? '' : [`## ${title}`, ...filled].join('\n\n');
};

export const page = (title: string, ...parts: readonly string[]) =>
  `${[`# ${title}`, ...parts].filter((part) => part !== '').join('\n\n')}\n`;

/** The Markdown of pages, by their path on the site. */
export type Pages = Map<string, string>;
