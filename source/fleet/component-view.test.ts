import { describe, expect, test } from 'vitest';
import { catalogEntry, composeLabels, containerDetail } from '../../test/doubles/container-facts.ts';
import { stateOf } from '../../test/doubles/fleet-double.ts';
import type { ContainerDetail } from '../engine/engine.ts';
import { buildComponentView, compareComponents, distinctPorts, type NetworkOwner } from './component-view.ts';
import { CatalogIndex, groupContainers } from './grouping.ts';
import type { ProbeView, Severity } from './model.ts';

const web = {
  name: 'web',
  service: 'reader',
  host: 8090,
  container: 8080,
  protocol: 'tcp' as const,
  exposure: 'loopback' as const,
  role: 'web UI',
  fixed: false,
  web: true,
  tls: false,
};
const entry = catalogEntry(
  'rss-reader',
  { reader: { image: 'miniflux/miniflux', main: true }, db: { image: 'postgres' }, migrate: { image: 'miniflux/migrate', oneShot: true } },
  { group: 'productivity', ports: [web] },
);
const index = new CatalogIndex([entry]);
const nowMs = 1_000_000;

function view(
  containers: ContainerDetail[],
  {
    probe,
    missing = [],
    engineReachable = true,
    owner,
  }: { probe?: ProbeView; missing?: string[]; engineReachable?: boolean; owner?: NetworkOwner } = {},
) {
  const group = groupContainers(containers, index)[0];
  if (!group) throw new Error('no group');
  const byId = new Map(containers.map((container) => [container.id, container]));
  return buildComponentView(group, {
    host: 'local',
    nowMs,
    engineReachable,
    knowledge: (id) => ({ detail: byId.get(id), history: { diedMs: [], stopAskedMs: undefined } }),
    networkOwner: () => owner,
    probe,
    findings: [],
    missing,
    observed: new Map(),
    deployed: undefined,
    backup: undefined,
  }).view;
}

const reader = (overrides: Partial<ContainerDetail> = {}) =>
  containerDetail({
    name: 'reader',
    image: 'miniflux/miniflux',
    labels: composeLabels('news', 'reader', ['db', 'migrate']),
    health: 'healthy',
    ...overrides,
  });
const db = (overrides: Partial<ContainerDetail> = {}) =>
  containerDetail({ name: 'db', image: 'postgres', labels: composeLabels('news', 'db'), ...overrides });
const probe = (label: string, severity: Severity): ProbeView => ({
  state: stateOf(label, severity),
  detail: `${label}, says the probe`,
  atMs: 0,
  version: undefined,
  failure: undefined,
});

describe('a component', () => {
  test('is as well as its main service', () => {
    expect(view([reader(), db()])).toMatchObject({
      key: 'local/news/rss-reader',
      id: 'rss-reader',
      known: true,
      group: 'productivity',
      serviceState: 'healthy',
      state: { id: 'healthy', label: 'healthy', severity: 'ok' },
    });
  });

  test('is not well when what serves it is not (R56)', () => {
    const failed = view([reader(), db({ state: 'exited', exitCode: 1, restartPolicy: 'no', finishedMs: nowMs })]);
    expect(failed).toMatchObject({ serviceState: 'failed', state: { label: 'db failed', severity: 'error' } });
    expect(failed.detail).toBe('reader is healthy; db: failed with exit code 1, just now');
    expect(view([reader(), db({ state: 'exited', exitCode: 0 })])).toMatchObject({ state: { label: 'db stopped', severity: 'warning' } });
  });

  test('does not mind a job that ended well', () => {
    const job = containerDetail({
      name: 'migrate',
      image: 'miniflux/migrate',
      labels: composeLabels('news', 'migrate'),
      state: 'exited',
      exitCode: 0,
    });
    expect(view([reader(), db(), job])).toMatchObject({ serviceState: 'healthy', state: { label: 'healthy' } });
  });

  test('says what its probe says, above the container', () => {
    expect(view([reader(), db()], { probe: probe('sealed 0/3', 'warning') })).toMatchObject({
      serviceState: 'healthy',
      state: { label: 'sealed 0/3', severity: 'warning' },
      detail: 'sealed 0/3, says the probe',
    });
  });

  test('whose health check has not answered is starting, whatever a good probe says; not for longer than the check may take', () => {
    const young = (startedMs: number) =>
      view([reader({ health: 'starting', startedMs, verdictWithinMs: 90_000 }), db()], { probe: probe('ready', 'ok') });
    expect(young(nowMs - 30_000)).toMatchObject({
      state: { label: 'starting', severity: 'busy' },
      services: [{ verdictMs: nowMs + 65_000 }, {}],
    });
    expect(young(nowMs - 100_000)).toMatchObject({ state: { label: 'ready', severity: 'ok' } });
    const sealed = view([reader({ health: 'starting', startedMs: nowMs, verdictWithinMs: 90_000 }), db()], {
      probe: probe('sealed 0/3', 'warning'),
    });
    expect(sealed.state.label).toBe('sealed 0/3');
  });

  test('that fails its health check says so, unless its probe knows more', () => {
    const healthOutputs = ['status 500'];
    const sick = reader({ health: 'unhealthy', healthOutputs });
    expect(view([sick, db()], { probe: probe('ready', 'ok') })).toMatchObject({
      state: { label: 'unhealthy', severity: 'error' },
      detail: 'its health check fails: status 500',
    });
    expect(view([sick, db()], { probe: probe('database down', 'error') })).toMatchObject({
      state: { label: 'database down', severity: 'error' },
    });
  });

  test('that is stopped is stopped, whatever the probe said last', () => {
    expect(view([reader({ state: 'exited', exitCode: 0 }), db()], { probe: probe('ready', 'ok') })).toMatchObject({
      serviceState: 'stopped',
      state: { label: 'stopped' },
    });
  });

  test('whose declared service has no container says so', () => {
    const missing = view([reader()], { missing: ['db'] });
    expect(missing).toMatchObject({ state: { label: 'db missing', severity: 'warning' } });
    expect(missing.services.map((service) => [service.name, service.state])).toEqual([
      ['reader', 'healthy'],
      ['db', 'missing'],
    ]);
  });

  test('that fails itself names the service that it misses: the likely cause', () => {
    const failing = view([reader({ health: 'unhealthy' })], { missing: ['db'] });
    expect(failing).toMatchObject({ serviceState: 'unhealthy', state: { label: 'unhealthy' } });
    expect(failing.detail).toBe('its health check fails; db is missing');
  });

  test('is unknown while the engine is away, and tells what was seen last', () => {
    const away = view([reader(), db()], { engineReachable: false });
    expect(away).toMatchObject({ state: { id: 'unknown', severity: 'unknown' } });
    expect(away.detail).toContain('last seen healthy');
  });

  test('links to the port that is really published (R89)', () => {
    const ports = [
      { address: '0.0.0.0', hostPort: 18090, containerPort: 8080, protocol: 'tcp' as const },
      { address: '::', hostPort: 18090, containerPort: 8080, protocol: 'tcp' as const },
    ];
    expect(view([reader({ ports }), db()]).url).toBe('http://127.0.0.1:18090');
    expect(view([reader(), db()]).url).toBeUndefined();
    // No port is published there.
    expect(view([reader({ networkMode: 'host' }), db()]).url).toBe('http://127.0.0.1:8080');
  });

  test('tells a loop with its count', () => {
    expect(view([reader({ state: 'restarting', restartCount: 12, exitCode: 1 }), db()])).toMatchObject({
      state: { label: 'restarting 12x', severity: 'error' },
    });
  });
});

