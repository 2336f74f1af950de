import type { CatalogEntry } from './catalog.ts';

/**
 * What lists, ports and the recognition of images need of every entry. All else is read when an entry is first asked for it: a console shows a dozen
 * components, and the catalog has ten times as many.
 */
const headKeys = ['id', 'group', 'kind', 'deploy', 'product', 'image', 'folder', 'own', 'services', 'ports', 'speaks', 'site'] as const;

/** The first line of `dist/catalog.json`. Behind it comes a line for each entry with what its head leaves out, in the same order. */
interface CompiledHead {
  schema: 2;
  /** Keys that any of these lines has. */
  further: string[];
  entries: Pick<CatalogEntry, (typeof headKeys)[number]>[];
}

/** Entries as the build writes them to `dist/catalog.json`: JSON, a line of heads and then a line each. */
export function writeCompiled(entries: readonly CatalogEntry[]): string {
  const heads = new Set<string>(headKeys);
  const part = (entry: CatalogEntry, wanted: (key: string) => boolean) =>
    Object.fromEntries(Object.entries(entry).filter(([key]) => wanted(key)));
  const rests = entries.map((entry) => part(entry, (key) => !heads.has(key)));
  const head = {
    schema: 2,
    further: [...new Set(rests.flatMap((rest) => Object.keys(rest)))],
    entries: entries.map((entry) => part(entry, (key) => heads.has(key))),
  };
  return [head, ...rests].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Those entries again. Throws an Error that says what is wrong with the text; a line that is damaged is found when it is read. */
export function readCompiled(text: string): CatalogEntry[] {
  const [first = '', ...lines] = text.split('\n');
  const { schema, further, entries } = JSON.parse(first) as CompiledHead;
  if (schema !== 2 || !Array.isArray(entries)) throw new Error('it has another version');
  if (lines.length !== entries.length + 1) throw new Error('its end is missing');

  const unread = new WeakMap<object, string>();
  const read = new WeakMap<object, Record<string, unknown>>();
  const restOf = (entry: object): Record<string, unknown> => {
    const known = read.get(entry) ?? (JSON.parse(unread.get(entry) ?? '{}') as Record<string, unknown>);
    read.set(entry, known);
    return known;
  };
  const shape: object = Object.create(null);
  for (const key of further) {
    Object.defineProperty(shape, key, {
      get(this: object) {
        return restOf(this)[key];
      },
    });
  }
  return entries.map((head, index) => {
    const entry = Object.assign(Object.create(shape), head) as CatalogEntry;
    unread.set(entry, lines[index] ?? '');
    return entry;
  });
}
