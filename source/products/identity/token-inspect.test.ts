import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { catalogEntry, composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentView, stateOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { openLocalHost } from '../../hosts/local-host.ts';

const oidcCheck = flowOf('oidc-check');
const tokenInspect = flowOf('token');

let fixture: FlowFixture;
let provider: Server;
let url: string;
let privateKey: CryptoKey;
/** Requests to the provider. */
let asked: { path: string; host: string }[];
let document: Record<string, unknown>;

const sign = (claims: Record<string, unknown> = {}) =>
  new SignJWT({ sub: 'mara', aud: 'feeds', iss: url, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(privateKey);

function operator(answers: OperatorDouble['answers'], kind?: OperatorDouble['kind']): OperatorDouble {
  const made = new OperatorDouble(kind);
  made.answers = answers;
  fixture.operator = made;
  return made;
}

beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  ({ privateKey } = pair);
  const keys = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256' }] };
  provider = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push({ path, host: request.headers.host ?? '' });
    const found = path.endsWith('/.well-known/openid-configuration') ? document : path === '/certs' ? keys : undefined;
    response.writeHead(found ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(found ?? {}));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  fixture = await FlowFixture.open();
  fixture.host = openLocalHost();
});
afterAll(async () => {
  await fixture.host?.close();
  await fixture.close();
  await new Promise((resolve) => provider.close(resolve));
});
beforeEach(() => {
  asked = [];
  document = { issuer: url, jwks_uri: `${url}/certs` };
});

describe('inspecting a token (R43)', () => {
  const run = (options: Record<string, string> = {}, words: string[] = []) => fixture.run(tokenInspect, undefined, { options, words });

  test('one that is right is verified with the keys of its issuer', async () => {
    operator({ token: [`Bearer ${await sign()}`] });
    const { message, data } = await run({ issuer: url, audience: 'feeds' });
    expect(message).toMatch(/^The token is valid/);
    expect(data).toMatchObject({ verdict: 'valid', claims: { sub: 'mara' } });
    expect(asked.map(({ path }) => path)).toEqual(['/.well-known/openid-configuration', '/certs']);
  });

  test('alg none and expired end in a refusal, with the reason', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    operator({ token: [`${part({ alg: 'none' })}.${part({ sub: 'admin', exp: 1 })}.`] });
    await expect(run()).rejects.toMatchObject({ code: 'refused.token', message: expect.stringMatching(/not signed.*expired/) });
  });

  test('an issuer that only the token names is not asked unless somebody says so', async () => {
    const token = await sign({ iss: 'https://evil.example.org' });
    operator({ token: [token], fetch: ['no'] });
    expect((await run()).message).toMatch(/the signature was not verified/);
    operator({ token: [token] }, 'unattended');
    expect((await run()).message).toMatch(/the signature was not verified/);
    expect(asked).toEqual([]);
  });

  test('on the command line it is refused, and is in neither journal nor audit', async () => {
    const token = await sign();
    operator({});
    await expect(run({}, [token])).rejects.toMatchObject({ code: 'usage.token' });
    operator({ token: [token] });
    await run({ issuer: url });
    expect(JSON.stringify([await fixture.audited(), fixture.operator.shown, fixture.operator.asked])).not.toContain(token.split('.')[2]);
  });

  test('plain http to another machine is not asked for keys', async () => {
    operator({ token: [await sign()] });
    await expect(run({ issuer: 'http://id.example.org' })).rejects.toMatchObject({ code: 'usage.url' });
  });
});

describe('the discovery of a provider (R37)', () => {
  const id = 'idp-enterprise';
  const site = 'https://id.home.example.org';
  const right = (issuer: string) => ({
    issuer,
    authorization_endpoint: `${site}/auth`,
    token_endpoint: `${site}/token`,
    jwks_uri: `${site}/certs`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    id_token_signing_alg_values_supported: ['ES256'],
  });
  const component = componentView(id, { project: id, speaks: 'oidc', state: stateOf('healthy'), url: site });

  beforeAll(() => {
    const port = Number(new URL(url).port);
    const http = (path: string) => ({ method: 'GET' as const, port: 'web', path, query: {}, headers: {} });
    const call = { reads: true, auth: 'none', limit: '3s', keep: '0s', endpoint: false };
    const entry = catalogEntry(
      id,
      { keycloak: { image: 'keycloak', main: true } },
      {
        api: { name: 'oidc', port: 'web' },
        ports: [
          {
            name: 'web',
            role: 'page',
            exposure: 'loopback',
            fixed: false,
            web: true,
            tls: false,
            service: 'keycloak',
            host: port,
            container: 8080,
            protocol: 'tcp',
          },
        ],
        calls: {
          master: { ...call, title: 'master', inputs: {}, http: http('/realms/master/.well-known/openid-configuration') },
          root: { ...call, title: 'root', inputs: {}, http: http('/.well-known/openid-configuration') },
          realm: {
            ...call,
            title: 'realm',
            inputs: {
              realm: { type: 'string', description: 'its name', required: true, secret: false, file: false, languageModel: false },
            },
            http: http('/realms/<realm>/.well-known/openid-configuration'),
          },
        },
      },
    );
    fixture.catalog = { entries: [entry], get: (wanted) => (wanted === id ? entry : undefined), problems: [] };
    fixture.engine.add('keycloak', {
      labels: composeLabels(id, 'keycloak'),
      ports: [{ address: '127.0.0.1', hostPort: port, containerPort: 8080, protocol: 'tcp' }],
    });
  });

  test('is asked as the reverse proxy asks, of the realm that is named', async () => {
    document = right(`${site}/realms/home`);
    operator({});
    const { message } = await fixture.run(oidcCheck, component, { words: ['home'] });
    expect(message).toBe(`The OIDC discovery document of ${id} is valid.`);
    expect(asked).toEqual([
      { path: '/realms/home/.well-known/openid-configuration', host: 'id.home.example.org' },
      { path: '/certs', host: 'id.home.example.org' },
    ]);
  });

  test('an issuer that clients do not know is a failure that names both', async () => {
    document = right('http://127.0.0.1:8080/realms/master');
    operator({});
    await expect(fixture.run(oidcCheck, component)).rejects.toMatchObject({
      code: 'failed.discovery',
      message: expect.stringContaining('http://127.0.0.1:8080/realms/master does not use https'),
    });
  });

  test('a name that is none, and rubbish, are told', async () => {
    operator({});
    await expect(fixture.run(oidcCheck, component, { words: ['../admin'] })).rejects.toMatchObject({ code: 'usage.name' });
    document = [] as never;
    await expect(fixture.run(oidcCheck, component)).rejects.toMatchObject({ code: 'failed.discovery' });
  });
});
