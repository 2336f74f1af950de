import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { flowOf } from '../contract/flows/registry.ts';
import { answering } from '../doubles/cancelling-operator.ts';
import { composeLabels } from '../doubles/container-facts.ts';
import { componentView, stateOf } from '../doubles/fleet-double.ts';
import { FlowFixture } from '../doubles/flow-fixture.ts';
import { wholeCatalog } from '../doubles/whole-catalog.ts';
import { describeUnless } from '../required.ts';
import { findServer, freePort, type RunningServer, runServer } from './real-server.ts';

const oidcCheck = flowOf('oidc-check');
const tokenInspect = flowOf('token');

const { program = '', missing } = findServer('keycloak');
const id = 'idp-enterprise';
const login = { username: 'admin', password: 'an administrator of the tests' };

describeUnless(missing, 'a real Keycloak', () => {
  let folder: string;
  let server: RunningServer;
  let fixture: FlowFixture;
  let url: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'qd-keycloak-'));
    const [port, management] = [await freePort(), await freePort()];
    url = `http://127.0.0.1:${port}`;
    const options = ['--http-host=127.0.0.1', `--http-port=${port}`, `--http-management-port=${management}`, '--proxy-headers=xforwarded'];
    server = await runServer(
      program,
      ['start', '--optimized', '--http-enabled=true', '--hostname-strict=false', '--cache=local', ...options],
      {
        cwd: folder,
        answers: `${url}/realms/master`,
        limitMs: 500_000,
        env: { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: login.username, KC_BOOTSTRAP_ADMIN_PASSWORD: login.password },
      },
    );
    const { entries } = await wholeCatalog();
    const entry = entries.find((one) => one.id === id);
    if (!entry) throw new Error(`no ${id} in the catalog`);
    fixture = await FlowFixture.open();
    fixture.host = openLocalHost();
    fixture.catalog = { entries: [entry], get: (wanted) => (wanted === id ? entry : undefined), problems: [] };
    const web = entry.ports.find(({ name }) => name === entry.api?.port);
    const main = entry.services.find((service) => service.main)?.name ?? '';
    fixture.engine.add(main, {
      labels: composeLabels(id, main),
      ports: [{ address: '127.0.0.1', hostPort: port, containerPort: web?.container ?? 0, protocol: 'tcp' }],
    });
  }, 600_000);
  afterAll(async () => {
    await fixture?.host?.close();
    await fixture?.close();
    await server?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  const check = (site: string | undefined, words: string[] = []) =>
    fixture.run(oidcCheck, componentView(id, { speaks: 'oidc', state: stateOf('healthy'), ...(site !== undefined && { url: site }) }), {
      words,
    });

  async function newToken(): Promise<string> {
    const body = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...login });
    const response = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: 'POST', body });
    return ((await response.json()) as { access_token: string }).access_token;
  }
  const inspect = (token: string, options: Record<string, string>) => {
    fixture.operator = answering({ token: [token] });
    return fixture.run(tokenInspect, undefined, { options });
  };

  test('its discovery is right behind a site of the reverse proxy, and what is worth a look is told (R37, R44)', async () => {
    const { message, data } = await check('https://id.home.example.org');
    expect(message).toMatch(/^The OIDC discovery document of idp-enterprise is valid, with warnings: flows\.$/);
    expect(data).toMatchObject({
      path: '/realms/master/.well-known/openid-configuration',
      issuer: 'https://id.home.example.org/realms/master',
      items: [
        { id: 'issuer', state: 'ok' },
        { id: 'endpoints', state: 'ok' },
        { id: 'flows', state: 'warning', evidence: expect.stringContaining('implicit') },
        { id: 'pkce', state: 'ok', evidence: expect.stringContaining('S256') },
        { id: 'algorithms', state: 'ok' },
        { id: 'keys', state: 'ok', evidence: expect.stringContaining('RSA') },
      ],
    });
  });

  test('without a site its issuer is plain http, which clients refuse; a realm that is not there is told', async () => {
    await expect(check(undefined)).rejects.toMatchObject({
      code: 'failed.discovery',
      message: expect.stringContaining('does not use https'),
    });
    await expect(check('https://id.home.example.org', ['nowhere'])).rejects.toMatchObject({
      code: 'failed.discovery',
      message: expect.stringMatching(/ has nothing at \/realms\/nowhere\/\.well-known\/openid-configuration \(status 404\)\.$/),
    });
  });

  test('a token of its own is right by its own keys; one that was changed, or is for somebody else, is refused (R43)', async () => {
    const token = await newToken();
    const issuer = `${url}/realms/master`;
    const { message } = await inspect(token, { issuer });
    expect(message).toBe('The token is valid: signed by its issuer and not expired.');
    const [head = '', claims = '', signature = ''] = token.split('.');
    const other = { ...(JSON.parse(Buffer.from(claims, 'base64url').toString()) as object), azp: 'somebody' };
    const forged = [head, Buffer.from(JSON.stringify(other)).toString('base64url'), signature].join('.');
    await expect(inspect(forged, { issuer })).rejects.toMatchObject({ code: 'refused.token' });
    await expect(inspect(token, { issuer, audience: 'feeds' })).rejects.toMatchObject({ code: 'refused.token' });
    expect(JSON.stringify([fixture.operator.shown, await fixture.audited()])).not.toContain(signature);
  });
});
