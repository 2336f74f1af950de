import { type Fault, messageOf, placeText } from '../faults/fault.ts';
import { cleanLine, jsonText } from '../text/clean.ts';
import { wrap } from '../text/width.ts';
import type { Output } from './output.ts';

/** A fault on stderr: one JSON object, or a sentence and under it what to do. Never a stack. */
export function printFault(fault: Fault, output: Output, { json, verbose }: { json: boolean; verbose: boolean }): void {
  if (json) {
    output.note(jsonText(fault));
    return;
  }
  const { where } = fault;
  const told = where?.line === undefined ? (where?.file ?? where?.field) : undefined;
  const named = told !== undefined && fault.message.includes(told);
  const place = named ? '' : placeText(fault.where);
  const file = fault.where?.file;
  // The place before it names the file already, with all of its folders.
  const message = place !== '' && file !== undefined ? fault.message.replaceAll(file, file.replace(/.*\//, '')) : fault.message;
  const sentence = output.short(cleanLine(place === '' ? message : `${place}: ${message}`));
  const [first = '', ...more] = wrap(sentence, output.proseColumns - 13);
  output.note(`${output.paintError('bad', 'quarterdeck:')} ${first}`);
  for (const line of more) output.note(`${' '.repeat(13)}${line}`);
  for (const line of wrap(output.short(cleanLine(fault.remedy)), output.proseColumns - 13)) output.note(`${' '.repeat(13)}${line}`);
  if (!verbose) return;
  for (let cause = fault.cause, depth = 0; cause !== undefined && depth < 5; depth++) {
    const because = messageOf(cause);
    if (because !== fault.message) {
      for (const line of wrap(`because: ${cleanLine(because)}`, output.proseColumns - 13))
        output.note(output.paintError('faint', `${' '.repeat(13)}${line}`));
    }
    cause = cause instanceof Error ? cause.cause : undefined;
  }
}
