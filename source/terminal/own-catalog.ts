import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/open-catalog.ts';
import { installationFolder } from '../config/installation.ts';
import type { OwnPaths } from '../config/paths.ts';
import { loadSettings, type Settings } from '../config/settings.ts';

/** The catalog of this installation with the operator's own folder, without asking any engine. In read-only mode the own folder is left alone. */
export async function openOwnCatalog({
  paths,
  env,
  readOnly,
}: {
  paths: OwnPaths;
  env: Readonly<Record<string, string | undefined>>;
  readOnly: boolean;
}): Promise<{ settings: Settings; catalog: Catalog; ownFolder: string | undefined }> {
  const settings = await loadSettings(paths, env['HOME'] || homedir());
  // Somebody else's catalog can run programs inside containers: not where only reading is allowed.
  const ownFolder = readOnly ? undefined : settings.catalogFolder;
  const catalog = await openCatalog({
    compiledFile: join(installationFolder(), 'dist', 'catalog.json'),
    ...(ownFolder !== undefined && { ownFolder }),
  });
  return { settings, catalog, ownFolder };
}
