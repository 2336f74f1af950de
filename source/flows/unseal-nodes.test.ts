import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Listening, listen } from '../../test/contract/listening.ts';
import { Holders, VaultStage } from '../../test/doubles/vault-stage.ts';
import { createSecretsManager, type SecretsManager } from '../practice/secrets-manager/secrets-manager.ts';
import { unseal } from './unseal.ts';
import { vaultLogin, vaultToken } from './vault-login.ts';

let stage: VaultStage;
let other: SecretsManager;
let node: Listening;

beforeEach(async () => {
  stage = await VaultStage.open();
  other = await createSecretsManager();
  node = await listen(other.product, 8200);
  stage.addNode('nas2', node.url);
});
afterEach(async () => {
  await node.close();
  await stage.close();
});

const at =
  (url: string) =>
  async (method: string, path: string, body?: string | Uint8Array<ArrayBuffer>, token = '') => {
    const response = await fetch(`${url}/v1/${path}`, { method, headers: { 'X-Vault-Token': token }, ...(body !== undefined && { body }) });
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, bytes, json: bytes[0] === 0x7b ? (JSON.parse(bytes.toString()) as Record<string, unknown>) : {} };
  };
const share = (index: number) => stage.shares[index] as string;
const three = () => [share(0), share(1), share(2)];
const nodeStatus = async () => (await at(node.url)('GET', 'sys/seal-status')).json;

/** Makes the other one a node of the same cluster: its storage, its keys. */
async function join(): Promise<void> {
  await stage.unseal();
  const { bytes } = await at(stage.server.url)('GET', 'sys/storage/raft/snapshot', undefined, stage.token);
  await stage.ask('PUT', 'sys/seal');
  for (const key of other.shares.slice(0, 3)) await at(node.url)('PUT', 'sys/unseal', JSON.stringify({ key }));
  await at(node.url)('POST', 'sys/storage/raft/snapshot-force', new Uint8Array(bytes), other.rootToken);
  expect(await nodeStatus()).toMatchObject({ sealed: true });
}

test('the shares are typed once, and open every node that was chosen (R59)', async () => {
  await join();
  const holders = new Holders({ share: three() });
  const { message, data } = await stage.run(unseal, holders, {}, 'sealed 0/3');
  expect(message).toBe('vault is unsealed. Unsealed too: nas2.');
  expect(data).toMatchObject({ sealed: false, nodes: [{ host: 'nas2', sealed: false }] });
  expect(await nodeStatus()).toMatchObject({ sealed: false });
  expect(holders.asked.filter(({ id }) => id === 'share')).toHaveLength(3);
  const written = await stage.written();
  for (const one of stage.shares) expect(written + holders.told).not.toContain(one);
  expect(written).toContain('"host":"nas2"');
});

test('a share that somebody had left at the node spoils one round, and no more', async () => {
  await join();
  await at(node.url)('PUT', 'sys/unseal', JSON.stringify({ key: other.shares[0] }));
  const { message } = await stage.run(unseal, new Holders({ share: three() }), {}, 'sealed 0/3');
  expect(message).toBe('vault is unsealed. Unsealed too: nas2.');
});

test('no share goes to a server that was not chosen, and one of another cluster is named as that', async () => {
  const none = new Holders({ share: [share(0), share(1), share(2)], nodes: () => [] });
  expect((await stage.run(unseal, none, {}, 'sealed 0/3')).message).toBe('vault is unsealed.');
  expect(await nodeStatus()).toMatchObject({ sealed: true, progress: 0 });
  await stage.ask('PUT', 'sys/seal');
  const chosen = new Holders({ share: three() });
  expect((await stage.run(unseal, chosen, {}, 'sealed 0/3')).message).toBe('vault is unsealed. Still sealed: nas2.');
  expect(JSON.stringify(chosen.shown)).toContain('is it a node of this cluster?');
});

