import { cleanLine } from '../text/clean.ts';
import { bytesText } from '../text/quantities.ts';

/** A language model of so many billion parameters requires this memory (R78). */
export function modelMemoryBytes(billions: number): number {
  // As messages print it. A machine that is sold with 16 GB has a little more than that, and less than 16 GiB.
  const gigabytes = billions <= 7 ? 8 : billions <= 13 ? 16 : billions <= 70 ? 40 : (billions / 70) * 40;
  return gigabytes * 1e9;
}

/** Parses billions of parameters from a model's name: `llama3.1:8b`, `qwen2.5-coder:32b-instruct`, `phi3:3.8b`. */
export function modelSize(name: string): number | undefined {
  const found = /(?:^|[:/_-])(\d+(?:\.\d+)?)b(?=$|[^a-z0-9])/i.exec(name);
  return found ? Number(found[1]) : undefined;
}

/** Returns a warning; undefined if the model fits into the memory of the host, or its name does not contain its size. */
export function modelTooLarge(model: string, memoryBytes: number): string | undefined {
  const size = modelSize(model);
  if (size === undefined || memoryBytes >= modelMemoryBytes(size)) return undefined;
  const needed = bytesText(modelMemoryBytes(size));
  return `The model ${cleanLine(model)} requires about ${needed} of memory; the host has ${bytesText(memoryBytes)}.`;
}
