import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Holders, VaultStage } from '../../test/doubles/vault-stage.ts';
import { vaultAdmin } from './vault-admin.ts';
import { vaultApprole } from './vault-approle.ts';
import { vaultLogin, vaultLogout, vaultToken } from './vault-login.ts';
import { vaultPolicies, vaultPolicy } from './vault-policy.ts';
import { vaultList, vaultRead } from './vault-read.ts';
import { vaultSnapshot } from './vault-snapshot.ts';
import { vaultWrite } from './vault-write.ts';

let stage: VaultStage;
beforeEach(async () => {
  stage = await VaultStage.open();
  await stage.unseal();
});
afterEach(() => stage.close());

test('rehearsed, each says what it would send, asks for no secret, and changes nothing', async () => {
  stage.stage.policy = { ...stage.stage.policy, rehearsing: true };
  const file = join(stage.stage.folder, 'never.snap');
  for (const [flow, words, what] of [
    [vaultLogin, [], /look the token up/],
    [vaultWrite, ['secret/apps/file-sync', 'gui_user'], /gui_user.*secret\/apps\/file-sync/],
    [vaultPolicy, ['reader'], /PUT \/v1\/sys\/policies\/acl\/reader/],
    [vaultApprole, ['rss-reader'], /secret id/],
    [vaultSnapshot, [file], /GET \/v1\/sys\/storage\/raft\/snapshot/],
    [vaultAdmin, [], /create-orphan/],
  ] as const) {
    const holders = new Holders({ method: 'token', name: 'ada' });
    const { message } = await stage.run(flow, holders, { words: [...words] });
    expect(message).toMatch(/^Rehearsed/);
    expect(holders.texts().join(' ')).toMatch(what);
    expect(holders.asked.filter(({ kind }) => kind === 'secret')).toEqual([]);
  }
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await stage.ask('GET', 'sys/policies/acl?list=true')).toMatchObject({ data: { keys: ['apps', 'backup', 'default', 'root'] } });
});

test('sealed, each says so with the way on, before it asks for anything', async () => {
  await stage.ask('PUT', 'sys/seal');
  for (const flow of [
    vaultLogin,
    vaultLogout,
    vaultToken,
    vaultList,
    vaultRead,
    vaultWrite,
    vaultPolicies,
    vaultPolicy,
    vaultApprole,
    vaultSnapshot,
  ]) {
    const holders = new Holders();
    await expect(stage.run(flow, holders), flow.verb).rejects.toMatchObject({ code: 'refused.sealed', remedy: 'quarterdeck unseal vault' });
    expect(holders.asked).toEqual([]);
  }
});
