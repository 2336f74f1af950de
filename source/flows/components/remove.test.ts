import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { flowOf } from '../../../test/contract/flows/registry.ts';
import { composeLabels } from '../../../test/doubles/container-facts.ts';
import { componentOf } from '../../../test/doubles/fleet-double.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { anonymousVolume } from './remove.ts';

const remove = flowOf('remove');

const unnamed = '3f2a'.padEnd(64, '0');
const mounts = [
  { kind: 'volume', source: unnamed, target: '/data', readOnly: false },
  { kind: 'volume', source: 'settings', target: '/config', readOnly: false },
  { kind: 'bind', source: '/srv/x', target: '/x', readOnly: false },
];

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
});
afterEach(() => fixture.close());

const confirmed = () => fixture.operator.confirmations[0]?.consequences.join('\n') ?? '';

describe('remove', () => {
  test('says what is lost, what stays and who makes it again, and asks first', async () => {
    const component = componentOf(
      'db',
      [fixture.engine.add('db', { state: 'exited', mounts, labels: composeLabels('stack', 'db') })],
      'stopped',
    );
    const outcome = await fixture.run(remove, component);
    expect(confirmed()).toContain('The container db (busybox:latest) is removed');
    expect(confirmed()).toContain('anonymous volume 3f2a00000000 (mounted at /data in db) is kept');
    expect(confirmed()).toContain('Kept: volume settings (/config).');
    expect(confirmed()).toContain('"compose up" for the project stack in /srv/stack recreates db.');
    expect(fixture.engine.requests).toEqual(['remove db force=false volumes=false']);
    expect(outcome.message).toBe('Removed db.');
  });

  test('--volumes names the anonymous volumes as lost', async () => {
    const component = componentOf('db', [fixture.engine.add('db', { state: 'exited', mounts })], 'stopped');
    await fixture.run(remove, component, { options: { volumes: true } });
    expect(confirmed()).toContain('The anonymous volume 3f2a00000000 (mounted at /data in db) is deleted, with all of its data.');
    expect(confirmed()).toContain('No compose project or systemd unit recreates db');
    expect(fixture.engine.requests).toEqual(['remove db force=false volumes=true']);
  });

  test('of a running container asks whether to stop it first', async () => {
    fixture.operator.answers = { running: ['stop'] };
    const component = componentOf('db', [fixture.engine.add('db')]);
    await fixture.run(remove, component);
    expect(fixture.operator.asked[0]?.label).toBe('db is still running.');
    expect(fixture.engine.requests).toEqual(['stop db', 'remove db force=false volumes=false']);
  });

  test('or to kill it, and says so in the confirmation', async () => {
    fixture.operator.answers = { running: ['kill'] };
    await fixture.run(remove, componentOf('db', [fixture.engine.add('db')]));
    expect(confirmed()).toContain('db is running; its processes are killed.');
    expect(fixture.engine.requests).toEqual(['remove db force=true volumes=false']);
  });

  test('of a running container is refused where nobody can be asked, unless it is forced', async () => {
    Object.assign(fixture.operator, { kind: 'unattended' });
    const component = componentOf('db', [fixture.engine.add('db')]);
    await expect(fixture.run(remove, component)).rejects.toMatchObject({ code: 'refused.running' });
    expect(fixture.engine.requests).toEqual([]);
    await fixture.run(remove, component, { options: { force: true } });
    expect(confirmed()).toContain('db is running; its processes are killed.');
    expect(fixture.engine.requests).toEqual(['remove db force=true volumes=false']);
  });

  test('not confirmed: nothing is sent', async () => {
    fixture.operator.confirms = false;
    const component = componentOf('db', [fixture.engine.add('db', { state: 'exited' })], 'stopped');
    await expect(fixture.run(remove, component)).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(fixture.engine.requests).toEqual([]);
  });

  test('a production host wants its name', async () => {
    fixture.policy = { ...fixture.policy, productionHosts: new Set(['local']) };
    await fixture.run(remove, componentOf('db', [fixture.engine.add('db', { state: 'exited' })], 'stopped'));
    expect(fixture.operator.confirmations[0]?.typed).toBe('local');
  });

  test('a dry run shows all of it and removes nothing', async () => {
    fixture.policy = { ...fixture.policy, dryRun: true };
    await fixture.run(remove, componentOf('db', [fixture.engine.add('db', { state: 'exited', mounts })], 'stopped'), {
      options: { volumes: true },
    });
    expect(fixture.operator.texts().join('\n')).toContain('DELETE /containers/db?force=false&v=true');
    expect(fixture.operator.texts().join('\n')).toContain('3f2a00000000');
    expect(fixture.engine.requests).toEqual([]);
  });
});

test('an anonymous volume is recognised by its name or by its path on the disk', () => {
  expect(anonymousVolume(unnamed)).toBe(unnamed);
  expect(anonymousVolume(`/var/lib/docker/volumes/${unnamed}/_data`)).toBe(unnamed);
  expect(anonymousVolume('settings')).toBeUndefined();
  expect(anonymousVolume('/var/lib/docker/volumes/settings/_data')).toBeUndefined();
});
