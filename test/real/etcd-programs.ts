import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { librariesOf } from './libraries-of.ts';

/** Why there is no etcd here; undefined where there is one. Throws under QUARTERDECK_REQUIRE_REAL=1. */
export function missingEtcd(): string | undefined {
  try {
    execFileSync('etcd', ['--version'], { stdio: 'ignore' });
    execFileSync('etcdctl', ['version'], { stdio: 'ignore', env: { ...process.env, ETCDCTL_API: '3' } });
    return undefined;
  } catch {
    if (process.env['QUARTERDECK_REQUIRE_REAL'] === '1') throw new Error('etcd is not installed: .ci/install does');
    return 'no etcd: apt-get install etcd-server etcd-client';
  }
}

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
