import { describe, expect, test } from 'vitest';
import { catalogEntry, containerDetail } from '../../test/doubles/container-facts.ts';
import { inState } from '../../test/doubles/fleet-double.ts';
import type { EngineFacts } from '../engine/engine.ts';
import type { Listener } from '../hosts/host.ts';
import type { ComponentView, ServiceView } from './model.ts';
import { engineNotes, exposureOf, portViews } from './ports.ts';

const docker: EngineFacts = {
  kind: 'docker',
  version: '20.10.24',
  apiVersion: '1.41',
  rootless: false,
  operatingSystem: 'linux',
};

function component(id: string, ports: ServiceView['ports'], state: ServiceView['state'] = 'running'): ComponentView {
  const service: ServiceView = {
    key: `local/p/${id}`,
    name: id,
    containerId: id,
    containerName: id,
    image: id,
    state,
    severity: 'ok',
    detail: '',
    health: 'none',
    sinceMs: 0,
    exitCode: undefined,
    restarts: 0,
    ports,
    tty: false,
    main: true,
  };
  return {
    key: `local/p/${id}`,
    host: 'local',
    project: 'p',
    id,
    known: true,
    group: 'security',
    kind: '',
    product: '',
    speaks: undefined,
    ...inState(state),
    detail: '',
    health: 'none',
    sinceMs: 0,
    restarts: 0,
    services: [service],
    probe: undefined,
    findings: [],
    deployed: false,
    setupTasks: [],
    backup: undefined,
    origin: '',
    url: undefined,
  };
}

function published(hostPort: number, address = '127.0.0.1', protocol: 'tcp' | 'udp' = 'tcp') {
  return { address, hostPort, containerPort: 80, protocol };
}

function ports(components: ComponentView[], listeners: Listener[] = [], { engine = docker, addresses = ['192.168.1.5'] } = {}) {
  return portViews({
    host: 'local',
    hostAddresses: addresses,
    listeners,
    components,
    entries: new Map(),
    hostNetwork: new Map(),
    engines: new Map([['local', engine]]),
  });
}

