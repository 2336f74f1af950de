import { describe, expect, it } from 'vitest';
import { catalogEntry, containerDetail } from '../../test/doubles/container-facts.ts';
import type { CatalogPort } from '../catalog/catalog.ts';
import type { ContainerDetail, Engine, EngineFacts, PublishedPort } from '../engine/engine.ts';
import { gatewaysOf } from '../engine/network-owners.ts';
import type { Host } from '../hosts/host.ts';
import type { CallTarget } from './call.ts';
import { findAddress } from './find-address.ts';
import { httpEndpointOf } from './http-client.ts';

const port = (more: Partial<CatalogPort> = {}): CatalogPort => ({
  name: 'web',
  service: 'app',
  host: 8180,
  container: 80,
  protocol: 'tcp',
  exposure: 'loopback',
  role: '',
  fixed: false,
  web: false,
  tls: false,
  ...more,
});
const at = (
  address: string | undefined,
  hostPort: number | undefined,
  containerPort = 80,
  protocol: 'tcp' | 'udp' = 'tcp',
): PublishedPort => ({ address, hostPort, containerPort, protocol });

function target(container: Partial<ContainerDetail>, ports: CatalogPort[] = [port()], more: Partial<CallTarget> = {}): CallTarget {
  return {
    entry: catalogEntry('app', { app: { image: 'app', main: true } }, { ports }),
    host: {} as Host,
    engine: {} as Engine,
    containers: new Map([['app', containerDetail(container)]]),
    execAllowed: true,
    ...more,
  };
}
const facts = (more: Partial<EngineFacts> = {}): EngineFacts => ({
  kind: 'docker',
  version: '28',
  apiVersion: '1.48',
  rootless: false,
  operatingSystem: 'Debian',
  ...more,
});

it.each([
  ['running', /^Publish the port/],
  ['exited', /^Start it: quarterdeck start app$/],
] as const)('a service that is %s gets a remedy that helps', (state, remedy) => {
  expect(() => httpEndpointOf(target({ state, ports: [] }), 'web')).toThrowError(
    expect.objectContaining({ code: 'unreachable.component', remedy: expect.stringMatching(remedy) }),
  );
});

