import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { probedState } from '../../source/calls/conditions.ts';
import type { CatalogEntry } from '../../source/catalog/catalog.ts';
import { labelColumns, stateId } from '../../source/catalog/state.ts';

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
  probe?: { states: { state: string; id?: string; detail?: string }[] };
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
/** Returns a label with its longest texts where it has conditions, and with two digits for other filled-in parts. */
const filledIn = (label: string) =>
  label.replaceAll(/\{[^}]*\}/g, (part) => {
    const texts = [...part.matchAll(/[?:] "([^"]*)"/g)].map(([, text = '']) => text);
    return texts.toSorted((one, other) => other.length - one.length)[0] ?? '00';
  });
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

  it('has labels of states that fit into a list', () => {
    const states = entry.probe?.states ?? [];
    expect(states.map(({ state }) => filledIn(state)).filter((label) => label.length > labelColumns)).toEqual([]);
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

/** States that a probe over HTTP has without declaring them, by the status of the response; 0 is none. */
function defaultStates() {
  const entry = { probe: { call: 'page', defaults: true, states: [] }, calls: { page: { http: {} } }, product: { name: 'it' } };
  return [0, 200, 401, 404, 429, 500].flatMap((status) => {
    const answer = { ok: status > 0, status, json: null, text: '', headers: {}, failure: '' };
    const facts = { answer, ageSeconds: 600, env: {}, fields: {}, ports: [], calls: {}, services: {} };
    return probedState(entry as unknown as CatalogEntry, facts) ?? [];
  });
}

describe('states', () => {
  const declared = entries
    .flatMap(([, { probe }]) => probe?.states ?? [])
    .filter(({ state }) => !state.includes('{'))
    .map(({ state, id = stateId(state) }) => ({ id, label: state }));
  const states = [...declared, ...defaultStates().map(({ id, label }) => ({ id, label }))];
  const several = (key: 'id' | 'label', other: 'id' | 'label') =>
    [...Map.groupBy(states, (state) => state[key])].flatMap(([name, alike]) => {
      const found = new Set(alike.map((state) => state[other]));
      return found.size > 1 ? [`${name}: ${[...found].join(', ')}`] : [];
    });

  it('have six defaults, which fit into a list', () => {
    const labels = defaultStates().map(({ label }) => label);
    expect(labels).toEqual(['unreachable', 'unexpected response', 'login required', 'different path', 'busy', 'unhealthy']);
    expect(labels.filter((label) => label.length > labelColumns)).toEqual([]);
  });

  it('have one id for each label, and one label for each id', () => {
    expect(several('label', 'id')).toEqual([]);
    expect(several('id', 'label')).toEqual([]);
  });
});
