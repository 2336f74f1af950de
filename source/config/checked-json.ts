import type { z } from 'zod';
import { Fault } from '../faults/fault.ts';
import { parsedJson } from '../text/json-value.ts';
import { readOwnFile } from './own-files.ts';

/** Undefined if there is no file. Throws `code`, with the remedy, if it is not what this release writes there. */
export async function readCheckedJson<T>(
  file: string,
  shape: z.ZodType<T>,
  { code = 'config.unreadable', remedy, limitBytes }: { code?: `config.${string}`; remedy: string; limitBytes?: number },
): Promise<T | undefined> {
  const text = await readOwnFile(file, limitBytes === undefined ? {} : { limitBytes });
  if (text === undefined) return undefined;
  const { data } = shape.safeParse(parsedJson(text));
  if (data !== undefined) return data;
  throw new Fault(code, `${file} is damaged or has an unknown format.`, remedy, { where: { file } });
}
