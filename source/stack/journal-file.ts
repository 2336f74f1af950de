import type { Host } from '../hosts/host.ts';

/** Two lines that are in no journal, and no JSON. */
const damaged = Buffer.from('\0\n\0\n');

/**
 * A file of a journal or a backup on the host, undefined where there is none. A named pipe, a socket or a folder in its place is one that is damaged: it must not keep
 * the others from being read.
 */
export async function readJournalFile(
  host: Host,
  path: string,
  options: { signal: AbortSignal; limitBytes?: number },
): Promise<Uint8Array | undefined> {
  try {
    return await host.files.read(path, options);
  } catch (thrown) {
    const kind = (await host.files.facts(path, options.signal))?.kind;
    if (kind !== undefined && kind !== 'file') return damaged;
    throw thrown;
  }
}
