import { fillFile } from '../catalog/file-template.ts';
import { Fault } from '../faults/fault.ts';

/** A template of the catalog with these values in it. Throws `catalog.template` with the place in `file` that cannot be filled in. */
export function filledFile(text: string, values: Readonly<Record<string, string>>, file: string): string {
  const filled = fillFile(text, values);
  if ('text' in filled) return filled.text;
  const { message, line, column } = filled.problem;
  throw new Fault({
    code: 'catalog.template',
    message: `${file} cannot be filled in: ${message}.`,
    remedy: '"quarterdeck catalog check FOLDER" says all that is wrong with it.',
    where: { file, line, column },
  });
}
