import { afterEach, describe, expect, test } from 'vitest';
import type { HttpEndpoint } from '../../source/calls/http-exchange.ts';
import { mintGrant } from '../../source/grants/mint.ts';
import { openLocalHost } from '../../source/hosts/local-host.ts';
import { Headscale } from '../../source/products/headscale/client/headscale.ts';
import { greet, HeadscaleApi } from '../../source/products/headscale/client/headscale-api.ts';
import { meshVersionOf } from '../../source/products/headscale/client/headscale-version.ts';
import { isListedAs } from '../../source/products/headscale/client/mesh-keys.ts';
import { createMesh } from '../../source/products/headscale/simulator/mesh.ts';
import type { MeshOptions } from '../../source/products/headscale/simulator/mesh-state.ts';
import { listen } from './listening.ts';

const host = openLocalHost();
const signal = () => AbortSignal.timeout(20_000);
const grant = () => mintGrant('test', 'destroy', signal());
const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

async function open(options: MeshOptions = {}) {
  const mesh = createMesh(options);
  const { url, close } = await listen(mesh.product, 8080);
  endings.push(close);
  const port = Number(new URL(url).port);
  const engineName: HttpEndpoint = { host, address: { host: '127.0.0.1', port, near: true }, tls: false, shown: 'the mesh' };
  const version = meshVersionOf(`v0.${options.minor ?? 29}.0`);
  return { mesh, engineName, client: new Headscale(new HeadscaleApi(engineName, mesh.apiKey), version) };
}

/** Every dialect that the sheet tells apart, by its minor version, and one on both sides of what is known: it is spoken to as its neighbour. */
const minors = [22, 23, 24, 25, 26, 27, 28, 29, 30, 31];
const dayMs = 86_400_000;

