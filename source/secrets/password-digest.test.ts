import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requiredProgram } from '../../test/required.ts';
import { digestText, isDigest, makeDigest, matchesDigest } from './password-digest.ts';

const cheap = { memoryKiB: 1024, passes: 1, parallelism: 1, keyBytes: 32, saltBytes: 16 };
const run = promisify(execFile);

describe('a password hash (R49)', () => {
  test('is what the portal makes: argon2id, version 19, base64 without padding', async () => {
    const digest = await makeDigest('secret', { memoryKiB: 65_536, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 16 });
    expect(digest).toMatch(/^\$argon2id\$v=19\$m=65536,t=3,p=4\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(await matchesDigest(digest, 'secret')).toBe(true);
    expect(await matchesDigest(digest, 'Secret')).toBe(false);
  });

  test.skipIf(requiredProgram('argon2'))('is the same as the reference implementation makes (the argon2 program)', async () => {
    const salt = 'sixteen bytes ok';
    for (const password of ['secret', 'ümläut ñ 🔑', ' with blanks ', 'a'.repeat(120)]) {
      const program = run('argon2', [salt, '-id', '-t', '3', '-k', '65536', '-p', '4', '-l', '32', '-e']);
      program.child.stdin?.end(password);
      const { stdout } = await program;
      expect(
        await makeDigest(password, { memoryKiB: 65_536, passes: 3, parallelism: 4, keyBytes: 32, saltBytes: 16 }, Buffer.from(salt)),
      ).toBe(stdout.trim());
    }
  });

  test('opens for the password that it was made of, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, unit: 'grapheme' }), async (password) => {
        expect(await matchesDigest(await makeDigest(password, cheap), password)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test('of another kind is known, and not touched; a password in clear is none', async () => {
    expect(isDigest('$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW')).toBe(true);
    expect(await matchesDigest('$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW', 'x')).toBeUndefined();
    for (const text of ['', 'secret', '$', '$argon2id', 'argon2id$v=19']) expect(isDigest(text)).toBe(false);
    expect(digestText('$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$a2V5a2V5a2V5a2V5')).toBe('argon2id');
    expect(digestText('$argon2id$v=19$m=1024,t=1,p=4$c2FsdHNhbHRzYWx0c2FsdA$a2V5a2V5a2V5a2V5')).toBe('weak argon2id');
  });

  test('that would take all memory is not computed', async () => {
    expect(await matchesDigest('$argon2id$v=19$m=99999999,t=3,p=4$c2FsdHNhbHRzYWx0c2FsdA$a2V5a2V5a2V5a2V5', 'x')).toBeUndefined();
  });
});
