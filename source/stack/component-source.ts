import { join, resolve } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { templateEnding } from '../catalog/template-names.ts';
import { installationFolder } from '../config/installation.ts';
import { listOwnFolder, readOwnText } from '../config/own-files.ts';
import { Fault } from '../faults/fault.ts';

export interface ComponentSource {
  /** Absolute path on this machine, for faults. */
  folder: string;
  compose: string;
  /** Texts of the delivered files, by path: `files/configuration.yml`. A template has the catalog's name: `files/haproxy.cfg.liquid`. */
  files: Readonly<Record<string, string>>;
  configSchema?: string;
}

/** An operator's own entry has an absolute folder, a built-in one a folder in the catalog. */
type Source = Pick<CatalogEntry, 'id' | 'folder' | 'configFile'>;

const builtInCatalog = () => join(installationFolder(), 'catalog');

/** Throws `catalog.missing` if there is nothing to deploy. */
export async function readComponentSource(entry: Source, catalogFolder = builtInCatalog()): Promise<ComponentSource> {
  const folder = resolve(catalogFolder, entry.folder);
  const file = join(folder, 'compose.yaml');
  const [compose, files, configSchema] = await Promise.all([
    readOwnText(file),
    readBelow(folder, 'files'),
    readConfigSchema(entry, catalogFolder),
  ]);
  if (compose === undefined) {
    const message = `The catalog has no compose.yaml for ${entry.id}.`;
    throw new Fault('catalog.missing', message, `To see how it is deployed: quarterdeck catalog show ${entry.id}`, { where: { file } });
  }
  return { folder, compose, files: Object.fromEntries(files.sort(byPath)), configSchema };
}

export const byPath = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number => (one < other ? -1 : 1);

export async function readConfigSchema(entry: Omit<Source, 'id'>, catalogFolder = builtInCatalog()): Promise<string | undefined> {
  const schema = entry.configFile?.schema;
  return schema === undefined ? undefined : readOwnText(join(resolve(catalogFolder, entry.folder), schema));
}

/** For a component that is not deployed with compose. Throws `catalog.missing` if the entry has no template. */
export async function readConfigTemplate(entry: Source, catalogFolder = builtInCatalog()) {
  const path = join(resolve(catalogFolder, entry.folder), `${entry.configFile?.path ?? ''}${templateEnding}`);
  const [template, schema] = await Promise.all([readOwnText(path), readConfigSchema(entry, catalogFolder)]);
  if (template === undefined) {
    const remedy = `Create the file by hand, then check it: quarterdeck config check ${entry.id} FILE`;
    throw new Fault('catalog.missing', `The catalog has no configuration template for ${entry.id}.`, remedy, { where: { file: path } });
  }
  return { path, template, schema };
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

export const filePath = (source: ComponentSource, path: string): string => join(source.folder, path);
