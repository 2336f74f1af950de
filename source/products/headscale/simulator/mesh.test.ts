import { afterEach, describe, expect, test } from 'vitest';
import { type Listening, listen } from '../../../../test/contract/listening.ts';
import { createMesh, type Mesh } from './mesh.ts';
import type { MeshOptions } from './mesh-state.ts';

let mesh: Mesh;
let listening: Listening;
afterEach(() => listening.close());

async function open(options: MeshOptions = {}): Promise<void> {
  mesh = createMesh(options);
  listening = await listen(mesh.product, 8080);
}

type Json = Record<string, unknown>;

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; type: string; json: Json }> {
  const response = await fetch(`${listening.url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${mesh.apiKey}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, type: response.headers.get('content-type') ?? '', json: (await response.json()) as Json };
}

const run = (...argv: string[]) => mesh.product.exec?.(['headscale', ...argv], '') ?? Promise.reject(new Error('no command'));
const printed = async (...argv: string[]) => JSON.parse((await run(...argv, '-o', 'json')).stdout) as Json[];

describe('a mesh that lives', () => {
  test('has people, nodes of every kind, and a node that waits to be registered', async () => {
    await open();
    const nodes = await printed('nodes', 'list');
    expect(nodes.map((node) => [node['given_name'], node['online'] ?? false])).toEqual([
      ['bridge-laptop', true],
      ['galley-tablet', true],
      ['nas', true],
      ['engine-room', false],
      ['old-phone', false],
      ['guest-phone', true],
    ]);
    const expired = nodes.filter(
      (node) => Number((node['expiry'] as { seconds?: number } | undefined)?.seconds ?? Infinity) < Date.now() / 1000,
    );
    expect(expired.map((node) => node['given_name'])).toEqual(['old-phone']);
    expect(nodes[2]).toMatchObject({ subnet_routes: ['192.168.20.0/24'], user: { name: 'tagged-devices' } });
    expect((await ask('POST', '/api/v1/auth/register', { authId: mesh.pendingAuthId, user: 'guest' })).json['node']).toMatchObject({
      name: 'new-tablet',
    });
  });

  test('its policy passes its own check, and its node is still waiting after a restart', async () => {
    await open();
    const { json } = await ask('GET', '/api/v1/policy');
    expect(await ask('POST', '/api/v1/policy/check', { policy: json['policy'] })).toMatchObject({ status: 200, json: {} });
    listening.restart();
    expect((await ask('POST', '/api/v1/auth/register', { authId: mesh.pendingAuthId, user: 'guest' })).status).toBe(200);
  });

  test('writes the log of the real one', async () => {
    await open();
    await ask('GET', '/health');
    expect(listening.logged.find((line) => line.includes('starting headscale'))).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ INF starting headscale commit=\w+ version=v0\.29\.2$/,
    );
    await expect.poll(() => listening.logged.join('\n')).toMatch(/ INF http request bytes=17 method=GET path=\/health .* status=200/);
    expect(listening.logged.join('\n')).not.toContain(mesh.apiKey.slice(24));
  });

  test('incidents: the database is unreachable until a restart, and a node has to log in again', async () => {
    await open();
    mesh.product.play?.('mesh-database');
    expect(await ask('GET', '/health')).toMatchObject({ status: 500, json: { status: 'fail' } });
    listening.restart();
    expect(await ask('GET', '/health')).toMatchObject({ status: 200, json: { status: 'pass' } });
    mesh.product.play?.('mesh-node-expired');
    const nas = (await printed('nodes', 'list')).find((node) => node['given_name'] === 'nas');
    expect(nas).not.toHaveProperty('online');
    expect(nas).not.toHaveProperty('subnet_routes');
  });
});

describe('dialects', () => {
  test('0.23: users by name, no routes on nodes, tags under three names', async () => {
    await open({ minor: 23 });
    expect((await ask('GET', '/api/v1/user')).json).toMatchObject({
      users: [{ id: '1', name: 'captain', createdAt: expect.any(String) }, {}, {}],
    });
    expect((await ask('POST', '/api/v1/user/guest/rename/visitor')).json['user']).toMatchObject({ name: 'visitor' });
    expect((await ask('POST', '/api/v1/preauthkey', { user: 'mate' })).json['preAuthKey']).toMatchObject({
      user: 'mate',
      key: expect.stringMatching(/^[0-9a-f]{48}$/),
    });
    const [first] = (await ask('GET', '/api/v1/node')).json['nodes'] as Json[];
    expect(first).toMatchObject({ forcedTags: [], validTags: [], invalidTags: [] });
    expect(first).not.toHaveProperty('tags');
    expect(first).not.toHaveProperty('approvedRoutes');
  });

  test('0.26: keys by numeric user, listed whole, expired by user and key', async () => {
    await open({ minor: 26 });
    const { key } = (await ask('POST', '/api/v1/preauthkey', { user: '2' })).json['preAuthKey'] as Json;
    expect((await ask('GET', '/api/v1/preauthkey?user=2')).json['preAuthKeys']).toMatchObject([{ id: '2' }, { key }]);
    expect((await ask('POST', '/api/v1/preauthkey/expire', { user: '2', key })).status).toBe(200);
  });

  test('0.28: no check by the server', async () => {
    await open({ minor: 28 });
    expect((await ask('POST', '/api/v1/policy/check', { policy: '{}' })).status).toBe(404);
  });

  test('0.30: problems in JSON with the status that they mean, and a command that prints the shape of the API', async () => {
    await open({ minor: 30 });
    const missing = await ask('DELETE', '/api/v1/user/77');
    expect([missing.status, missing.type, missing.json]).toEqual([
      404,
      'application/problem+json',
      { title: 'Not Found', status: 404, detail: 'user not found', errors: [{ message: 'user not found' }] },
    ]);
    expect((await ask('POST', '/api/v1/preauthkey/expire', { id: '99' })).status).toBe(404);
    expect(await printed('users', 'list')).toMatchObject([{ id: '1', displayName: 'Captain' }, {}, {}]);
    const refused = await fetch(`${listening.url}/api/v1/user`);
    expect([refused.status, refused.headers.get('content-type')]).toEqual([401, 'application/problem+json']);
  });

  test('a policy in a file cannot be set', async () => {
    await open({ policyMode: 'file' });
    expect(await ask('PUT', '/api/v1/policy', { policy: '{}' })).toMatchObject({
      status: 500,
      json: { code: 2, message: "update is disabled for modes other than 'database'" },
    });
  });
});