describe('ports', () => {
  test('one that is published for IPv6 alone is told with its address', () => {
    expect(ports([component('a', [{ ...published(80, '::'), ipv6: true }])])[0]).toMatchObject({
      address: '::',
      exposure: 'lan',
      owner: 'a',
    });
    expect(ports([component('a', [published(80, '::1')])])[0]).toMatchObject({ address: '::1', exposure: 'loopback' });
  });

  test('how far it reaches is unknown while the addresses of the host are; loopback is loopback', () => {
    expect(exposureOf('0.0.0.0', [])).toBe('unknown');
    expect(exposureOf('rubbish', ['192.168.1.5'])).toBe('unknown');
    expect(exposureOf('127.0.0.1', [])).toBe('loopback');
  });

  test('a socket of a container belongs to it, whatever program listens; that of another container stays a program', () => {
    const one = { address: '0.0.0.0', port: 8096, protocol: 'tcp' as const };
    const inside = (container: string) => [{ ...one, process: { pid: 21_864, name: 'jellyfin', container } }];
    expect(ports([component('a', [])], inside('a'))).toMatchObject([
      { port: 8096, owner: 'a', component: 'local/p/a', service: 'a', role: 'jellyfin', open: true },
    ]);
    expect(ports([component('a', [])], inside('elsewhere'))).toMatchObject([
      { owner: 'jellyfin', component: undefined, role: 'process 21864' },
    ]);
  });

  test('a published port is its component’s, not the forwarder’s that holds it open', () => {
    const views = ports(
      [component('vault', [published(8180)])],
      [{ address: '127.0.0.1', port: 8180, protocol: 'tcp', process: { pid: 7, name: 'docker-proxy' } }],
    );
    expect(views).toHaveLength(1);
    expect(views[0]).toMatchObject({ owner: 'vault', component: 'local/p/vault', open: true, exposure: 'loopback', conflictWith: [] });
  });

  test('sockets that no engine owns are shown with their program', () => {
    const views = ports([], [{ address: '0.0.0.0', port: 22, protocol: 'tcp', process: { pid: 9, name: 'sshd' } }]);
    expect(views[0]).toMatchObject({ owner: 'sshd', component: undefined, exposure: 'lan', port: 22 });
  });

  test('a socket whose program cannot be seen says so', () => {
    expect(ports([], [{ address: '0.0.0.0', port: 2024, protocol: 'tcp' }])[0]).toMatchObject({
      owner: 'unknown',
      note: expect.stringContaining('unknown: a program'),
    });
  });

  test('a program on the port of a stopped component is a conflict, both ways (R88)', () => {
    const views = ports(
      [component('dns-filter', [published(53, '0.0.0.0', 'udp')], 'stopped')],
      [{ address: '127.0.0.53', port: 53, protocol: 'udp', process: { pid: 1, name: 'systemd-resolve' } }],
    );
    expect(views.map((view) => [view.owner, view.conflictWith, view.open])).toEqual([
      ['dns-filter', ['systemd-resolve'], false],
      ['systemd-resolve', ['dns-filter'], true],
    ]);
  });

  test('same number, other protocol or other loopback address is no conflict (R88)', () => {
    const views = ports([
      component('a', [published(6881)]),
      component('b', [published(6881, '127.0.0.1', 'udp')]),
      component('c', [published(6881, '127.0.0.2')]),
    ]);
    expect(views.every((view) => view.conflictWith.length === 0)).toBe(true);
  });

  test('while the engine is away its forwarders still belong to their components', () => {
    const views = ports(
      [component('vault', [published(8180)], 'unknown')],
      [{ address: '127.0.0.1', port: 8180, protocol: 'tcp', process: { pid: 7, name: 'docker-proxy' } }],
    );
    expect(views.map((view) => [view.owner, view.open, view.conflictWith])).toEqual([['vault', true, []]]);
  });

  test('two components on 0.0.0.0 and 127.0.0.1 conflict: all overlaps loopback (R88)', () => {
    const views = ports([component('a', [published(8080, '0.0.0.0')], 'stopped'), component('b', [published(8080)])]);
    expect(views.map((view) => view.conflictWith)).toEqual([['b'], ['a']]);
  });

  test('a host-network component owns the socket that it opened itself (R16)', () => {
    const entry = catalogEntry(
      'traffic-analysis',
      { app: { image: 'ntop', main: true } },
      {
        ports: [
          {
            name: 'web',
            service: 'app',
            host: 3000,
            container: 3000,
            protocol: 'tcp',
            exposure: 'host-network',
            role: 'web UI',
            fixed: false,
            web: true,
            tls: false,
          },
        ],
      },
    );
    const one = component('app', []);
    const views = portViews({
      host: 'local',
      hostAddresses: [],
      listeners: [{ address: '::', port: 3000, protocol: 'tcp', process: { pid: 3, name: 'ntopng' } }],
      components: [one],
      entries: new Map([[one.key, entry]]),
      hostNetwork: new Map([[one.services[0]?.key ?? '', undefined]]),
      engines: new Map([['local', docker]]),
    });
    expect(views).toHaveLength(1);
    expect(views[0]).toMatchObject({ owner: 'app', role: 'web UI', open: true });

    const [service] = entry.services;
    if (!service) throw new Error('no service');
    const moved = portViews({
      host: 'local',
      hostAddresses: [],
      listeners: [{ address: '127.0.0.1', port: 3456, protocol: 'tcp', process: { pid: 3, name: 'ntopng' } }],
      components: [one],
      entries: new Map([[one.key, { ...entry, services: [{ ...service, command: ['--http-port=${WEB_PORT:-3000}'] }] }]]),
      hostNetwork: new Map([[one.services[0]?.key ?? '', containerDetail({ argv: ['--http-port=3456'] })]]),
      engines: new Map([['local', docker]]),
    });
    expect(moved).toMatchObject([{ owner: 'app', port: 3456, exposure: 'loopback', open: true }]);
  });

  test('exposure is loopback, lan or public by the address and by what the host itself has', () => {
    expect(exposureOf('127.0.0.1', ['203.0.113.4'])).toBe('loopback');
    expect(exposureOf('::1', [])).toBe('loopback');
    expect(exposureOf('0.0.0.0', ['127.0.0.1', '192.168.1.2', 'fe80::1'])).toBe('lan');
    expect(exposureOf('0.0.0.0', ['192.168.1.2', '8.8.4.4'])).toBe('public');
    expect(exposureOf('0.0.0.0', ['192.168.1.2', '2001:4860:4860::8888'])).toBe('lan');
    expect(exposureOf('::', ['192.168.1.2', '2001:4860:4860::8888'])).toBe('public');
    expect(exposureOf('10.0.0.3', ['8.8.4.4'])).toBe('lan');
    expect(exposureOf('8.8.4.4', [])).toBe('public');
  });

  test('notes say what a published port means on this engine', () => {
    const wide = ports([component('a', [published(53, '0.0.0.0')])])[0];
    expect(wide?.note).toContain('firewall');
    expect(ports([component('a', [published(80)])])[0]?.note).toContain('before Docker 28');
    expect(ports([component('a', [published(80)])], [], { engine: { ...docker, version: '28.5.1' } })[0]?.note).toBeUndefined();
    expect(engineNotes(docker).join(' ')).toMatch(/bypass the host firewall.*Before Docker 28/);
    expect(engineNotes({ ...docker, kind: 'podman', version: '5.8.0', rootless: true }).join(' ')).toContain('firewall applies');
  });
});

