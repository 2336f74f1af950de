import { distance } from 'fastest-levenshtein';
import type { CatalogEntry } from './catalog.ts';
import { groupTitles } from './groups.ts';

/** Kind and name weigh more than keywords, and keywords more than the group. */
const weights = { name: 1, keyword: 0.75, group: 0.5 };

const fits = { same: 1, begins: 0.85, inside: 0.55, misspelt: 0.5, strewn: 0.3 };

/** Extra score if all typed words, in sequence, match a name. */
const called = { whole: 1, begins: 0.4, inside: 0.2 };

/** Shorter words are part of too many others, or one letter away from them. */
const insideFrom = 3;
const misspeltFrom = 5;

interface Searched {
  words: readonly { text: string; weight: number }[];
  names: readonly string[];
  keywords: readonly string[];
}

/** Best first: every typed word must match, allowing typos. Without input, all entries in their order. */
export function searchCatalog(entries: readonly CatalogEntry[], text: string): readonly CatalogEntry[] {
  const typed = wordsOf(text);
  if (typed.length === 0) return entries;
  return entries
    .flatMap((entry) => {
      const score = scoreOf(searchedOf(entry), typed);
      return score === undefined ? [] : [{ entry, score }];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ entry }) => entry);
}

function scoreOf({ words, names, keywords }: Searched, typed: readonly string[]): number | undefined {
  let sum = 0;
  for (const word of typed) {
    const best = Math.max(...words.map(({ text, weight }) => weight * fitOf(word, text)));
    if (best === 0) return undefined;
    sum += best;
  }
  const phrase = typed.join(' ');
  return sum / typed.length + Math.max(calledSo(phrase, names), calledSo(phrase, keywords) * weights.keyword * called.begins);
}

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
  return isStrewn(typed, known) ? fits.strewn : 0;
}

/** All letters occur in the word, in order, starting with its first letter: `immch` in `immich`. */
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

function searchedOf(entry: CatalogEntry): Searched {
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
    words: [...weighed].map(([text, weight]) => ({ text, weight })),
    names: names.map((name) => wordsOf(name).join(' ')),
    keywords: entry.keywords.map((name) => wordsOf(name).join(' ')),
  };
}
