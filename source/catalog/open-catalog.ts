import { readOwnBytes } from '../config/own-files.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Catalog, CatalogEntry, CatalogProblem } from './catalog.ts';
import { readCompiled } from './compiled-file.ts';
import { byGroupThenId } from './groups.ts';

/**
 * Own entries replace built-in ones, and alone load the YAML parser and the validator, unless they are unchanged since they were written to
 * `keptFile`. The operator's own folder is not set in read-only mode. Throws `failed.catalog`.
 */
export async function openCatalog(files: { compiledFile: string; ownFolder?: string; keptFile?: string }): Promise<Catalog> {
  const { compiledFile, ownFolder, keptFile } = files;
  const builtIn = await readBuiltIn(compiledFile);
  if (ownFolder === undefined) return catalogOf(builtIn, []);
  try {
    const load = async () => (await import('./load-folder.ts')).loadFolder(ownFolder, { own: true, besides: builtIn });
    const { keptCatalog } = await import('./kept-catalog.ts');
    const own = await (keptFile === undefined ? load() : keptCatalog({ keptFile, sources: [compiledFile, ownFolder] }, load));
    const replaced = new Set(own.entries.map(({ id }) => id));
    return catalogOf([...builtIn.filter(({ id }) => !replaced.has(id)), ...own.entries], own.problems);
  } catch (thrown) {
    const remedy = thrown instanceof Fault ? thrown.remedy : 'Check catalogFolder in config.yaml.';
    return catalogOf(builtIn, [{ level: 'error', file: ownFolder, line: 1, column: 1, field: '', message: messageOf(thrown), remedy }]);
  }
}

/** In the order of the groups, then by id. */
export function catalogOf(entries: readonly CatalogEntry[], problems: readonly CatalogProblem[]): Catalog {
  const ordered = [...entries].sort(byGroupThenId);
  const byId = new Map(ordered.map((entry) => [entry.id, entry]));
  return { entries: ordered, problems, get: (id) => byId.get(id) };
}

const builtIns = new Map<string, readonly CatalogEntry[]>();

/** Read once: a build replaces the file, and this process with it. */
async function readBuiltIn(file: string): Promise<readonly CatalogEntry[]> {
  const known = builtIns.get(file);
  if (known) return known;
  const bytes = await readOwnBytes(file);
  if (bytes === undefined) throw damaged(file, 'the file is missing');
  try {
    const entries = readCompiled(bytes);
    builtIns.set(file, entries);
    return entries;
  } catch (thrown) {
    throw damaged(file, messageOf(thrown));
  }
}

function damaged(file: string, reason: string): Fault {
  const remedy = 'Reinstall Quarterdeck. In a source checkout, run npm run build.';
  return new Fault('failed.catalog', `The built-in catalog cannot be read: ${reason}.`, remedy, { where: { file } });
}