describe('a container with an address of its own (macvlan, ipvlan)', () => {
  const camera = component('camera', []);
  const addresses = ['192.168.1.77', '2001:db8:1::77'];
  const views = (more: Partial<Parameters<typeof portViews>[0]> = {}) =>
    portViews({
      host: 'local',
      hostAddresses: ['192.168.1.2'],
      listeners: [{ address: '0.0.0.0', port: 554, protocol: 'tcp', process: { pid: 7, name: 'sshd' } }],
      components: [camera],
      entries: new Map(),
      hostNetwork: new Map(),
      ownAddresses: new Map([['local/p/camera', { addresses, exposed: [{ containerPort: 554, protocol: 'tcp' }] }]]),
      engines: new Map([['local', docker]]),
      ...more,
    });

  test('has a row for each port and address, which no port of the host is in the way of', () => {
    const rows = views().map(({ address, port, owner, exposure, open, conflictWith }) => [
      address,
      port,
      owner,
      exposure,
      open,
      conflictWith,
    ]);
    expect(rows).toContainEqual(['192.168.1.77', 554, 'camera', 'lan', true, []]);
    expect(rows).toContainEqual(['2001:db8:1::77', 554, 'camera', expect.any(String), true, []]);
    expect(rows).toContainEqual(['0.0.0.0', 554, 'sshd', 'lan', true, []]);
    expect(views().find(({ owner }) => owner === 'camera')?.note).toMatch(/its own address .*no port is published/);
  });

  test('has the ports of the catalog where its image exposes none', () => {
    const entry = catalogEntry(
      'camera',
      { server: { image: 'camera', main: true } },
      { ports: [{ name: 'web', service: 'server', container: 8080, protocol: 'tcp', role: 'web UI' }] as never },
    );
    const bare = { ...camera, services: camera.services.map((service) => ({ ...service, declared: 'server' })) };
    const ownAddresses = new Map([['local/p/camera', { addresses, exposed: [] }]]);
    const rows = views({ components: [bare], entries: new Map([['local/p/camera', entry]]), ownAddresses });
    expect(rows.filter(({ owner }) => owner === 'camera').map(({ address, port, role }) => `${address} ${port} ${role}`)).toEqual([
      '192.168.1.77 8080 web UI',
      '2001:db8:1::77 8080 web UI',
    ]);
  });
});
