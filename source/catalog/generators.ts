import { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** Kinds of generated secrets: `base64:48` and `hex:16` count bytes, `alphanumeric:32` counts characters (R19). A third part is what it begins with: `alphanumeric:32:sk-`. */
export const generatorPattern = /^(?:(?:base64|hex|alphanumeric):[1-9]\d{0,3}(?::[\w-]{1,16})?|uuid)$/;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A new secret from the operating system's random source. The generator must match `generatorPattern`. */
export function generate(generator: string): string {
  const [kind, count, prefix = ''] = generator.split(':');
  const size = Number(count);
  if (!generatorPattern.test(generator)) throw new RangeError(`no such generator: ${generator}`);
  switch (kind) {
    case 'base64':
      return prefix + randomBytes(size).toString('base64');
    case 'hex':
      return prefix + randomBytes(size).toString('hex');
    case 'alphanumeric':
      return prefix + Array.from({ length: size }, () => alphabet[randomInt(alphabet.length)]).join('');
    default:
      return randomUUID();
  }
}
