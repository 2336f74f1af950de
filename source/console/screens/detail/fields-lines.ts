import type { CatalogEntry } from '../../../catalog/catalog.ts';
import { fieldHelp } from '../../../catalog/field-help.ts';
import type { ContainerDetail } from '../../../engine/engine.ts';
import { cleanLine } from '../../../text/clean.ts';
import { pad, textWidth, wrap } from '../../../text/width.ts';
import { paragraph, styledWidth } from '../../styled-text.ts';
import type { Role } from '../../theme.ts';
import type { RowSpace } from '../../widgets/table-rows.ts';
import { isSecretName, maskAddresses } from './mask-inspect.ts';

interface Options extends RowSpace {
  entry: CatalogEntry | undefined;
  detail: ContainerDetail | undefined;
  readOnly: boolean;
  filter: string;
}

type Field = CatalogEntry['fields'][number];
const labelOf = ({ label, name }: Field) => cleanLine(label ?? name);

function shownValue(
  field: Field,
  env: ReadonlyMap<string, string> | undefined,
  { theme, readOnly }: Options,
): { text: string; role?: Role } {
  const name = field.env ?? field.name;
  const set = field.target === 'environment' ? env?.get(name) : undefined;
  if (set !== undefined && set !== '') {
    // A read-only session hides the values of the environment, and shows only that they are set.
    const isHidden = readOnly || field.secret || isSecretName(name);
    return { text: isHidden ? `${theme.glyphs.mask.repeat(4)} set` : cleanLine(maskAddresses(set)) };
  }
  const more = field.default === undefined || field.secret ? '' : `, default ${field.default}`;
  if (field.target === 'config') return { text: `set in the configuration file${more}`, role: 'faint' };
  if (field.target === 'credential') return { text: 'stored as a credential', role: 'faint' };
  if (field.target !== 'environment') return { text: `passed to the ${field.target}${more}`, role: 'faint' };
  if (env === undefined) return { text: 'unknown', role: 'faint' };
  if (more) return { text: `${field.default} (default)`, role: 'faint' };
  return field.required ? { text: 'missing', role: 'error' } : { text: 'not set', role: 'faint' };
}

/** Returns the catalog's fields of a component with the values of its container. Secrets are never shown (R2). */
export function fieldsLines(options: Options): string[] {
  const { theme, width, entry, detail, filter } = options;
  const unknown = 'This component is not in the catalog, so its fields are unknown. The Inspect tab shows its environment.';
  if (!entry) return paragraph(theme, undefined, unknown, width - 2, ' ');
  const wanted = filter.toLowerCase();
  const fields = entry.fields.filter((field) => [labelOf(field), field.name, field.description].join(' ').toLowerCase().includes(wanted));
  if (fields.length === 0)
    return [` ${theme.paint('faint', filter === '' ? 'This component has no fields.' : `No field matches "${filter}".`)}`];
  const env = detail && new Map(detail.env);
  const nameColumns = Math.min(Math.max(...fields.map((field) => textWidth(labelOf(field)))), Math.floor(width * 0.42));
  return fields.flatMap((field) => {
    const value = shownValue(field, env, options);
    const kindText = `${field.secret ? 'secret' : field.type}${field.required ? ', required' : ''}`;
    const kind = theme.paint(field.secret ? 'warning' : 'faint', kindText);
    const room = width - nameColumns - 4;
    const names = wrap(labelOf(field), nameColumns);
    const values = paragraph(theme, value.role, value.text, room);
    const last = values.at(-1) ?? '';
    if (styledWidth(last) + 2 + kindText.length > room) values.push(kind);
    else values.splice(-1, 1, `${last}  ${kind}`);
    const lines = Array.from({ length: Math.max(names.length, values.length) }, (_, row) => {
      return ` ${theme.paint('strong', pad(names[row] ?? '', nameColumns))}  ${values[row] ?? ''}`;
    });
    const description = [field.label && field.name, fieldHelp(field)].filter(Boolean).join('; ');
    return [...lines, ...paragraph(theme, 'faint', description, width - 4, '   ')];
  });
}