describe.each(minors)('a control server 0.%i, as it is spoken to', (minor) => {
  test('tells its version without a login, from 0.26 on', async () => {
    const { engineName } = await open({ minor });
    const { version } = await greet(engineName, signal());
    if (minor < 26) expect(version).toBeUndefined();
    else expect(version).toMatch(new RegExp(`^v0\\.${minor}\\.`));
  });

  test('users come, are renamed and go', async () => {
    const { client } = await open({ minor, empty: true });
    const made = await client.createUser(grant(), { name: 'ann', displayName: 'Ann', email: 'ann@example.com' });
    expect(made).toMatchObject({ id: '1', name: 'ann' });
    if (minor >= 24) expect(made).toMatchObject({ displayName: 'Ann', email: 'ann@example.com' });
    await expect(client.createUser(grant(), { name: 'ann' })).rejects.toMatchObject({
      code: 'usage.mesh',
      message: expect.stringMatching(/already in use/),
    });
    await client.renameUser(grant(), made, 'anna');
    expect((await client.users(signal())).map(({ name }) => name)).toEqual(['anna']);
    await client.deleteUser(grant(), { ...made, name: 'anna' });
    expect(await client.users(signal())).toEqual([]);
    await expect(client.deleteUser(grant(), { ...made, name: 'anna' })).rejects.toMatchObject({
      message: expect.stringMatching(/the user does not exist/),
    });
  });

  test('keys are made, listed without their secret, and expired (R61)', async () => {
    const { client } = await open({ minor, empty: true });
    const user = await client.createUser(grant(), { name: 'ann' });
    const expiryMs = Date.now() + 30 * dayMs;
    const { secret, key } = await client.createKey(grant(), { user, reusable: true, ephemeral: true, expiryMs, tags: ['tag:server'] });
    expect(secret.length).toBeGreaterThan(40);
    expect(key).toMatchObject({ owner: 'ann', reusable: true, ephemeral: true, used: false, tags: ['tag:server'] });
    expect(Math.abs((key.expiryMs ?? 0) - expiryMs)).toBeLessThan(1000);
    const listed = await client.keys(signal());
    expect(listed).toMatchObject([{ id: key.id, owner: 'ann' }]);
    expect(JSON.stringify([listed, key])).not.toContain(secret.slice(-20));
    await client.expireKey(grant(), key.id);
    expect((await client.keys(signal()))[0]?.expiryMs).toBeLessThanOrEqual(Date.now());
  });

  test('nodes wait, come in, are tagged, renamed, expired, kept and deleted', async () => {
    const { client, mesh } = await open({ minor });
    const users = await client.users(signal());
    const guest = users.find(({ name }) => name === 'guest');
    if (!guest) throw new Error('no guest');
    const node = await client.register(grant(), mesh.pendingAuthId ?? '', guest);
    expect(node).toMatchObject({ name: 'new-tablet', owner: 'guest' });
    await expect(client.register(grant(), mesh.pendingAuthId ?? '', guest)).rejects.toMatchObject({
      message: expect.stringMatching(/no node is waiting with this key/),
    });
    const now = async () => (await client.nodes(signal())).find(({ id }) => id === node.id);
    await client.renameNode(grant(), node, 'kitchen');
    expect(await now()).toMatchObject({ name: 'kitchen', hostname: 'new-tablet' });
    const atMs = Date.now() + 90 * dayMs;
    await client.expireNode(grant(), node, atMs);
    expect(Math.abs(((await now())?.expiryMs ?? 0) - atMs)).toBeLessThan(1000);
    if (minor >= 29) {
      await client.keepNode(grant(), node);
      expect((await now())?.expiryMs).toBeUndefined();
    } else await expect(client.keepNode(grant(), node)).rejects.toMatchObject({ code: 'refused.version' });
    await client.expireNode(grant(), node);
    expect((await now())?.expiryMs).toBeLessThanOrEqual(Date.now());
    await client.setTags(grant(), node, ['tag:media']);
    expect(await now()).toMatchObject({ tags: ['tag:media'] });
    await client.deleteNode(grant(), node);
    expect(await now()).toBeUndefined();
    await expect(client.deleteNode(grant(), node)).rejects.toMatchObject({ message: expect.stringMatching(/the node does not exist/) });
  });

  test('routes are told, approved, and taken back; both ways out are one', async () => {
    const { client } = await open({ minor });
    const node = (await client.nodes(signal())).find(({ name }) => name === 'engine-room');
    if (!node) throw new Error('no engine-room');
    expect(node.routes).toMatchObject({ available: ['0.0.0.0/0', '::/0'], approved: [] });
    await client.approveRoutes(grant(), node, ['0.0.0.0/0', '::/0']);
    const now = async (name: string) => (await client.nodes(signal())).find((one) => one.name === name);
    expect((await now('engine-room'))?.routes).toMatchObject({ available: ['0.0.0.0/0', '::/0'], approved: ['0.0.0.0/0', '::/0'] });
    const nas = await now('nas');
    expect(nas?.routes).toMatchObject({ approved: ['192.168.20.0/24'], serving: ['192.168.20.0/24'] });
    if (nas) await client.approveRoutes(grant(), nas, []);
    expect((await now('nas'))?.routes).toMatchObject({ available: ['192.168.20.0/24'], approved: [], serving: [] });
    const room = await now('engine-room');
    if (room) await client.approveRoutes(grant(), room, []);
    expect((await now('engine-room'))?.routes?.approved).toEqual([]);
    expect((await now('bridge-laptop'))?.routes).toMatchObject({ available: [], approved: [] });
    // Said as it is sent.
    expect(client.routePaths(node, ['0.0.0.0/0', '::/0'])).toEqual(
      minor < 26 ? [expect.stringMatching(/^routes\/\d+\/enable$/)] : ['node/4/approve_routes'],
    );
  });

  test('API keys are made, found in the list, and expired', async () => {
    const { client, engineName, mesh } = await open({ minor });
    const key = await client.createApiKey(grant(), Date.now() + dayMs);
    const other = new Headscale(new HeadscaleApi(engineName, key), client.version);
    const listed = (await other.apiKeys(signal())).find(({ prefix }) => isListedAs(key, prefix));
    if (!listed) throw new Error('not listed');
    expect((await client.apiKeys(signal())).filter(({ prefix }) => isListedAs(mesh.apiKey, prefix))).toHaveLength(1);
    await client.expireApiKey(grant(), listed);
    await expect(other.users(signal())).rejects.toMatchObject({ code: 'refused.apiKey', message: expect.not.stringContaining(key) });
  });

  test('the policy is read, set and refused; asked about beforehand from 0.29 on (R62)', async () => {
    const { client } = await open({ minor, empty: true });
    expect(await client.policy(signal())).toBeUndefined();
    const text = '// Comments stay.\n{"acls": [{"action": "accept", "src": ["*"], "dst": ["*:*"]},],}\n';
    expect(await client.checkPolicy(text, signal())).toEqual(minor >= 29 ? [] : undefined);
    await client.setPolicy(grant(), text);
    expect((await client.policy(signal()))?.text).toBe(text);
    const bad = '{"acls": [{"action": "accept", "src": ["tag:x"], "dst": ["*:*"]}]}';
    if (minor >= 29) expect(((await client.checkPolicy(bad, signal())) ?? []).join(' ')).toMatch(/tag not found: "tag:x"/);
    await expect(client.setPolicy(grant(), bad)).rejects.toMatchObject({
      code: 'refused.policy',
      message: expect.stringMatching(/tag not found: "tag:x"/),
    });
    expect((await client.policy(signal()))?.text).toBe(text);
  });

  test('a policy that is a file is not set, and that is said', async () => {
    const { client } = await open({ minor, policyMode: 'file' });
    await expect(client.setPolicy(grant(), '{}')).rejects.toMatchObject({
      code: 'refused.policyFile',
      message: expect.stringMatching(/policy\.mode: file/),
    });
  });
});

