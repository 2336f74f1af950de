import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Listening, listen } from '../../../test/contract/listening.ts';
import { Holders, VaultFixture } from '../../../test/doubles/vault-fixture.ts';
import { createSecretsManager, type SecretsManager } from './simulator/secrets-manager.ts';

let fixture: VaultFixture;
let other: SecretsManager;
let node: Listening;

beforeEach(async () => {
  fixture = await VaultFixture.open();
  other = await createSecretsManager();
  node = await listen(other.product, 8200);
  fixture.addNode('nas2', node.url);
});
afterEach(async () => {
  await node.close();
  await fixture.close();
});

const at =
  (url: string) =>
  async (method: string, path: string, body?: string | Uint8Array<ArrayBuffer>, token = '') => {
    const response = await fetch(`${url}/v1/${path}`, { method, headers: { 'X-Vault-Token': token }, ...(body !== undefined && { body }) });
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, bytes, json: bytes[0] === 0x7b ? (JSON.parse(bytes.toString()) as Record<string, unknown>) : {} };
  };
const share = (index: number) => fixture.shares[index] as string;
const three = () => [share(0), share(1), share(2)];
const nodeStatus = async () => (await at(node.url)('GET', 'sys/seal-status')).json;

/** Joins the other server to the same cluster: it gets the same storage and keys. */
async function join(): Promise<void> {
  await fixture.unseal();
  const { bytes } = await at(fixture.server.url)('GET', 'sys/storage/raft/snapshot', undefined, fixture.token);
  await fixture.ask('PUT', 'sys/seal');
  for (const key of other.shares.slice(0, 3)) await at(node.url)('PUT', 'sys/unseal', JSON.stringify({ key }));
  await at(node.url)('POST', 'sys/storage/raft/snapshot-force', new Uint8Array(bytes), other.rootToken);
  expect(await nodeStatus()).toMatchObject({ sealed: true });
}

test('the shares are typed once, and open every node that was chosen (R59)', async () => {
  await join();
  const holders = new Holders({ share: three() });
  const { message, data } = await fixture.run('unseal', holders, {}, 'sealed 0/3');
  expect(message).toBe('vault is unsealed. Also unsealed: nas2.');
  expect(data).toMatchObject({ sealed: false, nodes: [{ host: 'nas2', sealed: false }] });
  expect(await nodeStatus()).toMatchObject({ sealed: false });
  expect(holders.asked.filter(({ id }) => id === 'share')).toHaveLength(3);
  const written = await fixture.written();
  for (const one of fixture.shares) expect(written + holders.reported).not.toContain(one);
  const acts = await fixture.fixture.audited();
  expect(new Set(acts.map(({ component }) => component))).toEqual(new Set(['local/vault/vault', 'nas2/vault/vault']));
  expect(acts.every(({ host, component }) => component?.startsWith(`${host}/`))).toBe(true);
});

test('a share that somebody had left at the node spoils one round, and no more', async () => {
  await join();
  await at(node.url)('PUT', 'sys/unseal', JSON.stringify({ key: other.shares[0] }));
  const { message } = await fixture.run('unseal', new Holders({ share: three() }), {}, 'sealed 0/3');
  expect(message).toBe('vault is unsealed. Also unsealed: nas2.');
});

test('no share goes to a server that was not chosen, and one of another cluster is named as that', async () => {
  const none = new Holders({ share: [share(0), share(1), share(2)], nodes: () => [] });
  expect((await fixture.run('unseal', none, {}, 'sealed 0/3')).message).toBe('vault is unsealed.');
  expect(await nodeStatus()).toMatchObject({ sealed: true, progress: 0 });
  await fixture.ask('PUT', 'sys/seal');
  const chosen = new Holders({ share: three() });
  expect((await fixture.run('unseal', chosen, {}, 'sealed 0/3')).message).toBe('vault is unsealed. Still sealed: nas2.');
  expect(JSON.stringify(chosen.shown)).toContain('it may belong to another cluster');
});

test('a node that is gone when its turn comes is not said to be sealed', async () => {
  await join();
  const gone = async () => {
    await node.close();
    return share(2);
  };
  const holders = new Holders({ share: [share(0), share(1), gone] });
  expect((await fixture.run('unseal', holders, {}, 'sealed 0/3')).message).toBe('vault is unsealed. Unreachable: nas2.');
});

