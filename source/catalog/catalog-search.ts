import { distance } from 'fastest-levenshtein';
import type { CatalogEntry } from './catalog.ts';
import { groupTitles } from './groups.ts';

/** What it is and what it is called comes before what else it is good for, and that before the kind of all its neighbours. */
const weights = { name: 1, keyword: 0.75, group: 0.5 };

/** How well a typed word fits a known one, the best first. Below `least` it does not. */
const fits = { same: 1, begins: 0.85, inside: 0.55, misspelt: 0.5, strewn: 0.3 };

/** What all the words together, next to each other, add where something is called so. */
const called = { whole: 1, begins: 0.4, inside: 0.2 };

/** Shorter words are in too many others, or a letter away from them. */
const insideFrom = 3;
const misspeltFrom = 5;
const strewnFrom = 5;

interface Word {
  text: string;
  weight: number;
}

interface Searched {
  entry: CatalogEntry;
  words: readonly Word[];
  names: readonly string[];
  keywords: readonly string[];
}

const prepared = new WeakMap<readonly CatalogEntry[], readonly Searched[]>();

/**
 * Entries whose kind, product or purpose fits what was typed, the best first: every word has to fit somewhere, spelt roughly. All of them, in their order, where
 * nothing was typed.
 */
export function searchCatalog(entries: readonly CatalogEntry[], text: string): readonly CatalogEntry[] {
  const typed = wordsOf(text);
  if (typed.length === 0) return entries;
  return prepare(entries)
    .flatMap((searched) => {
      const score = scoreOf(searched, typed);
      return score === undefined ? [] : [{ entry: searched.entry, score }];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ entry }) => entry);
}

function scoreOf({ words, names, keywords }: Searched, typed: readonly string[]): number | undefined {
  let sum = 0;
  for (const word of typed) {
    let best = 0;
    for (const { text, weight } of words) {
      if (weight > best) best = Math.max(best, weight * fitOf(word, text));
    }
    if (best === 0) return undefined;
    sum += best;
  }
  const phrase = typed.join(' ');
  return sum / typed.length + Math.max(calledSo(phrase, names), calledSo(phrase, keywords) * weights.keyword * called.begins);
}

/** Of several that have all the words, the one that is called so comes first. */
function calledSo(phrase: string, names: readonly string[]): number {
  if (names.includes(phrase)) return called.whole;
  if (names.some((name) => name.startsWith(`${phrase} `))) return called.begins;
  return names.some((name) => name.includes(phrase)) ? called.inside : 0;
}

function fitOf(typed: string, known: string): number {
  if (typed === known) return fits.same;
  if (known.startsWith(typed)) return fits.begins;
  if (typed.length >= insideFrom && known.includes(typed)) return fits.inside;
  if (typed.length < misspeltFrom) return 0;
  const steps = typed.length < 8 ? 1 : 2;
  if (Math.abs(known.length - typed.length) <= steps && distance(typed, known) <= steps) return fits.misspelt;
  return typed.length >= strewnFrom && isStrewn(typed, known) ? fits.strewn : 0;
}

/** Do all letters stand in the word, in their order, from its first on? `immch` in `immich`. */
function isStrewn(typed: string, known: string): boolean {
  if (typed[0] !== known[0] || known.length > 2 * typed.length) return false;
  let at = 0;
  for (const letter of known) if (letter === typed[at]) at++;
  return at === typed.length;
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

function prepare(entries: readonly CatalogEntry[]): readonly Searched[] {
  const known = prepared.get(entries);
  if (known) return known;
  const made = entries.map((entry): Searched => {
    const names = [entry.id, entry.kind, entry.product.name, ...entry.product.alternatives.map(({ name }) => name)];
    const weighed = new Map<string, number>();
    const add = (text: string, weight: number) => {
      const words = wordsOf(text);
      // `pihole` and `pi hole` are both Pi-hole.
      for (const word of [...words, words.join('')]) weighed.set(word, Math.max(weight, weighed.get(word) ?? 0));
    };
    for (const name of names) add(name, weights.name);
    for (const keyword of entry.keywords) add(keyword, weights.keyword);
    add(groupTitles[entry.group], weights.group);
    return {
      entry,
      words: [...weighed].map(([text, weight]) => ({ text, weight })),
      names: names.map((name) => wordsOf(name).join(' ')),
      keywords: entry.keywords.map((name) => wordsOf(name).join(' ')),
    };
  });
  prepared.set(entries, made);
  return made;
}
