import { Fault } from '../../faults/fault.ts';

/** Quotes any text as one word of a POSIX shell. @throws Fault `usage.nul` for a NUL, which no argument can contain. */
export function shellWord(text: string): string {
  if (text.includes('\0'))
    throw new Fault('usage.nul', 'An argument contains a NUL character, which cannot be passed to a program.', 'Remove it.');
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Encodes bytes as one line of ASCII for `printf %b`: some shells mistake other bytes for internal marks while they read. */
export function printable(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  let line = '';
  for (const byte of bytes) {
    if (byte === 0x5c) line += '\\\\';
    else if (byte === 0x0a) line += '\\n';
    else if (byte >= 0x20 && byte < 0x7f) line += String.fromCharCode(byte);
    else line += `\\0${byte.toString(8).padStart(3, '0')}`;
  }
  return line;
}
