import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../../../test/doubles/any-character.ts';
import { shareNumber, shareProblem } from './key-share.ts';

const seal = { threshold: 3, shares: 5 };
const none: ReadonlySet<number> = new Set();
const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes));

describe('key shares (R59)', () => {
  test('any 33 bytes are taken, in hex of either case and in base64, and are the same share', () => {
    fc.assert(
      fc.property(bytesOf(33), (bytes) => {
        const notations = [bytes.toString('hex'), bytes.toString('hex').toUpperCase(), bytes.toString('base64')];
        for (const text of notations) {
          expect(shareProblem(`  ${text}\n`, seal, none)).toBeUndefined();
          expect(shareNumber(text)).toBe(bytes.at(-1));
          expect(shareProblem(text, seal, new Set([bytes.at(-1) ?? 0]))).toMatch(/already entered/);
        }
      }),
    );
  });

  test('any other length is refused, and a key alone is one of 32 bytes', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 90 })
          .filter((length) => length !== 33)
          .chain(bytesOf),
        (bytes) => {
          const problem = shareProblem(bytes.toString('base64'), seal, none);
          // A text that is hex by chance has another length as hex.
          if (!/^(?:[0-9a-f]{2})+$/i.test(bytes.toString('base64'))) expect(problem).toMatch(/too short|too long/);
        },
      ),
    );
    expect(shareProblem('ab'.repeat(32), { threshold: 1, shares: 1 }, none)).toBeUndefined();
    expect(shareProblem('ab'.repeat(33), { threshold: 1, shares: 1 }, none)).toMatch(/too long/);
  });

  test('what was sealed with PGP is known by its length or its armour, whatever is in it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 101, max: 900 }).chain(bytesOf), (bytes) => {
        expect(shareProblem(bytes.toString('base64'), seal, none)).toMatch(/encrypted with PGP/);
        expect(shareProblem(bytes.toString('hex'), seal, none)).toMatch(/encrypted with PGP/);
      }),
    );
    expect(shareProblem('-----BEGIN PGP MESSAGE-----\n\nhQEM', seal, none)).toMatch(/encrypted with PGP/);
  });

  test('no text makes it throw, and no sentence repeats what was typed', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12, unit: anyCharacter }), (text) => {
        const problem = shareProblem(text, seal, none);
        if (problem !== undefined && text.trim().length >= 12) expect(problem).not.toContain(text.trim());
      }),
    );
  });
});
