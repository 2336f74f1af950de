import { createKeymap } from '../../source/console/keymap.ts';

/** Returns the table of docs/keys.md. */
export function keyTableMarkdown(): string {
  const safe = (text: string) => text.replaceAll('|', '\\|');
  const rows = createKeymap()
    .rows()
    .map(({ id, keys, context, title }) => {
      const shown = keys
        .split(' ')
        .map((key) => `\`${safe(key)}\``)
        .join(' ');
      return `| ${shown} | ${context} | ${safe(title)} | \`${id}\` |`;
    });
  return ['| Key | Where | What it does | Action |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

/** The text of `quarterdeck help keys`: a paragraph for each context. */
export function keyListMarkdown(): string {
  const contexts = Map.groupBy(createKeymap().rows(), ({ context }) => context);
  const width = Math.max(...[...contexts.values()].flat().map(({ keys }) => keys.length)) + 2;
  const paragraphs = [...contexts].map(([context, rows]) =>
    [context, ...rows.map(({ keys, title }) => `  ${keys.padEnd(width)}${title}`)].join('\n'),
  );
  return `\`\`\`\n${paragraphs.join('\n\n')}\n\`\`\``;
}
