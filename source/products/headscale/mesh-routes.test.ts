import { afterEach, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { listen } from '../../../test/contract/listening.ts';
import { componentView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import { Headscale } from './client/headscale.ts';
import { HeadscaleApi } from './client/headscale-api.ts';
import { meshVersionOf } from './client/headscale-version.ts';

import { routeNode } from './mesh-node-acts.ts';
import type { MeshAccess } from './mesh-session.ts';
import { createMesh } from './simulator/mesh.ts';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

/** Creates a control server of an older version, and opens the part of the flow that concerns routes. */
async function open(minor: number) {
  const mesh = createMesh({ minor });
  const { url, close } = await listen(mesh.product, 8080);
  const fixture = await FlowFixture.open();
  endings.push(close, () => fixture.close());
  const address = { host: '127.0.0.1', port: Number(new URL(url).port), near: true };
  const engineName = { host: openLocalHost(), address, tls: false, shown: 'the mesh' };
  const client = new Headscale(new HeadscaleApi(engineName, mesh.apiKey), meshVersionOf(`v0.${minor}.0`));
  const component = componentView('mesh-control-server');
  const access = { client, target: { component } } as unknown as MeshAccess;
  const node = async (name: string) => {
    const found = (await client.nodes(AbortSignal.timeout(20_000))).find((one) => one.name === name);
    if (!found) throw new Error(`no ${name}`);
    return found;
  };
  const approve = async (name: string, value?: string) => {
    const flow = {
      ...flowOf('mesh-node'),
      run: async (session: MeshAccess['session']) => ({
        message: await routeNode({
          access: { ...access, session, target: { ...access.target, session } },
          node: await node(name),
          time: 1,
          value,
        }),
      }),
    };
    const { message } = await fixture.run(flow, component);
    const requests = (await fixture.audited()).filter(({ phase }) => phase === 'before').map(({ request }) => request);
    return { message, request: requests.at(-1) };
  };
  return { approve, node, fixture };
}

test.each([23, 25])('before 0.26 each route is approved by its number, and both ways out with one call (0.%i)', async (minor) => {
  const { approve, node } = await open(minor);
  const out = await approve('engine-room', 'exit');
  expect(out.message).toBe('Approved routes of engine-room: exit node.');
  expect(out.request).toMatch(/^POST \/api\/v1\/routes\/\d+\/enable: 0\.0\.0\.0\/0, ::\/0$/);
  expect((await node('engine-room')).routes?.approved).toEqual(['0.0.0.0/0', '::/0']);
  const none = await approve('nas', 'none');
  expect(none.message).toBe('nas has no approved routes.');
  expect(none.request).toMatch(/^POST \/api\/v1\/routes\/\d+\/disable: none$/);
  expect((await node('nas')).routes?.approved).toEqual([]);
  await approve('nas', 'all');
  expect((await node('nas')).routes).toMatchObject({ approved: ['192.168.20.0/24'], serving: ['192.168.20.0/24'] });
});

test('before 0.26 what a node does not offer cannot be approved, and nothing is sent', async () => {
  const { approve, fixture } = await open(25);
  await expect(approve('nas', '10.9.0.0/16')).rejects.toMatchObject({
    code: 'refused.version',
    message: expect.stringMatching(/nas does not advertise 10\.9\.0\.0\/16/),
  });
  expect(await fixture.audited()).toMatchObject([{ outcome: 'refused', act: 'mesh-node' }]);
});

test('from 0.26 on all of them go in one call', async () => {
  const { approve } = await open(26);
  expect((await approve('engine-room', 'exit')).request).toBe('POST /api/v1/node/4/approve_routes: 0.0.0.0/0, ::/0');
});
