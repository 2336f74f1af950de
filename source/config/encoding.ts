import { isUtf8 } from 'node:buffer';
import { Fault, type FaultCode } from '../faults/fault.ts';

/**
 * Decodes a text that people wrote. Invalid UTF-8 is refused with its position: a replacement character would be written back, and the
 * original lost.
 * @param name of the file, or of another source, for the message
 */
export function textOfPeople(bytes: Uint8Array, name: string, code: FaultCode = 'config.unreadable'): string {
  const read = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(read)) return read.toString('utf8');
  const { line, column } = positionOfOther(read);
  throw new Fault(code, `${name} cannot be read: line ${line} is not valid UTF-8.`, 'Save the text as UTF-8.', {
    where: { file: name, line, column },
  });
}

function positionOfOther(bytes: Buffer): { line: number; column: number } {
  let line = 0;
  let start = 0;
  let end = -1;
  // A line break is a byte of its own in UTF-8, regardless of its neighbours.
  do {
    line += 1;
    start = end + 1;
    end = bytes.indexOf(0x0a, start);
  } while (end !== -1 && isUtf8(bytes.subarray(start, end)));
  const wrong = bytes.subarray(start, end === -1 ? bytes.length : end);
  const replaced = Buffer.from(wrong.toString('utf8'));
  const right = wrong.findIndex((byte, index) => byte !== replaced[index]);
  return { line, column: wrong.subarray(0, right).toString('utf8').length + 1 };
}
