import { isAbsolute, join } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { templateEnding } from '../catalog/template-names.ts';
import { listOwnFolder, readOwnText } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';

/** What a catalog entry delivers to a host, as it stands in the catalog. */
export interface ComponentSource {
  /** Absolute, on this machine: where faults point at. */
  folder: string;
  /** Text of compose.yaml. */
  compose: string;
  /** Texts of what is delivered with it, by path: `files/configuration.yml`. What is filled in first is called as in the catalog: `files/haproxy.cfg.liquid`. */
  files: Readonly<Record<string, string>>;
  /** JSON Schema of its configuration file, where the catalog has one. */
  configSchema?: string;
}

/**
 * Reads the folder of an entry. `catalogFolder` is the built-in catalog's, where the entry is not from the operator's own. Throws `catalog.missing` when
 * there is nothing to deploy.
 */
export async function readComponentSource(
  entry: Pick<CatalogEntry, 'id' | 'folder' | 'configFile'>,
  catalogFolder: string,
): Promise<ComponentSource> {
  const folder = rootOf(entry, catalogFolder);
  const [compose, files, configSchema] = await Promise.all([
    readOwnText(join(folder, 'compose.yaml')),
    readBelow(folder, 'files'),
    readConfigSchema(entry, catalogFolder),
  ]);
  if (compose === undefined) {
    throw new Fault({
      code: 'catalog.missing',
      message: `The catalog has no compose.yaml for ${entry.id}.`,
      remedy: 'It is not deployed with compose; "quarterdeck catalog show" tells what it is.',
      where: { file: join(folder, 'compose.yaml') },
    });
  }
  return {
    folder,
    compose,
    files: Object.fromEntries(files.sort(([a], [b]) => (a < b ? -1 : 1))),
    ...(configSchema !== undefined && { configSchema }),
  };
}

/** Text of the JSON Schema of its configuration file, where it has one. */
export async function readConfigSchema(
  entry: Pick<CatalogEntry, 'folder' | 'configFile'>,
  catalogFolder: string,
): Promise<string | undefined> {
  const schema = entry.configFile?.schema;
  return schema === undefined ? undefined : readOwnText(join(rootOf(entry, catalogFolder), schema));
}

/** The template of a configuration that is made by itself, of a component that is not deployed with compose. */
export interface ConfigTemplate {
  /** Absolute. */
  path: string;
  template: string;
  /** JSON Schema of what it makes. */
  schema?: string;
}

/** Throws `catalog.missing` where the entry has none. */
export async function readConfigTemplate(
  entry: Pick<CatalogEntry, 'id' | 'folder' | 'configFile'>,
  catalogFolder: string,
): Promise<ConfigTemplate> {
  const path = join(rootOf(entry, catalogFolder), `${entry.configFile?.path ?? ''}${templateEnding}`);
  const [template, schema] = await Promise.all([readOwnText(path), readConfigSchema(entry, catalogFolder)]);
  if (template === undefined) {
    throw new Fault({
      code: 'catalog.missing',
      message: `The catalog has no template of a configuration for ${entry.id}.`,
      remedy: 'Write the file by hand; quarterdeck config check says what is wrong with it.',
      where: { file: path },
    });
  }
  return { path, template, ...(schema !== undefined && { schema }) };
}

/** An own entry says where it is, a built-in one where in the catalog. */
function rootOf({ folder }: Pick<CatalogEntry, 'folder'>, catalogFolder: string): string {
  return isAbsolute(folder) ? folder : join(catalogFolder, folder);
}

async function readBelow(root: string, inner: string): Promise<[path: string, text: string][]> {
  const found = await listOwnFolder(join(root, inner));
  const read = (found ?? []).map(async ({ name, kind }): Promise<[string, string][]> => {
    const path = `${inner}/${name}`;
    if (kind === 'folder') return readBelow(root, path);
    const text = kind === 'file' ? await readOwnText(join(root, path)) : undefined;
    return text === undefined ? [] : [[path, text]];
  });
  return (await Promise.all(read)).flat();
}

/** For faults: where this text of the catalog stands. */
export function filePath(source: ComponentSource, path: string): string {
  return join(source.folder, path);
}
