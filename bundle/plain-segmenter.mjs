// Taken into the bundle in place of `Intl.Segmenter` (bundle/drawing.mjs). Ink cuts every line of every frame into graphemes, several times; for text in which each
// character is one grapheme and one column, that needs no Unicode tables. The rest goes to the real one, which is made when first needed.

/**
 * Characters that are one column wide and never join with what stands beside them: printable ASCII, Latin, dashes and quotes, the four arrows, box
 * drawing, blocks and geometric shapes (without the two that are emoji), ballot boxes, ticks and crosses, Braille.
 */
export const plainCharacters =
  '\\u0020-\\u007E\\u00A1-\\u00AC\\u00AE-\\u02FF\\u2010-\\u2027\\u2039\\u203A\\u2190-\\u2193\\u2500-\\u25FC\\u25FF\\u2610-\\u2612\\u2713-\\u2718\\u2800-\\u28FF';

// Escapes and line feeds are graphemes of their own, though they have no width.
const plain = new RegExp(`^[\\n\\u001B${plainCharacters}]*$`);

/** Of such characters, with colours among them: what Ink makes of other escapes and of invisible characters has nothing to do there. */
const styled = new RegExp(`^(?:[\\n${plainCharacters}]|\u001B\\[[\\d;]*m)*$`);

export function isPlainStyled(text) {
  return styled.test(text);
}

class PlainSegments extends Array {
  containing(index) {
    return this[index];
  }
}

export class PlainSegmenter {
  #options;
  #real;

  constructor(...options) {
    this.#options = options;
  }

  /** Like `Intl.Segmenter.prototype.segment`. */
  segment(text) {
    if (!plain.test(text)) {
      this.#real ??= new Intl.Segmenter(...this.#options);
      return this.#real.segment(text);
    }
    const segments = new PlainSegments(text.length);
    for (let index = 0; index < text.length; index++) segments[index] = { segment: text[index], index, input: text };
    return segments;
  }
}
