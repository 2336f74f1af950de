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
/** The clock of a file system moves in steps of up to 10 ms: a file that changed this recently may change again at the same time. */
const settledMs = 20;

/**
 * Returns the own folder as it was last loaded, as long as its files and the built-in catalog, which comes with the program, are the same: `load`
 * takes about 0.1 s. A folder with errors is loaded each time.
 */
export async function keptCatalog(
  { keptFile, sources }: { keptFile: string; sources: readonly string[] },
  load: () => Promise<Loaded>,
): Promise<Loaded> {
  const startMs = Date.now();
  const stamps = await fileStamps(sources, { left: mostFiles }).catch(() => undefined);
  if (!stamps) return load();
  const key = createHash('sha256').update(JSON.stringify(stamps)).digest('hex');
  const kept = (await readOwnBytes(keptFile, { followsLinks: false }).catch(() => undefined)) ?? Buffer.of();
  const end = kept.indexOf('\n');
  const head = mapOf(parsedJson(kept.toString('utf8', 0, Math.max(0, end))));
  try {
    if (head['key'] === key) return { entries: readCompiled(kept.subarray(end + 1)), problems: head['problems'] as CatalogProblem[] };
  } catch {}
  const loaded = await load();
  const isSettled = stamps.every(({ changedMs }) => changedMs < startMs - settledMs);
  if (isSettled && loaded.problems.every(({ level }) => level !== 'error')) {
    const text = `${JSON.stringify({ key, problems: loaded.problems })}\n${writeCompiled(loaded.entries)}`;
    await writeOwnFile(keptFile, text).catch(() => undefined);
  }
  return loaded;
}
