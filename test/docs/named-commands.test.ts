import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { keyTable } from '../../source/console/keymap.ts';
import { Fault } from '../../source/faults/fault.ts';
import { flows } from '../../source/flows/registry.ts';
import { parseCommandLine } from '../../source/terminal/command-line.ts';

/** What a text tells people to type has to be accepted: commands in messages, remedies, help, catalog entries and documents, and keys in documents. */
const root = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const filesIn = (folder: string, named: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => named.test(name) && !/\.test\.|testing/.test(name))
    .map((name) => join(folder, name));
const documents = ['README.md', 'CONTRIBUTING.md', ...filesIn('docs', /\.md$/)];

interface Named {
  where: string;
  command: string;
}

/** A `${...}` of a template with all that is nested in it, for which any word can stand. */
function afterPlaceholder(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1;
    else if (text[at] === '}') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}

/** The rest of the text literal from here, placeholders as one word. */
function literalFrom(text: string, from: number): string {
  let literal = '';
  for (let at = from; at < text.length; ) {
    if (text.startsWith('${', at)) {
      literal += /\w$/.test(literal) ? '' : 'SOME';
      at = afterPlaceholder(text, at + 1);
    } else if (/['"`\n\\]/.test(text[at] ?? '')) break;
    else {
      literal += text[at];
      at += 1;
    }
  }
  return literal;
}

/** The command without the sentence around it. Prose behind it stays, as words: what counts is that its verb and its options are known. */
function commandOf(text: string): string {
  const [command = ''] = text.split(/[.,;:!?)](?:\s|$)|[()|<>#…}"]|\s(?:or|and|then|--- )\s|\.\.\./);
  return command.trim();
}

function namedIn(where: string, text: string, literal: (from: number) => string): Named[] {
  return [...text.matchAll(/\b(?:quarterdeck|qd) (?=[a-z$-])/g)].flatMap(({ index, 0: { length } }) => {
    const command = commandOf(literal(index + length));
    return command === '' ? [] : [{ where: `${where}:${text.slice(0, index).split('\n').length}`, command }];
  });
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

/** What stands behind the name of the program and is no command of it. */
const notCommands = /^(?:qd$|SOME|--practice VERB|-f -a$|for (?:bash|zsh|fish)$|found$)/;

async function refusedOf(named: readonly Named[]): Promise<string[]> {
  const verdicts = new Map<string, string | undefined>();
  const refused: string[] = [];
  for (const { where, command } of named) {
    if (notCommands.test(command)) continue;
    if (!verdicts.has(command)) verdicts.set(command, await verdictOf(command));
    const verdict = verdicts.get(command);
    if (verdict !== undefined) refused.push(`${where}: quarterdeck ${command}: ${verdict}`);
  }
  return refused;
}

async function verdictOf(command: string): Promise<string | undefined> {
  try {
    await parseCommandLine(command.replaceAll(/[\]["'`]/g, '').split(/\s+/), { flows, version: '0', columns: 80 });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown.message;
    throw thrown;
  }
}

describe('every command that is named is accepted by the program', () => {
  test('in messages, remedies and help', async () => {
    const named = filesIn('source', /\.tsx?$/).flatMap((file) => {
      const text = read(file)
        .replace(/^\s*(?:\/\/|\*|\/\*\*).*$/gm, '')
        // Of two texts that are joined with a plus, or by a line break in a template.
        .replace(/\\n/g, ' . ');
      return namedIn(file, text, (from) => literalFrom(text, from));
    });
    expect(named.length).toBeGreaterThan(250);
    expect(await refusedOf(named)).toEqual([]);
  });

  // Reads the whole catalog from its YAML.
  test('in catalog entries, where no text names an operation that cannot be run', { timeout: 120_000 }, async () => {
    const { entries } = await loadFolder(join(root, 'catalog'), { own: false });
    const named = entries.flatMap((entry) =>
      textsOf(entry).flatMap((text) => namedIn(entry.id, text, (from) => (text.slice(from).split('\n')[0] ?? '').replaceAll("'", ''))),
    );
    expect(named.length).toBeGreaterThan(40);
    expect(await refusedOf(named)).toEqual([]);
    const operations = entries.flatMap((entry) =>
      textsOf(entry).flatMap((text) =>
        entry.operations.some(({ id }) => text.includes(`operation ${id}`)) ? [`${entry.id}: ${text}`] : [],
      ),
    );
    expect(operations).toEqual([]);
  });

  test('in documents', async () => {
    const named = documents.flatMap((file) => {
      const text = read(file);
      return namedIn(file, text, (from) => text.slice(from).split(/[`\n]/)[0] ?? '');
    });
    expect(named.length).toBeGreaterThan(60);
    expect(await refusedOf(named)).toEqual([]);
  });
});

test('every option that the help of a flow names belongs to some command', () => {
  const known = new Set([
    ...flows.flatMap(({ flags }) => Object.keys(flags ?? {})),
    ...'host json practice read-only no-color verbose dry-run rehearse yes answers confirm help version'.split(' '),
    ...'follow tail since until grep service stdout stderr timestamps raw all path resume'.split(' '),
  ]);
  const unknown = flows.flatMap(({ id, summary, flags }) =>
    [summary, ...Object.values(flags ?? {}).map(({ meaning }) => meaning)].flatMap((text) =>
      [...text.matchAll(/(?<![\w-])--([a-z][a-z-]+)/g)].flatMap(([, name = '']) => (known.has(name) ? [] : [`${id}: --${name}`])),
    ),
  );
  expect(unknown).toEqual([]);
});

test('every key that the documents name is a key of the console', () => {
  const keys = new Set(keyTable().flatMap(({ keys }) => keys.split(' ')));
  const named = ['README.md', 'docs/procedures.md'].flatMap((file) =>
    read(file)
      .replace(/<!-- generated: keys -->[\s\S]*?<!-- end -->/, '')
      .split('\n')
      .flatMap((line) => [...line.matchAll(/`([^\s`])`/g)].map(([, key = '']) => ({ file, key }))),
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ key }) => !keys.has(key) && key !== '-')).toEqual([]);
});
