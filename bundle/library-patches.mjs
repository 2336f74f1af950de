// Changes to files of libraries, in the bundle (build.mjs) and in tests of the console (test/as-bundled.ts), which draw what ships. The figures are processor
// time of the main thread until the first rows, of 140 ms in all: medians of 60 alternating starts with and without, at a real-time priority.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const inSource = (file) => JSON.stringify(join(import.meta.dirname, '../source', file));
const imports = `import { isPlain, isPlainRun } from ${inSource('text/plain-text.ts')};\nimport { rowOutput } from ${inSource('console/row-output.ts')};\n`;

/** Which file, and pairs of what it contains and what it should. */
export const patches = [
  // A chunk is a function, which cannot await. Without these there is no bundle.
  [
    /yoga-wasm-base64-esm\.js$/,
    [
      'if(h.instantiateWasm)try{return h.instantiateWasm(d,\na)',
      "{const b=new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(H.slice(H.indexOf(',')+1),'base64')),d);a(b);return b.exports}try{",
    ],
  ],
  [/yoga-layout\/dist\/src\/index\.js$/, ['await loadYoga()', '((Y) => (loadYoga(Y), Y))({})']],
  [/ink\/build\/reconciler\.js$/, ["process.env['DEV'] === 'true'", 'false']],
  // 12 ms: tables of Unicode, which plain text does not need.
  [
    /node_modules\/string-width\/index\.js$/,
    ['/^[\\u0020-\\u007E]*$/.test(', 'isPlainRun('],
    ...['visibleCharacterRegex', 'spacingMarkRegex', 'rgiEmojiRegex', 'extendedPictographicRegex'].flatMap((name) => [
      [name, `${name}()`],
      [`const ${name}() = `, `let read_${name}; const ${name} = () => read_${name} ??= `],
    ]),
  ],
  // 23 ms; at rest with 200 components 2.5 % of a core (120x36, 2026-11-20).
  [
    /ink\/build\/output\.js$/,
    ['export default class Output', 'class Output'],
    ['//# sourceMapping', 'export default rowOutput(Output, styledCharsToString);\n//# sourceMapping'],
    // 8 ms together with the next: the first of these characters is U+00AD.
    ['!/^\\p{Default_Ignorable_Code_Point}', "character.value < '\\u00AD' || !/^\\p{Default_Ignorable_Code_Point}"],
  ],
  [/ink\/build\/sanitize-ansi\.js$/, ['sanitizeAnsi = (text) => {', 'sanitizeAnsi = (text) => {\n    if (isPlain(text)) return text;']],
];

/** Returns a library's file with its changes. One that no longer fits stops the build. */
export function patchedFile(path, changes) {
  let content = imports + readFileSync(path, 'utf8');
  for (const [from, to] of changes) {
    if (!content.includes(from)) throw new Error(`${path} no longer contains ${JSON.stringify(from)}: check bundle/library-patches.mjs`);
    content = content.replaceAll(from, to);
  }
  return content;
}
