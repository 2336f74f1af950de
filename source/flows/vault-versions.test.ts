import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { breakOffs, type Ground, traces } from '../../test/doubles/break-offs.ts';
import type { OperatorDouble } from '../../test/doubles/operator-double.ts';
import { Holders, VaultStage } from '../../test/doubles/vault-stage.ts';
import type { Flow, FlowInput } from './flow.ts';
import { vaultRead } from './vault-read.ts';
import { vaultDelete, vaultDestroy, vaultUndelete, vaultVersions } from './vault-versions.ts';

vi.setConfig({ testTimeout: 120_000 });

const path = 'secret/apps/rss-reader';
let stage: VaultStage;

interface Told {
  options?: FlowInput['options'];
  answers?: ConstructorParameters<typeof Holders>[0];
  at?: string;
  kind?: OperatorDouble['kind'];
  confirms?: boolean;
}

async function run(flow: Flow, { options = {}, answers = {}, at = path, kind, confirms = true }: Told = {}) {
  const holders = new Holders({ token: stage.token, ...answers }, kind);
  holders.confirms = confirms;
  return { ...(await stage.run(flow, holders, { words: [at], options })), holders };
}

/** State of each version, the oldest first. */
async function states(on = stage): Promise<string[]> {
  const { versions } = ((await on.ask('GET', 'secret/metadata/apps/rss-reader'))['data'] ?? { versions: {} }) as {
    versions: Record<string, { deletion_time: string; destroyed: boolean }>;
  };
  return Object.values(versions).map(({ deletion_time, destroyed }) =>
    destroyed ? 'destroyed' : deletion_time === '' ? 'there' : 'deleted',
  );
}

async function open(): Promise<VaultStage> {
  const opened = await VaultStage.open();
  await opened.unseal();
  // With the two that are there.
  await opened.ask('PUT', 'secret/data/apps/rss-reader', { data: { database_password: 'the-third-password' } });
  return opened;
}
beforeEach(async () => {
  stage = await open();
});
afterEach(() => stage.close());

