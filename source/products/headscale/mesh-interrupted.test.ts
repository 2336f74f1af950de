import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { meshId as id, MeshFixture } from '../../../test/doubles/mesh-fixture.ts';

let fixture: MeshFixture;
const run: MeshFixture['run'] = (...reported) => fixture.run(...reported);
beforeAll(async () => {
  fixture = await MeshFixture.open();
  await run('mesh-access');
});
afterAll(() => fixture.close());

const isThere = async (name: string) => (await run('mesh-nodes')).data.nodes.some((node) => node['name'] === name);

describe('what comes in between', () => {
  test('the server goes away while a delete is confirmed: that is said, nothing is lost, and afterwards it is done', async () => {
    const fault = run('mesh-node', ['old-phone', 'delete'], { meanwhile: () => run('stop') });
    await expect(fault).rejects.toMatchObject({ code: 'unreachable.mesh', message: expect.stringMatching(/does not respond/) });
    await expect(run('mesh-nodes')).rejects.toMatchObject({ code: 'unreachable.component', remedy: `Start it: quarterdeck start ${id}` });
    await run('start');
    expect(await isThere('old-phone')).toBe(true);
    expect((await run('mesh-node', ['old-phone', 'delete'])).message).toBe('Deleted old-phone from the mesh.');
    expect(await isThere('old-phone')).toBe(false);
  });

  test('somebody else does it first: nothing is asked or sent again', async () => {
    const { message, operator } = await run('mesh-expire-key', ['1'], {
      meanwhile: () => fixture.aside('POST', 'preauthkey/expire', { id: '1' }),
    });
    expect(message).toBe('Expired pre-auth key 1 (tag:server).');
    expect(operator.confirmations).toHaveLength(1);
    const again = await run('mesh-expire-key', ['1']);
    expect(again.operator.confirmations).toEqual([]);
  });

  test('somebody else changes the policy while it is edited: theirs stays', async () => {
    const before = (await run('mesh-policy')).data.policy;
    const theirs = `// Theirs.\n${before}`;
    const mine = run('mesh-edit-policy', [], {
      stdin: `// Mine.\n${before}`,
      meanwhile: () => fixture.aside('PUT', 'policy', { policy: theirs }),
    });
    await expect(mine).rejects.toMatchObject({ code: 'refused.overtaken' });
    expect((await run('mesh-policy')).data.policy).toBe(theirs);
  });

  test('a node that vanished meanwhile, and one whose registration was forgotten by a restart', async () => {
    const deleted = run('mesh-node', ['galley-tablet', 'expire'], { meanwhile: () => fixture.aside('DELETE', 'node/2') });
    await expect(deleted).rejects.toMatchObject({ code: 'failed.mesh', message: expect.stringMatching(/the node does not exist/) });
    const key = `hskey-authreq-${'w'.repeat(24)}`;
    await fixture.aside('POST', 'debug/node', { user: 'guest', key, name: 'visitor', routes: [] });
    await run('restart');
    const forgotten = run('mesh-register', [key], { options: { user: 'guest' } });
    await expect(forgotten).rejects.toMatchObject({ message: expect.stringMatching(/the control server was restarted/) });
    await fixture.aside('POST', 'debug/node', { user: 'guest', key, name: 'visitor', routes: [] });
    expect((await run('mesh-register', [key], { options: { user: 'guest' } })).message).toMatch(
      /^visitor joined the mesh with address .* and belongs to guest\.$/,
    );
  });

  test('the key of this console is expired by somebody else: the flow says so, and lets it in again', async () => {
    const own = (await run('mesh-api-keys')).data.keys.find(({ thisConsole }) => thisConsole);
    await fixture.aside('POST', 'apikey/expire', { id: own?.['id'] });
    await expect(run('mesh-users', [], { kind: 'unattended' })).rejects.toMatchObject({ code: 'refused.apiKey' });
    const { operator, data } = await run('mesh-users', [], { answers: { access: ['make'] } });
    expect(operator.asked[0]?.label).toBe('mesh-control-server no longer accepts the API key of this console');
    expect(data.users).toHaveLength(3);
  });
});
