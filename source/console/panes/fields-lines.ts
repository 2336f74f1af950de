import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { ContainerDetail } from '../../engine/engine.ts';
import { cleanLine } from '../../text/clean.ts';
import { pad, textWidth, wrap } from '../../text/width.ts';
import { isSecretName, maskAddresses } from '../mask-inspect.ts';
import { unstyled } from '../styled-text.ts';
import type { Role, Theme } from '../theme.ts';

interface Options {
  theme: Theme;
  width: number;
  entry: CatalogEntry | undefined;
  /** Of the container that is looked at; undefined as long as it is not known. */
  detail: ContainerDetail | undefined;
  readOnly: boolean;
  filter: string;
}

type Field = CatalogEntry['fields'][number];

interface Value {
  text: string;
  role: Role | undefined;
}

function shownValue(field: Field, env: ReadonlyMap<string, string> | undefined, { theme, readOnly }: Options): Value {
  const hidden = theme.glyphs.mask.repeat(4);
  const set = field.goes === 'environment' ? env?.get(field.env ?? field.name) : undefined;
  if (set !== undefined && set !== '') {
    if (field.secret || isSecretName(field.env ?? field.name)) return { text: `${hidden} set`, role: undefined };
    // A read-only session shows no value of the environment, only that there is one.
    return { text: readOnly ? `${hidden} set` : cleanLine(maskAddresses(set)), role: undefined };
  }
  if (field.default !== undefined && !field.secret) return { text: `${String(field.default)} (default)`, role: 'faint' };
  if (field.goes === 'config') return { text: 'in its configuration file', role: 'faint' };
  if (field.goes === 'credential') return { text: 'kept to talk to it', role: 'faint' };
  if (field.goes !== 'environment') return { text: `given to the ${field.goes}`, role: 'faint' };
  if (env === undefined) return { text: 'not known', role: 'faint' };
  return field.required ? { text: 'missing', role: 'bad' } : { text: 'not set', role: 'faint' };
}

/** The catalog's fields of a component with the values that its container has. Secrets are never shown (R2). */
export function fieldsLines(options: Options): string[] {
  const { theme, width, entry, detail, filter } = options;
  if (!entry)
    return wrap('Not in the catalog: its fields are not known. The Inspect tab shows its environment.', width - 2).map(
      (line) => ` ${line}`,
    );
  const wanted = filter.toLowerCase();
  const fields = entry.fields.filter((field) => `${field.name} ${field.meaning ?? ''}`.toLowerCase().includes(wanted));
  if (fields.length === 0)
    return [` ${theme.paint('faint', filter === '' ? 'This component has no fields.' : `No field matches "${filter}".`)}`];
  const env = detail && new Map(detail.env);
  const nameColumns = Math.min(Math.max(...fields.map((field) => textWidth(cleanLine(field.name)))), Math.floor(width * 0.42));
  return fields.flatMap((field) => {
    const value = shownValue(field, env, options);
    const kind = theme.paint(
      field.secret ? 'warn' : 'faint',
      `${field.secret ? 'secret' : field.type}${field.required ? ', required' : ''}`,
    );
    const told = (text: string) => (value.role ? theme.paint(value.role, text) : text);
    const name = cleanLine(field.name);
    const kindText = unstyled(kind);
    const room = width - nameColumns - 4;
    // A name or a value that is too long goes on below.
    const names = wrap(name, nameColumns);
    const values = wrap(value.text, room);
    const last = values.at(-1) ?? '';
    const isBeside = textWidth(last) + 2 + kindText.length <= room;
    const rows = Math.max(names.length, values.length + (isBeside ? 0 : 1));
    const lines = Array.from({ length: rows }, (_, row) => {
      const text = values[row];
      const own = text === undefined ? '' : told(text);
      const end = row === values.length - (isBeside ? 1 : 0) ? `${isBeside ? '  ' : ''}${kind}` : '';
      return ` ${theme.paint('strong', pad(names[row] ?? '', nameColumns))}  ${own}${end}`;
    });
    const meaning = [field.meaning, field.rule].filter(Boolean).join(`; `);
    return [...lines, ...(meaning ? wrap(cleanLine(meaning), width - 4).map((text) => `   ${theme.paint('faint', text)}`) : [])];
  });
}
