import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { flows } from '../../source/app/flow-registry.ts';
import { parseCommandLine } from '../../source/cli/command-line.ts';
import { layerDiagram, rulesPath, rulesText } from '../lint/layers.ts';
import { keyListMarkdown, keyTableMarkdown } from './key-table.ts';

const root = resolve(import.meta.dirname, '../..');
/** Documents with generated blocks, and the blocks that each has. */
export const generatedDocuments: Readonly<Record<string, string>> = {
  'docs/keys.md': 'keys',
  'docs/commands.md': 'help',
  'docs/help/keys.md': 'keyList',
  'CONTRIBUTING.md': 'layers',
};
export const packagePath = resolve(root, 'package.json');

const tree = () => `\`\`\`
bin/              launcher, set-up, release
catalog/          <group>/<id>/: component.yaml, compose.yaml, practice.yaml, files/
source/           imports point downwards in this list only
  main.ts         argv -> one lazily loaded command
${layerDiagram()}
  practice/       apart, imports catalog/ and text/ alone: an engine and simulated components that are reached over sockets
test/             contract/ real/ pty/ bench/ packaging/ ...; unit tests are beside their file
\`\`\``;

/** Content that documents take from the program, by the name of the block. */
async function blocks(): Promise<Record<string, string>> {
  const help = await parseCommandLine(['--help'], { flows, version: '0.0.0', columns: 110 });
  if (!('text' in help)) throw new Error('--help prints nothing');
  return { keys: keyTableMarkdown(), keyList: keyListMarkdown(), help: `\`\`\`\n${help.text.trimEnd()}\n\`\`\``, layers: tree() };
}

/** A document with its generated blocks as they should be. Throws for a block of an unknown name. */
export async function withGeneratedBlocks(document: string): Promise<string> {
  const known = await blocks();
  return document.replace(/(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, start: string, name: string, end: string) => {
    const block = known[name];
    if (block === undefined) throw new Error(`No block is called "${name}"`);
    return `${start}${block}\n${end}`;
  });
}

/** package.json with every page of the built dist/man: npm links those that it lists, and no folder of them. */
export function withManPages(text: string): string {
  const pages = readdirSync(resolve(packagePath, '../dist/man')).sort();
  return text.replace(/"man": \[[^\]]*\]/, `"man": [${pages.map((page) => `\n    "dist/man/${page}"`).join(',')}\n  ]`);
}

// `npm run docs` writes them, the pages in package.json, and the rules for imports.
if (process.argv[1] === import.meta.filename) {
  for (const path of Object.keys(generatedDocuments).map((file) => resolve(root, file)))
    writeFileSync(path, await withGeneratedBlocks(readFileSync(path, 'utf8')));
  writeFileSync(packagePath, withManPages(readFileSync(packagePath, 'utf8')));
  writeFileSync(rulesPath, rulesText());
}
