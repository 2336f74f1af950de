import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse, stringify } from 'yaml';
import { textsInSource } from './source-texts.ts';

// `node --import tsx test/docs/sample.ts SEED > test/docs/sample.yaml`: texts drawn at random, for a reader who did not write them. The
// reader sets each verdict, and a note where it is not `good`. See sample.test.ts.

export interface SampledText {
  where: string;
  text: string;
}

export interface Reading extends SampledText {
  /** `good`: a tool like gh or restic would print it. `unidiomatic`: it is understood, and would be worded otherwise. */
  verdict: 'good' | 'unidiomatic' | 'misleading';
  /** What is wrong with it. */
  note?: string;
}

export interface Sample {
  seed: number;
  date: string;
  texts: readonly Reading[];
}

const root = resolve(import.meta.dirname, '../..');
const size = 300;

/** Texts of these imitate other programs, or are scripts. */
const skipped = /\.test\.tsx?$|source\/practice\/|\/simulator\/|source\/stack\/apply\/script|source\/engine\/|lock-script/;
const isProse = (text: string): boolean =>
  /[a-z]{2,} [a-z]/i.test(text) && !/[\n{}<>\\]|&&|\|\||^[\w-]+(?: -)/.test(text.trim()) && text.trim().length > 12;

/** Returns every text that an operator can read, once, in an order that depends on the texts alone. */
export function operatorTexts(): SampledText[] {
  const found = [...sourceTexts(), ...catalogTexts(), ...documentTexts()].filter(({ text }) => isProse(text));
  const unique = new Map(found.map((each) => [each.text, each]));
  return [...unique.values()].sort((one, other) => (one.text < other.text ? -1 : 1));
}

const files = (pattern: string): string[] => globSync(pattern, { cwd: root }).sort();

const sourceTexts = (): SampledText[] =>
  files('source/**/*.{ts,tsx}')
    .filter((path) => !skipped.test(path))
    .flatMap((path) => textsInSource(join(root, path), path));

const shownKeys = new Set([
  'kind',
  'title',
  'label',
  'description',
  'message',
  'remedy',
  'detail',
  'state',
  'rule',
  'why',
  'steps',
  'notes',
  'after',
  'auth',
]);

function catalogTexts(): SampledText[] {
  return files('catalog/*/*/component.yaml').flatMap((path) => textsUnder(parse(readFileSync(join(root, path), 'utf8')), path, false));
}

function textsUnder(value: unknown, where: string, isShown: boolean): SampledText[] {
  if (typeof value === 'string') return isShown ? [{ where, text: value }] : [];
  if (Array.isArray(value)) return value.flatMap((each) => textsUnder(each, where, isShown));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) => textsUnder(below, where, shownKeys.has(key)));
}

function documentTexts(): SampledText[] {
  return ['README.md', ...files('docs/*.md'), ...files('docs/help/*.md')].flatMap((path) =>
    readFileSync(join(root, path), 'utf8')
      .replaceAll(/^```[\s\S]*?^```/gm, '')
      .split(/\n(?:\s*\n|(?=[-|#\d]))/)
      .filter((paragraph) => !/^\s*\|?\s*-{3}/.test(paragraph))
      .map((paragraph) => ({ where: path, text: paragraph.replaceAll(/\s+/g, ' ').trim() })),
  );
}

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function drawSample(texts: readonly SampledText[], seed: number): SampledText[] {
  const next = randomNumbers(seed);
  const left = [...texts];
  return Array.from({ length: Math.min(size, left.length) }, () => left.splice(Math.floor(next() * left.length), 1)).flat();
}

if (process.argv[1] === import.meta.filename) {
  const seed = Number(process.argv[2] ?? 1);
  const texts = drawSample(operatorTexts(), seed).map((each) => ({ ...each, verdict: '' }));
  process.stdout.write(stringify({ seed, date: new Date().toISOString().slice(0, 10), texts }, { lineWidth: 0 }));
}
