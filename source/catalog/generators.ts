import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** `base64:48` and `hex:16` count bytes, `alphanumeric:32` characters (R19). A third part is a prefix: `alphanumeric:32:sk-`. */
export const generatorPattern = /^(?:(?:base64|hex|alphanumeric):[1-9]\d{0,3}(?::[\w-]{1,16})?|uuid)$/;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The generator must match `generatorPattern`. */
export function generate(generator: string): string {
  const [kind, count, prefix = ''] = generator.split(':');
  const size = Number(count);
  if (!generatorPattern.test(generator)) throw new RangeError(`unknown generator: ${generator}`);
  if (kind === 'uuid') return randomUUID();
  if (kind === 'alphanumeric') return prefix + Array.from({ length: size }, () => alphabet[randomInt(alphabet.length)]).join('');
  return prefix + randomBytes(size).toString(kind as 'base64' | 'hex');
}
