import { expect, test } from 'vitest';
import { type InspectedContainer, inspectedDetail, momentOf } from './container-detail.ts';

const base: InspectedContainer = {
  Id: 'a',
  Name: '/web',
  Created: '2026-11-20T09:46:26.367Z',
  Path: 'sh',
  Args: ['-c', 'exit 7'],
  State: { Status: 'exited' },
};
const detail = (over: Partial<InspectedContainer>) => inspectedDetail({ ...base, ...over }, undefined);

test('0001-01-01 is never', () => {
  expect(momentOf('0001-01-01T00:00:00Z')).toBeUndefined();
  expect(momentOf(undefined)).toBeUndefined();
  expect(momentOf('2026-11-20T09:47:10.142584449Z')).toBe(Date.parse('2026-11-20T09:47:10.142Z'));
});

test('a running container has no exit code, an ended one its own, one that could not start says why', () => {
  expect(detail({ State: { Status: 'running', ExitCode: 0 } }).exitCode).toBeUndefined();
  expect(detail({ State: { Status: 'created', ExitCode: 0 } }).exitCode).toBeUndefined();
  expect(detail({ State: { Status: 'exited', ExitCode: 0 } }).exitCode).toBe(0);
  expect(detail({ State: { Status: 'restarting', ExitCode: 137, OOMKilled: true }, RestartCount: 5 })).toMatchObject({
    exitCode: 137,
    outOfMemory: true,
    restartCount: 5,
  });
  expect(detail({ State: { Status: 'created', ExitCode: 127, Error: 'no such file' } })).toMatchObject({
    exitCode: 127,
    error: 'no such file',
  });
});

test("Podman's health object without a status is no health check (R5)", () => {
  expect(detail({ State: { Status: 'running', Health: { Status: '', Log: null } } }).health).toBe('none');
  expect(detail({ State: { Status: 'running' } }).health).toBe('none');
  expect(detail({ State: { Status: 'running', Health: { Status: 'starting' } } }).health).toBe('starting');
});

test('the log of a health check', () => {
  const { healthOutputs } = detail({
    State: {
      Status: 'running',
      Health: {
        Status: 'unhealthy',
        Log: [{ Output: 'well' }, { Output: 'no' }],
      },
    },
  });
  expect(healthOutputs).toEqual(['well', 'no']);
});

test('while it is stopped the ports are those that it will ask for', () => {
  const bindings = {
    '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '8180' }],
    '53/udp': [{ HostIp: '', HostPort: '53' }],
    '90/tcp': [{ HostPort: '' }],
    '443/tcp': null,
  };
  const ports = [
    { address: '127.0.0.1', hostPort: 8180, containerPort: 80, protocol: 'tcp' },
    { address: '0.0.0.0', hostPort: 53, containerPort: 53, protocol: 'udp' },
    { address: '0.0.0.0', hostPort: undefined, containerPort: 90, protocol: 'tcp' },
    { address: undefined, hostPort: undefined, containerPort: 443, protocol: 'tcp' },
  ];
  expect(detail({ HostConfig: { PortBindings: bindings }, NetworkSettings: { Ports: {} } }).ports).toEqual(ports);
  expect(detail({ State: { Status: 'running' }, HostConfig: { PortBindings: {} }, NetworkSettings: { Ports: bindings } }).ports).toEqual(
    ports,
  );
});

test('what was running when its host went down is no new container, and its exit code is not known (R5)', () => {
  const run = (State: object) => detail({ State: { ExitCode: 0, ...State } as InspectedContainer['State'] });
  const startedAt = '2026-11-25T22:17:07.007Z';
  const never = '0001-01-01T00:00:00Z';
  expect(run({ Status: 'created', StartedAt: startedAt, FinishedAt: never })).toMatchObject({ state: 'exited', exitCode: undefined });
  expect(run({ Status: 'created', StartedAt: startedAt, FinishedAt: '2026-11-25T22:00:00Z' })).toMatchObject({ exitCode: undefined });
  expect(run({ Status: 'created', StartedAt: never, FinishedAt: never })).toMatchObject({ state: 'created', exitCode: undefined });
  expect(run({ Status: 'exited', StartedAt: startedAt, FinishedAt: '2026-11-25T22:18:00Z' })).toMatchObject({ exitCode: 0 });
});

test('environment, mounts, devices and capabilities', () => {
  const read = detail({
    Config: { Env: ['A=1', 'B=x=y', 'C'], Tty: true, Image: 'busybox' },
    Mounts: [
      { Type: 'volume', Name: 'data', Source: '/var/lib/docker/volumes/data/_data', Destination: '/data', RW: true },
      { Type: 'bind', Source: '/srv/x', Destination: '/x', RW: false },
    ],
    HostConfig: {
      Devices: [{ PathOnHost: '/dev/dri' }],
      DeviceRequests: [{ Driver: 'nvidia' }],
      RestartPolicy: { Name: 'unless-stopped' },
      NetworkMode: 'host',
    },
  });
  expect(read).toMatchObject({
    image: 'busybox',
    tty: true,
    env: [
      ['A', '1'],
      ['B', 'x=y'],
      ['C', ''],
    ],
    mounts: [
      { kind: 'volume', source: 'data', target: '/data', readOnly: false },
      { kind: 'bind', source: '/srv/x', target: '/x', readOnly: true },
    ],
    devices: ['/dev/dri', 'nvidia'],
    restartPolicy: 'unless-stopped',
    networkMode: 'host',
    argv: ['sh', '-c', 'exit 7'],
  });
});

test('Podman tells who stopped it where it can', () => {
  expect(inspectedDetail(base, { State: { StoppedByUser: true } }).stoppedByUser).toBe(true);
  expect(inspectedDetail(base, { State: {} }).stoppedByUser).toBeUndefined();
});

test.each([
  ['no check', undefined, undefined],
  ['a check of the image that is switched off', { Test: ['NONE'] }, undefined],
  ['defaults of the engine', { Test: ['CMD', 'true'], Interval: 0, Timeout: 0, Retries: 0 }, 180_000],
  ['times of its own', { Test: ['CMD-SHELL', 'true'], Interval: 1e9, Timeout: 2e9, Retries: 2, StartPeriod: 5e9 }, 11_000],
])('how long a verdict may take: %s', (_, Healthcheck, expected) => {
  expect(detail({ Config: { Healthcheck } as InspectedContainer['Config'] }).verdictWithinMs).toBe(expected);
});

test.for([
  [undefined, undefined],
  [0, 0],
  [600, 600],
  [-1, -1],
] as const)('how long a program may take to end, %s, is in the detail', ([StopTimeout, expected]) => {
  expect(detail({ Config: { StopTimeout } as InspectedContainer['Config'] }).stopTimeoutSeconds).toBe(expected);
});
