import { homedir } from 'node:os';
import { join } from 'node:path';
import { openCatalog } from '../catalog/open-catalog.ts';
import { installationFolder } from '../config/installation.ts';
import type { OwnPaths } from '../config/paths.ts';
import { loadSettings, type Settings } from '../config/settings.ts';

/** @param reading the settings, where they are being read already */
export async function openOwnCatalog(
  { paths, env, readOnly }: { paths: OwnPaths; env: NodeJS.ProcessEnv; readOnly: boolean },
  reading: Promise<Settings> = loadSettings(paths, env['HOME'] || homedir()),
) {
  const settings = await reading;
  // A catalog from another person can run programs inside containers, so read-only mode does not load it.
  const ownFolder = readOnly ? undefined : settings.catalogFolder;
  return { settings, catalog: await openCatalogWith(ownFolder, paths), ownFolder };
}

export const openCatalogWith = (ownFolder: string | undefined, paths: OwnPaths) =>
  openCatalog({
    compiledFile: join(installationFolder(), 'dist', 'catalog.json'),
    ...(ownFolder !== undefined && { ownFolder, keptFile: join(paths.cache, 'catalog.json') }),
  });
