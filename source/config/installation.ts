import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../faults/fault.ts';

/** The folder contains `dist/` and `catalog/`. It is searched from the running file upwards, bundled or not. */
export function installationFolder(from: string = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'dist', 'catalog.json'))) return folder;
    if (dirname(folder) === folder) {
      const remedy = 'Install Quarterdeck again; in a checkout run npm start.';
      throw new Fault('failed.installation', 'This installation is incomplete: dist/catalog.json is missing.', remedy);
    }
  }
}
