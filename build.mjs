// Bundles source/ into dist/: main.js, which loads chunks when first needed (bundle/start.mjs), and the compiled catalog. Recipes and measurements: CONTRIBUTING.md.
// node build.mjs MAIN FOLDER bundles another program in the same way, without a catalog: the benchmark has one to compare with.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, transform } from 'esbuild';
import { drawing } from './bundle/drawing.mjs';
import { changed } from './bundle/library-change.mjs';
import { startParts } from './bundle/start-parts.mjs';

const own = 'source/main.ts';
const [, , main = own, folder = 'dist'] = process.argv;
const parts = main === own ? startParts : { main: [main] };
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

/** A library's file with changes, as a plugin gives it back. */
const patched = (path, changes) => ({ contents: changed(path, changes), loader: 'js' });

/**
 * Yoga's loader asks for `fetch`, which drags all of undici in at start-up, for an image that is inside the file anyway; and it waits for the image, for which
 * a chunk has no time (bundle/start.mjs): compiling it is a matter of a millisecond.
 */
const yogaAtOnce = {
  name: 'yoga-at-once',
  setup({ onLoad }) {
    onLoad({ filter: /yoga-wasm-base64-esm\.js$/ }, ({ path }) =>
      patched(path, [
        [
          'if(h.instantiateWasm)try{return h.instantiateWasm(d,\na)',
          `{const made = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(H.slice(H.indexOf(',') + 1), 'base64')), d); a(made); return made.exports}
           try{`,
        ],
        ['"function"!=typeof fetch', 'true'],
        ['import.meta.url', "''"],
      ]),
    );
    onLoad({ filter: /yoga-layout\/dist\/src\/index\.js$/ }, ({ path }) =>
      patched(path, [
        ['const Yoga = wrapAssembly(await loadYoga());', 'const made = {};\nloadYoga(made);\nconst Yoga = wrapAssembly(made);'],
      ]),
    );
  },
};

/**
 * An `import` of node:http reads all of its exports, among them the getter of `WebSocket`, which loads undici too (15 ms). Asked for as a whole, it stays
 * unread.
 */
const httpUnread = {
  name: 'http-unread',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?https?$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'unread' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'unread' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      loader: 'js',
    }));
  },
};

/**
 * dockerode and its modem ask for TLS and cryptography when they load (20 ms), and hardly any engine is spoken to with them: they are loaded when used. For
 * each request the modem puts a text together, for a log that nobody reads.
 */
const dockerodeAtOnce = {
  name: 'dockerode-at-once',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(https|crypto)$/ }, ({ path, importer }) =>
      /[/\\]docker(ode|-modem)[/\\]lib[/\\]/.test(importer) ? { path, namespace: 'unloaded' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'unloaded' }, ({ path }) => ({
      contents: `module.exports = new Proxy({}, { get: (_, name) => process.getBuiltinModule(${JSON.stringify(path)})[name] });`,
      loader: 'js',
    }));
    onLoad({ filter: /docker-modem\/lib\/modem\.js$/ }, ({ path }) =>
      patched(path, [["debug('Sending: %s', util.inspect(", "debug.enabled && debug('Sending: %s', util.inspect("]]),
    );
  },
};

/** How Ink measures, cuts and draws text: see bundle/drawing.mjs. */
const quickDrawing = {
  name: 'quick-drawing',
  setup({ onLoad }) {
    for (const { filter, contents } of drawing) onLoad({ filter }, ({ path }) => ({ contents: contents(path), loader: 'js' }));
  },
};

/**
 * What libraries make when they load for a case that hardly ever comes: regular expressions for the stack of a crash, tables of Unicode to look for characters that
 * two ranges name as well, a search on the disk for a package that is not there.
 */
