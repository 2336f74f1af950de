/** Texts that terminals draw wider or narrower than they are counted, each short enough for one row of the logs. By what is awkward about them. */
export const awkwardText: Readonly<Record<string, string>> = {
  'an Arabic number sign': 'total \u0600123',
  'an Arabic end of ayah': 'ayah \u06dd12',
  'further signs that are written before a letter': 'x \u0601\u0605\u070f\u08e2\u{110bd} y',
  'skin tones': 'ok \u{1f44d}\u{1f3fd} \u{1f44b}\u{1f3ff} done',
  'a skin tone alone': 'tone \u{1f3fd} end',
  'a family joined with U+200D': 'by \u{1f468}\u200d\u{1f469}\u200d\u{1f467} end',
  'variation selectors': 'a \u2764\ufe0f b \u2600\ufe0e c 1\ufe0f\u20e3 d',
  flags: 'in \u{1f1e9}\u{1f1ea} and \u{1f1eb} end',
  'Telugu conjuncts': '\u0c15\u0c4d\u0c37\u0c3f\u0c2a\u0c4d\u0c30 \u0c35\u0c3f\u0c28\u0c3f\u0c2f\u0c4b\u0c17 end',
  'Devanagari conjuncts': '\u0915\u094d\u0937\u0947\u0924\u094d\u0930 \u0938\u0930\u094d\u0935\u0930 end',
  'Malayalam signs before a letter': 'x \u0d4e\u0d15 \u0d15\u0d4d\u0d37 end',
  'Thai am': '\u0e01\u0e33\u0e25\u0e31\u0e07\u0e17\u0e33\u0e07\u0e32\u0e19 end',
  'Korean in letters': '\u1112\u1161\u11ab\u1100\u1173\u11af end',
  'many marks on one letter': `z${'\u0301\u0327\u0336'.repeat(20)} end`,
  'a mark alone': '\u0301 \u0bca start',
  'wide letters': '\u65e5\u672c\u8a9e \uff21\uff22 end',
  pictures: '\u{1f680}\u{1f600}\u{1f6e0} \u{1f9ff} end',
  'characters newer than terminals': 'x \u{1fae9} \u{16d40} end',
  'characters that nothing is assigned to': 'x \u0378 \u{1ffff} end',
  'hexagrams, whose width was changed': '\u2630\u4dc0 end',
  'letters from right to left': '\u05e9\u05dc\u05d5\u05dd \u0639\u064e\u0644\u064e\u064a\u0643\u0645 end',
  'zero width and direction': 'a\u200bb\u2060c\u202ed\u2066e end',
};

const columns = 300;

/** Longer than any row: what is awkward meets the last column, in both parities where it is two columns wide. */
export const awkwardLines: readonly string[] = [
  ...['', 'x'].map((before) => before + '\u4e16'.repeat(columns)),
  ...['', 'x'].map((before) => before + '\u{1f680}'.repeat(columns)),
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'.repeat(columns),
  '\u{1f44d}\u{1f3fd}'.repeat(columns),
  'e\u0301'.repeat(columns),
  '\u0c15\u0c4d\u0c37\u0c3f'.repeat(columns),
  '\u0600\u06dd'.repeat(columns),
  '\u05e9\u05dc'.repeat(columns),
];