test.each([28, 29, 30])('from 0.28 on a key may belong to its tags alone (0.%i)', async (minor) => {
  const { client } = await open({ minor, empty: true });
  const wish = { user: undefined, reusable: false, ephemeral: false, expiryMs: Date.now() + dayMs };
  expect((await client.createKey(grant(), { ...wish, tags: ['tag:server'] })).key).toMatchObject({ owner: '', tags: ['tag:server'] });
  await expect(client.createKey(grant(), { ...wish, tags: [] })).rejects.toMatchObject({
    code: 'usage.mesh',
    message: expect.stringMatching(/requires a user or tags/),
  });
});

describe('what is wrong on the way', () => {
  test('a key that is not taken, one that is none, and none at all', async () => {
    const { engineName } = await open();
    const wrong = `hskey-api-${'x'.repeat(12)}-${'y'.repeat(64)}`;
    const version = meshVersionOf('v0.29.0');
    await expect(new Headscale(new HeadscaleApi(engineName, wrong), version).users(signal())).rejects.toMatchObject({
      code: 'refused.apiKey',
    });
    await expect(new Headscale(new HeadscaleApi(engineName), version).users(signal())).rejects.toMatchObject({ code: 'refused.apiKey' });
    expect(() => new HeadscaleApi(engineName, 'two words')).toThrow(expect.objectContaining({ code: 'usage.apiKey' }));
  });

  test('the key never goes in the clear to another machine', async () => {
    const { engineName } = await open();
    const remote: HttpEndpoint = { ...engineName, address: { ...engineName.address, near: false } };
    expect(() => new HeadscaleApi(remote, 'x')).toThrow(expect.objectContaining({ code: 'refused.clear' }));
  });

  test('a server that is away, and something else on its port', async () => {
    const { engineName } = await open();
    const away: HttpEndpoint = { ...engineName, address: { host: '127.0.0.1', port: 1, near: true } };
    await expect(greet(away, signal())).rejects.toMatchObject({ code: 'unreachable.mesh' });
    const http = await import('node:http');
    const other = http.createServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    endings.push(() => new Promise((resolve) => other.close(() => resolve())));
    const { port } = other.address() as import('node:net').AddressInfo;
    const strange: HttpEndpoint = { ...engineName, address: { host: '127.0.0.1', port, near: true } };
    await expect(new Headscale(new HeadscaleApi(strange, 'x'), meshVersionOf('v0.29.0')).users(signal())).rejects.toMatchObject({
      code: 'failed.mesh',
      message: expect.stringMatching(/is not from a control server/),
    });
  });
});
