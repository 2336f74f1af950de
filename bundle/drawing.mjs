// How Ink's libraries measure, cut and draw text, made quick: taken into the bundle (build.mjs), and into tests of the console (test/as-bundled.ts), which so draw
// what ships.
import { fileURLToPath } from 'node:url';
import { changed } from './library-change.mjs';
import { plainCharacters } from './plain-segmenter.mjs';

const beside = (file) => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)));
const fromSegmenter = (name) => `import { ${name} } from ${beside('plain-segmenter.mjs')};\n`;
const fromFrames = (name) => `import { ${name} } from ${beside('remembered-frames.mjs')};\n`;

const segmenter = ['new Intl.Segmenter(', 'new PlainSegmenter('];

/** A function that Ink asks for every text of every frame, asked once for each text. */
const once = (filter, imported) => ({
  filter,
  contents: (path) =>
    `${fromFrames('remembered')}${changed(path, [[`import ${imported} from`, `import every_${imported} from`]])}\nvar ${imported} = remembered(every_${imported});`,
});

/**
 * Files of libraries, by path, and what they are instead.
 * @type {readonly { filter: RegExp; contents(path: string): string }[]}
 */
export const drawing = [
  // Text is measured and cut by graphemes; see plain-segmenter.mjs.
  {
    filter: /(ink\/build\/line-update|ansi-tokenize\/build\/tokenize|slice-ansi\/tokenize-ansi|wrap-ansi\/index|cli-truncate\/index)\.js$/,
    contents: (path) => fromSegmenter('PlainSegmenter') + changed(path, [segmenter]),
  },
  {
    filter: /node_modules\/string-width\/index\.js$/,
    contents: (path) =>
      fromSegmenter('PlainSegmenter') +
      changed(path, [
        segmenter,
        ['/^[\\u0020-\\u007E]*$/', `/^[${plainCharacters}]*$/`],
        // Making these costs 20 ms, and plain text never asks them.
        ...['visibleCharacterRegex', 'spacingMarkRegex', 'rgiEmojiRegex', 'extendedPictographicRegex'].flatMap((name) => [
          [name, `${name}()`],
          [`const ${name}() = `, `let made_${name}; const ${name} = () => made_${name} ??= `],
        ]),
      ]),
  },
  // Ink draws every cell of every frame anew; what it has drawn before it can remember. See remembered-frames.mjs.
  {
    filter: /ink\/build\/output\.js$/,
    contents: (path) =>
      `${fromFrames('ignorable, rowOutput')}${changed(path, [
        ['export default class Output {', 'class Output {'],
        // In the bundle it would be made anew for each character.
        ['/^\\p{Default_Ignorable_Code_Point}+$/u.test(', 'ignorable('],
      ])}\nexport default rowOutput(Output, styledCharsToString);`,
  },
  once(/ink\/build\/squash-text-nodes\.js$/, 'sanitizeAnsi'),
  once(/ink\/build\/render-node-to-output\.js$/, 'widestLine'),
  {
    filter: /ink\/build\/sanitize-ansi\.js$/,
    contents: (path) =>
      fromSegmenter('isPlainStyled') +
      changed(path, [
        ['/(?![\\t\\n])\\p{Control}/gu', '/[\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f]/g'],
        ['const sanitizeAnsi = (text) => {', 'const sanitizeAnsi = (text) => {\n    if (isPlainStyled(text)) return text;'],
        // The first mark of all is U+0300.
        ["leadingMarksRegex.exec(value)?.[0] ?? ''", "(value.charCodeAt(0) < 0x300 ? '' : (leadingMarksRegex.exec(value)?.[0] ?? ''))"],
      ]),
  },
];
