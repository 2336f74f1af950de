import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const groups = ['networking', 'productivity'];
const labelLimit = 40;
const descriptionLimit = 160;

/** Notes of the catalog's authors, which belong into provenance.yaml. */
const authorNotes = /auth table|port row|the document\b|\bR\d{1,2}\b|confidence/;

/** Expressions, programs and identifiers are not read by operators. */
const hidden = new Set(['when', 'version', 'argv', 'pattern', 'problem', 'homepage', 'path', 'sameAs']);

interface Component {
  fields?: { name: string; label?: string; description?: string }[];
}

function* textsOf(value: unknown, path: string): Generator<[path: string, text: string]> {
  if (typeof value === 'string') yield [path, value];
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) if (!hidden.has(key)) yield* textsOf(inner, `${path}.${key}`);
}

const entries = groups.flatMap((group) =>
  readdirSync(`catalog/${group}`).map((id) => {
    const text = readFileSync(`catalog/${group}/${id}/component.yaml`, 'utf8');
    return [`${group}/${id}`, parse(text) as Component] as const;
  }),
);

describe.each(entries)('the texts of %s', (_, component) => {
  const fields = component.fields ?? [];

  test('every field has a label in sentence case', () => {
    const wrong = fields.filter(({ label }) => label === undefined || label.length > labelLimit || !/^[A-Z][^_]*[^.\s]$/.test(label));
    expect(wrong.map(({ name, label }) => [name, label])).toEqual([]);
  });

  test('every field has one sentence of help', () => {
    const isSentence = (text = '') => /^[A-Z].*\.$/.test(text) && text.length <= descriptionLimit;
    const wrong = fields.filter(({ description }) => !isSentence(description));
    expect(wrong.map(({ name, description }) => [name, description])).toEqual([]);
  });

  test('none is a note of its author', () => {
    expect([...textsOf(component, '')].filter(([, text]) => authorNotes.test(text))).toEqual([]);
  });
});
