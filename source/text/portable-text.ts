import { shownCodePoint } from './clean.ts';

/**
 * Terminals disagree about the width of some characters and of most sequences: a row with one of them wraps, and pushes the rows below it
 * away. Only characters that are equally wide in tmux, GNU screen, xterm and `string-width` are output.
 */

/** Characters that never combine with their neighbours; colours and links too. */
const settled =
  /^[\n\x07\x1b\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0377\u0384-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2100-\u218b\u2190-\u2319\u2500-\u2613\u2713-\u2718\u2800-\u28ff\u3001-\u3029\u3041-\u3096\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e]*$/;

/** A part of a text that is output unchanged: escape sequences, and the characters in `settled`. */
const escapeSequence = /(\x1b\[[\d;:]*[A-Za-z]|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\))/;

const mark = /^\p{M}$/u;
/** Marks below U+10A0 (Latin, Greek, Cyrillic, Hebrew, Arabic, Indic) that not all of them count as part of the letter. */
const unsettledMark =
  /[\u0487-\u0489\u0616-\u061a\u065f\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u0900\u093a\u0955-\u0957\u09fe\u0a51\u0a75\u0afa-\u0aff\u0b44\u0b55\u0b62\u0b63\u0c00\u0c04\u0c3c\u0c62\u0c63\u0c81\u0d00\u0d01\u0d3b\u0d3c\u0d44\u0d62\u0d63\u0d81\u0eba\u0f8d-\u0f8f\u1033-\u1035\u103a\u103d\u103e\u105e-\u1060\u1071-\u1074\u1082\u1085\u1086\u108d\u109d]/;
const lastSettledMark = 0x109f;
/** Joins two letters into one, which is two columns wide or one: without it both are shown. */
const joiner = /[\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039]/;
const letter = /^[\p{L}\p{N}]$/u;
/** A mark at the beginning of a text must not combine with the character before the text. */
const noBase = /^[\s\u2500-\u25ff]$/;
/** tmux stores 21 bytes per cell. */
const mostMarks = 3;

const conjoiningJamo = /[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]+/g;
const loneJamo = /[\u1160-\u11ff\ud7b0-\ud7fb]/;
const pictograph = /^\p{Extended_Pictographic}$/u;
const skinTone = /^[\u{1f3fb}-\u{1f3ff}]$/u;
/** Joins two emoji into one, such as a family: only the first is shown. */
const zeroWidthJoiner = '\u200d';
const regionalIndicator = /^[\u{1f1e6}-\u{1f1ff}]$/u;
const firstIndicator = 0x1f1e6;
/** Thai and Lao am: `string-width` does not count it after a consonant, terminals do. Its two parts have the same width everywhere. */
const parts: Readonly<Record<string, string>> = { '\u0e33': '\u0e4d\u0e32', '\u0eb3': '\u0ecd\u0eb2' };
/** Controls, formats, unassigned characters, signs before their letter, and what is newer than Unicode 14 or changed its width. */
const unsettled =
  /^(?:[\p{Cc}\p{Cf}\p{Cs}\p{Cn}]|[\u06de\u088f-\u0891\u0c5c\u0cdc\u0d4e\u115f\u1b4e\u1b4f\u1b7f\u1c89\u1c8a\u20c1\u2028\u2029\u2427-\u2429\u2630-\u2637\u268a-\u268f\u2b96\u2ffc-\u2fff\u3164\u31e4-\u31ef\u3248-\u324f\ua7cb-\ua7f1\ufbc3-\ufbd2\ufd90\ufd91\ufdc8-\ufdce\uffa0])$/u;
/** Beyond the basic plane: letters in use, mathematical letters, emoji, ideographs, and the characters of icon fonts. */
const settledBeyond =
  /^[\u{1d400}-\u{1d7ff}\u{1e900}-\u{1e943}\u{1e950}-\u{1e95f}\u{1f000}-\u{1f1e5}\u{1f200}-\u{1f6d7}\u{1f6dd}-\u{1f773}\u{1f780}-\u{1f7d8}\u{1f7e0}-\u{1f8b1}\u{1f900}-\u{1fa53}\u{1fa60}-\u{1fa74}\u{1fa78}-\u{1fa86}\u{1fa90}-\u{1faac}\u{1fab0}-\u{1faba}\u{1fac0}-\u{1fac5}\u{1fad0}-\u{1fad9}\u{1fae0}-\u{1fae7}\u{1faf0}-\u{1faf6}\u{20000}-\u{2b738}\u{2b740}-\u{2cea1}\u{2ceb0}-\u{2ebe0}\u{2f800}-\u{2fa1d}\u{30000}-\u{3134a}\u{f0000}-\u{10fffd}]$/u;

function isSettled(character: string): boolean {
  if (skinTone.test(character) || loneJamo.test(character) || unsettled.test(character)) return false;
  return character.length === 1 || settledBeyond.test(character);
}

function isJoined(characters: readonly string[], index: number): boolean {
  const joinerAt = characters[index] === zeroWidthJoiner ? index : index - 1;
  return characters[joinerAt] === zeroWidthJoiner && pictograph.test(characters[joinerAt + 1] ?? '');
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a state machine over marks, joiners, emoji and their bases
function portablePart(text: string): string {
  const characters = [...text.replace(conjoiningJamo, (jamo) => jamo.normalize('NFC'))].flatMap((each) => [...(parts[each] ?? each)]);
  let result = '';
  let base: string | undefined;
  let marks = 0;
  for (const [index, character] of characters.entries()) {
    if (character === '\n' || character === '\x07') {
      result += character;
      base = undefined;
    } else if (mark.test(character)) {
      const settledMark = (character.codePointAt(0) ?? 0) <= lastSettledMark && !unsettledMark.test(character);
      const joins = joiner.test(character) && letter.test(characters.slice(index + 1).find((each) => !mark.test(each)) ?? '');
      if (settledMark && !joins && base !== undefined && marks < mostMarks) {
        result += character;
        marks++;
      }
    } else if (base !== undefined && pictograph.test(base) && (skinTone.test(character) || isJoined(characters, index))) {
      // The first emoji stays.
    } else {
      base = noBase.test(character) ? undefined : character;
      marks = 0;
      if (regionalIndicator.test(character)) result += String.fromCharCode(65 + (character.codePointAt(0) ?? 0) - firstIndicator);
      else if (!isSettled(character)) {
        result += shownCodePoint(character);
        base = undefined;
      } else result += character;
    }
  }
  return result;
}

/** Emoji without skin tone, families by their first member, flags as letters, unsupported characters as `<U+0600>`. Colours stay. */
export function portableText(text: string): string {
  if (settled.test(text)) return text;
  return text
    .split(escapeSequence)
    .map((part, index) => (index % 2 === 1 || settled.test(part) ? part : portablePart(part)))
    .join('');
}
