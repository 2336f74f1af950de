import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** A new folder for temporary files whose path is short enough for sockets in it: the system may allow them 104 bytes. */
export async function makeShortFolder(prefix: string): Promise<string> {
  return await mkdtemp(`${tmpdir().length <= 40 ? tmpdir() : '/tmp'}/${prefix}`);
}
