// Taken into the bundle around Ink's `Output` (bundle/drawing.mjs), which makes an object for every cell of the screen, and takes every text apart into characters,
// in every frame. Most rows of a console are texts side by side: here they are joined as strings, and only a text that was not on the screen a moment ago is
// taken apart. Rows where texts lie on each other go to Ink's own, and so do frames with anything else that is not that plain.

import { isPlainStyled, plainCharacters } from './plain-segmenter.mjs';

const ascii = /^[\x20-\x7e]*$/;
const runs = new RegExp(`\u001B\\[[\\d;]*m|[${plainCharacters}]+`, 'g');
const plain = /^[\n\x20-\x7e\u2500-\u25fc]$/;
let invisible;

/** Ink's test for characters that are not to be seen. */
export function ignorable(character) {
  if (plain.test(character)) return false;
  invisible ??= /^\p{Default_Ignorable_Code_Point}+$/u;
  return invisible.test(character);
}

/**
 * `answer`, asked once for each text; also for Ink's other functions that answer the same for the same text, and are asked for every text of a screen in every
 * frame. What the last frames did not ask for is forgotten: `most` new answers later at the earliest, twice as many at the
 * latest.
 * @template T
 * @param {(text: string) => T} answer
 * @returns {(text: string) => T}
 */
export function remembered(answer, most = 1024) {
  let fresh = new Map();
  let older = new Map();
  return (text) => {
    let known = fresh.get(text);
    if (known !== undefined) return known;
    known = older.get(text) ?? answer(text);
    if (fresh.size >= most) {
      older = fresh;
      fresh = new Map();
    }
    fresh.set(text, known);
    return known;
  };
}

/**
 * What Ink's renderer is given instead of `InkOutput`: draws the same cells. `styledCharsToString` is the function of that name that Ink's uses.
 */
export function rowOutput(InkOutput, styledCharsToString) {
  const everyCharacterOf = (text) => new InkOutput({ width: 0, height: 0 }).caches.getStyledChars(text);
  /** Of texts that differ in their words alone, the styles are found once. */
  const styledOf = remembered(everyCharacterOf);
  const columnsOf = ({ value, run = false }) =>
    run
      ? value.length
      : Math.max(1, ascii.test(value) ? value.length : new InkOutput({ width: 0, height: 0 }).caches.getStringWidth(value));

  /** A run of plain characters in one style counts as one: what is done with each of them comes to the same. */
  function charactersOf(text) {
    if (!isPlainStyled(text)) return everyCharacterOf(text);
    const words = [];
    const styles = text.replace(runs, (found) => {
      if (found[0] === '\x1b') return found;
      words.push(found);
      return 'x';
    });
    let word = 0;
    return styledOf(styles).map((character) => (character.value === '\n' ? character : { ...character, value: words[word++], run: true }));
  }

  /** Colours that go on behind a line feed are begun anew there. */
  const linesOf = remembered((text) => {
    const lines = [[]];
    for (const character of charactersOf(text)) {
      if (character.value === '\n') lines.push([]);
      else lines.at(-1).push(character);
    }
    return lines.map(styledCharsToString);
  });

  /** A line as Ink writes it, and how many columns it takes. */
  const pieceOf = remembered((line) => {
    if (ascii.test(line)) return { text: line, columns: line.length };
    const characters = charactersOf(line);
    return { text: styledCharsToString(characters), columns: characters.reduce((sum, character) => sum + columnsOf(character), 0) };
  });

  const drawnByInk = remembered((row) => {
    const { width, pieces } = JSON.parse(row);
    const output = new InkOutput({ width, height: 1 });
    for (const [x, line] of pieces) output.write(x, 0, line, { transformers: [] });
    return output.get().output;
  });

  function rowOf(pieces, width) {
    const ordered = pieces.length > 1 ? pieces.toSorted(([one], [other]) => one - other) : pieces;
    let row = '';
    let column = 0;
    for (const [x, line] of ordered) {
      const { text, columns } = pieceOf(line);
      if (columns === 0) continue;
      if (x < column || x + columns > width) return drawnByInk(JSON.stringify({ width, pieces }));
      row += ' '.repeat(x - column) + text;
      column = x + columns;
    }
    return row.trimEnd();
  }

  return class RowOutput extends InkOutput {
    #rows = Array.from({ length: this.height }, () => []);
    #plain = true;

    write(x, y, text, options) {
      super.write(x, y, text, options);
      const { transformers } = options;
      const lines = text.includes('\n') ? linesOf(text) : [text];
      for (const [index, line] of lines.entries()) {
        if (transformers.some((transformer) => transformer(line, index) !== line)) this.#plain = false;
        if (line !== '') this.#rows[y + index]?.push([x, line]);
      }
    }

    clip(bounds) {
      super.clip(bounds);
      this.#plain = false;
    }

    get() {
      if (!this.#plain) return super.get();
      return { output: this.#rows.map((pieces) => rowOf(pieces, this.width)).join('\n'), height: this.#rows.length };
    }
  };
}
