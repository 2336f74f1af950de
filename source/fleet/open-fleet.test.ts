import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { catalogEntry, composeLabels } from '../../test/doubles/container-facts.ts';
import { engineNameOf, hostDouble, LiveEngine } from '../../test/doubles/live-engine.ts';
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import { Fault } from '../faults/fault.ts';
import type { Host } from '../hosts/host.ts';
import type { BackupAgesSeen, ReadBackupAges } from './deployed-components.ts';
import { engineLimits } from './engine-watch.ts';
import { componentsToStart, missingComponents } from './missing-components.ts';
import { type OpenFleet, openFleet } from './open-fleet.ts';

const entries = [
  catalogEntry('rss-reader', { reader: { image: 'miniflux/miniflux', main: true }, db: { image: 'postgres' } }, { group: 'productivity' }),
  catalogEntry('reverse-proxy', { caddy: { image: 'caddy', main: true } }, { group: 'networking' }),
];
const open: OpenFleet[] = [];
afterEach(() => {
  for (const fleet of open.splice(0)) fleet.close();
});

function catalogOf(list: CatalogEntry[]): Catalog {
  return { entries: list, get: (id) => list.find((entry) => entry.id === id), problems: [] };
}

async function fleetOn(
  engine: LiveEngine,
  {
    host = hostDouble(),
    catalog = entries,
    ...more
  }: { host?: Host; catalog?: CatalogEntry[]; backupAges?: ReadBackupAges; observationsFile?: string } = {},
): Promise<OpenFleet> {
  const fleet = openFleet({
    engines: [engineNameOf(engine, host)],
    catalog: catalogOf(catalog),
    stackFolder: '~/stack',
    execAllowed: true,
    ...more,
    limits: { ...engineLimits, retryMs: [10, 20], connectMs: 500 },
  });
  open.push(fleet);
  await fleet.settle(AbortSignal.timeout(5_000));
  return fleet;
}

/** Waits for a state that an operator would see. */
function sees(fleet: OpenFleet, id: string, expected: object): Promise<void> {
  return vi.waitFor(() => expect(fleet.snapshot().components.find((component) => component.id === id)).toMatchObject(expected), {
    timeout: 3_000,
    interval: 5,
  });
}

function engineWithReader(): LiveEngine {
  const engine = new LiveEngine();
  engine.add('news-reader-1', {
    image: 'miniflux/miniflux',
    labels: composeLabels('news', 'reader', ['db']),
    health: 'healthy',
    startedMs: Date.now() - 3_600_000,
  });
  engine.add('news-db-1', { image: 'postgres:16-alpine', labels: composeLabels('news', 'db'), startedMs: Date.now() - 3_600_000 });
  return engine;
}

