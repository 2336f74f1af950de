import type { CatalogEntry, CatalogPort, CatalogProblem } from '../catalog/catalog.ts';
import { groups, groupTitles } from '../catalog/groups.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { wrap } from '../text/width.ts';
import type { Output } from './output.ts';
import { tableLines } from './table.ts';

/** `catalog list`: by group, in the order of the specification; what was searched for by how well it fits. */
export function catalogLines(entries: readonly CatalogEntry[], output: Output, searched = ''): string[] {
  const rows = entries.map((entry) => [
    `  ${cleanLine(entry.id)}${entry.own ? ' *' : ''}`,
    cleanLine(entry.kind),
    cleanLine(entry.product.name),
    portsText(entry.ports),
  ]);
  const columns = [
    { heading: 'COMPONENT' },
    { heading: 'WHAT IT IS', least: 24 },
    { heading: 'PRODUCT', least: 12 },
    { heading: 'PORTS', least: 11, paint: (cell: string) => output.paint('faint', cell) },
  ];
  const table = tableLines(columns, rows, { width: output.columns });
  if (searched !== '' && entries.length === 0)
    return [`Nothing in the catalog is like "${cleanLine(searched)}". "quarterdeck catalog list" names all there is.`];
  if (searched !== '') {
    const told = `${countText(entries.length, 'component')} for "${cleanLine(searched)}". "quarterdeck catalog show ID" tells all about one.`;
    return [...table.flat(), ...(table.length > 0 ? [''] : []), told];
  }
  const lines: string[] = [];
  for (const group of groups) {
    const members = entries.flatMap((entry, index) => (entry.group === group ? (table[index] ?? []) : []));
    if (members.length > 0) lines.push(output.paint('strong', groupTitles[group]), ...members, '');
  }
  const own = entries.filter((entry) => entry.own).length;
  lines.push(
    `${countText(entries.length, 'component')}${own > 0 ? `, ${own} of your own (*)` : ''}. "quarterdeck catalog show ID" tells all about one.`,
  );
  return lines;
}

function portsText(ports: readonly CatalogPort[]): string {
  const numbers = new Set(ports.map(({ host, container, protocol }) => `${host ?? container}${protocol === 'udp' ? '/udp' : ''}`));
  return [...numbers].join(' ');
}

/** What the operator's own catalog folder has wrong, the way compilers say it. */
export function problemLines(problems: readonly CatalogProblem[], output: Output): string[] {
  return problems.flatMap(({ level, file, line, column, field, message, remedy, rule }) => [
    `${output.paint('strong', cleanLine(`${file}:${line}:${column}`))} ${output.paint(level === 'error' ? 'bad' : 'warn', level)}${field === '' ? '' : ` ${cleanLine(field)}`}`,
    ...wrap(cleanLine(`${message}${rule?.startsWith('R') ? ` (${rule})` : ''}`), output.proseColumns - 2).map((text) => `  ${text}`),
    ...wrap(cleanLine(remedy), output.proseColumns - 2).map((text) => output.paint('faint', `  ${text}`)),
  ]);
}
