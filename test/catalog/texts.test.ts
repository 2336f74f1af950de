import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = new URL('../../', import.meta.url).pathname;

type Text = [path: string, text: string];

interface Field {
  name: string;
  label?: string;
  description?: string;
}

interface Entry {
  kind: string;
  fields?: Field[];
  upgrade?: { steps?: (string | { after: string })[] };
  probe?: { states: { state: string; detail?: string }[] };
}

const entries = globSync('catalog/*/*/component.yaml', { cwd: root })
  .sort()
  .map((file) => [dirname(file), parse(readFileSync(root + file, 'utf8')) as Entry] as const);

/** Keys whose values are facts for programs, and formats that products define. */
const facts = new Set([
  'when',
  'done',
  'id',
  'pattern',
  'argv',
  'response',
  'env',
  'image',
  'images',
  'homepage',
  'default',
  'enum',
  'path',
  'cli',
]);

/** Returns each text that an operator can see, with its path. */
function textsIn(value: unknown, path: readonly string[] = []): Text[] {
  if (typeof value === 'string') return [[path.join('.'), value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => (facts.has(key) ? [] : textsIn(part, [...path, key])));
}

const authorsNotes = [
  /auth table/i,
  /port row/i,
  /\bthe document\b/i,
  /\bdocument:/,
  /\bR\d{1,2}\b/,
  /confidence/i,
  /\(product\)/,
  /product knowledge/,
];
const isSentence = (text: string) => /^[A-Z]/.test(text) && text.endsWith('.');

describe.each(entries)('%s', (_, entry) => {
  it('has a label and one sentence of help for each field', () => {
    const wrong = (entry.fields ?? []).filter(
      ({ label = '', description = '' }) =>
        !/^[A-Z]/.test(label) || label.length > 40 || /[.?!]$/.test(label) || !isSentence(description) || description.length > 160,
    );
    expect(wrong.map(({ name }) => name)).toEqual([]);
  });

  it('has a kind in sentence case, labels of states without a period, and their details as sentences', () => {
    expect(entry.kind).toMatch(/^[A-Z].*[^.]$/);
    const states = entry.probe?.states ?? [];
    expect(states.filter(({ state }) => state.endsWith('.'))).toEqual([]);
    // A detail can begin with a name or a path, and end with a value that is filled in.
    expect(states.filter(({ detail }) => detail !== undefined && !/^\S.*[.}]$/s.test(detail))).toEqual([]);
  });

  it('lists after an update what its words put there', () => {
    const before = (entry.upgrade?.steps ?? []).filter((step) => typeof step === 'string');
    expect(before.filter((text) => /^(?:Afterwards|Then|After the (?:update|upgrade))\b/.test(text))).toEqual([]);
  });

  it('shows no notes of authors', () => {
    const found = textsIn(entry).filter(([, text]) => authorsNotes.some((note) => note.test(text)));
    expect(found).toEqual([]);
  });
});