test('a port published on IPv4 and IPv6 is one port', () => {
  const port = { hostPort: 80, containerPort: 80, protocol: 'tcp' as const };
  expect(
    distinctPorts([
      { ...port, address: '0.0.0.0' },
      { ...port, address: '::' },
    ]),
  ).toEqual([{ ...port, address: '0.0.0.0', ipv6: true }]);
  expect(
    distinctPorts([
      { ...port, address: '::' },
      { ...port, address: '0.0.0.0' },
    ]),
  ).toEqual([{ ...port, address: '0.0.0.0', ipv6: true }]);
  expect(distinctPorts([{ ...port, address: '::' }]), 'IPv6 alone').toEqual([{ ...port, address: '::', ipv6: true }]);
  expect(distinctPorts([{ ...port, address: '::1' }])).toEqual([{ ...port, address: '::1' }]);
});

test('components are shown in the order of the seven groups, the rest last (R1)', () => {
  const row = (group: string, id: string) => ({ ...view([reader()]), group, id });
  const rows = [row('other', 'a'), row('networking', 'b'), row('security', 'z'), row('security', 'c')].sort(compareComponents);
  expect(rows.map((one) => one.id)).toEqual(['c', 'z', 'b', 'a']);
});

describe("in the network of another's container (R15)", () => {
  const joined = reader({ networkMode: 'container:gateway', startedMs: 5_000 });
  const front = (startedMs: number, state: NetworkOwner['state'] = 'running') => ({ name: 'vpn-gateway-1', state, startedMs });

  test('it is as it says while that one was there first', () => {
    expect(view([joined, db()], { probe: probe('ready', 'ok'), owner: front(4_000) })).toMatchObject({
      state: { label: 'ready' },
      findings: [],
    });
  });

  test.each([
    ['gone', undefined, /^reader has no network: the container whose network it used no longer exists\.$/, true],
    ['started again since', front(6_000), /vpn-gateway-1, whose network it used, has been restarted since/, true],
    ['down', front(4_000, 'exited'), /vpn-gateway-1, whose network it uses, is not running/, false],
  ])('%s: it runs and reaches nothing, whatever its probe says', (_, owner, detail, stale) => {
    const seen = view([joined, db()], { probe: probe('ready', 'ok'), ...(owner && { owner }) });
    expect(seen).toMatchObject({
      state: { label: 'no network', severity: 'error' },
      detail: expect.stringMatching(detail),
      findings: [{ check: 'no-network', level: 'error' }],
    });
    expect(seen.services.find(({ name }) => name === 'reader')?.cutOff?.stale).toBe(stale);
  });

  test('one that is down itself is told as down', () => {
    expect(view([reader({ networkMode: 'container:gateway', state: 'exited', exitCode: 1 }), db()]).state.label).not.toBe('no network');
  });
});
