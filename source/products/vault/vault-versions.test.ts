import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { Holders, VaultFixture } from '../../../test/doubles/vault-fixture.ts';
import type { FlowInput } from '../../flows/flow.ts';

vi.setConfig({ testTimeout: 120_000 });

const path = 'secret/apps/rss-reader';
let fixture: VaultFixture;

interface Reported {
  options?: FlowInput['options'];
  answers?: ConstructorParameters<typeof Holders>[0];
  at?: string;
  kind?: OperatorDouble['kind'];
  confirms?: boolean;
}

async function run(flow: string, { options = {}, answers = {}, at = path, kind, confirms = true }: Reported = {}) {
  const holders = new Holders({ token: fixture.token, ...answers }, kind);
  holders.confirms = confirms;
  return { ...(await fixture.run(flow, holders, { words: [at], options })), holders };
}

/** Returns the state of each version, the oldest first. */
async function states(on = fixture): Promise<string[]> {
  const { versions } = ((await on.ask('GET', 'secret/metadata/apps/rss-reader'))['data'] ?? { versions: {} }) as {
    versions: Record<string, { deletion_time: string; destroyed: boolean }>;
  };
  return Object.values(versions).map(({ deletion_time, destroyed }) =>
    destroyed ? 'destroyed' : deletion_time === '' ? 'there' : 'deleted',
  );
}

async function open(): Promise<VaultFixture> {
  const opened = await VaultFixture.open();
  await opened.unseal();
  // Adds a version to the two existing ones.
  await opened.ask('PUT', 'secret/data/apps/rss-reader', { data: { database_password: 'the-third-password' } });
  return opened;
}
beforeEach(async () => {
  fixture = await open();
});
afterEach(() => fixture.close());

describe('versions of a path', () => {
  test('are listed with what became of each; the newest is deleted, and comes back', async () => {
    expect((await run('vault-delete')).message).toBe(
      'Deleted version 3 of secret/apps/rss-reader. To restore: quarterdeck vault undelete vault secret/apps/rss-reader --version 3',
    );
    expect(await states()).toEqual(['there', 'there', 'deleted']);
    expect((await run('vault-read', { options: { field: 'database_password' } })).message).toContain('restores it');
    const listed = await run('vault-versions');
    expect(listed.message).toBe('secret/apps/rss-reader has 3 versions, 2 readable.');
    expect(JSON.stringify(listed.holders.shown)).toMatch(/"3","\d{4}-\d\d-\d\d \d\d:\d\d","deleted /);
    expect((await run('vault-undelete')).message).toBe('Restored version 3 of secret/apps/rss-reader.');
    expect(await states()).toEqual(['there', 'there', 'there']);
    expect((await run('vault-undelete')).message).toBe('secret/apps/rss-reader has no deleted versions.');
  });

  test('that are named are deleted together; of an old one that comes back it is said what is read', async () => {
    expect((await run('vault-delete', { options: { version: ['1', '2'] } })).message).toMatch(/secret\/apps\/rss-reader --version 1,2$/);
    expect(await states()).toEqual(['deleted', 'deleted', 'there']);
    expect((await run('vault-undelete', { options: { version: '1' } })).message).toContain('The current version is 3.');
  });

  test('a dry run names the versions that were named', async () => {
    fixture.fixture.policy = { ...fixture.fixture.policy, dryRun: true };
    const { holders } = await run('vault-delete', { options: { version: ['1', '2'] } });
    expect(holders.texts()).toEqual(['Would prompt for a token and delete version 1, 2 of secret/apps/rss-reader']);
  });

  test('are destroyed after a confirmation, and do not come back', async () => {
    const { message, holders } = await run('vault-destroy', { answers: { versions: [['1', '2']] } });
    expect(message).toBe('Destroyed versions 1, 2 of secret/apps/rss-reader.');
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain('permanently lost');
    expect(await states()).toEqual(['destroyed', 'destroyed', 'there']);
    await expect(run('vault-undelete', { options: { version: '1' } })).rejects.toMatchObject({ code: 'refused.versions' });
    await expect(run('vault-delete', { options: { version: '1' } })).rejects.toMatchObject({ code: 'refused.versions' });
    await expect(run('vault-destroy', { options: { version: '3' }, confirms: false })).rejects.toMatchObject({
      code: 'refused.notConfirmed',
    });
    expect(await states()).toEqual(['destroyed', 'destroyed', 'there']);
  });

  test('with --all the whole path goes', async () => {
    expect((await run('vault-destroy', { options: { all: true } })).message).toBe('Permanently deleted secret/apps/rss-reader.');
    expect((await fixture.ask('GET', 'secret/metadata/apps/rss-reader')).status).toBe(404);
  });

  test('an engine that keeps none says so, and a delete there names what is lost', async () => {
    await expect(run('vault-versions', { at: 'legacy/router' })).rejects.toMatchObject({ code: 'refused.versions' });
    // Its current values are not those of a version.
    await expect(run('vault-read', { at: 'legacy/router', options: { version: '1' } })).rejects.toMatchObject({ code: 'refused.versions' });
    const { message, holders } = await run('vault-delete', { at: 'legacy/router' });
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain('user, password');
    expect(message).toBe('Permanently deleted legacy/router.');
    expect((await fixture.ask('GET', 'legacy/router')).status).toBe(404);
  });

  test.each<[string, string, Reported, string]>([
    ['a path that is not there', 'vault-delete', { at: 'secret/apps/nobody' }, 'usage.path'],
    ['one that is not there in an engine without versions', 'vault-delete', { at: 'legacy/nobody' }, 'usage.path'],
    ['versions of nothing', 'vault-versions', { at: 'secret/apps/nobody' }, 'usage.path'],
    ['a version that is not there', 'vault-delete', { options: { version: '9' } }, 'usage.version'],
    ['a version that is no number', 'vault-destroy', { options: { version: 'x' } }, 'usage.version'],
    ['a token that may not', 'vault-delete', { answers: { token: 's.none' } }, 'failed.vault'],
  ])('%s is a sentence', async (_, flow, reported, code) => {
    await expect(run(flow, reported)).rejects.toMatchObject({ code });
    expect(await states()).toEqual(['there', 'there', 'there']);
  });
});
