import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { foreignShare, Holders, VaultFixture, vaultId, walkAway } from '../../../test/doubles/vault-fixture.ts';
import { type Dialect, openbao, vault } from './simulator/core.ts';

const dialects: readonly Dialect[] = [openbao, vault];
let fixture: VaultFixture;
const share = (at: number) => fixture.shares[at] as string;
const three = () => [share(0), share(1), share(2)];
const all = '["create", "read", "update", "patch", "delete", "list", "sudo"]';
const sealStatus = () => fixture.ask('GET', 'sys/seal-status');

/** Checks that no key, share or token is on a persistent screen, in the audit or in a journal. */
async function expectNoTrace(holders: Holders, ...secrets: readonly string[]): Promise<void> {
  const everywhere = holders.reported + (await fixture.written());
  for (const secret of [...secrets, ...fixture.shares, fixture.token, ...Object.values(holders.seen)]) {
    expect(everywhere).not.toContain(secret);
  }
}

afterEach(() => fixture.close());

describe.each(dialects)('$product $version', (dialect) => {
  beforeEach(async () => {
    fixture = await VaultFixture.open({ dialect });
    await fixture.unseal();
  });
  /** Older servers require no token. */
  const token = () => ({ token: fixture.token });

  test('new shares: made with the old ones, proved by their holders, and only then in force (R59, R75)', async () => {
    const holders = new Holders({ ...token(), share: three(), shares: '4', threshold: '2' });
    const { message } = await fixture.run('vault-rotate', holders);
    expect(message).toMatch(/2 of 4 unseal it/);
    expect(Object.keys(holders.seen)).toEqual([1, 2, 3, 4].map((number) => `New key share ${number} of 4`));
    expect(await sealStatus()).toMatchObject({ sealed: false, t: 2, n: 4 });
    await fixture.ask('PUT', 'sys/seal');
    const [first, second] = Object.values(holders.seen);
    await fixture.ask('PUT', 'sys/unseal', { key: second });
    await fixture.ask('PUT', 'sys/unseal', { key: first });
    expect(await sealStatus()).toMatchObject({ sealed: false });
    await expectNoTrace(holders);
  });

  test('a wrong share shows when all are together: said, and begun anew without losing the rotation', async () => {
    const holders = new Holders({ ...token(), share: [share(0), foreignShare(fixture.shares), share(1), ...three()] });
    await fixture.run('vault-rotate', holders);
    expect(holders.texts().join(' ')).toMatch(/at least one is wrong.*discarded them all.*cannot tell which/);
    expect(await sealStatus()).toMatchObject({ t: 3, n: 5 });
  });

  test('who leaves while the shares are given leaves a rotation that somebody goes on with', async () => {
    const left = new Holders({ ...token(), share: [share(0), walkAway] });
    await expect(fixture.run('vault-rotate', left)).rejects.toMatchObject({
      kind: 'interrupted',
      message: expect.stringContaining('1 of the 3'),
    });
    const next = new Holders({ ...token(), attempt: 'continue', share: [share(1), share(2)] });
    await fixture.run('vault-rotate', next);
    expect(next.asked.find(({ id }) => id === 'attempt')?.label).toContain('1 of 3 current ones entered');
    expect(Object.keys(next.seen)).toHaveLength(5);
  });

  test('who leaves while the new ones are handed out: the rotation is cancelled, and the old ones open it', async () => {
    const holders = new Holders({ ...token(), share: three(), 'share-2-shown': walkAway, 'leave-share-2': 'leave' });
    await expect(fixture.run('vault-rotate', holders)).rejects.toMatchObject({
      message: expect.stringMatching(/^The previous shares of \S+ stay valid/),
    });
    await fixture.ask('PUT', 'sys/seal');
    await fixture.unseal();
    expect(await sealStatus()).toMatchObject({ sealed: false });
    const again = new Holders({ ...token(), share: three() });
    await fixture.run('vault-rotate', again);
    expect(again.asked.some(({ id }) => id === 'attempt')).toBe(false);
  });

  test('a rotation that broke off with the new shares in their holders’ hands is put in force by them, in a later run', async () => {
    const path = dialect.product === 'vault' ? 'sys/rekey' : 'sys/rotate/root';
    const dataOf = (answer: Record<string, unknown>) => (answer['data'] ?? answer) as { nonce: string; keys: string[] };
    const wanted = { secret_shares: 3, secret_threshold: 2, require_verification: true };
    const { nonce } = dataOf(await fixture.ask('PUT', `${path}/init`, wanted));
    for (const key of [share(0), share(1)]) await fixture.ask('PUT', `${path}/update`, { key, nonce });
    const { keys } = dataOf(await fixture.ask('PUT', `${path}/update`, { key: share(2), nonce }));
    const slipped = new Holders({ ...token(), attempt: 'prove', 'new-share': [keys[0] as string, foreignShare(keys)] });
    await expect(fixture.run('vault-rotate', slipped)).rejects.toMatchObject({ kind: 'failed' });
    expect(await sealStatus()).toMatchObject({ t: 3, n: 5 });
    const holders = new Holders({ ...token(), attempt: 'prove', 'new-share': [keys[2] as string, keys[0] as string] });
    expect((await fixture.run('vault-rotate', holders)).message).toMatch(/2 of 3 unseal it/);
    expect(await sealStatus()).toMatchObject({ t: 2, n: 3 });
    await expectNoTrace(holders, ...keys);
  });

  test('somebody cancels it meanwhile: said, and no share is taken', async () => {
    const cancelled = async () => {
      const path = dialect.product === 'vault' ? 'sys/rekey/init' : 'sys/rotate/root/init';
      await fixture.ask('DELETE', path);
      return share(1);
    };
    const holders = new Holders({ ...token(), share: [share(0), cancelled] });
    await expect(fixture.run('vault-rotate', holders)).rejects.toMatchObject({ code: 'failed.ceremony' });
  });

  test('a root token is made with the shares, read with the one-time password, and works', async () => {
    const holders = new Holders({ ...token(), share: three() });
    const { message } = await fixture.run('vault-root', holders);
    expect(message).toContain('a new root token');
    const made = holders.seen['Root token'] ?? '';
    expect(await fixture.ask('GET', 'auth/token/lookup-self', undefined, made)).toMatchObject({ data: { policies: ['root'] } });
    expect(holders.asked.some(({ id }) => id === 'token')).toBe(dialect.product === 'openbao');
    await expectNoTrace(holders);
  });

  test('who leaves in the middle cancels it: only they could have read the token', async () => {
    const holders = new Holders({ ...token(), share: [share(0), walkAway] });
    await expect(fixture.run('vault-root', holders)).rejects.toMatchObject({
      kind: 'interrupted',
      message: expect.stringContaining('cancelled'),
    });
    const next = new Holders({ ...token(), share: three() });
    await fixture.run('vault-root', next);
    expect(next.asked.some(({ id }) => id === 'attempt')).toBe(false);
  });

  test('an attempt of somebody else is given a share, or cancelled and begun anew', async () => {
    const path = dialect.product === 'vault' ? 'sys/generate-root' : 'sys/generate-root-token';
    const begun = await fixture.ask('PUT', `${path}/attempt`, {});
    const { otp } = (begun['data'] ?? begun) as { otp: string };
    const giver = new Holders({ ...token(), attempt: 'contribute', share: three() });
    const { message } = await fixture.run('vault-root', giver);
    expect(message).toContain('The last share was entered');
    expect(giver.texts().join(' ')).toMatch(/only they can decode it/);
    expect(JSON.stringify(giver.shown)).not.toContain(otp);
    await fixture.ask('PUT', `${path}/attempt`, {});
    const other = new Holders({ ...token(), attempt: 'drop', share: three() });
    await fixture.run('vault-root', other);
    expect(Object.keys(other.seen)).toEqual(['Root token']);
  });

  test('a root token that nobody takes is revoked', async () => {
    const holders = new Holders({ ...token(), share: three(), 'root-proof': walkAway, 'leave-root': 'leave' });
    await expect(fixture.run('vault-root', holders)).rejects.toMatchObject({ message: expect.stringContaining('revoked') });
    expect(await fixture.ask('GET', 'auth/token/lookup-self', undefined, holders.seen['Root token'])).toMatchObject({ status: 403 });
  });

  test.each([
    ['path "secret/*" { capabilities = ["read"] }', ['create, read, update, patch, delete, list, sudo on sys/policies/acl/any'], 5],
    [
      `path "*" { capabilities = ${all} }\npath "sys/auth/*" { capabilities = ["read", "list"] }`,
      ['create, update, patch, delete, sudo on sys/auth/any'],
      1,
    ],
  ])(
    'an admin token of a weaker policy that was there is not called verified, and what it cannot is told: %s',
    async (policy, first, count) => {
      await fixture.ask('PUT', 'sys/policies/acl/admin', { policy });
      const { message, data, exitCode, todo } = await fixture.run('vault-admin', new Holders({ ...token(), name: 'ada' }));
      expect(message).toMatch(
        /^Created an admin token for ada on .*, but it cannot replace the root token\. The policy admin already existed/,
      );
      expect(message).not.toContain('verified');
      expect(data).toMatchObject({ missing: expect.arrayContaining(first) });
      expect((data as { missing: string[] }).missing).toHaveLength(count);
      expect([exitCode, todo?.items.map(({ id }) => id)]).toEqual([1, ['admin-policy']]);
    },
  );

  test('an admin policy of somebody else that allows what was tried: paths it may deny are mentioned', async () => {
    const made = () => fixture.run('vault-admin', new Holders({ ...token(), name: 'ada' }));
    expect((await made()).message).toMatch(/^Created and verified an admin token for ada on \S+ \(.*\)\. The token expires/);
    expect((await made()).message).not.toContain('already existed');
    const policy = `path "*" { capabilities = ${all} }\npath "apps/*" { capabilities = ["deny"] }`;
    await fixture.ask('PUT', 'sys/policies/acl/admin', { policy });
    expect((await made()).message).toContain('The policy admin already existed, and it may deny paths that were not tested.');
  });

  test('the root token goes when another admin token was tried, and not before', async () => {
    const made = new Holders({ ...token(), name: 'ada' });
    await fixture.run('vault-admin', made);
    const admin = made.seen['Admin token'] ?? '';
    await expectNoTrace(made);
    const holders = new Holders({ root: fixture.token, other: admin });
    const { message } = await fixture.run('vault-revoke-root', holders);
    expect(message).toMatch(/Revoked the root token.*ada.*admin/);
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain('No other root token is left');
    expect(await fixture.ask('GET', 'auth/token/lookup-self')).toMatchObject({ status: 403 });
    expect(await fixture.ask('GET', 'auth/token/lookup-self', undefined, admin)).toMatchObject({ status: 200 });
    await expectNoTrace(holders, admin);
  });
});