const madeWhenNeeded = {
  name: 'made-when-needed',
  setup({ onResolve, onLoad }) {
    onLoad({ filter: /ink\/build\/components\/ErrorOverview\.js$/ }, ({ path }) =>
      patched(path, [
        ["import StackUtils from 'stack-utils';", ''],
        [
          'const stackUtils = new StackUtils({\n    cwd: cwd(),\n    internals: StackUtils.nodeInternals(),\n});',
          "const stackUtils = { parseLine(line) { const StackUtils = require('stack-utils'); return new StackUtils({ cwd: cwd(), internals: StackUtils.nodeInternals() }).parseLine(line); } };",
        ],
      ]),
    );
    onLoad({ filter: /node_modules\/signal-exit\/index\.js$/ }, ({ path }) =>
      patched(path, [
        ["var assert = require('assert')", ''],
        ["assert.equal(typeof cb, 'function',", "if (typeof cb !== 'function') throw new TypeError("],
      ]),
    );
    onResolve({ filter: /^supports-color$/ }, ({ importer }) =>
      /[/\\]debug[/\\]src[/\\]/.test(importer) ? { path: 'supports-color', namespace: 'none' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
  },
};

/** What is never reached here: Ink's devtools, and of dockerode the ssh and gRPC transports (stubbed they save 60 ms and 20 MB) and building images from folders. */
const stubs = {
  name: 'stubs',
  setup({ onResolve, onLoad }) {
    onLoad({ filter: /ink\/build\/reconciler\.js$/ }, ({ path }) => patched(path, [["process.env['DEV'] === 'true'", 'false']]));
    onLoad({ filter: /ink\/build\/devtools\.js$/ }, () => ({ contents: 'export {};', loader: 'js' }));
    onResolve({ filter: /^(ssh2|@grpc\/grpc-js|@grpc\/proto-loader|protobufjs|tar-fs)$/ }, ({ path }) => ({ path, namespace: 'stub' }));
    // Modules take them apart when they load; only a use is an error.
    onLoad({ filter: /.*/, namespace: 'stub' }, ({ path }) => ({
      contents: `const refuse = () => { throw new Error(${JSON.stringify(`${path} is not part of Quarterdeck`)}); };
        const stub = new Proxy(refuse, { get: (_, key) => (key === '__esModule' || typeof key === 'symbol' ? undefined : stub), apply: refuse, construct: refuse });
        module.exports = stub;`,
      loader: 'js',
    }));
  },
};

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
if (main === own)
  execFileSync(process.execPath, ['--import', 'tsx', 'source/catalog/compile-main.ts'], { stdio: ['ignore', 'inherit', 'inherit'] });

const result = await build({
  entryPoints: { main },
  outdir: folder,
  entryNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  supported: { 'regexp-set-notation': true },
  minify: true,
  keepNames: false,
  legalComments: 'none',
  metafile: true,
  chunkNames: 'chunks/[name]-[hash]',
  inject: ['bundle/clock.mjs'],
  external: ['keytar', 'react-devtools-core'],
  // Its CommonJS form asks for its parts in a way that no bundler sees.
  alias: {
    'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
    // The same as a library, for versions of node that are long gone.
    'readable-stream': 'node:stream',
  },
  define: {
    'process.env.NODE_ENV': '"production"',
    'process.env.DEV': '"false"',
    'process.env.QUARTERDECK_VERSION': JSON.stringify(version),
  },
  plugins: [yogaAtOnce, httpUnread, dockerodeAtOnce, quickDrawing, madeWhenNeeded, stubs],
  logLevel: 'warning',
});
/** CommonJS libraries loaded lazily for their default export alone. */
const defaultOnly = /node_modules\/(dockerode|proper-lockfile|write-file-atomic)\//;
for (const [importer, { imports }] of Object.entries(result.metafile.inputs)) {
  for (const { path, kind } of imports) {
    if (
      !importer.startsWith('source/') ||
      kind !== 'dynamic-import' ||
      result.metafile.inputs[path]?.format !== 'cjs' ||
      defaultOnly.test(path)
    )
      continue;
    // Run from the sources the names are there; in the bundle they would be undefined.
    throw new Error(
      `${importer} loads ${path} lazily, which is CommonJS: in a bundle only its default export arrives. Import it in a module of its own, and that lazily.`,
    );
  }
}
/**
 * esbuild's way to make a module of what was required copies its properties, some thousand at each start. What inherits them has them too.
 */
function inheriting(code) {
  const copying =
    /(\w+)=\((\w+),(\w+),(\w+)\)=>\(\4=\2!=null\?\w+\(\w+\(\2\)\):\{\},\w+\(\3\|\|!\2\|\|!\2\.__esModule\?\w+\(\4,"default",\{value:\2,enumerable:!0\}\):\4,\2\)\)/g;
  copies += code.match(copying)?.length ?? 0;
  return code.replace(
    copying,
    '$1=($2,$3)=>Object.create($2!=null&&/^[of]/.test(typeof $2)?$2:Object.prototype,$3||!$2||!$2.__esModule?{default:{value:$2,enumerable:!0}}:{})',
  );
}
let copies = 0;

/** Splitting makes ES modules alone; what V8 has compiled can be kept only of scripts. */
const functions = new Map();
for (const file of Object.keys(result.metafile.outputs).sort()) {
  const { code } = await transform(readFileSync(file, 'utf8'), {
    format: 'cjs',
    platform: 'node',
    target: 'node22',
    minify: true,
    charset: 'ascii',
    supported: { 'dynamic-import': false, 'regexp-set-notation': true },
    define: { 'import.meta.dirname': '__dirname' },
    logLevel: 'warning',
  });
  functions.set(file, `function(exports,require,module,__filename,__dirname){"use strict";${inheriting(code)}}`);
}
for (const [file, code] of functions) {
  const other = /\bperformance\.(?!now\b)\w+/.exec(code);
  if (other) throw new Error(`${file} uses ${other[0]}, and the bundle has performance.now alone: look at bundle/clock.mjs`);
}
if (copies === 0) throw new Error('esbuild makes modules of what is required in another way than before: look at build.mjs');

const chunkOf = (entry) => {
  const [file] = Object.entries(result.metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith(entry)) ?? [];
  if (file === undefined) throw new Error(`${entry} is no chunk of its own any more: look at start-parts.mjs`);
  return file;
};
/** Each file costs its share of a millisecond at every start, so what is needed together is one. */
const partOf = new Map();
for (const [part, entries] of Object.entries(parts)) {
  const file = join(folder, 'chunks', `${part}.js`);
  const add = (chunk) => {
    if (partOf.has(chunk)) return;
    partOf.set(chunk, file);
    for (const { path, kind } of result.metafile.outputs[chunk].imports) if (kind === 'import-statement' && functions.has(path)) add(path);
  };
  for (const entry of entries) add(chunkOf(entry));
}
const sum = createHash('sha256');
const write = (file, script) => {
  sum.update(`${file}\n${script}\n`);
  writeFileSync(file, script);
};
for (const part of new Set(partOf.values())) {
  const chunks = [...functions].filter(([chunk]) => partOf.get(chunk) === part);
  write(part, `({${chunks.map(([chunk, made]) => `${JSON.stringify(basename(chunk))}:${made}`).join(',')}})`);
}
for (const [chunk, made] of functions) {
  if (partOf.has(chunk)) rmSync(chunk);
  else write(chunk, `(${made})`);
}
await build({
  entryPoints: { main: 'bundle/start.mjs' },
  outdir: folder,
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node22',
  minify: true,
  define: {
    'process.env.QUARTERDECK_MAIN': JSON.stringify(basename(chunkOf(main))),
    'process.env.QUARTERDECK_PARTS': JSON.stringify(
      Object.fromEntries([...partOf].map(([chunk, part]) => [basename(chunk), basename(part)])),
    ),
    'process.env.QUARTERDECK_BUILD': JSON.stringify(sum.digest('hex').slice(0, 16)),
  },
  logLevel: 'warning',
});
writeFileSync('dist/meta.json', JSON.stringify(result.metafile));
writeFileSync('dist/package.json', '{"type":"commonjs"}\n');
writeFileSync('dist/.built', '');
