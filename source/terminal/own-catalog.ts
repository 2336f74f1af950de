import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { openCatalog } from '../catalog/open-catalog.ts';
import { installationFolder } from '../config/installation.ts';
import type { OwnPaths } from '../config/paths.ts';
import { loadSettings } from '../config/settings.ts';

/** The catalog of this installation with the operator's own folder, without asking any engine. In read-only mode the own folder is left alone. */
export async function openOwnCatalog({
  paths,
  env,
  readOnly,
}: {
  paths: OwnPaths;
  env: Readonly<Record<string, string | undefined>>;
  readOnly: boolean;
}): Promise<{ catalog: Catalog; ownFolder: string | undefined }> {
  const { catalogFolder } = await loadSettings(paths, env['HOME'] || homedir());
  const ownFolder = readOnly ? undefined : catalogFolder;
  const catalog = await openCatalog({ compiledFile: join(installationFolder(), 'dist', 'catalog.json'), ...(ownFolder !== undefined && { ownFolder }) });
  return { catalog, ownFolder };
}
