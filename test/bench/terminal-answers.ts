/** Queries that programs of today send at their start, and what an xterm with 256 colours on a dark background says. */
const answers: readonly (readonly [query: RegExp, answer: (match: RegExpExecArray) => string])[] = [
  [/\x1b\[0?c/g, () => '\x1b[?62;22c'],
  [/\x1b\[>0?c/g, () => '\x1b[>41;390;0c'],
  [/\x1b\[>0?q/g, () => '\x1bP>|XTerm(390)\x1b\\'],
  [/\x1b\[5n/g, () => '\x1b[0n'],
  [/\x1b\[6n/g, () => '\x1b[1;1R'],
  [/\x1b\[\?(\d+)\$p/g, ([, mode]) => `\x1b[?${mode};0$y`],
  [/\x1b\[\?u/g, () => ''],
  [/\x1b\]10;\?(?:\x07|\x1b\\)/g, () => '\x1b]10;rgb:ffff/ffff/ffff\x1b\\'],
  [/\x1b\]11;\?(?:\x07|\x1b\\)/g, () => '\x1b]11;rgb:0000/0000/0000\x1b\\'],
];

/** What a terminal would send back for this output. Queries cut apart by a read go without an answer, as they do on old terminals. */
export function terminalAnswers(data: Buffer): string[] {
  if (!data.includes(0x1b)) return [];
  const text = data.toString('latin1');
  return answers.flatMap(([query, answer]) => [...text.matchAll(query)].map((match) => answer(match as RegExpExecArray))).filter(Boolean);
}
