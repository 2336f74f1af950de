import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { Core, openbao } from '../simulator/core.ts';
import { takeSnapshot } from '../simulator/snapshot.ts';
import { decodeRoot } from './key-ceremonies.ts';
import { readSnapshot } from './raft-snapshot.ts';

const { signal } = new AbortController();
let whole: Buffer;

beforeAll(async () => {
  const core = new Core(openbao);
  await core.initialise({ shares: 1, threshold: 1 }, { mounts: { secret: {}, auth: {} }, policies: { a: 'c'.repeat(2000) }, tokens: {} });
  whole = await takeSnapshot(core);
});

test('a whole snapshot tells where in the log it is from', async () => {
  expect(await readSnapshot(whole, signal)).toMatchObject({ index: 86, stateBytes: expect.any(Number) });
});

test('an error that was saved as a snapshot, half a snapshot, and one with another byte in its state are refused', async () => {
  await expect(readSnapshot(Buffer.from('{"errors":["permission denied"]}'), signal)).rejects.toMatchObject({
    message: expect.stringContaining('not a gzip'),
  });
  await expect(readSnapshot(Buffer.alloc(0), signal)).rejects.toMatchObject({ code: 'failed.snapshot' });
  await expect(readSnapshot(whole.subarray(0, whole.length >> 1), signal)).rejects.toMatchObject({
    message: expect.stringContaining('truncated'),
  });
  const plain = gunzipSync(whole);
  const at = plain.indexOf('"rootKey"');
  plain[at + 1] = (plain[at + 1] ?? 0) ^ 1;
  await expect(readSnapshot(gzipSync(plain), signal)).rejects.toMatchObject({ message: expect.stringContaining('state.bin') });
});

test('whatever comes instead is a fault, and never anything else', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 600 }), async (bytes) => {
      for (const candidate of [Buffer.from(bytes), gzipSync(bytes)])
        await expect(readSnapshot(candidate, signal)).rejects.toMatchObject({ code: 'failed.snapshot' });
    }),
    { numRuns: 50 },
  );
});

test('a root token is read with its one-time password alone, padded or not', () => {
  const letters = fc.string({ unit: fc.constantFrom(...'ABCabc019.'), minLength: 26, maxLength: 26 });
  fc.assert(
    fc.property(letters, letters, (token, otp) => {
      const hidden = Buffer.from([...Buffer.from(token)].map((byte, at) => byte ^ (otp.charCodeAt(at) || 0)));
      expect(decodeRoot(hidden.toString('base64'), otp)).toBe(token);
      expect(decodeRoot(hidden.toString('base64').replace(/=+$/, ''), otp)).toBe(token);
      expect(() => decodeRoot(hidden.toString('base64'), otp.slice(1))).toThrow(/cannot be decoded/);
    }),
  );
});
