import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { bottom as bottomLayers, layerDiagram, layers as layerNames, productFolders, rulesPath, rulesText } from './layers.ts';

const layers = Object.keys(layerNames);
const bottom = new Set(bottomLayers);

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'quarterdeck-lint-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Lints files with the repository's own configuration; answers the paths in which an import was refused. */
function refused(files: Record<string, string>): string[] {
  rmSync(join(folder, 'source'), { recursive: true, force: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  for (const name of ['biome.json', 'test']) {
    rmSync(join(folder, name), { force: true });
    symlinkSync(join(root, name), join(folder, name));
  }
  const { stdout } = spawnSync(
    join(root, 'node_modules/.bin/biome'),
    ['lint', '--only=style/noRestrictedImports', '--reporter=json', '--vcs-enabled=false', '--max-diagnostics=none', 'source'],
    { cwd: folder, encoding: 'utf8' },
  );
  const report = JSON.parse(stdout) as { diagnostics: { location: { path: string | { file: string } } }[] };
  return [
    ...new Set(report.diagnostics.map(({ location }) => (typeof location.path === 'string' ? location.path : location.path.file))),
  ].sort();
}

describe('the lint rule for layers', () => {
  test('is the one that the list of layers makes, and names every folder of the source', () => {
    expect(readFileSync(rulesPath, 'utf8'), 'run "npm run docs"').toBe(rulesText());
    const folders = readdirSync(join(root, 'source'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual([...layers, 'practice'].sort());
    expect(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'), 'run "npm run docs"').toContain(layerDiagram());
  });

  test('lets no product import another, and its simulator only itself, practice, catalog and text', () => {
    const imports = (path: string, from: string) => ({ [path]: `import { thing } from '${from}';\nexport const it = thing;\n` });
    const files = Object.fromEntries(
      productFolders().flatMap((product) => {
        const other = productFolders().find((name) => name !== product) ?? '';
        return Object.entries({
          ...imports(`source/products/${product}/other.ts`, `../${other}/thing.ts`),
          ...imports(`source/products/${product}/client/other.ts`, `../../${other}/client/thing.ts`),
          ...imports(`source/products/${product}/own.ts`, './client/thing.ts'),
          ...imports(`source/products/${product}/simulator/own.ts`, './thing.ts'),
          ...imports(`source/products/${product}/simulator/text.ts`, '../../../text/clean.ts'),
          ...imports(`source/products/${product}/simulator/practice.ts`, '../../../practice/practice.ts'),
          ...imports(`source/products/${product}/simulator/client.ts`, '../client/thing.ts'),
          ...imports(`source/products/${product}/simulator/hosts.ts`, '../../../hosts/host.ts'),
        });
      }),
    );
    expect(refused(files)).toEqual(
      productFolders()
        .flatMap((product) =>
          ['client/other', 'other', 'simulator/client', 'simulator/hosts'].map((file) => `source/products/${product}/${file}.ts`),
        )
        .sort(),
    );
  });

  test('lets imports run downwards and refuses every import upwards', () => {
    const files: Record<string, string> = {};
    const expected: string[] = [];
    for (const [above, upper] of layers.entries()) {
      for (const [below, lower] of layers.entries()) {
        if (upper === lower) continue;
        const path = `source/${upper}/imports-${lower}.ts`;
        files[path] = `import { thing } from '../${lower}/thing.ts';\nexport const it = thing;\n`;
        if (below < above && !(bottom.has(upper) && bottom.has(lower))) expected.push(path);
      }
    }
    const found = refused(files).filter(
      (path) => !(bottom.has(path.split('/')[1] ?? '') && bottom.has(/imports-(.*)\.ts/.exec(path)?.[1] ?? '')),
    );
    expect(found).toEqual(expected.sort());
  });

  test('lets the practice stack import the catalog, text and its own parts, which have names of layers', () => {
    const imports = (path: string, from: string) => ({ [path]: `import { thing } from '${from}';\nexport const it = thing;\n` });
    expect(
      refused({
        ...imports('source/practice/own.ts', './engine/machine.ts'),
        ...imports('source/practice/simulation/own.ts', '../engine/machine.ts'),
        ...imports('source/practice/simulation/catalog.ts', '../../catalog/catalog.ts'),
        ...imports('source/practice/text.ts', '../text/clean.ts'),
        ...imports('source/practice/products.ts', '../products/openbao.ts'),
        ...imports('source/practice/engine.ts', '../engine/engine.ts'),
        ...imports('source/practice/simulation/engine.ts', '../../engine/engine.ts'),
        ...imports('source/practice/simulation/hosts.ts', '../../hosts/host.ts'),
      }),
    ).toEqual([
      'source/practice/engine.ts',
      'source/practice/products.ts',
      'source/practice/simulation/engine.ts',
      'source/practice/simulation/hosts.ts',
    ]);
  });

  test('lets only the session create grants', () => {
    const mint = (layer: string) => ({
      [`source/${layer}/x.ts`]: "import { mintGrant } from '../grants/mint.ts';\nexport const it = mintGrant;\n",
    });
    expect(refused({ ...mint('session'), ...mint('flows'), ...mint('engine'), ...mint('console') })).toEqual([
      'source/console/x.ts',
      'source/engine/x.ts',
      'source/flows/x.ts',
    ]);
  });

  test('lets only hosts/ touch files, sockets and programs of the operated machine', () => {
    const uses = (layer: string, module: string) => ({
      [`source/${layer}/uses-${module.replace(/\W/g, '-')}.ts`]: `import * as it from '${module}';\nexport const used = it;\n`,
    });
    const files = ['node:fs', 'node:fs/promises', 'node:net', 'node:child_process'].flatMap((module) =>
      ['console', 'flows', 'fleet', 'engine', 'hosts'].map((layer) => uses(layer, module)),
    );
    const found = refused(Object.assign({}, ...files));
    expect(found).toHaveLength(16);
    expect(found.filter((path) => path.startsWith('source/hosts/'))).toEqual([]);
  });
});
