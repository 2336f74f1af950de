import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Holders, VaultStage } from '../../test/doubles/vault-stage.ts';
import { initialise } from './initialise.ts';
import { seal } from './seal.ts';
import { unseal } from './unseal.ts';
import { vaultRotate } from './vault-rotate.ts';
import { vaultSnapshot } from './vault-snapshot.ts';

let stage: VaultStage;
afterEach(() => stage.close());

const isSealed = async () => (await stage.ask('GET', 'sys/seal-status'))['sealed'];

describe('a secrets manager that opens itself', () => {
  test('initialised: recovery shares are handed out, and it is open', async () => {
    stage = await VaultStage.open({ autoUnseal: true, uninitialised: true });
    const holders = new Holders();
    const { message, todo } = await stage.run(initialise, holders, {}, 'not initialised');
    expect(message).toMatch(/every share is in the hands of its holder\. It is open\./);
    expect(Object.keys(holders.seen)).toEqual([...[1, 2, 3, 4, 5].map((number) => `Recovery share ${number} of 5`), 'Root token']);
    expect(todo?.items.map(({ id }) => id)).toEqual(['second-admin']);
    expect(await isSealed()).toBe(false);
  });

  test('sealed by hand: it says what opens it again, and a restart does', async () => {
    stage = await VaultStage.open({ autoUnseal: true });
    await stage.server.restart();
    expect(await isSealed()).toBe(false);
    const holders = new Holders({ token: stage.token });
    await stage.run(seal, holders);
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain(
      'until it is restarted (it opens itself, static), or 3 of the 5 recovery shares',
    );
    await expect(stage.run(unseal, new Holders({ recovery: 'leave' }), {}, 'sealed')).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      remedy: expect.stringMatching(/^Restart it: quarterdeck restart vault.*\(static\) is away/),
    });
    await stage.server.restart();
    expect((await stage.run(unseal, new Holders(), {}, 'healthy')).message).toBe('vault is unsealed already.');
  });

  test('its recovery shares open it where it was sealed by hand; a wrong one drops them all', async () => {
    stage = await VaultStage.open({ autoUnseal: true });
    await stage.unseal();
    await stage.ask('PUT', 'sys/seal');
    const [first = '', second = '', third = '', fourth = ''] = stage.shares;
    const wrong = `${'5a'.repeat(32)}${fourth.slice(-2)}`;
    const holders = new Holders({ recovery: 'shares', share: [first, wrong, second, first, second, third] });
    expect((await stage.run(unseal, holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.asked.filter(({ id }) => id === 'share')[0]?.label).toBe('Recovery share 1 of 3');
    expect(holders.texts().join(' ')).toMatch(/at least one of them is wrong/);
    expect(await isSealed()).toBe(false);
  });

  test('unattended the shares are given as they are, and it is told what they are', async () => {
    stage = await VaultStage.open({ autoUnseal: true });
    await stage.ask('PUT', 'sys/seal');
    const holders = new Holders({ share: [...stage.shares] }, 'unattended');
    expect((await stage.run(unseal, holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.texts()[0]).toContain('opens itself (static) when it is started');
  });

  test('new recovery shares, and a snapshot, say what they are for', async () => {
    stage = await VaultStage.open({ autoUnseal: true });
    await stage.server.restart();
    const holders = new Holders({ token: stage.token, share: [...stage.shares], shares: '3', threshold: '2' });
    expect((await stage.run(vaultRotate, holders)).message).toBe(
      'vault has new recovery shares: 2 of 3 are enough. Those of before are worth nothing any more.',
    );
    const words = [join(stage.stage.folder, 'taken.snap')];
    const { message } = await stage.run(vaultSnapshot, new Holders({ token: stage.token }), { words });
    expect(message).toContain('going back to it takes what opens it now (static).');
  });
});
