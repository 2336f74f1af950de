import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { keyTableMarkdown } from '../../source/console/keymap.ts';
import { flows } from '../../source/flows/registry.ts';
import { parseCommandLine } from '../../source/terminal/command-line.ts';

export const readmePath = resolve(import.meta.dirname, '../../README.md');

/** What the README takes from the program itself. */
async function blocks(): Promise<Record<string, string>> {
  const help = await parseCommandLine(['--help'], { flows, version: '0.0.0', columns: 110 });
  if (!('text' in help)) throw new Error('--help prints nothing');
  return { keys: keyTableMarkdown(), help: `\`\`\`\n${help.text.trimEnd()}\n\`\`\`` };
}

/** The README with its generated blocks as they should be. */
export async function withGeneratedBlocks(readme: string): Promise<string> {
  let result = readme;
  for (const [name, block] of Object.entries(await blocks())) {
    const pattern = new RegExp(`(<!-- generated: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`);
    if (!pattern.test(result)) throw new Error(`README.md has no place for the block "${name}"`);
    result = result.replace(pattern, (_, start: string, end: string) => `${start}${block}\n${end}`);
  }
  return result;
}

// `npm run docs` writes it.
if (process.argv[1] === import.meta.filename) writeFileSync(readmePath, await withGeneratedBlocks(readFileSync(readmePath, 'utf8')));
