import { isAbsolute, join } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { listOwnFolder, readOwnFile } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';

/** What a catalog entry delivers to a host, as it stands in the catalog. */
export interface ComponentSource {
  /** Absolute, on this machine: where faults point at. */
  folder: string;
  /** Text of compose.yaml. */
  compose: string;
  /** Texts of what is delivered with it, by path: `files/configuration.yml`. */
  files: Readonly<Record<string, string>>;
}

/**
 * Reads the folder of an entry. `catalogFolder` is the built-in catalog's, where the entry is not from the operator's own. Throws `catalog.missing` when
 * there is nothing to deploy.
 */
export async function readComponentSource(entry: Pick<CatalogEntry, 'id' | 'folder'>, catalogFolder: string): Promise<ComponentSource> {
  const folder = isAbsolute(entry.folder) ? entry.folder : join(catalogFolder, entry.folder);
  const [compose, files] = await Promise.all([readOwnFile(join(folder, 'compose.yaml')), readBelow(folder, 'files')]);
  if (compose === undefined) {
    throw new Fault({
      code: 'catalog.missing',
      message: `The catalog has no compose.yaml for ${entry.id}.`,
      remedy: 'It is not deployed with compose; "quarterdeck catalog show" tells what it is.',
      where: { file: join(folder, 'compose.yaml') },
    });
  }
  return { folder, compose, files: Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1))) };
}

async function readBelow(root: string, inner: string): Promise<[path: string, text: string][]> {
  const found = await listOwnFolder(join(root, inner));
  const read = (found ?? []).map(async ({ name, kind }): Promise<[string, string][]> => {
    const path = `${inner}/${name}`;
    if (kind === 'folder') return readBelow(root, path);
    const text = kind === 'file' ? await readOwnFile(join(root, path)) : undefined;
    return text === undefined ? [] : [[path, text]];
  });
  return (await Promise.all(read)).flat();
}

/** For faults: where this text of the catalog stands. */
export function filePath(source: ComponentSource, path: string): string {
  return join(source.folder, path);
}
