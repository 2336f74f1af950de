import { readOwnBytes } from '../config/own-files.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { Catalog, CatalogEntry, CatalogProblem } from './catalog.ts';
import { readCompiled } from './compiled-file.ts';
import { byGroupThenId } from './groups.ts';

export interface CatalogSources {
  /** `dist/catalog.json` */
  compiledFile: string;
  /** The operator's own catalog folder. Left out in read-only mode. */
  ownFolder?: string;
}

/**
 * Opens the compiled catalog, which costs a few milliseconds, and the operator's own folder, which loads a YAML parser and a
 * validator. Own entries win over built-in ones of the same id; what is wrong with them is kept in `problems`.
 * Throws `failed.catalog` when the compiled catalog is missing or damaged.
 */
export async function openCatalog({ compiledFile, ownFolder }: CatalogSources): Promise<Catalog> {
  const builtIn = await readBuiltIn(compiledFile);
  if (ownFolder === undefined) return catalogOf(builtIn, []);
  try {
    const { loadFolder } = await import('./load-folder.ts');
    const own = await loadFolder(ownFolder, { own: true, besides: builtIn });
    const replaced = new Set(own.entries.map(({ id }) => id));
    return catalogOf([...builtIn.filter(({ id }) => !replaced.has(id)), ...own.entries], own.problems);
  } catch (thrown) {
    const remedy = thrown instanceof Fault ? thrown.remedy : 'Check catalogFolder in config.yaml.';
    return catalogOf(builtIn, [{ level: 'error', file: ownFolder, line: 1, column: 1, field: '', message: messageOf(thrown), remedy }]);
  }
}

/** A catalog of these entries, in the order of the groups, then by id. */
export function catalogOf(entries: readonly CatalogEntry[], problems: readonly CatalogProblem[]): Catalog {
  const ordered = [...entries].sort(byGroupThenId);
  const byId = new Map(ordered.map((entry) => [entry.id, entry]));
  return { entries: ordered, problems, get: (id) => byId.get(id) };
}

async function readBuiltIn(file: string): Promise<readonly CatalogEntry[]> {
  const bytes = await readOwnBytes(file);
  if (bytes === undefined) throw damaged(file, 'it is missing');
  try {
    return readCompiled(bytes);
  } catch (thrown) {
    throw damaged(file, messageOf(thrown));
  }
}

function damaged(file: string, reason: string): Fault {
  return new Fault({
    code: 'failed.catalog',
    message: `The built-in catalog cannot be read: ${reason}.`,
    remedy: 'Install Quarterdeck again; in a checkout run npm run build.',
    where: { file },
  });
}
