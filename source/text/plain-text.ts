/**
 * One column wide, and never joined with a neighbour: printable ASCII, Latin, dashes and quotes, the four arrows, box drawing, blocks and
 * geometric shapes (without the two that are emoji), ballot boxes, ticks and crosses, Braille.
 */
export const plainCharacters =
  '\\u0020-\\u007E\\u00A1-\\u00AC\\u00AE-\\u02FF\\u2010-\\u2027\\u2039\\u203A\\u2190-\\u2193\\u2500-\\u25FC\\u25FF\\u2610-\\u2612\\u2713-\\u2718\\u2800-\\u28FF';

const plain = new RegExp(`^(?:[\\n${plainCharacters}]|\u001B\\[[\\d;]*m)*$`);
const plainRun = new RegExp(`^[${plainCharacters}]*$`);
const cutAnywhere = new RegExp(`^[\\n\u001B${plainCharacters}]*$`);

export function isPlain(text: string): boolean {
  return plain.test(text);
}

/** Then its length is its width in columns. */
export function isPlainRun(text: string): boolean {
  return plainRun.test(text);
}

// In the bundle, this class replaces `Intl.Segmenter` wherever that is written in full.
const { Segmenter } = Intl;

/** `Intl.Segmenter` for graphemes, which splits plain text without the Unicode tables. */
export class PlainSegmenter {
  #real: Intl.Segmenter | undefined;

  segment(text: string): Iterable<Intl.SegmentData> {
    if (!cutAnywhere.test(text)) {
      this.#real ??= new Segmenter();
      return this.#real.segment(text);
    }
    const segments = Array.from(text, (segment, index) => ({ segment, index, input: text }));
    return Object.assign(segments, { containing: (index: number) => segments[index] });
  }
}