test('unattended only hosts that were named are given a share', async () => {
  await join();
  await fixture.run('unseal', new Holders({ share: three() }, 'unattended'), {}, 'sealed 0/3');
  expect(await nodeStatus()).toMatchObject({ sealed: true, progress: 0 });
  await fixture.ask('PUT', 'sys/seal');
  await expect(
    fixture.run('unseal', new Holders({ share: three() }, 'unattended'), { options: { also: ['nas9'] } }, 'sealed 0/3'),
  ).rejects.toMatchObject({
    code: 'usage.host',
    remedy: expect.stringContaining('nas2'),
  });
  const { message } = await fixture.run(
    'unseal',
    new Holders({ share: three() }, 'unattended'),
    { options: { also: ['nas2'] } },
    'sealed 0/3',
  );
  expect(message).toBe('vault is unsealed. Also unsealed: nas2.');
});

test('two operators at two consoles at once: every share counts once, and both see it open', async () => {
  const one = new Holders({ share: [share(0), share(1), share(2), share(3)], nodes: () => [] });
  const two = new Holders({ share: [share(3), share(4), share(2), share(1)], nodes: () => [] });
  const outcomes = await Promise.all([fixture.run('unseal', one, {}, 'sealed 0/3'), fixture.run('unseal', two, {}, 'sealed 0/3')]);
  for (const { message } of outcomes) expect(message).toBe('vault is unsealed.');
});

test('a server that goes away in the middle is waited for, and what became of the shares is told', async () => {
  const holders = new Holders({
    nodes: () => [],
    share: [
      share(0),
      async () => {
        fixture.server.restart();
        return share(1);
      },
      share(0),
      share(2),
    ],
  });
  const { message } = await fixture.run('unseal', holders, {}, 'sealed 0/3');
  expect(message).toBe('vault is unsealed.');
  expect(holders.texts().join(' ')).toMatch(/the count starts over/);
});

test('two on one host: each is asked for itself, and a node of the same cluster gets the same shares', async () => {
  await join();
  const beside = fixture.addBeside('vault-two', node.url);
  const holders = new Holders({ share: three(), nodes: () => [beside.key] });
  const { message } = await fixture.run('unseal', holders, {}, 'sealed 0/3');
  expect(holders.asked.find(({ id }) => id === 'nodes')).toMatchObject({
    choices: expect.arrayContaining([expect.objectContaining({ value: 'local/vault-two/vault', label: 'vault of the project vault-two' })]),
  });
  expect(message).toBe('vault is unsealed. Also unsealed: vault of the project vault-two.');
  expect(await nodeStatus()).toMatchObject({ sealed: false });
  expect(await fixture.ask('GET', 'sys/seal-status')).toMatchObject({ sealed: false });
  await fixture.ask('PUT', 'sys/seal');
  await at(node.url)('PUT', 'sys/seal', undefined, fixture.token);
  const named = new Holders({ share: three() }, 'unattended');
  await fixture.run('unseal', named, { options: { also: ['local/vault-two/vault'] } }, 'sealed 0/3');
  expect(await nodeStatus()).toMatchObject({ sealed: false });
});

test('two of different clusters on one host: each keeps a token of its own', async () => {
  await fixture.unseal();
  for (const key of other.shares.slice(0, 3)) await at(node.url)('PUT', 'sys/unseal', JSON.stringify({ key }));
  const beside = fixture.addBeside('vault-two', node.url);
  const keep = { method: 'token', keep: 'yes' };
  await fixture.run('vault-login', new Holders({ ...keep, token: fixture.token }));
  fixture.fixture.operator = new Holders({ ...keep, token: other.rootToken });
  await fixture.fixture.run('vault-login', beside);
  expect((await fixture.fixture.vault.list()).map(({ name }) => name)).toEqual([
    'local/vault.login/TOKEN',
    'local/vault-two.vault.login/TOKEN',
  ]);
  fixture.fixture.operator = new Holders({}, 'unattended');
  expect((await fixture.fixture.run('vault-token', beside)).data).toMatchObject({ policies: ['root'] });
});
