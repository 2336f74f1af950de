import { type CryptoKey, exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkDiscovery, checkKeys } from './oidc-provider.ts';
import { claimRows, inspectToken } from './token-inspector.ts';

const issuer = 'https://id.example.org/realms/home';
const nowMs = Date.parse('2026-11-22T09:00:00Z');
const now = nowMs / 1000;
let keys: JSONWebKeySet;
let privateKey: CryptoKey;
let foreignKey: CryptoKey;

beforeAll(async () => {
  const own = await generateKeyPair('ES256', { extractable: true });
  ({ privateKey } = own);
  keys = { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] };
  foreignKey = (await generateKeyPair('ES256')).privateKey;
});

const usual = { iss: issuer, aud: ['feeds'], sub: 'mara', exp: now + 600, iat: now - 60 };
const sign = (claims: Record<string, unknown>, key = privateKey, kid = 'one') =>
  new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid }).sign(key);
const inspect = (token: string, more: object = {}) => inspectToken(token, { keys, issuer, audience: 'feeds', nowMs, ...more });
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a token (R43)', () => {
  test('that is right is said to be', async () => {
    const { verdict, items } = await inspect(await sign(usual));
    expect(verdict).toBe('valid');
    expect(items.filter(({ state }) => state !== 'ok')).toEqual([]);
  });

  test.each([
    [{ exp: now - 30 }, 'expiry', /^30s ago, within the tolerance/],
    [{ iat: now + 30 }, 'made', /^0s ago/],
  ])('within the tolerance of the clocks, %j is told as it is', async (claims, id, what) => {
    const { items } = await inspect(await sign({ ...usual, ...claims }));
    expect(items.find((item) => item.id === id)).toMatchObject({ state: 'ok', evidence: expect.stringMatching(what) });
  });

  test.each(['none', 'None', 'nOnE'])('with alg "%s" is refused', async (alg) => {
    const { verdict, items } = await inspect(`${part({ alg })}.${part(usual)}.`);
    expect(verdict).toBe('refused');
    expect(items.find(({ id }) => id === 'algorithm')).toMatchObject({
      state: 'blocked',
      evidence: expect.stringContaining('not signed'),
    });
  });

  test.each([
    ['expired', { exp: now - 3600 }, 'expiry', /expired 1h ago/],
    ['without an end', { exp: undefined }, 'expiry', /never \(no exp/],
    ['not valid yet', { nbf: now + 600 }, 'begin', /not valid yet \(valid in 10m\)/],
    ['made in the future', { iat: now + 600 }, 'made', /in the future/],
    ['of another issuer', { iss: 'https://evil.example.org' }, 'issuer', /expected https:\/\/id\.example\.org/],
    ['of an issuer that differs by a slash', { iss: `${issuer}/` }, 'issuer', /expected/],
    ['for somebody else', { aud: 'wiki' }, 'audience', /wiki, expected feeds/],
    ['for nobody', { aud: undefined }, 'audience', /none/],
  ])('%s is refused, with the reason', async (_, claims, id, why) => {
    const { verdict, items } = await inspect(await sign({ ...usual, ...claims }));
    expect(verdict).toBe('refused');
    expect(items.find((item) => item.id === id)).toMatchObject({ state: 'blocked', evidence: expect.stringMatching(why) });
  });

  test('that was changed, or signed by somebody else, is refused', async () => {
    const [head, , tail] = (await sign(usual)).split('.');
    const changed = `${head}.${part({ ...usual, sub: 'admin' })}.${tail}`;
    for (const token of [changed, await sign(usual, foreignKey)]) {
      expect((await inspect(token)).items.find(({ id }) => id === 'signature')).toMatchObject({
        state: 'blocked',
        evidence: expect.stringContaining('invalid'),
      });
    }
    const unknown = await inspect(await sign(usual, privateKey, 'two'));
    expect(unknown.items.find(({ id }) => id === 'signature')?.evidence).toContain('signed with a key that the issuer does not list');
  });

  test('signed with the public key as a shared secret is not believed', async () => {
    const secret = new TextEncoder().encode(JSON.stringify(keys.keys[0]).padEnd(64, '.'));
    const token = await new SignJWT(usual).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(secret);
    expect((await inspect(token)).verdict).toBe('unproved');
  });

  test('without keys nothing is proved', async () => {
    expect((await inspect(await sign(usual), { keys: undefined })).verdict).toBe('unproved');
  });

  test('with a password in it is warned about', async () => {
    const { items } = await inspect(await sign({ ...usual, user_password: 'x' }));
    expect(items.find(({ id }) => id === 'content')).toMatchObject({
      state: 'warning',
      evidence: expect.stringContaining('user_password'),
    });
  });

  test.each(['', 'abc', 'a.b', 'a.b.c', 'a.b.c.d.e', '!!.!!.!!'])('"%s" is none', async (text) => {
    await expect(inspect(text)).rejects.toMatchObject({ code: 'usage.token' });
  });

  test('claims are rows without control characters', () => {
    const rows = claimRows({ sub: 'mara\u001b[2J\u202e', exp: now });
    expect(rows[0]?.[1]).not.toMatch(/\u001b|\u202e/);
    expect(rows[1]).toEqual(['exp', '2026-11-22T09:00:00Z', 'valid until']);
  });
});

