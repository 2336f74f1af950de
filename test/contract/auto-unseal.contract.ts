import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SecretsServer } from './secrets-manager.contract.ts';

/** The same of a server that opens itself, with a key that it finds by itself: what its shares are for then. One story, in order. */
export function autoUnsealContract(open: () => Promise<SecretsServer>): void {
  let server: SecretsServer;
  let shares: string[] = [];
  let root = '';

  const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }> => {
    const response = await fetch(`${server.url}/v1/${path}`, {
      method,
      headers: { 'X-Vault-Token': root },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {} };
  };
  const seal = async () => (await ask('GET', 'sys/seal-status')).json;
  const active = () => expect.poll(async () => (await ask('GET', 'sys/health')).status, { timeout: 30_000 }).toBe(200);

  beforeAll(async () => {
    server = await open();
  });
  afterAll(() => server?.close());

  test('before there are keys it tells what it is', async () => {
    expect(await seal()).toMatchObject({ type: 'static', recovery_seal: true, initialized: false, sealed: true, t: 0, n: 0 });
  });

  test('shares that would open it are refused; those for recovery are made, and it opens itself', async () => {
    expect(await ask('PUT', 'sys/init', { secret_shares: 3, secret_threshold: 2 })).toMatchObject({
      status: 400,
      json: { errors: ['parameters secret_shares,secret_threshold not applicable to seal type static'] },
    });
    const made = await ask('PUT', 'sys/init', { recovery_shares: 3, recovery_threshold: 2 });
    expect(made).toMatchObject({ status: 200, json: { keys: [], keys_base64: [] } });
    shares = made.json['recovery_keys'] as string[];
    root = String(made.json['root_token']);
    expect(shares).toHaveLength(3);
    await active();
    expect(await seal()).toMatchObject({ type: 'static', recovery_seal: true, initialized: true, sealed: false, t: 2, n: 3 });
  });

  test('sealed by hand it stays so until its shares are given: at the threshold a wrong one drops them all, right ones open it', async () => {
    expect((await ask('PUT', 'sys/seal')).status).toBe(204);
    await expect.poll(async () => (await seal())['sealed']).toBe(true);
    const give = (key: string | undefined) => ask('PUT', 'sys/unseal', { key });
    expect((await give(shares[0])).json).toMatchObject({ sealed: true, progress: 1 });
    const wrong = `${'5a'.repeat(32)}${shares[1]?.slice(-2)}`;
    const refused = await give(wrong);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(String((refused.json['errors'] as string[])[0])).toMatch(/recovery key/);
    expect(await seal()).toMatchObject({ sealed: true, progress: 0 });
    await give(shares[0]);
    expect((await give(shares[2])).json).toMatchObject({ sealed: false });
    await active();
  });

  test('a restart opens it', async () => {
    await server.restart();
    await active();
    expect(await seal()).toMatchObject({ sealed: false, progress: 0 });
  });

  test('new shares for recovery are made with those of before', async () => {
    const at = 'sys/rotate/recovery';
    const begun = await ask('PUT', `${at}/init`, { secret_shares: 2, secret_threshold: 2, require_verification: true });
    const { nonce } = begun.json['data'] as { nonce: string };
    await ask('PUT', `${at}/update`, { key: shares[0], nonce });
    const done = (await ask('PUT', `${at}/update`, { key: shares[1], nonce })).json['data'] as {
      keys: string[];
      verification_nonce: string;
    };
    expect(done.keys).toHaveLength(2);
    for (const key of done.keys) await ask('PUT', `${at}/verify`, { key, nonce: done.verification_nonce });
    expect(await seal()).toMatchObject({ sealed: false, t: 2, n: 2 });
  });
}
