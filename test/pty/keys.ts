/** What a terminal of the xterm family sends for the keys that are no text. */
const sequences = {
  enter: '\r',
  tab: '\t',
  'shift+tab': '\x1b[Z',
  esc: '\x1b',
  space: ' ',
  backspace: '\x7f',
  delete: '\x1b[3~',
  insert: '\x1b[2~',
  up: '\x1b[A',
  down: '\x1b[B',
  right: '\x1b[C',
  left: '\x1b[D',
  home: '\x1b[H',
  end: '\x1b[F',
  pageup: '\x1b[5~',
  pagedown: '\x1b[6~',
  f1: '\x1bOP',
  f2: '\x1bOQ',
  f3: '\x1bOR',
  f4: '\x1bOS',
  f5: '\x1b[15~',
  f10: '\x1b[21~',
} as const;

/** `enter`, `ctrl+c`, `alt+x`, or one character. */
export type Key = keyof typeof sequences | (string & {});

export function keySequence(key: Key): string {
  if (Object.hasOwn(sequences, key)) return sequences[key as keyof typeof sequences];
  const control = /^ctrl\+([a-z[\\\]^_])$/.exec(key)?.[1];
  if (control !== undefined) return String.fromCharCode(control.toUpperCase().charCodeAt(0) & 0x1f);
  const alt = /^alt\+(.+)$/.exec(key)?.[1];
  if (alt !== undefined) return `\x1b${keySequence(alt)}`;
  if ([...key].length === 1) return key;
  throw new Error(`no such key: ${key} (text is typed with type())`);
}