describe('versions of a path', () => {
  test('are listed with what became of each; the newest is deleted, and comes back', async () => {
    expect((await run(vaultDelete)).message).toBe(
      'Version 3 of secret/apps/rss-reader is deleted. To bring back: quarterdeck vault undelete vault secret/apps/rss-reader',
    );
    expect(await states()).toEqual(['there', 'there', 'deleted']);
    expect((await run(vaultRead, { options: { field: 'database_password' } })).message).toContain('it can be brought back');
    const listed = await run(vaultVersions);
    expect(listed.message).toBe('secret/apps/rss-reader has 3 versions, 2 of them to be read.');
    expect(JSON.stringify(listed.holders.shown)).toMatch(/"3","\d{4}-\d\d-\d\d \d\d:\d\d","deleted /);
    expect((await run(vaultUndelete)).message).toBe('Version 3 of secret/apps/rss-reader is there again.');
    expect(await states()).toEqual(['there', 'there', 'there']);
    expect((await run(vaultUndelete)).message).toBe('Nothing of secret/apps/rss-reader is deleted.');
  });

  test('that are named are deleted together; of an old one that comes back it is said what is read', async () => {
    await run(vaultDelete, { options: { version: ['1', '2'] } });
    expect(await states()).toEqual(['deleted', 'deleted', 'there']);
    expect((await run(vaultUndelete, { options: { version: '1' } })).message).toContain('What is read without a version is version 3.');
  });

  test('are destroyed after a confirmation, and do not come back', async () => {
    const { message, holders } = await run(vaultDestroy, { answers: { versions: [['1', '2']] } });
    expect(message).toBe('Versions 1, 2 of secret/apps/rss-reader are destroyed.');
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain('gone for good');
    expect(await states()).toEqual(['destroyed', 'destroyed', 'there']);
    await expect(run(vaultUndelete, { options: { version: '1' } })).rejects.toMatchObject({ code: 'refused.versions' });
    await expect(run(vaultDelete, { options: { version: '1' } })).rejects.toMatchObject({ code: 'refused.versions' });
    await expect(run(vaultDestroy, { options: { version: '3' }, confirms: false })).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(await states()).toEqual(['destroyed', 'destroyed', 'there']);
  });

  test('with --all the whole path goes', async () => {
    expect((await run(vaultDestroy, { options: { all: true } })).message).toBe('secret/apps/rss-reader is gone for good.');
    expect((await stage.ask('GET', 'secret/metadata/apps/rss-reader')).status).toBe(404);
  });

  test('an engine that keeps none says so, and a delete there names what is lost', async () => {
    await expect(run(vaultVersions, { at: 'legacy/router' })).rejects.toMatchObject({ code: 'refused.versions' });
    const { message, holders } = await run(vaultDelete, { at: 'legacy/router' });
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain('user, password');
    expect(message).toBe('legacy/router is gone for good.');
    expect((await stage.ask('GET', 'legacy/router')).status).toBe(404);
  });

  test.each<[string, Flow, Told, string]>([
    ['a path that is not there', vaultDelete, { at: 'secret/apps/nobody' }, 'usage.path'],
    ['one that is not there in an engine without versions', vaultDelete, { at: 'legacy/nobody' }, 'usage.path'],
    ['versions of nothing', vaultVersions, { at: 'secret/apps/nobody' }, 'usage.path'],
    ['a version that is not there', vaultDelete, { options: { version: '9' } }, 'usage.version'],
    ['a version that is no number', vaultDestroy, { options: { version: 'x' } }, 'usage.version'],
    ['a token that may not', vaultDelete, { answers: { token: 's.none' } }, 'failed.vault'],
  ])('%s is a sentence', async (_, flow, told, code) => {
    await expect(run(flow, told)).rejects.toMatchObject({ code });
    expect(await states()).toEqual(['there', 'there', 'there']);
  });

  test('unattended, with the path and the token said in advance', async () => {
    expect((await run(vaultDelete, { kind: 'unattended' })).message).toContain('is deleted');
    expect((await run(vaultUndelete, { kind: 'unattended' })).message).toContain('there again');
  });

  test('rehearsed, nothing is asked or changed', async () => {
    stage.stage.policy = { ...stage.stage.policy, rehearsing: true };
    for (const flow of [vaultDelete, vaultUndelete, vaultDestroy]) {
      const { message, holders } = await run(flow);
      expect(message).toBe('Rehearsed: secret/apps/rss-reader is as it was.');
      expect(holders.asked).toEqual([]);
    }
    expect(await states()).toEqual(['there', 'there', 'there']);
  });
});

test.each<[string, Flow, Told, (on: VaultStage) => Promise<unknown>]>([
  ['delete', vaultDelete, {}, async () => undefined],
  // The run that goes on must not bring back the other one.
  [
    'undelete',
    vaultUndelete,
    {},
    async (on) => {
      await on.ask('POST', 'secret/delete/apps/rss-reader', { versions: [1] });
      await on.ask('POST', 'secret/delete/apps/rss-reader', { versions: [3] });
    },
  ],
  ['destroy', vaultDestroy, { answers: { versions: [['2']] } }, async () => undefined],
  ['remove', vaultDestroy, { options: { all: true } }, async () => undefined],
])('killed at %s and gone on with: done once, and no token is anywhere', async (act, flow, { options = {}, answers = {} }, first) => {
  const ground = async (): Promise<Ground> => {
    const own = await open();
    await first(own);
    return {
      flow,
      operator: () => new Holders({ token: own.token, ...answers }),
      run: (watched, operator, left) => {
        own.stage.resume = left?.run;
        return own.run(watched, operator as OperatorDouble, { words: left?.words ?? [path], options: left?.options ?? options });
      },
      journal: own.stage.journal,
      end: () => states(own),
      folders: [own.stage.folder],
      close: () => own.close(),
    };
  };
  const { acts, tries } = await breakOffs(ground);
  expect([acts, tries.filter(({ problem }) => problem)]).toEqual([[act], []]);
  expect(await traces(ground)).toMatchObject({ secrets: 1, crashes: 2, found: [] });
});
