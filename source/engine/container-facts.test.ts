import { expect, test } from 'vitest';
import { fullImageId, healthInStatus, listedFacts, runStateOf, uptimeInStatus } from './container-facts.ts';

test.each([
  ['Up 4 seconds (healthy)', 'healthy'],
  ['Up 4 seconds (health: starting)', 'starting'],
  ['Up 2 hours (unhealthy)', 'unhealthy'],
  ['Up 2 hours (Paused)', 'none'],
  ['Up 2 hours', 'none'],
  ['Exited (137) 2 seconds ago', 'none'],
])('health stands in the status text: %s is %s (R5)', (status, health) => expect(healthInStatus(status)).toBe(health));

test.each([
  ['Up Less than a second', undefined],
  ['Up 59 seconds', undefined],
  ['Up About a minute', '1m'],
  ['Up 59 minutes (healthy)', '59m'],
  ['Up About an hour (Paused)', '1h'],
  ['Up 13 days', '13d'],
  ['Up 8 weeks', '8w'],
  ['Up 23 months', '23mo'],
  ['Up 2 years', '2y'],
  ['Exited (137) 2 hours ago', undefined],
  ['', undefined],
])('the status text tells for how long it is up, from a minute on: %s is %s', (status, uptime) =>
  expect(uptimeInStatus(status)).toBe(uptime),
);

test("Podman's further words for states", () => {
  const words = ['configured', 'initialized', 'stopped', 'stopping'];
  expect(words.map((word) => runStateOf(word, false))).toEqual(['created', 'created', 'exited', 'running']);
  expect(runStateOf(undefined, false)).toBe('dead');
});

test('what Podman calls created after its host went down has run (R5)', () => {
  const listed = (StartedAt: number) => listedFacts({ Id: 'a', State: 'created' }, { Id: 'a', StartedAt }).state;
  // Go's zero time, year 1.
  expect([listed(1_795_645_238), listed(-62_135_596_800)]).toEqual(['exited', 'created']);
});

test('a list without names, labels, ports, networks and command is a container all the same', () => {
  const facts = listedFacts(
    {
      Id: 'abcdef0123456789',
      State: 'created',
      Status: 'Created',
      Labels: null,
      Names: null,
      Ports: null,
      NetworkSettings: { Networks: null },
    },
    undefined,
  );
  expect(facts).toEqual({
    id: 'abcdef0123456789',
    name: 'abcdef012345',
    image: '',
    imageId: '',
    createdMs: 0,
    state: 'created',
    health: 'none',
    statusText: 'Created',
    ports: [],
    labels: {},
    networkMode: '',
    networkAddresses: [],
  });
});

test('the status text of another container that ended unhealthy is no health', () => {
  expect(
    listedFacts({ Id: 'a', State: 'exited', Status: 'Exited (1) 3 hours ago', Health: { Status: 'unhealthy' } }, undefined).health,
  ).toBe('none');
});

test('Podman gives no address for a port on every one, and keeps a range together', () => {
  const facts = listedFacts(
    { Id: 'a', State: 'running', Ports: [{ PrivatePort: 8100, PublicPort: 18100, Type: 'tcp' }] },
    {
      Id: 'a',
      Ports: [
        { host_ip: '', container_port: 8100, host_port: 18100, range: 2, protocol: 'tcp,udp' },
        { container_port: 9000, host_port: 0, range: 1, protocol: 'tcp' },
      ],
    },
  );
  expect(facts.ports).toEqual([
    { address: '0.0.0.0', hostPort: 18100, containerPort: 8100, protocol: 'tcp' },
    { address: '0.0.0.0', hostPort: 18101, containerPort: 8101, protocol: 'tcp' },
    { address: '0.0.0.0', hostPort: 18100, containerPort: 8100, protocol: 'udp' },
    { address: '0.0.0.0', hostPort: 18101, containerPort: 8101, protocol: 'udp' },
    { address: undefined, hostPort: undefined, containerPort: 9000, protocol: 'tcp' },
  ]);
});

test('image ids read the same, with and without their kind', () => {
  const hex = 'a'.repeat(64);
  expect(fullImageId(hex)).toBe(`sha256:${hex}`);
  expect(fullImageId(`sha256:${hex}`)).toBe(`sha256:${hex}`);
  expect(fullImageId('busybox')).toBe('busybox');
});
