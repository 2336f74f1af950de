import { homedir } from 'node:os';
import { join } from 'node:path';
import { openCatalog } from '../catalog/open-catalog.ts';
import { installationFolder } from '../config/installation.ts';
import type { OwnPaths } from '../config/paths.ts';
import { loadSettings, type Settings } from '../config/settings.ts';

interface OwnCatalogOptions {
  paths: OwnPaths;
  env: NodeJS.ProcessEnv;
  readOnly: boolean;
  /** Reads the settings, if they are not being read already. */
  read?: () => Promise<Settings>;
}

export async function openOwnCatalog({
  paths,
  env,
  readOnly,
  read = () => loadSettings(paths, env['HOME'] || homedir()),
}: OwnCatalogOptions) {
  const settings = await read();
  // A catalog from another person can run programs inside containers, so read-only mode does not load it.
  const ownFolder = readOnly ? undefined : settings.catalogFolder;
  return { settings, catalog: await openCatalogWith(ownFolder, paths), ownFolder };
}

export const openCatalogWith = (ownFolder: string | undefined, paths: OwnPaths) =>
  openCatalog({
    compiledFile: join(installationFolder(), 'dist', 'catalog.json'),
    ...(ownFolder !== undefined && { ownFolder, keptFile: join(paths.cache, 'catalog.json') }),
  });