test('unattended only hosts that were named are given a share', async () => {
  await join();
  await stage.run(unseal, new Holders({ share: three() }, 'unattended'), {}, 'sealed 0/3');
  expect(await nodeStatus()).toMatchObject({ sealed: true, progress: 0 });
  await stage.ask('PUT', 'sys/seal');
  await expect(
    stage.run(unseal, new Holders({ share: three() }, 'unattended'), { options: { also: ['nas9'] } }, 'sealed 0/3'),
  ).rejects.toMatchObject({
    code: 'usage.host',
    remedy: expect.stringContaining('nas2'),
  });
  const { message } = await stage.run(unseal, new Holders({ share: three() }, 'unattended'), { options: { also: ['nas2'] } }, 'sealed 0/3');
  expect(message).toBe('vault is unsealed. Unsealed too: nas2.');
});

test('two operators at two consoles at once: every share counts once, and both see it open', async () => {
  const one = new Holders({ share: [share(0), share(1), share(2), share(3)], nodes: () => [] });
  const two = new Holders({ share: [share(3), share(4), share(2), share(1)], nodes: () => [] });
  const outcomes = await Promise.all([stage.run(unseal, one, {}, 'sealed 0/3'), stage.run(unseal, two, {}, 'sealed 0/3')]);
  for (const { message } of outcomes) expect(message).toBe('vault is unsealed.');
});

test('a server that goes away in the middle is waited for, and what became of the shares is told', async () => {
  const holders = new Holders({
    nodes: () => [],
    share: [
      share(0),
      async () => {
        stage.server.restart();
        return share(1);
      },
      share(0),
      share(2),
    ],
  });
  const { message } = await stage.run(unseal, holders, {}, 'sealed 0/3');
  expect(message).toBe('vault is unsealed.');
  expect(holders.texts().join(' ')).toMatch(/the count starts over/);
});

test('two on one host: each is asked for itself, and a node of the same cluster gets the same shares', async () => {
  await join();
  const beside = stage.addBeside('vault-two', node.url);
  const holders = new Holders({ share: three(), nodes: () => [beside.key] });
  const { message } = await stage.run(unseal, holders, {}, 'sealed 0/3');
  expect(holders.asked.find(({ id }) => id === 'nodes')).toMatchObject({
    choices: expect.arrayContaining([expect.objectContaining({ value: 'local/vault-two/vault', label: 'vault of the project vault-two' })]),
  });
  expect(message).toBe('vault is unsealed. Unsealed too: vault of the project vault-two.');
  expect(await nodeStatus()).toMatchObject({ sealed: false });
  expect(await stage.ask('GET', 'sys/seal-status')).toMatchObject({ sealed: false });
  await stage.ask('PUT', 'sys/seal');
  await at(node.url)('PUT', 'sys/seal', undefined, stage.token);
  const named = new Holders({ share: three() }, 'unattended');
  await stage.run(unseal, named, { options: { also: ['local/vault-two/vault'] } }, 'sealed 0/3');
  expect(await nodeStatus()).toMatchObject({ sealed: false });
});

test('two of different clusters on one host: each keeps a token of its own', async () => {
  await stage.unseal();
  for (const key of other.shares.slice(0, 3)) await at(node.url)('PUT', 'sys/unseal', JSON.stringify({ key }));
  const beside = stage.addBeside('vault-two', node.url);
  const keep = { method: 'token', keep: 'yes' };
  await stage.run(vaultLogin, new Holders({ ...keep, token: stage.token }));
  stage.stage.operator = new Holders({ ...keep, token: other.rootToken });
  await stage.stage.run(vaultLogin, beside);
  expect((await stage.stage.vault.list()).map(({ name }) => name)).toEqual([
    'local/vault.login/TOKEN',
    'local/vault-two.vault.login/TOKEN',
  ]);
  stage.stage.operator = new Holders({}, 'unattended');
  expect((await stage.stage.run(vaultToken, beside)).data).toMatchObject({ policies: ['root'] });
});
