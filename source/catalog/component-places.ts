import { basename, dirname, join } from 'node:path';
import { listOwnFolder, type OwnEntry } from '../config/own-files.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { CatalogProblem } from './catalog.ts';

export const componentFile = 'component.yaml';
export const composeFile = 'compose.yaml';
/** Other names that compose takes, or that are written by mistake: whoever uses them means an entry. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  [componentFile]: ['component.yml'],
  [composeFile]: ['compose.yml', 'docker-compose.yaml', 'docker-compose.yml'],
};

/** Where a component lies. */
export interface ComponentPlace {
  /** Inside the catalog folder: `security/password-vault`. */
  folder: string;
  groupName: string | undefined;
}

/** Every folder of a catalog that is meant for a component. Throws `catalog.missing`. */
export async function discover(folder: string, problems: CatalogProblem[]): Promise<ComponentPlace[]> {
  const top = await listOwnFolder(folder);
  if (top === undefined) {
    const isFile = (await listOwnFolder(dirname(folder)))?.some(({ name, kind }) => name === basename(folder) && kind === 'file') ?? false;
    throw new Fault({
      code: 'catalog.missing',
      message: isFile ? `${folder} is a file, and no catalog folder.` : `There is no catalog folder ${folder}.`,
      remedy: isFile ? `Name the folder that it is in: ${dirname(folder)}` : 'Check the path, or make the folder.',
      where: { file: folder },
    });
  }
  const places: ComponentPlace[] = [];
  const meant = Object.entries(otherNames).flat(2);
  const holdsComponent = (names: readonly { name: string }[]) => names.some(({ name }) => meant.includes(name));
  if (holdsComponent(top)) return [{ folder: '', groupName: undefined }];
  for (const { name, kind } of top) {
    if (kind !== 'folder' || name.startsWith('.')) continue;
    const inner = await listSafely(join(folder, name), problems);
    if (holdsComponent(inner)) {
      places.push({ folder: name, groupName: undefined });
      continue;
    }
    for (const below of inner) {
      if (below.kind !== 'folder' || below.name.startsWith('.')) continue;
      const files = await listSafely(join(folder, name, below.name), problems);
      if (files.length > 0) places.push({ folder: join(name, below.name), groupName: name });
    }
  }
  return places;
}

async function listSafely(folder: string, problems: CatalogProblem[]): Promise<{ name: string; kind: string }[]> {
  try {
    return (await listOwnFolder(folder)) ?? [];
  } catch (thrown) {
    problems.push(unreadable(folder, thrown));
    return [];
  }
}

/** Says of a file that is not there why, as far as its folder tells. */
export async function missing(file: string, remedy: string): Promise<CatalogProblem> {
  const name = basename(file);
  const there = (await listOwnFolder(dirname(file))) ?? [];
  const other = otherNames[name]?.find((one) => there.some((entry) => entry.name === one));
  const broken = there.some((entry) => entry.name === name);
  return {
    level: 'error',
    file,
    line: 1,
    column: 1,
    field: '',
    message: broken ? `${name} is a link to nothing.` : `${name} is missing.`,
    remedy: broken ? 'Put the file there.' : other === undefined ? remedy : `Rename ${other} to ${name}.`,
  };
}

/** Deeper than this, links go round in circles. */
export const depthLimit = 8;

/** All below a folder of a component. */
export async function listDeep(root: string, path: string, depth = 0): Promise<{ path: string; kind: OwnEntry['kind'] | 'tooDeep' }[]> {
  if (depth > depthLimit) return [{ path, kind: 'tooDeep' }];
  const entries = (await listOwnFolder(join(root, path))) ?? [];
  const below = await Promise.all(
    entries.map(async ({ name, kind }) => {
      const inner = `${path}/${name}`;
      return kind === 'folder' ? listDeep(root, inner, depth + 1) : [{ path: inner, kind }];
    }),
  );
  return [{ path, kind: 'folder' }, ...below.flat()];
}

/** What reading threw, as a problem of the catalog. */
export function unreadable(file: string, thrown: unknown): CatalogProblem {
  const { remedy, where } = thrown instanceof Fault ? thrown : { remedy: 'Check the file.', where: undefined };
  const place = { file: where?.file ?? file, line: where?.line ?? 1, column: where?.column ?? 1 };
  return { level: 'error', ...place, field: '', message: messageOf(thrown), remedy };
}
