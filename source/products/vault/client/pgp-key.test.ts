import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pgpPublicKey } from './pgp-key.ts';

const armoured = (bytes: Buffer, head = '', kind = 'PUBLIC KEY BLOCK') =>
  Buffer.from(
    `-----BEGIN PGP ${kind}-----\n${head}\n${bytes.toString('base64').replace(/(.{64})/g, '$1\n')}\n=AbCd\n-----END PGP ${kind}-----\n`,
  );
const body = fc.uint8Array({ minLength: 40, maxLength: 900 }).map((bytes) => Buffer.from(bytes));
/** Old and new packet format, tag 6. */
const firsts = [0x98, 0x99, 0xc6];

test('a public key is the same with armour and without, whatever head lines there are', () => {
  fc.assert(
    fc.property(
      body,
      fc.constantFrom(...firsts),
      fc.constantFrom('', 'Comment: made by ada\n', 'Version: 2\nComment: x\n'),
      (rest, first, head) => {
        const bytes = Buffer.concat([Buffer.from([first]), rest]);
        expect(pgpPublicKey(bytes)).toEqual({ base64: bytes.toString('base64') });
        expect(pgpPublicKey(armoured(bytes, head))).toEqual({ base64: bytes.toString('base64') });
      },
    ),
  );
});

test('a secret key is refused as what it is, with armour and without', () => {
  fc.assert(
    fc.property(body, fc.constantFrom(0x94, 0x95, 0xc5), (rest, first) => {
      const bytes = Buffer.concat([Buffer.from([first]), rest]);
      expect(pgpPublicKey(bytes).problem).toMatch(/secret key/);
      expect(pgpPublicKey(armoured(bytes)).problem).toMatch(/secret key/);
      expect(pgpPublicKey(armoured(bytes, '', 'PRIVATE KEY BLOCK')).problem).toMatch(/secret key/);
    }),
  );
});

test('anything else is a sentence, and never an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const { base64, problem } = pgpPublicKey(bytes);
      expect((base64 === undefined) !== (problem === undefined)).toBe(true);
    }),
  );
  expect(pgpPublicKey(Buffer.from('ssh-ed25519 AAAA')).problem).toMatch(/Not a PGP public key/);
  expect(pgpPublicKey(Buffer.from('-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ')).problem).toMatch(/broken/);
});
