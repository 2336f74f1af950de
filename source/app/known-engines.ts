import { join } from 'node:path';
import { readOwnJson } from '../config/own-files.ts';
import type { OwnPaths } from '../config/paths.ts';
import { listOf } from '../text/json-value.ts';

/** Returns the names of a host's engines. The first has the name of the host, further ones add their kind. */
export function engineNames(host: string, addresses: readonly { url: string }[]): string[] {
  const names: string[] = [];
  for (const [position, { url }] of addresses.entries()) {
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

export const knownEnginesFile = (paths: OwnPaths, name: string): string => join(paths.state, 'engines', `${name}.json`);

export async function readKnownEngines(file: string): Promise<readonly string[]> {
  return listOf(await readOwnJson(file)).filter((url) => typeof url === 'string');
}

/** Before the first connection no engine of a host is known: one is listed all the same, the others when they are found. */
export function knownEngineNames(host: string, known: readonly string[]): string[] {
  if (known.length === 0) return [host];
  const addresses = known.map((url) => ({ url }));
  return engineNames(host, addresses);
}
