import { createHash } from 'node:crypto';
import { access, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { build } from 'esbuild';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { catalogFolder, soundComponent, soundCompose } from '../../test/doubles/catalog-folder.ts';
import { writeOwnFile } from '../config/own-files.ts';
import type { CatalogEntry } from './catalog.ts';
import { writeCompiled } from './compiled-file.ts';
import { loadFolder } from './load-folder.ts';
import { openCatalog } from './open-catalog.ts';

const removals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removals.splice(0)) await remove();
});

/** Prepares a compiled catalog with one entry, and an own folder with these files. */
async function prepare(own: Record<string, string> = {}) {
  const { folder, remove } = await catalogFolder({
    'built-in/productivity/notes/component.yaml': soundComponent,
    'built-in/productivity/notes/compose.yaml': soundCompose,
    ...Object.fromEntries(Object.entries(own).map(([path, text]) => [`own/${path}`, text])),
  });
  removals.push(remove);
  const { entries } = await loadFolder(`${folder}/built-in`, { own: false });
  const compiledFile = `${folder}/catalog.json`;
  await writeOwnFile(compiledFile, writeCompiled(entries));
  return { compiledFile, ownFolder: `${folder}/own` };
}

describe('openCatalog', () => {
  it('opens the compiled catalog', async () => {
    const { compiledFile } = await prepare();
    const catalog = await openCatalog({ compiledFile });
    expect(catalog.entries.map(({ id }) => id)).toEqual(['notes']);
    expect(catalog.get('notes')?.ports[0]).toMatchObject({ name: 'web', host: 8300 });
    expect(catalog.get('constructor')).toBeUndefined();
    expect(catalog.problems).toEqual([]);
  });

  it('has every entry whole, though it reads most of it when it is asked for', async () => {
    const folder = await prepare();
    const { entries } = await loadFolder(dirname(folder.ownFolder).concat('/built-in'), { own: false });
    const [opened] = (await openCatalog({ compiledFile: folder.compiledFile })).entries;
    for (const [key, value] of Object.entries(entries[0] ?? {}))
      expect({ [key]: opened?.[key as keyof CatalogEntry] }).toEqual({ [key]: value });
    expect(opened?.calls).toBe(opened?.calls);
  });

  it('keeps an own folder that was loaded until one of its files changes, but never one with errors', async () => {
    const files = await prepare({
      'alarm/component.yaml': soundComponent.replace('id: notes', 'id: alarm'),
      'alarm/compose.yaml': soundCompose,
    });
    const keptFile = `${dirname(files.ownFolder)}/kept.json`;
    const open = () => openCatalog({ ...files, keptFile });
    const name = async () => (await open()).get('alarm')?.kind;
    // Files that changed a moment ago may change again within the same time.
    const kept = async () => {
      await open();
      await access(keptFile);
    };
    await vi.waitFor(kept, { timeout: 10_000, interval: 200 });
    const [head = '', ...lines] = (await readFile(keptFile, 'utf8')).split('\n');
    const compiled = lines.join('\n').replaceAll('Note keeper', 'Kept');
    const digest = createHash('sha256').update(compiled).digest('hex');
    await writeFile(keptFile, `${JSON.stringify({ ...JSON.parse(head), digest })}\n${compiled}`);
    expect(await name()).toBe('Kept');
    for (const damaged of ['', '{', '{"key":1}', `${head}\n${compiled}`, `${head}\n`]) {
      await writeFile(keptFile, damaged);
      expect(await name()).toBe('Note keeper');
    }
    await writeFile(
      `${files.ownFolder}/alarm/component.yaml`,
      soundComponent.replace('id: notes', 'id: alarm').replace('Note keeper', 'Changed'),
    );
    expect(await name()).toBe('Changed');
    await writeFile(`${files.ownFolder}/alarm/compose.yaml`, 'services: [');
    for (let times = 0; times < 2; times++) expect((await open()).problems).toMatchObject([{ level: 'error' }]);
  });

  it("lets the operator's own entries win, and orders by group", async () => {
    const catalog = await openCatalog(
      await prepare({
        'notes/component.yaml': soundComponent.replace('Note keeper', 'My note keeper'),
        'notes/compose.yaml': soundCompose,
        'alarm/component.yaml': soundComponent.replace('id: notes', 'id: alarm').replace('group: productivity', 'group: security'),
        'alarm/compose.yaml': soundCompose,
      }),
    );
    expect(catalog.problems).toEqual([]);
    expect(catalog.entries.map(({ id, own }) => [id, own])).toEqual([
      ['alarm', true],
      ['notes', true],
    ]);
    expect(catalog.get('notes')?.kind).toBe('My note keeper');
  });

  it('keeps the built-in entry where the own one is broken, and what was wrong', async () => {
    const catalog = await openCatalog(
      await prepare({
        'notes/component.yaml': soundComponent.replace('group: productivity', 'group: toys'),
        'notes/compose.yaml': soundCompose,
      }),
    );
    expect(catalog.entries.map(({ id, own }) => [id, own])).toEqual([['notes', false]]);
    expect(catalog.problems).toMatchObject([{ level: 'error', field: 'group', line: 2, column: 8 }]);
  });

  it('goes on without the own folder when it is not there', async () => {
    const catalog = await openCatalog(await prepare());
    expect(catalog.entries).toHaveLength(1);
    expect(catalog.problems).toMatchObject([{ message: expect.stringContaining('does not exist'), remedy: expect.any(String) }]);
  });

  it.each([
    ['', 'Unexpected end'],
    ['{"schema": 1, "entries": []}', 'its format version is not supported'],
    ['{"schema": 2, "further": [], "entries": [{"id": "notes"}]}\n', 'is truncated'],
    ['nonsense', 'Unexpected token'],
  ])('says that a damaged compiled catalog must be installed again: %j', async (text, reason) => {
    const { compiledFile } = await prepare();
    await writeOwnFile(compiledFile, text);
    await expect(openCatalog({ compiledFile })).rejects.toMatchObject({
      code: 'failed.catalog',
      message: expect.stringContaining(reason),
      remedy: expect.stringContaining('npm run build'),
    });
  });

  it('says so when the compiled catalog is missing', async () => {
    await expect(openCatalog({ compiledFile: '/nonexistent/catalog.json' })).rejects.toMatchObject({ code: 'failed.catalog' });
  });

  it('brings neither YAML parser nor validator nor CEL along at start-up', async () => {
    const { metafile } = await build({
      entryPoints: { open: 'source/catalog/open-catalog.ts', settings: 'source/config/settings.ts' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      write: false,
      metafile: true,
      outdir: 'out',
    });
    const reached = new Set<string>();
    const visit = (output: string) => {
      if (reached.has(output)) return;
      reached.add(output);
      for (const { path, kind } of metafile.outputs[output]?.imports ?? []) if (kind === 'import-statement') visit(path);
    };
    visit('out/open.js');
    visit('out/settings.js');
    const inputs = [...reached].flatMap((output) => Object.keys(metafile.outputs[output]?.inputs ?? {}));
    expect(inputs).toContain('source/catalog/open-catalog.ts');
    expect(inputs.filter((input) => /node_modules\/(yaml|zod|@marcbachmann|croner|ipaddr)/.test(input))).toEqual([]);
  });
});