describe('the fleet', () => {
  test('follows a place that is added, and knows nothing more of a host that is dropped', async () => {
    const fleet = await fleetOn(engineWithReader());
    const other = new LiveEngine();
    other.add('proxy', { image: 'caddy', labels: composeLabels('edge', 'caddy'), startedMs: Date.now() });
    const engineView = { ...engineNameOf(other, { ...hostDouble(), name: 'nas' }), name: 'nas' };
    fleet.add([engineView]);
    await sees(fleet, 'reverse-proxy', { host: 'nas' });
    expect(fleet.snapshot().engines.map(({ name }) => name)).toEqual(['local', 'nas']);
    expect(fleet.drop(engineView.host)).toEqual(['nas']);
    await vi.waitFor(() => expect(fleet.snapshot().components.map(({ id }) => id)).toEqual(['rss-reader']));
    expect(fleet.snapshot().engines.map(({ name }) => name)).toEqual(['local']);
    expect(fleet.watchOf('nas')).toBeUndefined();
    expect(fleet.isEmpty()).toBe(false);
  });

  test('an unreachable host costs the others nothing: they are not rebuilt with each attempt', async () => {
    const fleet = await fleetOn(engineWithReader());
    const gone = { ...hostDouble(), name: 'gone' };
    let tries = 0;
    const open = async () => {
      tries += 1;
      throw new Fault('unreachable.engine', `Try ${tries} failed.`, 'Wait.');
    };
    fleet.add([{ name: 'gone', host: gone, open }]);
    const shownTry = () =>
      Number(/Try (\d+) failed/.exec(fleet.snapshot().engines.find(({ name }) => name === 'gone')?.link.message ?? '')?.[1]);
    await vi.waitFor(() => expect(shownTry()).toBeGreaterThan(0), 3_000);
    await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    const { components, revision } = fleet.snapshot();
    expect(components.map(({ id }) => id)).toContain('rss-reader');
    const shown = shownTry();
    await vi.waitFor(() => expect(shownTry()).toBeGreaterThan(shown), 3_000);
    expect(fleet.snapshot().revision).toBeGreaterThan(revision);
    expect(fleet.snapshot().components).toBe(components);
  });

  test('shows what runs, matched with the catalog', async () => {
    const fleet = await fleetOn(engineWithReader());
    expect(fleet.snapshot().components).toMatchObject([
      { id: 'rss-reader', project: 'news', state: { id: 'healthy' }, services: [{ name: 'reader', main: true }, { name: 'db' }] },
    ]);
    expect(fleet.snapshot().engines).toMatchObject([
      { name: 'local', engine: { kind: 'docker', reachable: true }, link: { state: 'connected' } },
    ]);
  });

  test('lives from events: a stop by an operator and a failure are told apart, without another list (R5)', async () => {
    const engine = engineWithReader();
    const fleet = await fleetOn(engine);
    await sees(fleet, 'rss-reader', { serviceState: 'healthy' });
    engine.happen('news-reader-1', 'kill', {}, { signal: '15' });
    engine.happen('news-reader-1', 'die', { state: 'exited', exitCode: 143, finishedMs: Date.now(), restartPolicy: 'no' });
    await sees(fleet, 'rss-reader', { serviceState: 'stopped', state: { label: 'stopped' } });
    engine.happen('news-reader-1', 'start', { state: 'running', startedMs: Date.now(), health: 'none' });
    await sees(fleet, 'rss-reader', { serviceState: 'running' });
    engine.happen('news-db-1', 'die', { state: 'exited', exitCode: 1, finishedMs: Date.now(), restartPolicy: 'no' });
    await sees(fleet, 'rss-reader', { state: { label: 'db failed', severity: 'error' } });
    expect(engine.asked.list).toBe(1);
  });

  test('what a list tells is not inspected before states are known; what it does not tell is', async () => {
    /** Of the others it waits for ever. */
    class ListingEngine extends LiveEngine {
      readonly inspected: string[] = [];
      override async list() {
        const all = await super.list();
        return all.map(
          ({ id, name, image, imageId, createdMs, state, health, statusText, ports, labels, networkMode, networkAddresses }) => ({
            ...{ id, name, image, imageId, createdMs, state, health, statusText, ports, labels, networkMode, networkAddresses },
          }),
        );
      }
      override async inspect(id: string, signal: AbortSignal) {
        const detail = await super.inspect(id, signal);
        this.inspected.push(detail?.name ?? '');
        return detail;
      }
    }
    const engine = new ListingEngine();
    const startedMs = Date.now() - 86_400_000;
    engine.add('plain', { statusText: 'Up 3 weeks', startedMs });
    engine.add('plain-vpn', { statusText: 'Up 3 weeks (healthy)', health: 'healthy', startedMs });
    engine.add('vpn', { statusText: 'Up 24 hours', startedMs: startedMs + 60_000 });
    engine.add('torrent', { statusText: 'Up 24 hours', networkMode: 'container:vpn', startedMs });
    engine.add('new', { statusText: 'Up 4 seconds', startedMs: Date.now() - 4_000, restartCount: 7 });
    engine.add('job', { state: 'exited', statusText: 'Exited (1) 24 hours ago', exitCode: 1, finishedMs: startedMs, restartPolicy: 'no' });
    engine.add('proxy', { image: 'caddy', statusText: 'Up 3 weeks', startedMs });
    const fleet = await fleetOn(engine);
    const { components } = await fleet.settle(AbortSignal.timeout(5_000), 'states');
    expect(engine.inspected.sort()).toEqual(['job', 'new', 'proxy', 'torrent', 'vpn']);
    expect(Object.fromEntries(components.map(({ id, state }) => [id, state.label]))).toEqual({
      ...{ plain: 'running', 'plain-vpn': 'healthy', vpn: 'running', torrent: 'no network' },
      ...{ new: 'restarting 7x', job: 'failed (1)', 'reverse-proxy': 'running' },
    });
    const [plain] = components.filter(({ id }) => id === 'plain');
    expect(plain).toMatchObject({ sinceMs: undefined, services: [{ upFor: '3w' }] });
    await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    expect(engine.inspected.sort()).toEqual(['job', 'new', 'plain', 'plain-vpn', 'proxy', 'torrent', 'vpn']);
  });

  test('as time passes, only the host with an age to tell is built again', async () => {
    const fleet = await fleetOn(engineWithReader());
    const ended = new LiveEngine();
    ended.add('job', { state: 'exited', exitCode: 1, finishedMs: Date.now() - 120_000, restartPolicy: 'no' });
    const open = async () => {
      throw new Fault('unreachable.engine', 'It is off.', 'Wait.');
    };
    fleet.add([
      engineNameOf(ended, { ...hostDouble(), name: 'nas' }, 'nas'),
      // Commits with each attempt.
      { name: 'gone', host: { ...hostDouble(), name: 'gone' }, open },
    ]);
    await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    const of = (host: string) => fleet.snapshot().components.find((component) => component.host === host);
    expect(of('nas')?.detail).toBe('failed with exit code 1, 2 minutes ago');
    const before = of('local');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    await vi.waitFor(() => expect(of('nas')?.detail).toBe('failed with exit code 1, 3 minutes ago'), { timeout: 3_000, interval: 5 });
    expect(of('local')).toBe(before);
  });

  test('a container that is made appears, one that is removed goes', async () => {
    const engine = engineWithReader();
    const fleet = await fleetOn(engine);
    engine.add('edge', { image: 'caddy:2' });
    engine.happen('edge', 'create');
    await sees(fleet, 'reverse-proxy', { serviceState: 'running', group: 'networking' });
    engine.happen('edge', 'remove');
    await vi.waitFor(() => expect(fleet.snapshot().components.map((component) => component.id)).toEqual(['rss-reader']));
  });

  test('says when the engine goes away and keeps what was seen last; comes back by itself', async () => {
    const engine = engineWithReader();
    const fleet = await fleetOn(engine);
    await sees(fleet, 'rss-reader', { serviceState: 'healthy' });
    engine.crash();
    await sees(fleet, 'rss-reader', { serviceState: 'unknown' });
    const [engineName] = fleet.snapshot().engines;
    expect(engineName).toMatchObject({
      engine: { reachable: false },
      link: { state: 'away', message: expect.stringMatching(/\w/), remedy: 'Start the engine.' },
    });
    expect(engineName?.link.retryAtMs).toBeGreaterThan(0);
    engine.change('news-reader-1', { health: 'unhealthy' });
    engine.reachable = true;
    await sees(fleet, 'rss-reader', { serviceState: 'unhealthy' });
    expect(fleet.snapshot().engines[0]?.link.state).toBe('connected');
  });

  test('an engine that hangs is away after its limit, not for ever', async () => {
    const engine = new LiveEngine();
    engine.connect = () => new Promise(() => {});
    const fleet = await fleetOn(engine);
    expect(fleet.snapshot().engines[0]?.link).toMatchObject({ state: 'away', message: 'The engine does not respond.' });
  });

  test('a stop from here is no failure, though the engine tells nothing of who asked (R5)', async () => {
    const engine = engineWithReader();
    const fleet = await fleetOn(engine);
    await sees(fleet, 'rss-reader', { serviceState: 'healthy' });
    await fleet.whileStopping('id-of-news-reader-1', async () => 'done');
    engine.happen('news-reader-1', 'die', { state: 'exited', exitCode: 2, finishedMs: Date.now(), restartPolicy: 'no' });
    await sees(fleet, 'rss-reader', { serviceState: 'stopped' });
  });

  test('a storm of events is one frame', async () => {
    const engine = engineWithReader();
    const fleet = await fleetOn(engine);
    await sees(fleet, 'rss-reader', { serviceState: 'healthy' });
    let commits = 0;
    fleet.subscribe(() => commits++);
    const before = engine.asked.inspect;
    for (let number = 0; number < 500; number++)
      engine.happen('news-reader-1', 'health', { health: number % 2 === 0 ? 'unhealthy' : 'healthy' });
    engine.happen('news-reader-1', 'health', { health: 'unhealthy' });
    await sees(fleet, 'rss-reader', { serviceState: 'unhealthy' });
    expect(commits).toBeLessThan(10);
    expect(engine.asked.inspect - before).toBeLessThan(10);
  });

  test('a service that its compose file declares and that has no container is missing', async () => {
    const engine = engineWithReader();
    const file =
      'services:\n  reader: {image: miniflux/miniflux, depends_on: [db, cache]}\n  db: {image: postgres}\n  cache: {image: redis}\n  debug: {image: x, profiles: [debug]}\n';
    const fleet = await fleetOn(engine, { host: hostDouble({ files: { '/srv/news/compose.yaml': file } }) });
    await sees(fleet, 'rss-reader', { state: { label: 'cache missing', severity: 'warning' } });
  });

  test('also beside a host that is away', async () => {
    const file =
      'services:\n  reader: {image: miniflux/miniflux, depends_on: [db, cache]}\n  db: {image: postgres}\n  cache: {image: redis}\n';
    const fleet = await fleetOn(engineWithReader(), { host: hostDouble({ files: { '/srv/news/compose.yaml': file } }) });
    const away = async () => {
      throw new Fault('unreachable.silent', 'It does not respond.', 'Wait.');
    };
    fleet.add([{ name: 'gone', host: { ...hostDouble(), name: 'gone', facts: away }, open: away }]);
    await sees(fleet, 'rss-reader', { state: { label: 'cache missing', severity: 'warning' } });
  });

  test('also where the engine takes its time to list', async () => {
    class SlowLists extends LiveEngine {
      override async list() {
        await new Promise((resolve) => setTimeout(resolve, 400));
        return super.list();
      }
    }
    const engine = new SlowLists();
    engine.add('news-reader-1', { image: 'miniflux/miniflux:2', labels: composeLabels('news', 'reader') });
    const file = 'services:\n  reader: {image: miniflux/miniflux, depends_on: [cache]}\n  cache: {image: redis}\n';
    const fleet = await fleetOn(engine, { host: hostDouble({ files: { '/srv/news/compose.yaml': file } }) });
    await sees(fleet, 'rss-reader', { state: { label: 'cache missing', severity: 'warning' } });
  });

  test('a component of our stack folder with no container at all is a row that says missing', async () => {
    const host = hostDouble({ files: { '/home/op/stack/reverse-proxy/compose.yaml': 'services:\n  caddy: {image: "caddy:latest"}\n' } });
    const fleet = await fleetOn(engineWithReader(), { host });
    await sees(fleet, 'reverse-proxy', { serviceState: 'missing', project: 'reverse-proxy', known: true });
  });

  test('which of several with the same image is missing, the name of its folder tells', async () => {
    const host = hostDouble({ files: { '/home/op/stack/second-proxy/compose.yaml': 'services:\n  caddy: {image: "caddy:latest"}\n' } });
    const second = catalogEntry('second-proxy', { caddy: { image: 'caddy', main: true } }, { group: 'networking' });
    const fleet = await fleetOn(engineWithReader(), { host, catalog: [...entries, second] });
    await sees(fleet, 'second-proxy', { serviceState: 'missing', project: 'second-proxy' });
  });

  test('what is missing is known when everything is, not a moment later: a status that is printed once says it (R5)', async () => {
    const engine = engineWithReader();
    const files = {
      '/srv/news/compose.yaml':
        'services:\n  reader: {image: miniflux/miniflux, depends_on: [db, cache]}\n  db: {image: postgres}\n  cache: {image: redis}\n',
      '/home/op/stack/reverse-proxy/compose.yaml': 'services:\n  caddy: {image: "caddy:latest"}\n',
    };
    const fleet = openFleet({
      engines: [engineNameOf(engine, hostDouble({ files }))],
      catalog: catalogOf(entries),
      stackFolder: '~/stack',
      execAllowed: true,
    });
    open.push(fleet);
    const { components } = await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    expect(components.map(({ id, state }) => `${id}: ${state.label}`)).toEqual(['rss-reader: cache missing', 'reverse-proxy: missing']);
  });

  test('a project that was taken down is gone, not missing; one of our stack folder stays', async () => {
    const engine = engineWithReader();
    const service = 'services:\n  reader: {image: miniflux/miniflux}\n  db: {image: postgres}\n';
    const host = hostDouble({
      files: {
        '/srv/news/compose.yaml': service,
        '/home/op/stack/reverse-proxy/compose.yaml': 'services:\n  caddy: {image: "caddy:latest"}\n',
      },
    });
    const fleet = await fleetOn(engine, { host });
    await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    const said = () => fleet.snapshot().components.map(({ id, state }) => `${id}: ${state.id}`);
    // A service removed from a user's project is no longer expected, even if others of it remain.
    engine.happen('news-reader-1', 'remove');
    await vi.waitFor(() => expect(said()).toEqual(['reverse-proxy: missing', 'db: running']));
    engine.happen('news-db-1', 'remove');
    await vi.waitFor(() => expect(said()).toEqual(['reverse-proxy: missing']));
  });

  test('what served a component of others and was removed does not trouble it', async () => {
    const engine = engineWithReader();
    engine.add('news-cache-1', { image: 'redis', labels: composeLabels('news', 'cache') });
    const file = 'services:\n  reader: {image: miniflux/miniflux, depends_on: [cache]}\n  cache: {image: redis}\n  db: {image: postgres}\n';
    const fleet = await fleetOn(engine, { host: hostDouble({ files: { '/srv/news/compose.yaml': file } }) });
    await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    await sees(fleet, 'rss-reader', { state: { label: 'healthy' } });
    engine.happen('news-cache-1', 'remove');
    const services = () => fleet.snapshot().components.flatMap((component) => component.services.map(({ name }) => name));
    await vi.waitFor(() => expect(services()).toEqual(['reader', 'db']));
    await sees(fleet, 'rss-reader', { state: { label: 'healthy', severity: 'ok' } });
  });

  test('nothing is said to be missing while the engine is away (R58)', async () => {
    const engine = new LiveEngine();
    engine.crash();
    const files = {
      '/home/op/stack/reverse-proxy/compose.yaml': 'services:\n  caddy: {image: "caddy:latest"}\n',
      '/home/op/stack/.quarterdeck/components/reverse-proxy.json': '{}',
    };
    const fleet = await fleetOn(engine, { host: hostDouble({ files }) });
    const { components } = await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    expect(components).toMatchObject([
      {
        id: 'reverse-proxy',
        serviceState: 'unknown',
        state: { label: 'unknown' },
        detail: 'the engine is unreachable; this service is declared in the compose file',
      },
    ]);
    expect([missingComponents(components), componentsToStart(components)]).toEqual([[], []]);
  });

  test('a project that was created only in part says so, and is not waited for (R5)', async () => {
    const engine = new LiveEngine();
    engine.add('news-db-1', { image: 'postgres:16-alpine', labels: composeLabels('news', 'db'), state: 'created' });
    const file = 'services:\n  reader: {image: miniflux/miniflux, depends_on: [db]}\n  db: {image: postgres}\n';
    const fleet = await fleetOn(engine, {
      host: hostDouble({ files: { '/srv/news/compose.yaml': file, '/home/op/stack/.quarterdeck/components/rss-reader.json': '{}' } }),
    });
    await sees(fleet, 'rss-reader', { serviceState: 'created', state: { label: 'partly created', severity: 'warning' }, project: 'news' });
    expect(missingComponents(fleet.snapshot().components)).toEqual([]);
  });

  test('what was removed says so and is not waited for, also in the next process; files that stay behind declare nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quarterdeck-fleet-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const observationsFile = join(folder, 'observations.json');
    const service = 'services:\n  caddy: {image: "caddy:latest"}\n';
    const files = {
      '/home/op/stack/reverse-proxy/compose.yaml': service,
      '/home/op/stack/left-behind/compose.yaml': service,
      '/home/op/stack/.quarterdeck/components/reverse-proxy.json': '{}',
    };
    const engine = new LiveEngine();
    for (const project of ['reverse-proxy', 'left-behind'])
      engine.add(`${project}-caddy-1`, { image: 'caddy', labels: composeLabels(project, 'caddy') });
    const host = hostDouble({ files });
    const first = await fleetOn(engine, { host, observationsFile });
    await first.settle(AbortSignal.timeout(5_000), 'complete');
    for (const project of ['reverse-proxy', 'left-behind']) engine.happen(`${project}-caddy-1`, 'remove');
    const gone = {
      serviceState: 'missing',
      state: { id: 'missing', label: 'removed', severity: 'off' },
      deployed: true,
      detail: 'its container was removed, just now',
    };
    await sees(first, 'reverse-proxy', gone);
    await first.keepObservations();
    const next = await fleetOn(engine, { host, observationsFile });
    const { components } = await next.settle(AbortSignal.timeout(5_000), 'complete');
    expect(components).toMatchObject([{ id: 'reverse-proxy', ...gone }]);
    expect(missingComponents(components)).toEqual([]);
    expect(componentsToStart(components).map(({ id }) => id)).toEqual(['reverse-proxy']);
    // If it was created again and disappeared without a trace, it is missing.
    engine.add('reverse-proxy-caddy-1', { image: 'caddy', labels: composeLabels('reverse-proxy', 'caddy') });
    engine.happen('reverse-proxy-caddy-1', 'create');
    await sees(next, 'reverse-proxy', { serviceState: 'running' });
    engine.containers.clear();
    next.refresh();
    await sees(next, 'reverse-proxy', { serviceState: 'missing', state: { label: 'missing', severity: 'warning' } });
  });

  test('nothing of a compose file is printed, whatever it holds', async () => {
    const warn = vi.spyOn(process, 'emitWarning');
    const file = 'services:\n  reader: {image: miniflux/miniflux, ports: !reset []}\n  cache: {image: redis}\n';
    const fleet = await fleetOn(engineWithReader(), { host: hostDouble({ files: { '/srv/news/compose.yaml': file } }) });
    await vi.waitFor(() => expect(fleet.snapshot().components.map(({ id }) => id)).toContain('cache'), { timeout: 2_000 });
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  test('a compose file that is rubbish breaks nothing', async () => {
    const host = hostDouble({ files: { '/srv/news/compose.yaml': 'services: [\x00', '/home/op/stack/x/compose.yaml': '&a [*a, *a]' } });
    const fleet = await fleetOn(engineWithReader(), { host });
    await sees(fleet, 'rss-reader', { serviceState: 'healthy' });
  });

  test('stats flow only while somebody looks', async () => {
    const engine = engineWithReader();
    const fleet = await fleetOn(engine);
    await sees(fleet, 'rss-reader', { serviceState: 'healthy' });
    expect(engine.statsOf.size).toBe(0);
    const stop = fleet.watchStats('local/news/rss-reader');
    await vi.waitFor(() => expect(fleet.stats('local/news/rss-reader')?.memoryBytes.length).toBeGreaterThan(0), { timeout: 3_000 });
    expect(engine.statsOf.size).toBe(2);
    stop();
    await vi.waitFor(() => expect(engine.statsOf.size).toBe(0));
  });

  describe('of what was deployed from here', () => {
    const task = { title: 'Change the default password', detail: '', urgent: true };
    const volume = { id: 'data', volume: 'data', method: 'copy' as const, with: [], exclude: [] };
    const known = [
      catalogEntry(
        'rss-reader',
        { reader: { image: 'miniflux/miniflux', main: true } },
        {
          firstRun: [
            { id: 'password', ...task },
            { id: 'feeds', ...task, urgent: false },
          ],
          backup: [volume],
        },
      ),
    ];
    const record = (setupTasks: Record<string, string>) => ({
      '/home/op/stack/.quarterdeck/components/rss-reader.json': JSON.stringify({ schema: 1, component: 'rss-reader', setupTasks }),
    });
    const engineWith = (project: string) => {
      const engine = new LiveEngine();
      engine.add('reader', { image: 'miniflux/miniflux', labels: composeLabels(project, 'reader') });
      return engine;
    };
    const complete = async (fleet: OpenFleet) => (await fleet.settle(AbortSignal.timeout(5_000), 'complete')).components[0];

    test('setup tasks stay until they are confirmed, a default password as something urgent (R47)', async () => {
      const files: Record<string, string> = record({});
      const fleet = await fleetOn(engineWith('rss-reader'), { host: hostDouble({ files }), catalog: known });
      expect((await complete(fleet))?.setupTasks).toMatchObject([
        { id: 'password', done: false, by: 'hand', urgent: true },
        { id: 'feeds', done: false, by: 'hand', urgent: false },
      ]);
      Object.assign(files, record({ password: '2026-11-21T10:00:00Z' }));
      fleet.refresh();
      await vi.waitFor(() => expect(fleet.snapshot().components[0]?.setupTasks.map(({ done }) => done)).toEqual([true, false]));
    });

    test('a site at the reverse proxy is its address, and the task to have one is done', async () => {
      const files: Record<string, string> = {
        '/home/op/stack/.quarterdeck/components/vault.json': JSON.stringify({ schema: 1, component: 'vault', site: 'vault.lan' }),
      };
      const engine = new LiveEngine();
      engine.add('vault', { image: 'vaultwarden/server', labels: composeLabels('vault', 'vault') });
      const proxy = { id: 'proxy', title: 'Give it a host with https', detail: '', urgent: false, bySite: true };
      const entry = catalogEntry('vault', { vault: { image: 'vaultwarden/server', main: true } }, { firstRun: [proxy] });
      const fleet = await fleetOn(engine, { host: hostDouble({ files }), catalog: [entry] });
      expect(await complete(fleet)).toMatchObject({ url: 'https://vault.lan', setupTasks: [{ id: 'proxy', done: true, by: 'observed' }] });
    });

    test('what somebody else made has no setup tasks that only its owner can confirm, and no backup to be missed', async () => {
      const host = hostDouble({ files: record({}) });
      const fleet = await fleetOn(engineWith('news'), { host, catalog: known, backupAges: async () => new Map() });
      expect(await complete(fleet)).toMatchObject({ deployed: false, setupTasks: [], backup: undefined });
    });

    test('a damaged record confirms nothing', async () => {
      const host = hostDouble({ files: { '/home/op/stack/.quarterdeck/components/rss-reader.json': '{"setupTasks": [' } });
      const fleet = await fleetOn(engineWith('rss-reader'), { host, catalog: known });
      expect(await complete(fleet)).toMatchObject({ deployed: true, setupTasks: [{ done: false }, { done: false }] });
    });

    test('the age of its backup is told; where nobody can tell, nothing is', async () => {
      const host = hostDouble({ files: record({}) });
      const reported = async (ages: BackupAgesSeen | undefined) =>
        (await complete(await fleetOn(engineWith('rss-reader'), { host, catalog: known, backupAges: async () => ages })))?.backup;
      expect(await reported(new Map([['rss-reader', 1_000]]))).toEqual({ atMs: 1_000 });
      expect(await reported(new Map())).toEqual({ atMs: undefined });
      expect(await reported(undefined)).toBeUndefined();
      expect(await reported('pretended')).toEqual({ atMs: undefined, pretended: true });
      expect(await reported('no-destination')).toEqual({ atMs: undefined, noDestination: true });
    });
  });

  test('sockets of other programs are among the ports', async () => {
    const host = hostDouble({ listeners: [{ address: '0.0.0.0', port: 22, protocol: 'tcp', process: { pid: 1, name: 'sshd' } }] });
    const fleet = await fleetOn(engineWithReader(), { host });
    await vi.waitFor(() => expect(fleet.snapshot().ports).toMatchObject([{ owner: 'sshd', exposure: 'lan' }]));
  });

  test('two engines on one machine share its ports: each socket once, conflicts across both (R88)', async () => {
    const listeners = [
      { address: '0.0.0.0', port: 22, protocol: 'tcp' as const, process: { pid: 1, name: 'sshd' } },
      { address: '0.0.0.0', port: 8080, protocol: 'tcp' as const, process: { pid: 7, name: 'docker-proxy' } },
    ];
    const host = hostDouble({ listeners });
    const web = [{ address: '0.0.0.0', hostPort: 8080, containerPort: 80, protocol: 'tcp' as const }];
    const docker = new LiveEngine();
    docker.add('web', { ports: web });
    const podman = new LiveEngine();
    podman.add('other', { ports: web, state: 'exited', exitCode: 0 });
    const engines = [engineNameOf(docker, host), engineNameOf(podman, host, 'local/podman')];
    const fleet = openFleet({ engines, catalog: catalogOf(entries), stackFolder: '~/stack', execAllowed: true });
    open.push(fleet);
    const { ports } = await fleet.settle(AbortSignal.timeout(5_000), 'complete');
    expect(
      ports.map(({ host: engineName, port, owner, open: listening, conflictWith }) => [engineName, port, owner, listening, conflictWith]),
    ).toEqual([
      ['local', 22, 'sshd', true, []],
      ['local/podman', 8080, 'other', false, ['web']],
      ['local', 8080, 'web', true, ['other']],
    ]);
  });

  test('is shown with 300 containers, each inspected once', async () => {
    const engine = new LiveEngine();
    for (let number = 0; number < 300; number++) engine.add(`box-${number}`, { labels: composeLabels(`p${number % 20}`, `s${number}`) });
    const fleet = await fleetOn(engine);
    expect(fleet.snapshot().components).toHaveLength(300);
    await vi.waitFor(() => expect(engine.asked.inspect).toBe(300));
  });
});