describe('never the last way in', () => {
  beforeEach(async () => {
    fixture = await VaultFixture.open();
    await fixture.unseal();
  });
  const tokenOf = async (body: object, how = 'create'): Promise<string> => {
    const { auth } = (await fixture.ask('POST', `auth/token/${how}`, body)) as unknown as { auth: { client_token: string } };
    return auth.client_token;
  };
  const refusedWith = (other: string, why: RegExp) =>
    expect(fixture.run('vault-revoke-root', new Holders({ root: fixture.token, other }))).rejects.toMatchObject({
      code: 'refused.lastWayIn',
      message: expect.stringMatching(why),
    });
  afterEach(async () => {
    expect(await fixture.ask('GET', 'auth/token/lookup-self')).toMatchObject({ status: 200 });
  });

  test('the same token, one that is none, a child of it, and one that may too little are refused', async () => {
    await refusedWith(fixture.token, /same token/);
    await refusedWith('s.none', /server rejects it/);
    await refusedWith(await tokenOf({ policies: ['root'] }), /with its parent token/);
    await refusedWith(await tokenOf({ policies: ['apps'], ttl: '1h' }, 'create-orphan'), /not allowed to write policies/);
    await refusedWith(await tokenOf({ policies: ['root'], ttl: '1h', renewable: false }, 'create-orphan'), /cannot be renewed/);
  });

  test('where shares alone make no root token an empty answer is refused', async () => {
    await expect(fixture.run('vault-revoke-root', new Holders({ root: fixture.token, other: '' }))).rejects.toMatchObject({
      code: 'usage.answer',
    });
  });

  test('not confirmed, or a token that is no root: nothing is revoked', async () => {
    const other = await tokenOf({ policies: ['root'] }, 'create-orphan');
    const holders = new Holders({ root: fixture.token, other });
    holders.confirms = false;
    await expect(fixture.run('vault-revoke-root', holders)).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(holders.confirmations[0]?.consequences.join(' ')).toContain('1 other root token is left');
    const apps = await tokenOf({ policies: ['apps'] });
    await expect(fixture.run('vault-revoke-root', new Holders({ root: apps, other }))).rejects.toMatchObject({ code: 'refused.notRoot' });
  });

  test('a sealed one says so, with the way on', async () => {
    await fixture.ask('PUT', 'sys/seal');
    await expect(fixture.run('vault-rotate', new Holders())).rejects.toMatchObject({
      code: 'refused.sealed',
      remedy: `quarterdeck unseal ${vaultId}`,
    });
    await fixture.unseal();
  });
});

test('without a login the shares are the way in, where a server makes root tokens of them alone', async () => {
  fixture = await VaultFixture.open({ dialect: vault });
  await fixture.unseal();
  const { message } = await fixture.run('vault-revoke-root', new Holders({ root: fixture.token, other: '' }));
  expect(message).toContain('the key shares, which can create a root token without a login');
});

test('a server that makes no root token over its API says how it can be made to', async () => {
  fixture = await VaultFixture.open({ dialect: { product: 'openbao', version: '2.5.4', openCeremonies: false } });
  await fixture.unseal();
  await expect(fixture.run('vault-root', new Holders({ token: fixture.token }))).rejects.toMatchObject({
    code: 'refused.ceremony',
    remedy: expect.stringContaining('disable_unauthed'),
  });
});