describe('a discovery document (R37)', () => {
  const address = `${issuer}/.well-known/openid-configuration`;
  const right = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/certs`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    id_token_signing_alg_values_supported: ['RS256'],
  };
  const stateOf = (document: object, id: string) => checkDiscovery({ ...right, ...document }, { address }).find((item) => item.id === id);

  test('that is right', () => {
    expect(checkDiscovery(right, { address }).map(({ state }) => state)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });
  test.each([
    [
      'another issuer is named',
      { issuer: 'https://id.lan' },
      'issuer',
      'blocked',
      /https:\/\/id\.lan, but clients that use https:\/\/id\.example\.org/,
    ],
    ['a plain issuer', { issuer: 'http://id.example.org' }, 'issuer', 'blocked', /does not use https/],
    ['no keys', { jwks_uri: undefined }, 'endpoints', 'blocked', /missing: jwks_uri/],
    ['a plain endpoint', { token_endpoint: 'http://id.example.org/token' }, 'endpoints', 'blocked', /without https/],
    ['an endpoint elsewhere', { token_endpoint: 'https://other.example.org/t' }, 'endpoints', 'warning', /different origin/],
    ['the implicit flow (R44)', { response_types_supported: ['code', 'id_token token'] }, 'flows', 'warning', /implicit/],
    ['no code', { response_types_supported: ['token'] }, 'flows', 'blocked', /not offered/],
    ['PKCE without S256', { code_challenge_methods_supported: ['plain'] }, 'pkce', 'blocked', /without S256/],
    ['tokens that nobody signs (R43)', { id_token_signing_alg_values_supported: ['RS256', 'none'] }, 'algorithms', 'blocked', /none/],
  ])('%s', (_, document, id, state, why) => {
    expect(stateOf(document, id)).toMatchObject({ state, evidence: expect.stringMatching(why) });
  });

  test('keys: none, private ones, short ones and right ones', async () => {
    const short = { kty: 'RSA', kid: 's', n: Buffer.alloc(128, 1).toString('base64url'), e: 'AQAB' };
    expect(checkKeys({ keys: [] }, nowMs).state).toBe('blocked');
    expect(checkKeys({ keys: [{ ...keys.keys[0], d: 'secret' }] }, nowMs)).toMatchObject({
      state: 'blocked',
      evidence: expect.stringMatching(/PRIVATE/),
    });
    expect(checkKeys({ keys: [short] }, nowMs).state).toBe('blocked');
    expect(checkKeys(keys, nowMs)).toMatchObject({ state: 'ok', evidence: 'EC one' });
    expect(checkKeys('rubbish', nowMs).state).toBe('blocked');
  });
});
