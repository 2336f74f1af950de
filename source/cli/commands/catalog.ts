import { isAbsolute, join } from 'node:path';
import { componentDetailJson, componentJson } from '../../app/entry-json.ts';
import { entryLines } from '../../app/entry-text.ts';
import { openOwnCatalog } from '../../app/open-catalog.ts';
import { type ListColumns, listLines } from '../../app/table.ts';
import type { Catalog, CatalogEntry, CatalogPort, CatalogProblem } from '../../catalog/catalog.ts';
import { groups, groupTitles } from '../../catalog/groups.ts';
import { schemaFile, schemaName } from '../../catalog/schema-line.ts';
import { readInstalled } from '../../config/installation.ts';
import { Fault } from '../../faults/fault.ts';
import type { Severity } from '../../fleet/model.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { countText } from '../../text/quantities.ts';
import { wrap } from '../../text/width.ts';
import type { VerbContext } from '../command.ts';
import { findEntry } from '../find-component.ts';
import type { Output } from '../output.ts';

/** `catalog [list [WORDS] | show ID | check FOLDER | schema]`: prints the known components. Queries no engine. */
export async function runCatalogVerb(
  { output, options, paths, env }: Pick<VerbContext, 'output' | 'options' | 'paths' | 'env'>,
  words: readonly string[],
  { path = false, open = openOwnCatalog }: { path?: boolean; open?: typeof openOwnCatalog } = {},
): Promise<number> {
  const [action = 'list', about, ...more] = words;
  const one = action === 'show' ? 'name' : action === 'check' ? 'folder' : undefined;
  if (more.length > 0 && one) throw usage(`catalog ${action} accepts one ${one}, not ${more.length + 1}.`);
  if (path && action !== 'schema') throw usage('--path is only valid for "catalog schema".');
  if (action === 'schema') return printSchema(output, path, about);
  const { catalog, ownFolder } = await open({ paths, env, readOnly: options.readOnly });
  switch (action) {
    case 'list':
      await listCatalog(catalog, output, options.json, words.slice(1).join(' '));
      return 0;
    case 'show':
      if (about === undefined) throw usage('catalog show requires a component.', 'List the components: quarterdeck catalog list');
      showEntry(catalog, about, output, options.json);
      return 0;
    case 'check': {
      if (options.readOnly)
        throw new Fault('refused.readOnly', 'Your own catalog is not read in read-only mode.', 'Run the command without --read-only.');
      const folder = about ?? ownFolder;
      if (folder === undefined) throw usage('catalog check requires a folder.', 'Pass a folder, or set catalogFolder in config.yaml.');
      return checkFolder(catalog, isAbsolute(folder) ? folder : join(process.cwd(), folder), folder, output, options.json);
    }
    default:
      throw usage(`Unknown catalog command "${cleanLine(action)}".`, nameRemedy(action, ['list', 'show', 'check', 'schema', 'new'], ''));
  }
}

async function listCatalog(catalog: Catalog, output: Output, json: boolean, searched: string): Promise<void> {
  const found =
    searched === '' ? catalog.entries : (await import('../../catalog/catalog-search.ts')).searchCatalog(catalog.entries, searched);
  if (json) output.json({ schema: 1, components: found.map(componentJson) });
  else output.lines(catalogLines(found, output, searched));
  noteProblems(catalog, output);
}

function showEntry(catalog: Catalog, id: string, output: Output, json: boolean): void {
  const entry = findEntry(id, catalog);
  if (json) output.json({ schema: 1, component: componentDetailJson(entry, catalog.entries) });
  else output.lines(entryLines(entry, catalog.entries, output));
  noteProblems(catalog, output);
}

async function printSchema(output: Output, path: boolean, more: string | undefined): Promise<number> {
  if (more !== undefined) throw usage(`catalog schema accepts no arguments: unexpected "${cleanLine(more)}".`);
  output.lines((path ? schemaFile() : await readInstalled(schemaName)).trimEnd().split('\n'));
  return 0;
}

