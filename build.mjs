// Bundles source/ into dist/: main.js, which loads chunks when they are first needed (bundle/start.mjs), the compiled catalog and the man pages.
// `node build.mjs MAIN FOLDER` bundles another program in the same way, for the benchmark. Recipes: docs/development/start-up.md.
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, transform } from 'esbuild';
import { writeNotices } from './bin/notices.mjs';
import { patchedFile, patches } from './bundle/library-patches.mjs';

const own = 'source/main.ts';
const [, , main = own, folder = 'dist'] = process.argv;

/** What every start of the console loads, by file of dist/chunks: 10 ms less than in forty files. A command without a screen loads no `screen`; `ink` follows the first frame. */
const parts = {
  main: [main],
  app: ['source/app/create-app.ts', 'source/engine/dockerode-engine.ts', 'node_modules/dockerode/lib/docker.js'],
  screen: ['source/console/run-console.ts'],
  ink: ['source/console/console.tsx'],
};

/** Modules in place of others: which, imported by which files, and the content. Figures as in bundle/library-patches.mjs. */
const replacements = [
  // ssh, gRPC and building from folders, for dockerode, are never reached: 60 ms and 20 MB. Reading a property while loading is no error, a call is.
  [
    /^(ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs|tar-fs)$/,
    /./,
    (path) => `const refuse = function () { throw new Error('${path} is not part of Quarterdeck'); };
      const stub = new Proxy(refuse, { get: (_, key) => (key === '__esModule' || typeof key === 'symbol' ? undefined : stub) });
      module.exports = stub;`,
  ],
  // 9 ms: TLS and cryptography, which dockerode needs for a remote TCP engine only, are loaded when used.
  [
    /^(https|crypto)$/,
    /[/\\]docker(ode|-modem)[/\\]lib[/\\]/,
    (path) => `module.exports = new Proxy({}, { get: (_, name) => process.getBuiltinModule('${path}')[name] });`,
  ],
  // 5 ms: an import reads every export, and reading `WebSocket` loads undici.
  [/^(node:)?https?$/, /./, (path) => `module.exports = process.getBuiltinModule('${path}');`],
];
const libraries = {
  name: 'libraries',
  setup({ onLoad, onResolve }) {
    for (const [filter, ...changes] of patches) onLoad({ filter }, ({ path }) => ({ contents: patchedFile(path, changes) }));
    for (const [index, [filter, importers, content]] of replacements.entries()) {
      const namespace = `replacement-${index}`;
      onResolve({ filter }, ({ path, importer }) => (importers.test(importer) ? { path, namespace } : undefined));
      onLoad({ filter: /.*/, namespace }, ({ path }) => ({ contents: content(path) }));
    }
  },
};

rmSync(folder, { recursive: true, force: true });
const common = { platform: 'node', target: 'node22', minify: true, logLevel: 'warning', supported: { 'regexp-set-notation': true } };
const { metafile } = await build({
  ...common,
  entryPoints: { main },
  outdir: join(folder, 'chunks'),
  bundle: true,
  splitting: true,
  format: 'esm',
  legalComments: 'none',
  metafile: true,
  external: ['keytar'],
  // jsonc-parser's CommonJS form requires its parts in a way that no bundler sees. 5 ms: readable-stream is node's own streams, for old versions of node.
  alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js', 'readable-stream': 'node:stream' },
  // 52 ms: the tables of `Intl.Segmenter`, with which Ink cuts every line.
  inject: ['source/text/plain-text.ts'],
  define: {
    'Intl.Segmenter': 'PlainSegmenter',
    'process.env.NODE_ENV': '"production"',
    'process.env.QUARTERDECK_VERSION': JSON.stringify(JSON.parse(readFileSync('package.json', 'utf8')).version),
  },
  plugins: [libraries],
});

/** Splitting creates ES modules only, and V8 keeps the compiled code of scripts only: each chunk becomes a function. */
const functions = new Map();
const define = { 'import.meta.dirname': '__dirname', 'import.meta.url': '__filename' };
for (const chunk of Object.keys(metafile.outputs).sort()) {
  const options = { ...common, format: 'cjs', define, supported: { 'dynamic-import': false, 'regexp-set-notation': true } };
  const { code } = await transform(readFileSync(chunk, 'utf8'), options);
  functions.set(chunk, `function(exports,require,module,__filename,__dirname){"use strict";${code}}`);
  rmSync(chunk);
}

const fileOf = new Map();
function addTo(file, chunk) {
  if (!functions.has(chunk) || fileOf.has(chunk)) return;
  fileOf.set(chunk, file);
  for (const { path, kind } of metafile.outputs[chunk].imports) if (kind === 'import-statement') addTo(file, path);
}
const chunkOf = (entry) => Object.keys(metafile.outputs).find((chunk) => metafile.outputs[chunk].entryPoint?.endsWith(entry));
for (const [part, entries] of Object.entries(parts)) for (const entry of entries) addTo(`${part}.js`, chunkOf(entry));

for (const [file, chunks] of Map.groupBy(functions.keys(), (chunk) => fileOf.get(chunk) ?? basename(chunk))) {
  const properties = chunks.map((chunk) => `${JSON.stringify(basename(chunk))}:${functions.get(chunk)}`);
  writeFileSync(join(folder, 'chunks', file), `({${properties.join(',')}})`);
}
const start = JSON.stringify({
  parts: Object.fromEntries([...fileOf].map(([chunk, file]) => [basename(chunk), file])),
  build: hash('sha256', JSON.stringify([...functions, ...fileOf])).slice(0, 16),
});
const toMain = { entryPoints: { main: 'bundle/start.mjs' }, outdir: folder, bundle: true, format: 'cjs' };
await build({ ...common, ...toMain, define: { 'process.env.QUARTERDECK_START': start } });
if (main === own) execFileSync(process.execPath, ['--import', 'tsx', 'bin/build-data.ts'], { stdio: 'inherit' });
if (main === own) writeNotices(metafile, folder);
writeFileSync(join(folder, 'meta.json'), JSON.stringify({ ...metafile, parts }));
writeFileSync(join(folder, 'package.json'), '{"type":"commonjs"}\n');
if (main === own) writeFileSync('dist/.built', '');
