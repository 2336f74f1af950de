import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { meshId as id, MeshFixture, secretsOf } from '../../../test/doubles/mesh-fixture.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';

let fixture: MeshFixture;
const run: MeshFixture['run'] = (...reported) => fixture.run(...reported);
beforeAll(async () => {
  fixture = await MeshFixture.open();
});
afterAll(() => fixture.close());

const nodes = async () => (await run('mesh-nodes')).data.nodes;
const nodeNamed = async (name: string) => (await nodes()).find((node) => node['name'] === name);

describe('the way in', () => {
  test('without a key a flow says how this console is let in, and asks nobody who is not there', async () => {
    await expect(run('mesh-nodes', [], { kind: 'unattended' })).rejects.toMatchObject({
      code: 'refused.apiKey',
      remedy: `Create an API key: quarterdeck mesh access ${id}`,
    });
    await expect(run('mesh-nodes')).rejects.toMatchObject({ code: 'interrupted.cancelled' });
  });

  test('a flow that needs a key makes one in the container when it is asked to, and goes on', async () => {
    const { data, operator } = await run('mesh-nodes', [], { answers: { access: ['make'] } });
    expect(data.nodes).toHaveLength(6);
    expect(operator.asked[0]).toMatchObject({ help: expect.stringMatching(/headscale apikeys create --expiration 90d/) });
    const again = await run('mesh-access', [], { kind: 'unattended' });
    expect(again.message).toMatch(/^This console already has access until \d{4}-\d\d-\d\d\.$/);
    expect(again.data).toMatchObject({ version: '0.29.2', apiKey: expect.stringMatching(/^hskey-api-.{12}-\*\*\*$/) });
  });

  test('renewed, the key before it is expired; one that somebody typed is tried first', async () => {
    const before = (await run('mesh-access')).data.apiKey;
    const { data } = await run('mesh-access', [], { options: { renew: true, expiration: '30d' } });
    expect(data.apiKey).not.toBe(before);
    const { keys } = (await run('mesh-api-keys')).data;
    expect(keys.find(({ prefix }) => prefix === before)).toMatchObject({ state: 'expired', thisConsole: false });
    expect(keys.filter(({ thisConsole }) => thisConsole)).toMatchObject([{ prefix: data.apiKey, state: 'valid' }]);
    const wrong = `hskey-api-${'x'.repeat(12)}-${'y'.repeat(64)}`;
    const refused = run('mesh-access', [], { options: { give: true }, answers: { 'api-key': [wrong] } });
    await expect(refused).rejects.toMatchObject({ code: 'refused.apiKey', message: expect.stringMatching(/Nothing was stored/) });
    await expect(run('mesh-access', [], { options: { give: true } })).rejects.toMatchObject({
      message: 'Nothing was created or stored.',
    });
    const given = fixture.practice.access.facts.apiKeys[id] ?? '';
    await run('mesh-access', [], { options: { give: true }, answers: { 'api-key': [given] } });
    expect((await run('mesh-access')).data.apiKey).toBe(`${given.slice(0, 22)}-***`);
  });

  test('its own key is not expired from here, another one is', async () => {
    const { keys } = (await run('mesh-api-keys')).data;
    const own = keys.find(({ thisConsole }) => thisConsole);
    await expect(run('mesh-api-key', ['expire', String(own?.['id'])])).rejects.toMatchObject({ code: 'refused.lockOut' });
    const { operator } = await run('mesh-api-key', ['create'], { options: { expiration: '1d' } });
    const [shown] = secretsOf(operator);
    expect(shown?.value).toMatch(/^hskey-api-/);
    const made = (await run('mesh-api-keys')).data.keys.at(-1);
    const { message, operator: asked } = await run('mesh-api-key', ['expire', String(made?.['id'])]);
    expect(message).toMatch(/^Expired /);
    expect(asked.confirmations[0]?.consequences.join(' ')).toMatch(/lose access immediately/);
    await expect(run('mesh-api-key', ['create'], { kind: 'unattended' })).rejects.toMatchObject({ code: 'refused.unattended' });
  });
});

