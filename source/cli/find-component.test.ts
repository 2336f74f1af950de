import { describe, expect, test } from 'vitest';
import { componentView, FleetDouble, serviceView } from '../../test/doubles/fleet-double.ts';
import { Fault } from '../faults/fault.ts';
import { findComponent } from './find-component.ts';

const component = (id: string, project: string, containers: string[], host = 'local') =>
  componentView(id, {
    key: `${host}/${project}/${id}`,
    host,
    project,
    services: containers.map((name, index) =>
      serviceView(name.split('-')[1] ?? name, { containerName: name, containerId: `${name}0123456789abcdef`, main: index === 0 }),
    ),
  });
const { current } = new FleetDouble({
  components: [
    component('password-vault', 'vault', ['vault-server']),
    component('rss-reader', 'rss', ['rss-web', 'rss-db']),
    component('reverse-proxy', 'edge', ['edge-proxy']),
    component('reverse-proxy', 'lab', ['lab-proxy']),
    component('cache', '', ['cache']),
  ],
});
const found = (name: string) => {
  const { component: view, service } = findComponent(name, current);
  return service ? `${view.key} ${service.containerName}` : view.key;
};
const faultOf = (name: string) => {
  try {
    findComponent(name, current);
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
  }
  throw new Error('no fault');
};

describe('a name on the command line', () => {
  test.each([
    ['password-vault', 'local/vault/password-vault', 'its id'],
    ['pass', 'local/vault/password-vault', 'the beginning of one id'],
    ['edge/reverse-proxy', 'local/edge/reverse-proxy', 'project and id'],
    ['local/lab/reverse-proxy', 'local/lab/reverse-proxy', 'its key'],
    ['reverse-proxy (lab)', 'local/lab/reverse-proxy', 'as the list tells it from the other'],
    ['rss-db', 'local/rss/rss-reader rss-db', 'a container of several: that one'],
    ['vault-server', 'local/vault/password-vault', 'the only container: all of it'],
    ['rss-web012345', 'local/rss/rss-reader rss-web', 'the beginning of a container id'],
    ['rss', 'local/rss/rss-reader', 'a project with one component'],
    ['cache', 'local//cache', 'a lone container'],
    ['db', 'local/rss/rss-reader rss-db', 'a service that only one has'],
  ])('%s is %s: %s', (name, key) => {
    expect(found(name)).toBe(key);
  });

  test('that means several is refused with the names that do not', () => {
    const fault = faultOf('reverse-proxy');
    expect(fault.code).toBe('usage.ambiguous');
    expect(fault.message).toContain('edge/reverse-proxy, lab/reverse-proxy');
    expect(faultOf('r').message).toContain('rss/rss-reader');
  });

  test('that several engines of a machine have means the one that --host names', () => {
    const beside = [component('cache', '', ['cache']), component('cache', '', ['cache'], 'local/podman')];
    const snapshot = new FleetDouble({ components: beside }).current;
    expect(() => findComponent('cache', snapshot)).toThrow(/is ambiguous: local\/\/cache, local\/podman\/\/cache/);
    expect(findComponent('cache', snapshot, 'local').component.host).toBe('local');
    expect(findComponent('cache', snapshot, 'local/podman').component.host).toBe('local/podman');
  });

  test('that nothing has suggests the nearest', () => {
    expect(faultOf('pasword-valt').remedy).toBe('Did you mean "password-vault"?');
    expect(faultOf('\x1b[2Jx').message).not.toContain('\x1b');
    expect(faultOf('').code).toBe('usage.component');
  });
});