/** Loads the parser and the validator. Returns 1 when there are errors, so that scripts can use it. */
async function checkFolder(catalog: Catalog, folder: string, written: string, output: Output, json: boolean): Promise<number> {
  const { loadFolder } = await import('../../catalog/load-folder.ts');
  const { entries, problems } = await loadFolder(folder, { own: true, besides: catalog.entries });
  const errors = problems.filter(({ level }) => level === 'error').length;
  // Paths begin as the argument was typed, so that they can be clicked and copied.
  const reported = problems.map((problem) => ({
    ...problem,
    file: problem.file.startsWith(folder)
      ? `${written.replace(/\/$/, '')}${problem.file.slice(folder.replace(/\/$/, '').length)}`
      : problem.file,
  }));
  if (json) {
    output.json({ schema: 1, components: entries.map(({ id }) => ({ id })), problems: reported });
    return errors > 0 ? 1 : 0;
  }
  output.lines(problemLines(reported, output));
  if (reported.length > 0) output.line();
  const conclude = (severity: Severity, text: string) => output.line(output.paint(severity, `${output.glyph(severity)} ${text}`));
  if (entries.length === 0 && problems.length === 0) {
    conclude('warning', 'No components found. A component is a folder with component.yaml and compose.yaml.');
    return 0;
  }
  const warnings = problems.length - errors;
  const counts = [errors > 0 && countText(errors, 'error'), warnings > 0 && countText(warnings, 'warning')].filter(Boolean);
  conclude(
    errors > 0 ? 'error' : 'ok',
    `${countText(entries.length, 'component')} can be used; ${counts.join(', ') || 'no problems found'}.`,
  );
  return errors > 0 ? 1 : 0;
}

function noteProblems({ problems }: Catalog, output: Output): void {
  const errors = problems.filter(({ level }) => level === 'error').length;
  const text = `Your own catalog has ${countText(errors, 'error')}. Show the errors: quarterdeck catalog check`;
  if (errors > 0) output.note(output.paintError('warning', text));
}

function usage(message: string, remedy = 'Usage: quarterdeck catalog [list [WORDS] | show ID | check FOLDER | schema]'): Fault {
  return new Fault('usage.catalog', message, remedy);
}

function catalogLines(entries: readonly CatalogEntry[], output: Output, searched = ''): string[] {
  const columns: ListColumns<CatalogEntry> = {
    COMPONENT: ({ id, own }) => `  ${id}${own ? ' *' : ''}`,
    DESCRIPTION: { cell: ({ kind }) => kind, least: 24 },
    PRODUCT: { cell: ({ product }) => product.name, least: 12 },
    PORTS: { cell: ({ ports }) => portsText(ports), least: 11, paint: (cell) => output.paint('faint', cell) },
  };
  const table = listLines(entries, columns, { width: output.columns });
  const shown = cleanLine(searched);
  if (searched !== '' && entries.length === 0) return [`No component matches "${shown}". List all components: quarterdeck catalog list`];
  const hint = 'Show a component: quarterdeck catalog show ID';
  if (searched !== '') return [...table, '', `${countText(entries.length, 'match', 'matches')} for "${shown}". ${hint}`];
  const lines: string[] = [];
  for (const group of groups) {
    const members = entries.flatMap((entry, index) => (entry.group === group ? (table[index] ?? []) : []));
    if (members.length > 0) lines.push(output.paint('strong', groupTitles[group]), ...members, '');
  }
  const own = entries.filter((entry) => entry.own).length;
  return [...lines, `${countText(entries.length, 'component')}${own > 0 ? `, ${own} of your own (*)` : ''}. ${hint}`];
}

function portsText(ports: readonly CatalogPort[]): string {
  const numbers = new Set(ports.map(({ host, container, protocol }) => `${host ?? container}${protocol === 'udp' ? '/udp' : ''}`));
  return [...numbers].join(' ');
}

function problemLines(problems: readonly CatalogProblem[], output: Output): string[] {
  return problems.flatMap(({ level, file, line, column, field, message, remedy }) => [
    `${output.paint('strong', cleanLine(`${file}:${line}:${column}`))} ${output.paint(level === 'error' ? 'error' : 'warning', level)}${field === '' ? '' : ` ${cleanLine(field)}`}`,
    ...wrap(cleanLine(message), output.proseColumns - 2).map((text) => `  ${text}`),
    ...wrap(cleanLine(remedy), output.proseColumns - 2).map((text) => output.paint('faint', `  ${text}`)),
  ]);
}
