import { createHash } from 'node:crypto';
import { globSync, statSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CatalogEntry, CatalogProblem } from '../../source/catalog/catalog.ts';
import { loadFolder } from '../../source/catalog/load-folder.ts';

interface WholeCatalog {
  entries: CatalogEntry[];
  problems: CatalogProblem[];
}

const root = new URL('../../', import.meta.url).pathname;
let known: Promise<WholeCatalog> | undefined;

/** The built-in catalog, compiled. Seconds of work that two dozen files of tests would each do: the first of them leaves it for the others, until a file of it changes. */
export function wholeCatalog(): Promise<WholeCatalog> {
  known ??= read();
  return known;
}

async function read(): Promise<WholeCatalog> {
  const made = createHash('sha256');
  for (const path of globSync(['catalog/**/*', 'source/{catalog,config,text}/*.ts'], { cwd: root }).sort()) {
    const { size, mtimeMs } = statSync(join(root, path));
    made.update(`${path} ${size} ${mtimeMs}\n`);
  }
  const file = join(tmpdir(), `quarterdeck-test-catalog-${process.getuid?.() ?? ''}-${made.update(root).digest('hex').slice(0, 20)}.json`);
  const kept = await readFile(file, 'utf8').catch(() => undefined);
  if (kept !== undefined) return JSON.parse(kept) as WholeCatalog;
  const compiled = await loadFolder(join(root, 'catalog'), { own: false });
  const whole: WholeCatalog = { entries: [...compiled.entries], problems: [...compiled.problems] };
  const text = JSON.stringify(whole);
  await writeFile(`${file}.${process.pid}`, text, { mode: 0o600 });
  await rename(`${file}.${process.pid}`, file);
  return JSON.parse(text) as WholeCatalog;
}
