import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { componentView } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { TunnelUiDouble } from '../../../test/doubles/tunnel-ui-double.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import { catalogOf } from '../../catalog/open-catalog.ts';
import type { FlowInput } from '../../flows/flow.ts';
import { openLocalHost } from '../../hosts/local-host.ts';
import type { ShownSecret } from '../../session/session.ts';

const { entries } = await wholeCatalog();
const id = 'tunnel-server-ui';

let fixture: FlowFixture;
let server: TunnelUiDouble;
beforeEach(async () => {
  [fixture, server] = await Promise.all([FlowFixture.open(), TunnelUiDouble.open()]);
  fixture.host = openLocalHost();
  fixture.catalog = catalogOf(entries, []);
  const labels = { 'com.docker.compose.project': id, 'com.docker.compose.service': 'wg-easy' };
  fixture.engine.add('tunnel', {
    labels,
    ports: [{ address: '127.0.0.1', hostPort: server.port, containerPort: 51821, protocol: 'tcp', ipv6: false }],
  });
  server.add('alice');
});
afterEach(async () => {
  await fixture.host?.close();
  await server.close();
  await fixture.close();
});

const component = componentView(id, { project: id, speaks: 'wg-easy' });
function run(flow: string, words: readonly string[] = [], options: FlowInput['options'] = {}, operator = new OperatorDouble('unattended')) {
  operator.answers = { password: [server.password], ...operator.answers };
  fixture.operator = operator;
  return fixture.run(flow, component, { words, options });
}
const secrets = () => fixture.operator.shown.filter((shown): shown is ShownSecret => shown.kind === 'secret');

describe.each([13, 15] as const)('devices of release %i', (release) => {
  beforeEach(() => {
    server.release = release;
  });
  const answers = () => {
    const operator = new OperatorDouble('unattended');
    operator.answers = { user: ['admin'] };
    return operator;
  };

  test('listed, let in with a code for a camera, kept out, let in again, removed', async () => {
    expect(await run('clients-list', [], {}, answers())).toMatchObject({
      data: { clients: [{ name: 'alice', enabled: true, address: '10.8.0.2', receivedBytes: 1000 }] },
    });
    const { message } = await run('clients-add', ['bob-phone'], {}, answers());
    expect(message).toBe('Added bob-phone with address 10.8.0.3.');
    const bob = server.clients[1];
    expect(secrets()).toMatchObject([
      { label: 'Configuration of bob-phone', value: expect.stringContaining(bob?.privateKey ?? '-'), code: expect.anything() },
    ]);
    expect((await run('clients-disable', ['bob-phone'], {}, answers())).message).toBe('Disabled bob-phone.');
    expect(server.clients[1]?.enabled).toBe(false);
    expect((await run('clients-disable', ['bob-phone'], {}, answers())).message).toBe('bob-phone is already disabled.');
    expect((await run('clients-enable', ['bob-phone'], {}, answers())).message).toBe('Enabled bob-phone.');
    expect((await run('clients-remove', ['bob-phone'], {}, answers())).message).toBe('Removed device bob-phone.');
    expect(server.clients.map(({ name }) => name)).toEqual(['alice']);
    const kept = JSON.stringify(await fixture.audited());
    for (const secret of [server.password, bob?.privateKey ?? '-', bob?.preSharedKey ?? '-']) expect(kept).not.toContain(secret);
  });

  test('a wrong password is said once, and not tried again', async () => {
    server.password = 'another';
    const operator = answers();
    operator.answers['password'] = ['geheim-4711'];
    await expect(run('clients-list', [], {}, operator)).rejects.toMatchObject({ code: 'refused.login' });
    expect(server.requests.filter((request) => request === 'POST /api/session' || request === 'GET /api/client')).toHaveLength(1);
  });
});

test('the password of the vault is used without asking, and the session ends', async () => {
  await fixture.vault.write({ signal: AbortSignal.timeout(5000) } as never, `local/${id}/PASSWORD`, server.password, 'generated');
  const operator = new OperatorDouble('unattended');
  await run('clients-list', [], {}, operator);
  expect(operator.asked).toEqual([]);
  expect(server.requests.at(-1)).toBe('DELETE /api/session');
});

test('the password of the vault is not sent to another instance, which was not deployed with it', async () => {
  await fixture.vault.write({ signal: AbortSignal.timeout(5000) } as never, `local/${id}/PASSWORD`, 'of-the-other-one', 'generated');
  const operator = new OperatorDouble('unattended');
  operator.answers = { password: [server.password] };
  fixture.operator = operator;
  await fixture.run('clients-list', { ...component, id: `${id}@lab`, entry: id });
  expect(operator.asked).toMatchObject([{ id: 'password' }]);
});

test('a configuration without an MTU is named when it is shown (R77)', async () => {
  server.mtu = '';
  await run('clients-show', ['alice']);
  expect(fixture.operator.shown).toContainEqual(
    expect.objectContaining({
      kind: 'item',
      state: 'warning',
      title: expect.stringContaining('[Interface] MTU'),
      evidence: expect.stringContaining('Add MTU = 1420.'),
    }),
  );
});

test('a name that is taken, one that does not exist, one too many', async () => {
  await expect(run('clients-add', ['alice'])).rejects.toMatchObject({
    code: 'usage.client',
    message: expect.stringContaining('alice already exists'),
  });
  await expect(run('clients-show', ['alcie'])).rejects.toMatchObject({ code: 'usage.client', remedy: 'Did you mean "alice"?' });
  await expect(run('clients-show', ['a', 'b'])).rejects.toMatchObject({ code: 'usage.words' });
});
