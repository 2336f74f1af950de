import { isAbsolute, join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { schemaFile } from '../catalog/schema-line.ts';
import { readOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { countText } from '../text/quantities.ts';
import { componentDetailJson, componentJson } from './catalog-json.ts';
import { catalogLines, problemLines } from './catalog-text.ts';
import { entryLines } from './entry-text.ts';
import { findEntry } from './find-entry.ts';
import type { Output } from './output.ts';
import { openOwnCatalog } from './own-catalog.ts';
import type { VerbContext } from './verb.ts';

/** `catalog [list [WORDS] | show ID | check FOLDER | schema]`: the components that are known. Asks no engine. */
export async function runCatalogVerb(
  { output, options, paths, env }: Pick<VerbContext, 'output' | 'options' | 'paths' | 'env'>,
  words: readonly string[],
  { path = false, open = openOwnCatalog }: { path?: boolean; open?: typeof openOwnCatalog } = {},
): Promise<number> {
  const [action = 'list', about, ...more] = words;
  if (more.length > 0 && action !== 'list') throw usage(`catalog ${cleanLine(action)} takes one name, not ${more.length + 1}.`);
  if (path && action !== 'schema') throw usage('--path is for "catalog schema" alone.');
  if (action === 'schema') return tellSchema(output, path, about);
  const { catalog, ownFolder } = await open({ paths, env, readOnly: options.readOnly });
  switch (action) {
    case 'list':
      await listCatalog(catalog, output, options.json, words.slice(1).join(' '));
      return 0;
    case 'show':
      if (about === undefined) throw usage('catalog show needs the name of a component.', '"quarterdeck catalog list" names them.');
      showEntry(catalog, about, output, options.json);
      return 0;
    case 'check': {
      if (options.readOnly)
        throw new Fault({
          code: 'refused.readOnly',
          message: 'A catalog of your own is not read in read-only mode.',
          remedy: 'Leave --read-only out.',
        });
      const folder = about ?? ownFolder;
      if (folder === undefined) throw usage('catalog check needs a folder.', 'Name one, or set catalogFolder in config.yaml.');
      return checkFolder(catalog, isAbsolute(folder) ? folder : join(process.cwd(), folder), folder, output, options.json);
    }
    default:
      throw usage(`catalog knows no "${cleanLine(action)}".`, nameRemedy(action, ['list', 'show', 'check', 'schema', 'new'], ''));
  }
}

async function listCatalog(catalog: Catalog, output: Output, json: boolean, searched: string): Promise<void> {
  const found = searched === '' ? catalog.entries : (await import('../catalog/catalog-search.ts')).searchCatalog(catalog.entries, searched);
  if (json) output.json({ schema: 1, components: found.map(componentJson) });
  else for (const line of catalogLines(found, output, searched)) output.line(line);
  noteProblems(catalog, output);
}

function showEntry(catalog: Catalog, id: string, output: Output, json: boolean): void {
  const entry = findEntry(id, catalog);
  if (json) output.json({ schema: 1, component: componentDetailJson(entry, catalog.entries) });
  else for (const line of entryLines(entry, catalog.entries, output)) output.line(line);
  noteProblems(catalog, output);
}

/** Of component.yaml, for editors: JSON Schema, or where its file is. */
async function tellSchema(output: Output, path: boolean, more: string | undefined): Promise<number> {
  if (more !== undefined) throw usage(`catalog schema takes no name: "${cleanLine(more)}" is one word too many.`);
  const file = schemaFile();
  const text = path ? file : await readOwnFile(file, { followsLinks: true });
  if (text === undefined)
    throw new Fault({
      code: 'failed.installation',
      message: 'This installation is incomplete: the schema is missing.',
      remedy: 'Install Quarterdeck again; in a checkout run npm run build.',
      where: { file },
    });
  for (const line of text.trimEnd().split('\n')) output.line(line);
  return 0;
}

/** Loads the parser and the validator. Ends with 1 when there are errors, so that it can stand in a script. */
async function checkFolder(catalog: Catalog, folder: string, written: string, output: Output, json: boolean): Promise<number> {
  const { loadFolder } = await import('../catalog/load-folder.ts');
  const { entries, problems } = await loadFolder(folder, { own: true, besides: catalog.entries });
  const errors = problems.filter(({ level }) => level === 'error').length;
  // Paths the way they were asked for, so that they can be clicked and copied.
  const told = problems.map((problem) => ({
    ...problem,
    file: problem.file.startsWith(folder)
      ? `${written.replace(/\/$/, '')}${problem.file.slice(folder.replace(/\/$/, '').length)}`
      : problem.file,
  }));
  if (json) {
    output.json({ schema: 1, components: entries.map(({ id }) => ({ id })), problems: told });
    return errors > 0 ? 1 : 0;
  }
  for (const line of problemLines(told, output)) output.line(line);
  if (told.length > 0) output.line();
  if (entries.length === 0 && problems.length === 0) {
    output.line(
      output.paint('warn', `${output.glyph('warn')} There is no component here: no folder with component.yaml and compose.yaml.`),
    );
    return 0;
  }
  const sound = `${countText(entries.length, 'component')} can be used`;
  const wrong =
    errors === 0 && problems.length === 0
      ? 'nothing is wrong'
      : [errors > 0 && countText(errors, 'error'), problems.length > errors && countText(problems.length - errors, 'warning')]
          .filter(Boolean)
          .join(', ');
  output.line(output.paint(errors > 0 ? 'bad' : 'good', `${output.glyph(errors > 0 ? 'bad' : 'good')} ${sound}, ${wrong}.`));
  return errors > 0 ? 1 : 0;
}

function noteProblems({ problems }: Catalog, output: Output): void {
  const errors = problems.filter(({ level }) => level === 'error').length;
  if (errors > 0)
    output.note(output.paintError('warn', `Your own catalog has ${countText(errors, 'error')}; "quarterdeck catalog check" tells which.`));
}

function usage(message: string, remedy = 'quarterdeck catalog [list [WORDS] | show ID | check FOLDER | schema]'): Fault {
  return new Fault({ code: 'usage.catalog', message, remedy });
}
