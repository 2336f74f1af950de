import { afterEach, beforeEach, expect, test } from 'vitest';
import { Holders, VaultFixture } from '../../../test/doubles/vault-fixture.ts';

let fixture: VaultFixture;
beforeEach(async () => {
  fixture = await VaultFixture.open();
  await fixture.unseal();
});
afterEach(() => fixture.close());

test('sealed, each says so with the way on, before it asks for anything', async () => {
  await fixture.ask('PUT', 'sys/seal');
  for (const flow of [
    'vault-login',
    'vault-logout',
    'vault-token',
    'vault-list',
    'vault-read',
    'vault-write',
    'vault-policies',
    'vault-policy',
    'vault-approle',
    'vault-snapshot',
  ]) {
    const holders = new Holders();
    await expect(fixture.run(flow, holders), flow).rejects.toMatchObject({
      code: 'refused.sealed',
      remedy: 'quarterdeck unseal vault',
    });
    expect(holders.asked).toEqual([]);
  }
});
