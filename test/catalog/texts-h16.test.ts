import { expect, it } from 'vitest';
import { wholeCatalog } from '../doubles/whole-catalog.ts';

// Texts of the groups media and security as operators read them.

const entries = (await wholeCatalog()).entries.filter(({ group }) => group === 'media' || group === 'security');

/** Notes of authors. A number as in R36 names a rule of the specification. */
const notes = /auth table|port row|the document\b|\bR\d{1,2}\b|confidence/i;

/** Keys whose values are programs, addresses or expressions instead of texts. */
const skipped = new Set([
  'when',
  'done',
  'version',
  'http',
  'exec',
  'file',
  'argv',
  'dump',
  'restore',
  'services',
  'pattern',
  'homepage',
  'cli',
]);

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (skipped.has(key) ? [] : textsOf(inner)));
}

it.each(entries.map(({ id, fields }) => [id, fields] as const))('%s: every field has a label and one sentence of help', (_, fields) => {
  for (const { name, label = '', description = '' } of fields) {
    expect(label, name).toMatch(/^[A-Z].{0,38}[^.]$/);
    expect(description, name).toMatch(/^[A-Z].{0,158}\.$/);
  }
});

it.each(entries.map((entry) => [entry.id, entry] as const))('%s: shows no notes of authors', (_, entry) => {
  expect(textsOf(entry).filter((text) => notes.test(text))).toEqual([]);
});

/** A message may begin with a name of the product, such as `serverPort` or `metadata.db`, and end with a command. */
const sentence = /^(?:[A-Z{/]|[a-z]+[A-Z.]).*(?:[.}]|: quarterdeck .+)$/s;

it.each(entries.map((entry) => [entry.id, entry] as const))('%s: has whole sentences where operators read messages', (_, entry) => {
  const details = entry.probe?.states.map(({ detail }) => detail) ?? [];
  const messages = [...details, ...entry.checks.flatMap(({ message, remedy }) => [message, remedy]), ...(entry.upgrade?.steps ?? [])];
  expect(messages.filter((text) => !sentence.test(text))).toEqual([]);
});
