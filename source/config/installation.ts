import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../faults/fault.ts';
import { readOwnFile } from './own-files.ts';

/** The folder contains `dist/` and `catalog/`. It is searched from the running file upwards, bundled or not. */
export function installationFolder(from: string = import.meta.dirname): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'dist', 'catalog.json'))) return folder;
    if (dirname(folder) === folder) throw incompleteFault('dist/catalog.json');
  }
}

/** @param name below the installation folder, such as `dist/component.schema.json` */
export async function readInstalled(name: string): Promise<string> {
  const text = await readOwnFile(join(installationFolder(), name), { followsLinks: true });
  if (text === undefined) throw incompleteFault(name);
  return text;
}

function incompleteFault(file: string): Fault {
  const remedy = 'Reinstall Quarterdeck. In a source checkout, run npm run build.';
  return new Fault('failed.installation', `This installation is incomplete: ${file} is missing.`, remedy);
}
