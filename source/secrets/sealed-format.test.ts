import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveKey, isBearable } from './key-derivation.ts';
import { readSealed, seal } from './sealed-format.ts';

const key = randomBytes(32);
const header = { opens: 'passphrase', salt: randomBytes(16).toString('base64'), memoryKiB: 65_536, passes: 3, parallelism: 4 } as const;

/** `damaged` also covers thrown errors: a person is informed in either case. */
function opened(bytes: Uint8Array): string | undefined {
  try {
    return readSealed(Buffer.from(bytes).toString('utf8'), 'secrets.sealed').open(key);
  } catch (error) {
    expect(error).toMatchObject({ code: 'failed.secrets' });
    return undefined;
  }
}

describe('the sealed file', () => {
  test('gives back any text, and holds none of it in clear', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 8 }), (plain) => {
        const text = seal(plain, key, header);
        expect(readSealed(text, 'x').open(key)).toBe(plain);
        expect(text.includes(plain)).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  test('a changed byte, any of them, is noticed', () => {
    const bytes = Buffer.from(seal('{"secrets":[["nas/password-vault/ADMIN_TOKEN",[]]]}', key, header));
    for (let position = 0; position < bytes.length; position++) {
      for (const flip of [1, 0x20, 0x80]) {
        const changed = Buffer.from(bytes);
        changed[position] = (changed[position] ?? 0) ^ flip;
        expect(opened(changed), `byte ${position} changed by ${flip}`).toBeUndefined();
      }
    }
  });

  test('cut off anywhere, or longer than it was, it is noticed', () => {
    const bytes = Buffer.from(seal('plain', key, header));
    for (let length = 0; length < bytes.length; length++) expect(opened(bytes.subarray(0, length)), `${length} bytes`).toBeUndefined();
    expect(opened(Buffer.concat([bytes, Buffer.from('\n')]))).toBeUndefined();
    expect(opened(Buffer.concat([bytes, bytes]))).toBeUndefined();
  });

  test('whoever changes header or text and mends the sum is still found out: both are bound to the tag', async () => {
    const { createHash } = await import('node:crypto');
    const mended = (change: (lines: string[]) => void) => {
      const lines = seal('plain', key, header).split('\n').slice(0, 3);
      change(lines);
      const body = lines.map((line) => `${line}\n`).join('');
      return Buffer.from(`${body}${createHash('sha256').update(body).digest('hex')}\n`);
    };
    expect(opened(mended(() => {}))).toBe('plain');
    expect(opened(mended((lines) => lines.splice(1, 1, (lines[1] ?? '').replace('"passes":3', '"passes":2'))))).toBeUndefined();
    expect(opened(mended((lines) => lines.splice(1, 1, (lines[1] ?? '').replace('passphrase', 'key-file'))))).toBeUndefined();
    expect(
      opened(
        mended((lines) =>
          lines.splice(
            2,
            1,
            (lines[2] ?? '').replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
          ),
        ),
      ),
    ).toBeUndefined();
    // A cost that would use all memory is refused.
    expect(() =>
      readSealed(mended((lines) => lines.splice(1, 1, (lines[1] ?? '').replace('65536', '4294967295'))).toString(), 'x'),
    ).toThrow(/damaged/);
  });

  test('of a newer format it says so, and asks for an update', () => {
    const text = seal('plain', key, header).replace('quarterdeck-secrets 1', 'quarterdeck-secrets 2');
    expect(() => readSealed(text, 'x')).toThrow('x was written by a newer version of Quarterdeck (format 2; this version supports 1).');
  });

  test('says the same text differently each time', () => {
    expect(seal('plain', key, header)).not.toBe(seal('plain', key, header));
  });
});

describe('the key', () => {
  const cost = { memoryKiB: 1024, passes: 2, parallelism: 2 };

  test('is the same from node and from the library that stands in for older ones', async () => {
    // Both implementations are independent of each other, and of ours.
    const salt = Buffer.alloc(16, 2);
    const native = await deriveKey('correct horse battery staple', salt, cost);
    const library = await deriveKey('correct horse battery staple', salt, cost, null);
    expect(library.toString('hex')).toBe(native.toString('hex'));
    expect(native).toHaveLength(32);
  });

  test('is the same however the keyboard composes an accent', async () => {
    const salt = Buffer.alloc(16, 3);
    expect(await deriveKey('cafe\u0301 noir', salt, cost)).toEqual(await deriveKey('caf\u00e9 noir', salt, cost));
  });

  test('has a bearable cost, or none is paid', () => {
    expect(isBearable({ memoryKiB: 65_536, passes: 3, parallelism: 4 })).toBe(true);
    for (const bad of [{ memoryKiB: 2 ** 30 }, { passes: 0 }, { passes: 1e6 }, { parallelism: 0 }, { memoryKiB: Number.NaN }]) {
      expect(isBearable({ memoryKiB: 65_536, passes: 3, parallelism: 4, ...bad })).toBe(false);
    }
  });
});
