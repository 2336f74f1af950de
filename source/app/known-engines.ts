import { join } from 'node:path';
import { readOwnFile } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { parseJson } from '../text/json-value.ts';

/** Returns the names of a host's engines. The first has the name of the host, further ones add their kind. */
export function engineNames(host: string, urls: readonly string[]): string[] {
  const names: string[] = [];
  for (const [position, url] of urls.entries()) {
    let name = position === 0 ? host : `${host}/${engineWord(url)}`;
    for (let number = 2; names.includes(name); number++) name = `${host}/${engineWord(url)}-${number}`;
    names.push(name);
  }
  return names;
}

function engineWord(url: string): string {
  const kind = url.includes('podman') ? 'podman' : url.includes('colima') ? 'colima' : 'docker';
  return /\/run\/user\/|\/tmp\/.*run-/.test(url) ? `${kind}-rootless` : kind;
}

export function knownEnginesFile(paths: OwnPaths, name: string): string {
  return join(paths.state, 'engines', `${name}.json`);
}

export async function readKnownEngines(file: string): Promise<readonly string[]> {
  try {
    const urls: unknown = parseJson((await readOwnFile(file)) ?? '[]');
    return Array.isArray(urls) ? urls.filter((url) => typeof url === 'string') : [];
  } catch {
    return [];
  }
}

export async function engineNamesOf(paths: OwnPaths, name: string): Promise<readonly string[]> {
  const known = await readKnownEngines(knownEnginesFile(paths, name));
  return engineNames(name, known.length === 0 ? [''] : known);
}
