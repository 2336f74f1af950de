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
