import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** A new folder whose path is short enough for sockets below it (104 bytes), and for Podman's run folder (50). */
export async function makeShortFolder(prefix: string): Promise<string> {
  return await mkdtemp(`${tmpdir().length <= 24 ? tmpdir() : '/tmp'}/${prefix}`);
}
