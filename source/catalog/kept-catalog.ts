import { createHash } from 'node:crypto';
import { fileStamps } from '../config/file-stamps.ts';
import { readOwnBytes, writeOwnFile } from '../config/own-files.ts';
import { mapOf, parsedJson } from '../text/json-value.ts';
import type { CatalogEntry, CatalogProblem } from './catalog.ts';
import { readCompiled, writeCompiled } from './compiled-file.ts';

interface Loaded {
  entries: CatalogEntry[];
  problems: CatalogProblem[];
}

/** A folder with more files holds other things than a catalog, and is read each time. */
const mostFiles = 2_000;
/** A file that changed less than a step of its file system's clock ago may change again at the same time. FAT's step is the longest. */
const settledMs = 2_000;

/**
 * Returns the own folder as it was last loaded, as long as its files and the built-in catalog, which comes with the program, are the same: `load`
 * takes about 0.1 s. A folder with errors is loaded each time.
 */
export async function keptCatalog({ keptFile, sources }: { keptFile: string; sources: readonly string[] }, load: () => Promise<Loaded>) {
  const startMs = Date.now();
  const stamps = await fileStamps(sources, { left: mostFiles }).catch(() => undefined);
  if (!stamps) return load();
  const key = digestOf(JSON.stringify([process.env['QUARTERDECK_VERSION'], stamps]));
  const kept = (await readOwnBytes(keptFile, { followsLinks: false }).catch(() => undefined)) ?? Buffer.of();
  const end = kept.indexOf('\n');
  const keptHead = mapOf(parsedJson(kept.toString('utf8', 0, Math.max(0, end))));
  const keptEntries = kept.subarray(end + 1);
  if (keptHead['key'] === key && keptHead['digest'] === digestOf(keptEntries))
    return { entries: readCompiled(keptEntries), problems: keptHead['problems'] as CatalogProblem[] };
  const loaded = await load();
  const isSettled = stamps.every(({ changedMs }) => changedMs < startMs - settledMs);
  if (isSettled && loaded.problems.every(({ level }) => level !== 'error')) {
    const compiled = writeCompiled(loaded.entries);
    const head = { key, digest: digestOf(compiled), problems: loaded.problems };
    await writeOwnFile(keptFile, `${JSON.stringify(head)}\n${compiled}`).catch(() => undefined);
  }
  return loaded;
}

const digestOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex');
