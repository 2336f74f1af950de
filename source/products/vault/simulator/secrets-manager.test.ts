import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Listening, listen } from '../../../../test/contract/listening.ts';
import { vault } from './core.ts';
import { createSecretsManager, type SecretsManager } from './secrets-manager.ts';

let manager: SecretsManager;
let listening: Listening;
afterEach(() => listening.close());

const ask = async (method: string, path: string, body?: object) => {
  const headers = { 'X-Vault-Token': manager.rootToken };
  const response = await fetch(`${listening.url}/v1/${path}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const said = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  return { ...said, status: response.status } as Record<string, unknown>;
};
const unseal = async () => {
  for (const key of manager.shares.slice(0, manager.threshold)) await ask('PUT', 'sys/unseal', { key });
};
const run = (...argv: string[]) => manager.product.exec?.(argv, '') ?? Promise.reject(new Error('not its command'));

describe('a furnished secrets manager', () => {
  beforeEach(async () => {
    manager = await createSecretsManager();
    listening = await listen(manager.product, 8200);
  });

  test('is sealed until three shares are given; then the secrets of a household are there', async () => {
    expect(await ask('GET', 'secret/data/apps/file-sync')).toMatchObject({ status: 503 });
    await unseal();
    expect(await ask('GET', 'secret/data/apps/file-sync')).toMatchObject({ status: 200, data: { data: { gui_user: 'captain' } } });
    expect(await ask('GET', 'secret/metadata/apps?list=true')).toMatchObject({ data: { keys: ['file-sync', 'rss-reader'] } });
  });

  test('writes the log of the real one', async () => {
    await unseal();
    expect(listening.logged.join('\n')).toContain('==> OpenBao server started!');
    const line = listening.logged.find((each) => each.includes('core: vault is unsealed'));
    expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[INFO\] {2}core: vault is unsealed$/);
    expect(listening.logged.join('\n')).not.toContain(manager.rootToken);
    for (const share of manager.shares) expect(listening.logged.join('\n')).not.toContain(share);
  });

  test('its command tells the seal by exit code: 2 sealed, 0 unsealed', async () => {
    const sealed = await run('bao', 'status', '-format=json');
    expect([sealed.exitCode, JSON.parse(sealed.stdout)]).toMatchObject([2, { sealed: true, t: 3, n: 5, ha_enabled: true }]);
    await unseal();
    expect(await run('/bin/bao', 'status')).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Sealed {18}false$/m) });
    expect(manager.product.exec?.(['cat', '/etc/passwd'], '')).toBeUndefined();
  });

  test('incidents: another operator resets an unseal attempt, and enters a wrong share', async () => {
    const first = await ask('PUT', 'sys/unseal', { key: manager.shares[0] });
    manager.product.play?.('unseal-reset');
    const next = await ask('PUT', 'sys/unseal', { key: manager.shares[0] });
    expect(next).toMatchObject({ progress: 1 });
    expect(next['nonce']).not.toBe(first['nonce']);
    manager.product.play?.('wrong-share');
    expect(await ask('PUT', 'sys/unseal', { key: manager.shares[1] })).toMatchObject({ status: 400 });
  });

  test('a snapshot of other keys is refused, unless somebody insists', async () => {
    const other = await createSecretsManager();
    const there = await listen(other.product, 8200);
    for (const key of other.shares.slice(0, 3)) await fetch(`${there.url}/v1/sys/unseal`, { method: 'PUT', body: JSON.stringify({ key }) });
    const taken = await fetch(`${there.url}/v1/sys/storage/raft/snapshot`, { headers: { 'X-Vault-Token': other.rootToken } });
    const body = new Uint8Array(await taken.arrayBuffer());
    await there.close();
    await unseal();
    const restore = (path: string) =>
      fetch(`${listening.url}/v1/sys/storage/raft/${path}`, { method: 'POST', headers: { 'X-Vault-Token': manager.rootToken }, body });
    const refused = await restore('snapshot');
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('possibly the snapshot is using a different set of unseal keys'),
    ]);
    expect((await restore('snapshot-force')).status).toBe(204);
    expect(await ask('GET', 'sys/seal-status')).toMatchObject({ sealed: true });
  });
});

test('HashiCorp Vault: its own fields, status of a wrong share, and the ceremonies of old', async () => {
  manager = await createSecretsManager({ dialect: vault });
  listening = await listen(manager.product, 8200);
  const status = await ask('GET', 'sys/seal-status');
  expect(status).toMatchObject({ removed_from_cluster: false, build_date: expect.any(String) });
  expect(status).not.toHaveProperty('commit_date');
  for (const key of [manager.shares[0], manager.shares[1]]) await ask('PUT', 'sys/unseal', { key });
  // Of the third holder, with a slip of the pen: its last byte is a place that no other share has.
  const slipped = 'ab'.repeat(32) + (manager.shares[2] ?? '').slice(-2);
  expect(await ask('PUT', 'sys/unseal', { key: slipped })).toMatchObject({
    status: 500,
    errors: ['unable to retrieve stored keys: failed to decrypt keys from storage: cipher: message authentication failed'],
  });
  await unseal();
  expect(await ask('GET', 'sys/health')).toMatchObject({ status: 200, performance_standby: false });
  expect(await ask('GET', 'sys/generate-root/attempt')).toMatchObject({ status: 200, started: false, required: 3 });
  const begun = await ask('PUT', 'sys/rekey/init', { secret_shares: 3, secret_threshold: 2 });
  expect(begun).toMatchObject({ status: 200, started: true, n: 3, t: 2, required: 3 });
  expect(await ask('PUT', 'sys/rekey/update', { key: manager.shares[0], nonce: 'x' })).toMatchObject({
    status: 400,
    errors: [`incorrect nonce supplied; nonce for this rekey operation is "${begun['nonce']}"`],
  });
});

test('one share alone is the key itself', async () => {
  manager = await createSecretsManager({ shares: 1, threshold: 1 });
  listening = await listen(manager.product, 8200);
  expect(manager.shares).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  expect(await ask('PUT', 'sys/unseal', { key: manager.shares[0] })).toMatchObject({ status: 200, sealed: false });
});

test('a request that is no JSON, too large, or for another page does no harm', async () => {
  manager = await createSecretsManager();
  listening = await listen(manager.product, 8200);
  const put = (body: string) => fetch(`${listening.url}/v1/sys/unseal`, { method: 'PUT', body });
  expect(await (await put('{')).json()).toEqual({ errors: ['failed to decode JSON input: unexpected EOF'] });
  expect(await (await put('[]')).json()).toEqual({ errors: ['failed to decode JSON input: unexpected EOF'] });
  expect((await put('x'.repeat(33 * 1024 * 1024))).status).toBe(413);
  expect((await fetch(`${listening.url}/elsewhere`)).status).toBe(404);
});

test('who hangs up in the middle of a request takes nothing down', async () => {
  manager = await createSecretsManager();
  listening = await listen(manager.product, 8200);
  const socket = connect(Number(new URL(listening.url).port), '127.0.0.1');
  await new Promise((resolve) => socket.write('PUT /v1/sys/unseal HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"key":', resolve));
  await ask('GET', 'sys/health');
  socket.destroy();
  expect(await ask('GET', 'sys/seal-status')).toMatchObject({ status: 200, progress: 0 });
});
