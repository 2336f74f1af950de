import { Fault } from '../../faults/fault.ts';

/** One word of a POSIX shell, whatever is in it. @throws Fault `usage.nul` for a NUL, which no argument can hold. */
export function shellWord(text: string): string {
  if (text.includes('\0')) {
    throw new Fault({
      code: 'usage.nul',
      message: 'An argument has a NUL character in it, which no program can be given.',
      remedy: 'Take it out.',
    });
  }
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Bytes as one line of printable ASCII that `printf %b` turns back into them. Some shells mistake bytes beyond ASCII for marks of their own while they read.
 */
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
