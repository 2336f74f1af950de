import type { CatalogEntry } from '../../../catalog/catalog.ts';
import { listedOperations } from '../../../flows/operations/listed-operations.ts';
import { pad, textWidth } from '../../../text/width.ts';
import { paragraph } from '../../styled-text.ts';
import type { RowSpace } from '../../widgets/table-rows.ts';

/** What the component offers beyond start and stop, each with the right that it requires and its inputs. */
export function operationsLines({ theme, width, entry, filter }: RowSpace & { entry: CatalogEntry | undefined; filter: string }): string[] {
  const say = (text: string) => paragraph(theme, 'faint', text, width - 2, ' ');
  if (!entry) return say('This component is not in the catalog, so its operations are unknown.');
  const wanted = filter.toLowerCase();
  const operations = listedOperations(entry).filter(({ id, title }) => `${id} ${title}`.toLowerCase().includes(wanted));
  if (operations.length === 0) return say(filter === '' ? 'This component has no operations.' : `No operation matches "${filter}".`);
  const columns = Math.min(Math.max(...operations.map(({ id }) => textWidth(id))), Math.floor(width * 0.42));
  const rows = operations.flatMap(({ id, title, right, call }) => {
    const inputs = Object.keys(entry.calls[call]?.inputs ?? {});
    const facts = [right === 'read' ? '' : right, inputs.length > 0 ? `inputs: ${inputs.join(', ')}` : ''].filter(Boolean).join('; ');
    const role = right === 'destroy' ? 'error' : right === 'read' ? undefined : 'warning';
    const [first = '', ...more] = paragraph(theme, undefined, title, width - columns - 4);
    const indent = ' '.repeat(columns + 3);
    return [
      ` ${theme.paint('strong', pad(id, columns))}  ${first}`,
      ...more.map((line) => `${indent}${line}`),
      ...(facts === '' ? [] : paragraph(theme, role ?? 'faint', facts, width - columns - 4).map((line) => `${indent}${line}`)),
    ];
  });
  return [...rows, '', ...say('Enter: run an operation')];
}
