import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { composeLabels } from '../../test/doubles/container-facts.ts';
import { componentOf } from '../../test/doubles/fleet-double.ts';
import { FlowStage } from '../../test/doubles/flow-stage.ts';
import { remove, unnamedVolume } from './remove.ts';

const unnamed = '3f2a'.padEnd(64, '0');
const mounts = [
  { kind: 'volume', source: unnamed, target: '/data', readOnly: false },
  { kind: 'volume', source: 'settings', target: '/config', readOnly: false },
  { kind: 'bind', source: '/srv/x', target: '/x', readOnly: false },
];

let stage: FlowStage;
beforeEach(async () => {
  stage = await FlowStage.open();
});
afterEach(() => stage.close());

const confirmed = () => stage.operator.confirmations[0]?.consequences.join('\n') ?? '';

describe('remove', () => {
  test('says what is lost, what stays and who makes it again, and asks first', async () => {
    const component = componentOf(
      'db',
      [stage.engine.add('db', { state: 'exited', mounts, labels: composeLabels('stack', 'db') })],
      'stopped',
    );
    const outcome = await stage.run(remove, component);
    expect(confirmed()).toContain('db (busybox:latest): the container');
    expect(confirmed()).toContain('unnamed volume 3f2a00000000 at /data of db stays');
    expect(confirmed()).toContain('Stays: volume settings (/config).');
    expect(confirmed()).toContain('Compose makes db again: "up" of project stack in /srv/stack.');
    expect(stage.engine.requests).toEqual(['remove db force=false volumes=false']);
    expect(outcome.message).toBe('db is removed.');
  });

  test('--volumes names the unnamed volumes as lost', async () => {
    const component = componentOf('db', [stage.engine.add('db', { state: 'exited', mounts })], 'stopped');
    await stage.run(remove, component, { options: { volumes: true } });
    expect(confirmed()).toContain('The unnamed volume 3f2a00000000 at /data of db, with everything in it.');
    expect(confirmed()).toContain('Nothing makes db again by itself');
    expect(stage.engine.requests).toEqual(['remove db force=false volumes=true']);
  });

  test('of a running container asks whether to stop it first', async () => {
    stage.operator.answers = { running: ['stop'] };
    const component = componentOf('db', [stage.engine.add('db')]);
    await stage.run(remove, component);
    expect(stage.operator.asked[0]?.label).toBe('db is still running.');
    expect(stage.engine.requests).toEqual(['stop db', 'remove db force=false volumes=false']);
  });

  test('or to kill it, and says so in the confirmation', async () => {
    stage.operator.answers = { running: ['kill'] };
    await stage.run(remove, componentOf('db', [stage.engine.add('db')]));
    expect(confirmed()).toContain('db is running: its programs are killed.');
    expect(stage.engine.requests).toEqual(['remove db force=true volumes=false']);
  });

  test('of a running container is refused where nobody can be asked, unless it is forced', async () => {
    Object.assign(stage.operator, { kind: 'unattended' });
    const component = componentOf('db', [stage.engine.add('db')]);
    await expect(stage.run(remove, component)).rejects.toMatchObject({ code: 'refused.running' });
    expect(stage.engine.requests).toEqual([]);
    await stage.run(remove, component, { options: { force: true } });
    expect(confirmed()).toContain('db is running: its programs are killed.');
    expect(stage.engine.requests).toEqual(['remove db force=true volumes=false']);
  });

  test('not confirmed: nothing is sent', async () => {
    stage.operator.confirms = false;
    const component = componentOf('db', [stage.engine.add('db', { state: 'exited' })], 'stopped');
    await expect(stage.run(remove, component)).rejects.toMatchObject({ code: 'refused.notConfirmed' });
    expect(stage.engine.requests).toEqual([]);
  });

  test('a production host wants its name', async () => {
    stage.policy = { ...stage.policy, productionHosts: new Set(['local']) };
    await stage.run(remove, componentOf('db', [stage.engine.add('db', { state: 'exited' })], 'stopped'));
    expect(stage.operator.confirmations[0]?.typed).toBe('local');
  });

  test('a rehearsal shows all of it and removes nothing', async () => {
    stage.policy = { ...stage.policy, rehearsing: true };
    await stage.run(remove, componentOf('db', [stage.engine.add('db', { state: 'exited', mounts })], 'stopped'), {
      options: { volumes: true },
    });
    expect(stage.operator.texts().join('\n')).toContain('DELETE /containers/db?force=false&v=true');
    expect(stage.operator.texts().join('\n')).toContain('3f2a00000000');
    expect(stage.engine.requests).toEqual([]);
  });
});

test('an unnamed volume is told by its name or by its place on the disk', () => {
  expect(unnamedVolume(unnamed)).toBe(unnamed);
  expect(unnamedVolume(`/var/lib/docker/volumes/${unnamed}/_data`)).toBe(unnamed);
  expect(unnamedVolume('settings')).toBeUndefined();
  expect(unnamedVolume('/var/lib/docker/volumes/settings/_data')).toBeUndefined();
});
