import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Listening, listen } from '../../../../test/contract/listening.ts';
import { createSecretsManager, type SecretsManager } from './secrets-manager.ts';

/** Which of the five shares, in which order. */
const orders = (count: number) => fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: count, maxLength: count });

describe('five shares of which three open it', () => {
  let manager: SecretsManager;
  let listening: Listening;
  beforeAll(async () => {
    manager = await createSecretsManager();
    listening = await listen(manager.product, 8200);
    return listening.close;
  });

  const give = async (body: object) => {
    const response = await fetch(`${listening.url}/v1/sys/unseal`, { method: 'PUT', body: JSON.stringify(body) });
    return { status: response.status, ...((await response.json()) as { sealed?: boolean; progress?: number; errors?: string[] }) };
  };
  const sealedAgain = () => listening.restart();

  test('any three, in any order, hex or base64, unseal it (R59)', async () => {
    await fc.assert(
      fc.asyncProperty(orders(3), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }), async (order, hex) => {
        sealedAgain();
        let last: Awaited<ReturnType<typeof give>> | undefined;
        for (const [at, index] of order.entries()) {
          const share = Buffer.from(manager.shares[index] ?? '', 'hex');
          last = await give({ key: share.toString(hex[at] ? 'hex' : 'base64') });
        }
        expect(last).toMatchObject({ status: 200, sealed: false, progress: 0 });
      }),
      { numRuns: 60 },
    );
  });

  test('two never do, however often they are given', async () => {
    await fc.assert(
      fc.asyncProperty(orders(2), fc.array(fc.nat(1), { minLength: 1, maxLength: 6 }), async (order, picks) => {
        sealedAgain();
        for (const pick of picks)
          expect(await give({ key: manager.shares[order[pick] ?? 0] })).toMatchObject({ status: 200, sealed: true });
      }),
      { numRuns: 40 },
    );
  });

  test('three with a wrong one among them never do, and all are dropped', async () => {
    const wrong = fc.uint8Array({ minLength: 33, maxLength: 33 }).filter((bytes) => bytes[32] !== 0);
    await fc.assert(
      fc.asyncProperty(orders(2), wrong, fc.nat(2), async (order, bytes, place) => {
        sealedAgain();
        const keys = order.map((index) => manager.shares[index] ?? '');
        fc.pre(!keys.includes(Buffer.from(bytes).toString('hex')));
        keys.splice(place, 0, Buffer.from(bytes).toString('hex'));
        const said = [];
        for (const key of keys) said.push(await give({ key }));
        expect(said.map(({ status }) => status)).toEqual([200, 200, 400]);
        expect(await give({ reset: true })).toMatchObject({ status: 200, sealed: true, progress: 0 });
      }),
      { numRuns: 60 },
    );
  });

  test('shares that are given at once are counted one by one', async () => {
    sealedAgain();
    const said = await Promise.all(manager.shares.map((key) => give({ key })));
    expect(said.map(({ sealed }) => sealed)).toEqual([true, true, false, false, false]);
  });
});

test('what it stores cannot be read without the shares', async () => {
  const { product, shares, rootToken, storedBytes } = await createSecretsManager();
  const { url, close } = await listen(product, 8200);
  for (const key of shares.slice(2)) await fetch(`${url}/v1/sys/unseal`, { method: 'PUT', body: JSON.stringify({ key }) });
  const secret = randomBytes(16).toString('hex');
  const body = JSON.stringify({ data: { password: secret } });
  const written = await fetch(`${url}/v1/secret/data/apps/x`, { method: 'POST', headers: { 'X-Vault-Token': rootToken }, body });
  expect(written.status).toBe(200);
  for (const hidden of [secret, rootToken, ...shares]) expect(storedBytes()).not.toContain(hidden);
  await close();
});