describe('a pre-auth key (R61)', () => {
  test('one form, then the line to run on the node and its code, once; the key is kept with its expiry', async () => {
    const { message, data, operator } = await run('key', [], { typed: { key: [{ user: 'guest', reusable: 'yes' }] } });
    const [shown] = secretsOf(operator);
    const line = /^tailscale up --login-server (\S+) --auth-key (hskey-auth-\S+)$/.exec(shown?.value ?? '');
    expect(line?.[1]).toBe('https://mesh.home.example.org');
    expect(shown?.code?.length).toBeGreaterThan(20);
    expect(data).toMatchObject({
      user: 'guest',
      reusable: true,
      ephemeral: false,
      tags: [],
      kept: true,
      loginServer: 'https://mesh.home.example.org',
    });
    const days = (Date.parse(data.expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThanOrEqual(30);
    expect(JSON.stringify({ message, data })).not.toContain(line?.[2]);
    const revealed = await fixture.practice.run('secrets-reveal', id, { words: [`${id}.join`, 'KEY'] }, { operator: new OperatorDouble() });
    expect(revealed.message).toMatch(/Revealed/);
    expect(secretsOf(fixture.practice.operator)[0]?.value).toBe(line?.[2]);
    const listed = (await run('mesh-keys')).data.keys.at(-1);
    expect(listed).toMatchObject({ user: 'guest', state: 'valid', key: `${line?.[2]?.slice(0, 23)}-***` });
  });

  test('unattended from the command line; who is meant is never guessed, and a key that nobody would see is not made', async () => {
    const before = (await run('mesh-keys')).data.keys.length;
    await expect(run('key', [], { kind: 'unattended', typed: { key: [{}] } })).rejects.toMatchObject({ code: 'usage.answer' });
    const nobodySees = { user: 'guest', 'no-keep': true };
    await expect(run('key', [], { kind: 'unattended', options: nobodySees })).rejects.toMatchObject({ code: 'refused.unattended' });
    expect((await run('mesh-keys')).data.keys.length).toBe(before);
    const { operator } = await run('key', [], {
      kind: 'unattended',
      options: { user: 'none', tags: 'tag:media', expiration: '2h', plain: true, ephemeral: true },
    });
    expect(secretsOf(operator)[0]).toMatchObject({ plain: true, value: expect.stringMatching(/^hskey-auth-/) });
    const kept = await run('key', [], { kind: 'unattended', options: { user: 'mate' } });
    expect(secretsOf(kept.operator)).toEqual([]);
    expect(kept.message).toMatch(/The key was not shown\. To reveal it: quarterdeck secrets reveal/);
  });

  test.each([
    [{ user: 'none', tags: '' }, /requires a tag/],
    [{ user: 'guest', tags: 'server' }, /start with "tag:"/],
    [{ user: 'guest', expiration: '1.5h' }, /duration/],
    [{ user: 'guest', expiration: '99999d' }, /ten years/],
    [{ user: 'nobody' }, /Choose one of/],
  ])('%j is caught before it is sent', async (typed, why) => {
    await expect(run('key', [], { typed: { key: [typed] } })).rejects.toMatchObject({
      code: 'usage.answer',
      message: expect.stringMatching(why),
    });
  });

  test('is expired after a confirmation, and stays where it is not confirmed', async () => {
    const made = await run('key', [], { options: { user: 'guest' } });
    const key = String(made.data.id);
    await expect(run('mesh-expire-key', [key], { confirms: false })).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    const { message } = await run('mesh-expire-key', [], { answers: { key: [key] } });
    expect(message).toBe(`Expired pre-auth key ${key} (guest).`);
    expect((await run('mesh-expire-key', [key])).message).toMatch(/^Expired /);
    await expect(run('mesh-expire-key', ['4711'])).rejects.toMatchObject({ code: 'usage.key' });
    await expect(run('mesh-expire-key')).rejects.toMatchObject({ message: 'No key was expired.' });
  });
});

describe('users', () => {
  test('come, are renamed and go', async () => {
    expect((await run('mesh-user', ['create', 'steward'])).message).toMatch(/Created user steward/);
    await run('mesh-user', [], { answers: { action: ['rename'], user: ['steward'], 'new-name': ['cook'] } });
    const { data, operator } = await run('mesh-users');
    expect(data.users.map(({ name }) => name)).toEqual(['captain', 'mate', 'guest', 'cook']);
    expect(operator.shown[0]).toMatchObject({ kind: 'table' });
    expect((await run('mesh-user', ['delete', 'cook'])).message).toBe('Deleted user cook.');
  });

  test('one that has nodes, or that the policy names, stays: the control server might not start again', async () => {
    await expect(run('mesh-user', ['delete', 'captain'])).rejects.toMatchObject({
      code: 'refused.hasNodes',
      message: expect.stringMatching(/bridge-laptop/),
    });
    await expect(run('mesh-user', ['rename', 'guest', 'visitor'])).rejects.toMatchObject({ code: 'refused.policyNames' });
    await expect(run('mesh-user', ['create', 'x'])).rejects.toMatchObject({ code: 'usage.user' });
    await expect(run('mesh-user', ['delete', 'gest'])).rejects.toMatchObject({
      code: 'usage.user',
      remedy: expect.stringMatching(/guest/),
    });
    await expect(run('mesh-user', ['promote', 'guest'])).rejects.toMatchObject({ code: 'usage.action' });
    await expect(run('mesh-user')).rejects.toMatchObject({ message: 'No user was changed.' });
  });
});

describe('nodes', () => {
  test('are listed with what has to be known first', async () => {
    const { message, operator } = await run('mesh-nodes');
    expect(message).toBe('6 nodes, 4 online, 1 expired, 1 with routes to approve.');
    const table = operator.shown.find((one) => one.kind === 'table');
    expect(table?.rows.map(([name, state]) => `${name} ${state}`)).toContain('old-phone expired 14d');
  });

  test('one after the other: routes approved, a name changed, Esc goes back to the list and then away', async () => {
    const engineRoom = 'engine-room';
    const nas = 'nas';
    const { message, operator } = await run('mesh-node', [], {
      answers: {
        node: [engineRoom],
        action: ['routes'],
        routes: [['exit']],
        'node-2': [nas],
        'node-3': [nas],
        'action-3': ['rename'],
        'name-3': ['store'],
      },
    });
    expect(message).toBe('Applied 2 changes to the mesh.');
    expect(operator.asked[0]).toMatchObject({ label: 'Node (routes waiting for approval: engine-room)' });
    expect(await nodeNamed('engine-room')).toMatchObject({ routes: { approved: ['0.0.0.0/0', '::/0'], waiting: [] } });
    await run('mesh-node', ['store', 'rename', 'nas']);
    expect(await nodeNamed('nas')).toBeDefined();
  });

  test('what cuts somebody off says so, and happens once', async () => {
    const { operator } = await run('mesh-node', ['guest-phone', 'expire']);
    expect(operator.confirmations[0]).toMatchObject({
      title: 'Expire guest-phone',
      consequences: [expect.stringMatching(/is disconnected immediately/)],
    });
    expect(await nodeNamed('guest-phone')).toMatchObject({ expired: true });
    expect((await run('mesh-node', ['guest-phone', 'expire'])).operator.confirmations).toEqual([]);
    expect((await run('mesh-node', ['nas', 'routes', 'none'], { confirms: true })).operator.confirmations[0]?.consequences.join()).toMatch(
      /192\.168\.20\.0\/24/,
    );
    await run('mesh-node', ['nas', 'routes', 'all']);
  });

  test('a refusal in the list is told, and the list goes on', async () => {
    const guest = 'guest-phone';
    const { message, operator } = await run('mesh-node', [], { confirms: false, answers: { node: [guest], action: ['delete'] } });
    expect(message).toBe('No node was changed.');
    expect(operator.shown.at(-1)).toMatchObject({ kind: 'item', state: 'blocked' });
    expect(await nodeNamed('guest-phone')).toBeDefined();
  });

  test.each([
    [['nass', 'expire'], { code: 'usage.node', remedy: expect.stringMatching(/nas/) }],
    [['nas', 'explode'], { code: 'usage.action' }],
    [['nas', 'rename', 'no blanks'], { code: 'usage.name' }],
    [['nas', 'tags', 'tag:pirate'], { code: 'usage.tags', message: expect.stringMatching(/does not list tag:pirate under tagOwners/) }],
    [['nas', 'expires', 'soon'], { code: 'usage.duration' }],
    [['nas', 'routes', 'everywhere'], { code: 'usage.route' }],
    [['bridge-laptop', 'routes', 'all'], { code: 'refused.noRoutes' }],
  ])('%j is refused', async (words, fault) => {
    await expect(run('mesh-node', words)).rejects.toMatchObject(fault);
  });

  test('one that waits is let in by what its client shows', async () => {
    await expect(run('mesh-register')).rejects.toMatchObject({ message: expect.stringMatching(/continues to wait/) });
    await expect(run('mesh-register', ['nonsense'])).rejects.toMatchObject({ code: 'usage.key' });
    const unknown = `https://mesh.home.example.org/register/hskey-authreq-${'x'.repeat(24)}`;
    await expect(run('mesh-register', [unknown], { options: { user: 'guest' } })).rejects.toMatchObject({
      message: expect.stringMatching(/no node is waiting with this key/),
    });
  });
});
