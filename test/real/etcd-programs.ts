import { readFile } from 'node:fs/promises';
import { requiredProgram } from '../required.ts';
import { librariesOf } from './libraries-of.ts';

/** Returns why tests with etcd cannot run. @throws under QUARTERDECK_REQUIRE_REAL=1 */
export const missingEtcd = () => requiredProgram('etcd', 'etcd-server') ?? requiredProgram('etcdctl', 'etcd-client');

/** Debian's programs at the places of the project's own image, with the libraries that they are linked to. */
export async function etcdPrograms(): Promise<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {};
  for (const program of ['etcd', 'etcdctl']) {
    const path = `/usr/bin/${program}`;
    files[`usr/local/bin/${program}`] = await readFile(path);
    for (const library of await librariesOf(path)) files[library.slice(1)] = await readFile(library);
  }
  return files;
}
