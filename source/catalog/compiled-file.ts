import type { CatalogEntry } from './catalog.ts';

/** What lists, ports and image recognition need of every entry. The rest is read on first access: few entries are shown. */
const headKeys = [
  'id',
  'group',
  'kind',
  'keywords',
  'deploy',
  'product',
  'image',
  'folder',
  'own',
  'services',
  'ports',
  'api',
  'site',
] as const;

/** The first line of `dist/catalog.json`. A line for each entry follows, with the fields that its head omits, in the same order. */
interface CompiledHead {
  schema: 2;
  /** Keys that occur in any of these lines. */
  further: string[];
  entries: Pick<CatalogEntry, (typeof headKeys)[number]>[];
}

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

/** A line is decoded on first access, and damage in it noticed then. Throws an Error that names the problem in the file. */
export function readCompiled(bytes: Buffer): CatalogEntry[] {
  const [first = bytes, ...lines] = linesOf(bytes);
  const { schema, further, entries } = JSON.parse(first.toString('utf8')) as CompiledHead;
  if (schema !== 2 || !Array.isArray(entries)) throw new Error('its format version is not supported');
  if (lines.length !== entries.length + 1) throw new Error('it is truncated');

  const rests = new WeakMap<object, Buffer | Record<string, unknown>>();
  const restOf = (entry: object): Record<string, unknown> => {
    const known = rests.get(entry) ?? {};
    const rest = Buffer.isBuffer(known) ? (JSON.parse(known.toString('utf8')) as Record<string, unknown>) : known;
    rests.set(entry, rest);
    return rest;
  };
  const shape: object = Object.create(null);
  for (const key of further) {
    Object.defineProperty(shape, key, {
      enumerable: true,
      get(this: object) {
        return restOf(this)[key];
      },
    });
  }
  return entries.map((head, index) => {
    const entry = Object.assign(Object.create(shape), head) as CatalogEntry;
    rests.set(entry, lines[index] ?? {});
    return entry;
  });
}

function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  // Text after the last line: empty if the file is complete.
  lines.push(bytes.subarray(start));
  return lines;
}
