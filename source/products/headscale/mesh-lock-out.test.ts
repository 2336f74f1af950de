import { describe, expect, test } from 'vitest';
import type { MeshNode } from './client/headscale-records.ts';
import { nodeOf } from './client/headscale-records.ts';
import { deleteNode, expireNode, type NodeStep } from './mesh-node-acts.ts';
import { connectionFindings } from './mesh-policy.ts';

const remote = nodeOf({ id: '3', name: 'nas', ipAddresses: ['100.64.0.3', 'fd7a:115c:a1e0::3'] });
const near = nodeOf({ id: '1', name: 'laptop', ipAddresses: ['100.64.0.1', 'fd7a:115c:a1e0:0:0:0:0:1'] });
const other = nodeOf({ id: '9', name: 'phone', ipAddresses: ['100.64.0.9'] });

/** Creates a step with a node, for an operator with this connection; also returns the ids of the actions that were started. */
function stepFor(node: MeshNode, connection: string | undefined, isFar = true) {
  const begun: string[] = [];
  const host = { name: 'ship', ...(isFar && { link: {} }), facts: async () => ({ env: { SSH_CONNECTION: connection } }) };
  const session = { signal: new AbortController().signal, dryRun: true, act: async ({ id }: { id: string }) => void begun.push(id) };
  const access = {
    session,
    target: { session, host, component: { host: 'ship', id: 'mesh-control-server' } },
    client: { nodes: async () => [remote, near, other] },
  };
  return { begun, step: { access, node, time: 1, value: undefined } as unknown as NodeStep };
}

describe('the way that the operator came by', () => {
  test.each([
    ['over the host itself in the mesh', remote, '192.0.2.7 50022 100.64.0.3 22'],
    ['from a machine that is a node', near, '100.64.0.1 50022 10.0.0.5 22'],
    ['over IPv6, however it is written', near, 'fd7a:115c:a1e0::1 50022 fd7a:115c:a1e0::3 22'],
    ['over IPv4 in the clothes of IPv6', remote, '::ffff:192.0.2.7 50022 ::ffff:100.64.0.3 22'],
  ])('%s: neither end of it is expired or deleted', async (_, node, connection) => {
    for (const does of [expireNode, deleteNode]) {
      const { step, begun } = stepFor(node, connection);
      await expect(does(step)).rejects.toMatchObject({ code: 'refused.lockOut', message: expect.stringMatching(/disconnect you/) });
      expect(begun).toEqual([]);
    }
  });

  test.each([
    ['another node', other, '100.64.0.1 50022 100.64.0.3 22', true],
    ['a way outside the mesh', remote, '192.0.2.7 50022 192.0.2.1 22', true],
    ['a host that does not tell', remote, undefined, true],
    ['this machine', remote, '100.64.0.1 50022 100.64.0.3 22', false],
  ])('%s is nobody in the way', async (_, node, connection, isFar) => {
    const { step, begun } = stepFor(node, connection, isFar);
    await expireNode(step);
    expect(begun).toEqual(['expire']);
  });

  test('a policy that lets nobody reach anybody is refused to who came over the mesh; of any other they are told to see to a way in', async () => {
    const { step } = stepFor(remote, '100.64.0.1 50022 100.64.0.3 22');
    expect(await connectionFindings(step.access, '{"acls": []}')).toMatchObject([{ level: 'blocking' }]);
    expect(await connectionFindings(step.access, '{"acls": [{"action": "accept", "src": ["*"], "dst": ["*:*"]}]}')).toMatchObject([
      { level: 'warning' },
    ]);
    const outside = stepFor(remote, '192.0.2.7 50022 192.0.2.1 22');
    expect(await connectionFindings(outside.step.access, '{"acls": []}')).toEqual([]);
  });
});
