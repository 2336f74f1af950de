import { join } from 'node:path';
import { readOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { parseJson } from '../text/json-value.ts';
import { placeNames } from './place-names.ts';

/** Where the engines of a host were the last time. */
export function knownEnginesFile(paths: OwnPaths, name: string): string {
  return join(paths.state, 'engines', `${name}.json`);
}

/** URLs of the engines of a host, as they were the last time. What cannot be read counts as not known. */
export async function readKnownEngines(file: string): Promise<readonly string[]> {
  try {
    const urls: unknown = parseJson((await readOwnFile(file)) ?? '[]');
    return Array.isArray(urls) ? urls.filter((url) => typeof url === 'string') : [];
  } catch {
    return [];
  }
}

/** What `--host` can name of a host: itself, and further engines of it that are known. */
export async function enginePlaces(paths: OwnPaths, name: string): Promise<readonly string[]> {
  const known = await readKnownEngines(knownEnginesFile(paths, name));
  return placeNames(name, known.length === 0 ? [''] : known);
}
