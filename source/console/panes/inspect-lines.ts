import type { CatalogEntry } from '../../catalog/catalog.ts';
import { cleanLine } from '../../text/clean.ts';
import { cut, textWidth, wrap } from '../../text/width.ts';
import { maskInspect } from '../mask-inspect.ts';
import type { Theme } from '../theme.ts';

const rendered = new WeakMap<object, { readOnly: boolean; entry: CatalogEntry | undefined; text: readonly string[] }>();

/** The engine's whole answer as JSON text, masked; made once per answer. */
export function inspectText(raw: unknown, entry: CatalogEntry | undefined, readOnly: boolean): readonly string[] {
  const key = typeof raw === 'object' && raw !== null ? raw : {};
  const known = rendered.get(key);
  if (known && known.readOnly === readOnly && known.entry === entry) return known.text;
  const secretFields = new Set(entry?.fields.filter((field) => field.secret).map((field) => field.env ?? field.name));
  const masked = maskInspect(raw, { everyVariable: readOnly, secretFields });
  const text = (JSON.stringify(masked, undefined, 2) ?? '').split('\n').map(cleanLine);
  rendered.set(key, { readOnly, entry, text });
  return text;
}

/** A long line goes on below, further in. `starts`: the row where each line of the text begins. */
export function inspectRows(text: readonly string[], width: number): { rows: readonly string[]; starts: readonly number[] } {
  const known = placed.get(text);
  if (known?.width === width) return known;
  const rows: string[] = [];
  const starts = text.map((line) => {
    const start = rows.length;
    const indent = Math.min(line.length - line.trimStart().length, width >> 1);
    const [first = '', ...more] = textWidth(line) < width ? [line.trimStart()] : wrap(line.trimStart(), Math.max(8, width - indent - 3));
    rows.push(`${' '.repeat(indent)}${first}`, ...more.map((part) => `${' '.repeat(indent + 2)}${part}`));
    return start;
  });
  placed.set(text, { width, rows, starts });
  return { rows, starts };
}

const placed = new WeakMap<readonly string[], { width: number; rows: readonly string[]; starts: readonly number[] }>();

/** `"Name": value` with its name and the matches of the search told apart. */
export function inspectLine(line: string, theme: Theme, width: number, search: string): string {
  const shown = cut(` ${line}`, width, theme.glyphs.ellipsis);
  if (search !== '' && matcherFor(search)?.(shown)) {
    const exact = /\p{Lu}/u.test(search);
    const at = exact ? shown.indexOf(search) : shown.toLowerCase().indexOf(search.toLowerCase());
    return shown.slice(0, at) + theme.paint('match', shown.slice(at, at + search.length)) + shown.slice(at + search.length);
  }
  const name = /^(\s*)("(?:[^"\\]|\\.)*")(:.*)$/.exec(shown);
  return name ? `${name[1]}${theme.paint('accent', name[2] ?? '')}${name[3]}` : shown;
}

/** Rows on which the search is found. */
export function matchRows(text: readonly string[], search: string): number[] {
  const matches = matcherFor(search);
  return matches ? text.flatMap((line, row) => (matches(line) ? [row] : [])) : [];
}

/** Smart case: capitals in what is searched make it exact. */
function matcherFor(filter: string): ((text: string) => boolean) | undefined {
  if (filter === '') return undefined;
  if (/\p{Lu}/u.test(filter)) return (text) => text.includes(filter);
  const lower = filter.toLowerCase();
  return (text) => text.toLowerCase().includes(lower);
}