describe('findAddress', () => {
  it.each([
    ['the published port, remapped or not (R89)', [at('127.0.0.1', 18180)], '127.0.0.1:18180'],
    ['loopback where all addresses are published', [at('0.0.0.0', 8180)], '127.0.0.1:8180'],
    ['IPv6 loopback where only that is there', [at('::', 8180)], '::1:8180'],
    ['IPv4 before IPv6', [at('::', 8181), at('0.0.0.0', 8180)], '127.0.0.1:8180'],
    ['loopback before an address of the host', [at('192.168.1.2', 80), at('127.0.0.1', 8180)], '127.0.0.1:8180'],
    ['the address of the host where there is no other', [at('192.168.1.2', 80)], '192.168.1.2:80'],
    [
      'the right container port and protocol',
      [at('0.0.0.0', 53, 53, 'udp'), at('0.0.0.0', 81, 80, 'udp'), at('0.0.0.0', 82, 81), at('127.0.0.1', 83, 80)],
      '127.0.0.1:83',
    ],
  ])('finds %s', (_, ports, expected) => {
    const found = findAddress(target({ ports: ports as PublishedPort[] }), 'web');
    expect(typeof found === 'string' ? found : `${found.host}:${found.port}`).toBe(expected);
  });

  it("trusts nobody but loopback and the engine's network to be the component itself", () => {
    expect(findAddress(target({ ports: [at('127.0.0.1', 1)] }), 'web')).toMatchObject({ near: true });
    expect(findAddress(target({ ports: [at('192.168.1.2', 1)] }), 'web')).toMatchObject({ near: false });
  });

  it('takes the TCP port where a name has both', () => {
    const found = findAddress(
      target({ ports: [at('0.0.0.0', 53, 53, 'udp'), at('0.0.0.0', 5353, 53, 'tcp')] }, [
        port({ container: 53, protocol: 'udp' }),
        port({ container: 53 }),
      ]),
      'web',
    );
    expect(found).toMatchObject({ port: 5353 });
  });

  it("knows the port of a service on the host's network (R16)", () => {
    expect(findAddress(target({ networkMode: 'host' }, [port({ host: 3000, container: 3000 })]), 'web')).toEqual({
      host: '127.0.0.1',
      port: 3000,
      near: true,
    });
  });

  it.each([
    ['its command', ['/run.sh', '--http-port=127.0.0.1:3456'], [], '127.0.0.1:3456'],
    ['all addresses', ['--http-port=0.0.0.0:3456'], [], '127.0.0.1:3456'],
    ['an IPv6 address', ['--http-port=[::1]:3456'], [], '::1:3456'],
    ['one address of the host', ['--http-port=192.168.1.2:3456'], [], '192.168.1.2:3456'],
    ['its environment', ['/run.sh'], [['LISTEN', '3457/tcp']], '127.0.0.1:3457'],
    ['a command of its own', ['--port', 'many'], [['LISTEN', 'no']], '127.0.0.1:3000'],
  ] as const)('follows it where %s says that it was moved (R89)', (_, argv, env, expected) => {
    const moved = target({ networkMode: 'host', argv, env }, [port({ host: 3000, container: 3000 })]);
    const [service] = moved.entry.services;
    if (!service) throw new Error('no service');
    const command = ['--http-port=${WEB_BIND:-127.0.0.1}:${WEB_PORT:-3000}', '--other=${OTHER_PORT:-1}'];
    const entry = { ...moved.entry, services: [{ ...service, command, environment: { LISTEN: '${WEB_PORT:-3000}/tcp' } }] };
    const found = findAddress({ ...moved, entry }, 'web');
    expect(typeof found === 'string' ? found : `${found.host}:${found.port}`).toBe(expected);
  });

  it('looks at the gateway whose network a container shares (R15)', () => {
    const shared = target({ networkMode: 'container:gateway' });
    const containers = new Map([...shared.containers, ['gateway', containerDetail({ name: 'gateway', ports: [at('127.0.0.1', 9090)] })]]);
    expect(findAddress({ ...shared, containers }, 'web')).toMatchObject({ port: 9090 });
  });

  it('a gateway of another project is found by its id or its name, and asked for the port (R15)', () => {
    const gateway = containerDetail({ id: 'a1b2c3d4e5f6a7b8', name: 'vpn-gluetun-1', ports: [at('127.0.0.1', 9091)] });
    const other = containerDetail({ id: 'ffffffffffffffff', name: 'vpn', ports: [] });
    for (const networkMode of ['container:a1b2c3d4e5f6a7b8', 'container:a1b2c3d4e5f6', 'container:vpn-gluetun-1']) {
      const gateways = gatewaysOf([containerDetail({ networkMode })], [other, gateway]);
      expect(gateways).toEqual([gateway]);
      expect(findAddress(target({ networkMode }, undefined, { gateways }), 'web')).toMatchObject({ port: 9091 });
    }
    expect(gatewaysOf([containerDetail({ networkMode: 'bridge' })], [other, gateway])).toEqual([]);
  });

  it("goes into the engine's network only where the host has a route there", () => {
    const inside = { ports: [at(undefined, undefined)], networkAddresses: ['172.18.0.2'] };
    expect(findAddress(target(inside, undefined, { engineFacts: facts() }), 'web')).toEqual({ host: '172.18.0.2', port: 80, near: true });
    for (const engineFacts of [undefined, facts({ rootless: true }), facts({ operatingSystem: 'Docker Desktop' })]) {
      expect(findAddress(target(inside, undefined, { engineFacts }), 'web')).toBe('Port 80/tcp of app is not published.');
    }
  });

  it('says what is missing', () => {
    expect(findAddress(target({ state: 'exited' }), 'web')).toBe('The service app is not running.');
    expect(findAddress(target({}), 'ui')).toBe('The catalog entry of app does not have a port ui.');
  });
});
