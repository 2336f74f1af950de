import { basename, dirname, join } from 'node:path';
import { listOwnFolder, type OwnEntry } from '../config/own-files.ts';
import { Fault, messageOf } from '../faults/fault.ts';
import type { CatalogProblem } from './catalog.ts';

export const componentFile = 'component.yaml';
export const composeFile = 'compose.yaml';
/** Other file names that compose accepts, or common misspellings: a folder with one of them is meant as an entry. */
const otherNames: Readonly<Record<string, readonly string[]>> = {
  [componentFile]: ['component.yml'],
  [composeFile]: ['compose.yml', 'docker-compose.yaml', 'docker-compose.yml'],
};

export interface ComponentFolder {
  folder: string;
  groupName: string | undefined;
}

/** Every folder that is meant as a component. Throws `catalog.missing`. */
export async function discover(folder: string, problems: CatalogProblem[]): Promise<ComponentFolder[]> {
  const top = await listOwnFolder(folder);
  if (top === undefined) {
    const isFile = (await listOwnFolder(dirname(folder)))?.some(({ name, kind }) => name === basename(folder) && kind === 'file') ?? false;
    const message = isFile ? `${folder} is a file, not a catalog folder.` : `The catalog folder ${folder} does not exist.`;
    const remedy = isFile ? `Use the parent folder: ${dirname(folder)}` : 'Check the path, or create the folder.';
    throw new Fault('catalog.missing', message, remedy, { where: { file: folder } });
  }
  const positions: ComponentFolder[] = [];
  const meant = Object.entries(otherNames).flat(2);
  const holdsComponent = (entries: readonly OwnEntry[]) => entries.some(({ name }) => meant.includes(name));
  const foldersIn = (entries: readonly OwnEntry[]) => entries.filter(({ name, kind }) => kind === 'folder' && !name.startsWith('.'));
  if (holdsComponent(top)) return [{ folder: '', groupName: undefined }];
  for (const { name } of foldersIn(top)) {
    const inner = await listSafely(join(folder, name), problems);
    if (holdsComponent(inner)) {
      positions.push({ folder: name, groupName: undefined });
      continue;
    }
    for (const below of foldersIn(inner)) {
      const files = await listSafely(join(folder, name, below.name), problems);
      if (files.length > 0) positions.push({ folder: join(name, below.name), groupName: name });
    }
  }
  return positions;
}

async function listSafely(folder: string, problems: CatalogProblem[]): Promise<readonly OwnEntry[]> {
  try {
    return (await listOwnFolder(folder)) ?? [];
  } catch (thrown) {
    problems.push(unreadable(folder, thrown));
    return [];
  }
}

/** As far as its folder shows why. */
export async function missing(file: string, remedy: string): Promise<CatalogProblem> {
  const name = basename(file);
  const there = (await listOwnFolder(dirname(file))) ?? [];
  const other = otherNames[name]?.find((one) => there.some((entry) => entry.name === one));
  const broken = there.some((entry) => entry.name === name);
  if (broken) return wholeFile(file, `${name} is a broken link.`, 'Create the target of the link, or replace the link.');
  return wholeFile(file, `${name} is missing.`, other === undefined ? remedy : `Rename ${other} to ${name}.`);
}

/** Below this depth, links are circular. */
export const depthLimit = 8;

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

export function wholeFile(file: string, message: string, remedy: string): CatalogProblem {
  return { level: 'error', file, line: 1, column: 1, field: '', message, remedy };
}

export function unreadable(file: string, thrown: unknown): CatalogProblem {
  const { remedy, where } = thrown instanceof Fault ? thrown : { remedy: 'Check the file.', where: undefined };
  const position = { file: where?.file ?? file, line: where?.line ?? 1, column: where?.column ?? 1 };
  return { level: 'error', ...position, field: '', message: messageOf(thrown), remedy };
}
