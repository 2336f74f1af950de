import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Holders, VaultFixture } from '../../../test/doubles/vault-fixture.ts';

let fixture: VaultFixture;
afterEach(() => fixture.close());

const isSealed = async () => (await fixture.ask('GET', 'sys/seal-status'))['sealed'];

describe('a secrets manager that opens itself', () => {
  test('initialised: recovery shares are handed out, and it is open', async () => {
    fixture = await VaultFixture.open({ autoUnseal: true, uninitialised: true });
    const holders = new Holders();
    const { message, todo } = await fixture.run('initialise', holders, {}, 'not initialised');
    expect(message).toMatch(/delivered every share to its holder\. The server is unsealed\./);
    expect(Object.keys(holders.seen)).toEqual([...[1, 2, 3, 4, 5].map((number) => `Recovery share ${number} of 5`), 'Root token']);
    expect(todo?.items.map(({ id }) => id)).toEqual(['second-admin']);
    // Recovery shares do not unseal it after a restart.
    expect(JSON.stringify(holders.asked)).not.toMatch(/unseal the server|never be unsealed|after every restart/);
    expect(await isSealed()).toBe(false);
  });

  test('sealed by hand: it says what opens it again, and a restart does', async () => {
    fixture = await VaultFixture.open({ autoUnseal: true });
    await fixture.server.restart();
    expect(await isSealed()).toBe(false);
    const holders = new Holders({ token: fixture.token });
    await fixture.run('seal', holders);
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain(
      'until it is restarted (auto-unseal, static), or 3 of the 5 recovery shares',
    );
    await expect(fixture.run('unseal', new Holders({ recovery: 'leave' }), {}, 'sealed')).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      remedy: expect.stringMatching(/^Restart vault: quarterdeck restart vault.*\(static\) may be unreachable/),
    });
    await fixture.server.restart();
    expect((await fixture.run('unseal', new Holders(), {}, 'healthy')).message).toBe('vault is already unsealed.');
  });

  test('its recovery shares open it where it was sealed by hand; a wrong one drops them all', async () => {
    fixture = await VaultFixture.open({ autoUnseal: true });
    await fixture.unseal();
    await fixture.ask('PUT', 'sys/seal');
    const [first = '', second = '', third = '', fourth = ''] = fixture.shares;
    const wrong = `${'5a'.repeat(32)}${fourth.slice(-2)}`;
    const holders = new Holders({ recovery: 'shares', share: [first, wrong, second, first, second, third] });
    expect((await fixture.run('unseal', holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.asked.filter(({ id }) => id === 'share')[0]?.label).toBe('Recovery share 1 of 3');
    expect(holders.texts().join(' ')).toMatch(/at least one is wrong or outdated, or the auto-unseal service \(static\) is unreachable/);
    expect(await isSealed()).toBe(false);
  });

  test('unattended the shares are given as they are, and it is told what they are', async () => {
    fixture = await VaultFixture.open({ autoUnseal: true });
    await fixture.ask('PUT', 'sys/seal');
    const holders = new Holders({ share: [...fixture.shares] }, 'unattended');
    expect((await fixture.run('unseal', holders, {}, 'sealed')).message).toBe('vault is unsealed.');
    expect(holders.texts()[0]).toContain('unseals automatically (static) when it starts');
  });

  test('new recovery shares, and a snapshot, say what they are for', async () => {
    fixture = await VaultFixture.open({ autoUnseal: true });
    await fixture.server.restart();
    const holders = new Holders({ token: fixture.token, share: [...fixture.shares], shares: '3', threshold: '2' });
    expect((await fixture.run('vault-rotate', holders)).message).toBe(
      'vault has new recovery shares: 2 of 3 are enough. The previous ones are no longer valid.',
    );
    const words = [join(fixture.fixture.folder, 'taken.snap')];
    const { message } = await fixture.run('vault-snapshot', new Holders({ token: fixture.token }), { words });
    expect(message).toContain('a restore requires the current auto-unseal of the server (static).');
  });
});
