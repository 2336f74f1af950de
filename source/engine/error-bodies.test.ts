import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { expect, test } from 'vitest';
import { guardErrorBodies } from './error-bodies.ts';

test('a sentence that arrives in pieces is read as it was written, also where they part within a character', async () => {
  const body = Buffer.from(JSON.stringify({ message: 'no space on /srv/Müller' }));
  const at = body.indexOf(0xc3) + 1;
  const response = Object.assign(Readable.from([body.subarray(0, at), body.subarray(at)], { objectMode: false }), { statusCode: 500 });
  const read = await new Promise((resolve) => {
    const buildPayload = (...[, , , , , , json]: unknown[]) => resolve(json);
    const { modem } = guardErrorBodies({ modem: { buildPayload } } as unknown as Docker);
    (modem as unknown as { buildPayload: (...given: unknown[]) => void }).buildPayload(
      ...[null, true, { 200: true }, false, {}, response, undefined, () => undefined],
    );
  });
  expect(read).toEqual({ message: 'no space on /srv/Müller' });
});
