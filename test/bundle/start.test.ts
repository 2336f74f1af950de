import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quarterdeck-start-'));
  await start({});
  await writeFile(join(folder, 'dist/package.json'), '{"type":"commonjs"}');
  await chunk('main', 'const { word } = require("./other.js"); console.log(word(), require("node:path").basename(__filename));');
  await chunk('other', 'exports.word = () => "hello";');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** `parts`: chunk to the file that holds it with others. */
async function start(parts: Readonly<Record<string, string>>): Promise<void> {
  await build({
    entryPoints: { main: 'bundle/start.mjs' },
    outdir: join(folder, 'dist'),
    bundle: true,
    format: 'cjs',
    platform: 'node',
    define: {
      'process.env.QUARTERDECK_START': JSON.stringify({ parts, build: 'build' }),
    },
  });
}

/** A file with the code of several chunks. */
async function chunks(file: string, codes: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(folder, 'dist/chunks'), { recursive: true });
  const functions = Object.entries(codes).map(
    ([name, code]) => `"${name}.js":function(exports,require,module,__filename,__dirname){"use strict";${code}}`,
  );
  await writeFile(join(folder, `dist/chunks/${file}.js`), `({${functions.join(',')}})`);
}

async function chunk(name: string, code: string): Promise<void> {
  await chunks(name, { [name]: code });
}

function run(): string {
  return execFileSync(process.execPath, [join(folder, 'dist/main.js')], {
    env: { QUARTERDECK_HOME: join(folder, 'home') },
    encoding: 'utf8',
  });
}

async function kept(): Promise<{ folder: string; files: string[] }> {
  const compiled = join(folder, 'home/cache/compiled');
  const [name = ''] = await readdir(compiled);
  return { folder: join(compiled, name), files: (await readdir(join(compiled, name))).sort() };
}

test('chunks find each other, and what was compiled is kept for nobody else to read', async () => {
  expect(run()).toBe('hello main.js\n');
  const { folder: compiled, files } = await kept();
  expect(files).toEqual(['main.js', 'other.js']);
  expect((await stat(compiled)).mode & 0o777).toBe(0o700);
  expect((await stat(join(compiled, 'main.js'))).mode & 0o777).toBe(0o600);
  expect(run()).toBe('hello main.js\n');
});

test('what was kept is run, so long as it is whole', async () => {
  run();
  const { folder: compiled } = await kept();
  const path = join(compiled, 'other.js');
  // V8 tells sources apart by their length alone: this shows which of the two runs.
  await chunk('other', 'exports.word = () => "jello";');
  expect(run()).toBe('hello main.js\n');
  const bytes = await readFile(path);
  bytes[bytes.length - 9] = (bytes[bytes.length - 9] ?? 0) ^ 0xff;
  await writeFile(path, bytes);
  expect(run()).toBe('jello main.js\n');
});

test('chunks that are needed together come out of one file, and are kept in one', async () => {
  await start({ 'main.js': 'screen.js', 'other.js': 'screen.js' });
  const main = 'const { word } = require("./other.js"); console.log(word(), require("./apart.js").word());';
  await chunks('screen', { main, other: 'exports.word = () => "good";' });
  await chunk('apart', 'exports.word = () => "day";');
  for (const name of ['main', 'other']) await rm(join(folder, `dist/chunks/${name}.js`));
  for (let turn = 0; turn < 2; turn++) expect(run()).toBe('good day\n');
  expect((await kept()).files).toEqual(['apart.js', 'screen.js']);
});

test('a module of node that is asked for without being used is not loaded before it is', async () => {
  const seen = 'process.moduleLoadList.includes("NativeModule child_process")';
  await chunk(
    'main',
    `const programs = require("node:child_process"); const before = ${seen}; programs.spawn; console.log(before, ${seen});`,
  );
  expect(run()).toBe('false true\n');
});

test('nothing is run out of a folder that others can write to', async () => {
  run();
  await chunk('other', 'exports.word = () => "jello";');
  const { folder: compiled } = await kept();
  await chmod(compiled, 0o777);
  expect(run()).toBe('jello main.js\n');
});

test('without a place to keep it, it runs all the same', async () => {
  await mkdir(join(folder, 'home'), { recursive: true });
  await writeFile(join(folder, 'home/cache'), 'in the way');
  expect(run()).toBe('hello main.js\n');
});

test('nothing is kept, and nothing old removed, behind a symbolic link', async () => {
  await mkdir(join(folder, 'home/cache'), { recursive: true });
  await mkdir(join(folder, 'elsewhere/v1.0'), { recursive: true });
  await utimes(join(folder, 'elsewhere/v1.0'), 1, 1);
  await symlink(join(folder, 'elsewhere'), join(folder, 'home/cache/compiled'));
  expect(run()).toBe('hello main.js\n');
  expect(await readdir(join(folder, 'elsewhere/v1.0'))).toEqual([]);
  for (const name of await readdir(join(folder, 'elsewhere'))) expect(await readdir(join(folder, 'elsewhere', name))).toEqual([]);
});

// Whoever builds as an ordinary user cannot become another one.
test.runIf(process.geteuid?.() === 0)("root keeps nothing in another user's home", async () => {
  await mkdir(join(folder, 'home'));
  await chown(join(folder, 'home'), 65534, 65534);
  expect(run()).toBe('hello main.js\n');
  expect(await readdir(join(folder, 'home'))).toEqual([]);
});
