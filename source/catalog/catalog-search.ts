import fuzzysort from 'fuzzysort';
import type { CatalogEntry } from './catalog.ts';
import { groupTitles } from './groups.ts';

/** Words that begin a word of an entry count more than letters strewn over it. */
const begunWeight = 0.6;
/** What it is comes before what else it is good for. */
const keywordWeight = 0.7;

interface Searched {
  entry: CatalogEntry;
  kind: string;
  names: string;
  keywords: string;
  group: string;
  words: readonly string[];
}

const prepared = new WeakMap<readonly CatalogEntry[], readonly Searched[]>();

/**
 * Entries whose kind, product or purpose fits what was typed, the best first: every word has to fit somewhere, spelt roughly. All of them, in their order, where
 * nothing was typed.
 */
export function searchCatalog(entries: readonly CatalogEntry[], text: string): readonly CatalogEntry[] {
  const typed = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (typed.length === 0) return entries;
  return fuzzysort
    .go(typed.join(' '), prepare(entries), {
      keys: ['entry.id', 'kind', 'names', 'keywords', 'group'],
      scoreFn: (result) => {
        const [id, kind, names, keywords, group] = [...result].map((one) => one?.score ?? 0);
        const best = Math.max(id ?? 0, kind ?? 0, names ?? 0, keywordWeight * (keywords ?? 0), group ?? 0, result.score ?? 0);
        const begun = typed.filter((word) => result.obj.words.some((known) => known.startsWith(word))).length / typed.length;
        return best + begunWeight * begun;
      },
      threshold: 0.3,
      limit: 0,
    })
    .map(({ obj }) => obj.entry);
}

function prepare(entries: readonly CatalogEntry[]): readonly Searched[] {
  const known = prepared.get(entries);
  if (known) return known;
  const made = entries.map((entry): Searched => {
    const names = [entry.product.name, ...entry.product.alternatives.map(({ name }) => name)].join(' ');
    const group = groupTitles[entry.group];
    const keywords = entry.keywords.join(', ');
    const words = `${entry.id} ${entry.kind} ${names} ${keywords} ${group}`.toLowerCase().split(/[^\p{L}\p{N}]+/u);
    return { entry, kind: entry.kind, names, keywords, group, words };
  });
  prepared.set(entries, made);
  return made;
}
