import { expect, test } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import { asciiTheme, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { day, sampleComponent, sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import { containerDetail } from '../../test/doubles/container-facts.ts';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import type { QuarterdeckApp } from '../app/app.ts';
import type { ContainerDetail, Engine } from '../engine/engine.ts';

const { entries } = await wholeCatalog();
const catalog: QuarterdeckApp['catalog'] = { entries, get: (id) => entries.find((entry) => entry.id === id), problems: [] };

const component = (id: string, product: string, more: Partial<Parameters<typeof sampleComponent>[0]> = {}) =>
  sampleComponent({ ...{ id, group: 'media', kind: id, product, image: id, state: 'running', agoMs: day }, ...more });
const bind = (source: string, target: string) => ({ kind: 'bind', source, target, readOnly: false });
const network = { networkMode: 'media', networks: ['media'] };

/** Container details by component. */
const details: Readonly<Record<string, Partial<ContainerDetail>>> = {
  'indexer-manager': network,
  'movie-automation': { ...network, mounts: [bind('/srv/other/downloads', '/downloads'), bind('/srv/media/movies', '/movies')] },
  'torrent-client': { ...network, mounts: [bind('/srv/media/downloads', '/downloads')] },
  'media-server': { mounts: [bind('/srv/media', '/media')] },
};

function appOf(members: readonly ReturnType<typeof component>[]) {
  const sample = sampleSnapshot();
  const others = sample.components.filter(({ id }) => !Object.hasOwn(details, id));
  const app = createFakeApp({ snapshot: { ...sample, components: [...others, ...members] } });
  const asked: string[] = [];
  const engine = {
    async inspect(id: string) {
      asked.push(id);
      const name = Object.keys(details).find((one) => id === `id-${one}-${one}`);
      return name && containerDetail({ name, ...details[name], id });
    },
  } as Partial<Engine> as Engine;
  return { asked, app: { ...app, catalog, context: { ...app.context, catalog, engineOf: () => engine } } };
}

const members = [
  component('indexer-manager', 'Prowlarr'),
  component('movie-automation', 'Radarr'),
  component('torrent-client', 'qBittorrent'),
  component('media-server', 'Jellyfin', { state: 'healthy' }),
];

test('X shows the five stages, who serves each, and what is wrong between two of them (R55); Esc goes back', async () => {
  for (const size of [
    { columns: 60, rows: 15 },
    { columns: 80, rows: 24 },
    { columns: 120, rows: 36 },
  ]) {
    const harness = await openHarness({ size, app: appOf(members).app });
    await harness.press('X');
    await harness.sees('Media chain: broken', '1 Release on an indexer', 'indexer-manager');
    expect(misfits(harness.raw(), size)).toEqual([]);
    if (size.columns === 80) await expect(`${harness.frame()}\n`).toMatchFileSnapshot('goldens/chain-80x24.txt');
    await harness.press('G');
    await harness.sees('5 Library scan', 'media-server');
    expect(misfits(harness.raw(), size)).toEqual([]);
    await harness.press('esc');
    await harness.sees('Components');
  }
});

test('missing and stopped ones are flagged at their stage, in ASCII too (R55)', async () => {
  const harness = await openHarness({
    size: { columns: 120, rows: 36 },
    theme: asciiTheme,
    app: appOf([component('movie-automation', 'Radarr', { state: 'stopped' })]).app,
  });
  await harness.press('X');
  await harness.sees(
    '1 Release on an indexer  missing',
    'quarterdeck deploy indexer-manager',
    'movie-automation is not running (stopped).',
  );
  expect(harness.row('2 Download request')).toMatch(/x 2/);
  expect(harness.row('3 Completed download')).toMatch(/x 3 .*missing/);
});

test('it follows what happens, and asks an engine only when something happened', async () => {
  const { app, asked } = appOf([
    ...members.slice(0, 1),
    component('movie-automation', 'Radarr', { state: 'stopped' }),
    ...members.slice(2),
  ]);
  const harness = await openHarness({ size: { columns: 120, rows: 36 }, app });
  await harness.press('X');
  await harness.sees('movie-automation is not running (stopped).');
  const before = asked.length;
  app.show((snapshot) => ({ components: [...snapshot.components] }));
  app.show((snapshot) => ({
    components: snapshot.components.map((one) => (one.id === 'movie-automation' ? component('movie-automation', 'Radarr') : one)),
  }));
  await harness.misses('is not running');
  expect(asked.length - before).toBe(4);
});

test('left while it is read and opened again, it reads again', async () => {
  const { app } = appOf(members);
  const { inspect } = app.context.engineOf();
  const started = Promise.withResolvers<void>();
  let isHeld = true;
  const engine = {
    inspect(id: string, signal: AbortSignal) {
      started.resolve();
      return isHeld ? new Promise<undefined>(() => {}) : inspect(id, signal);
    },
  } as Partial<Engine> as Engine;
  const harness = await openHarness({
    size: { columns: 120, rows: 36 },
    app: { ...app, context: { ...app.context, engineOf: () => engine } },
  });
  await harness.press('X');
  await started.promise;
  await harness.press('esc');
  isHeld = false;
  await harness.press('X');
  await harness.sees('Media chain: broken');
});

test('a palette word finds it', async () => {
  const harness = await openHarness({ size: { columns: 120, rows: 36 }, app: appOf(members).app });
  await harness.press(':', ...'chain of media');
  await harness.sees('media automation chain');
});

test('words of others cannot break it', async () => {
  const hostile = component('media-server', 'x', {
    probe: { label: `\x1b[2J\u202e${'世界'.repeat(40)}`, severity: 'error', detail: `\x1b]0;t\x07${'y'.repeat(400)}` },
  });
  for (const size of [
    { columns: 60, rows: 15 },
    { columns: 99, rows: 28 },
  ]) {
    const harness = await openHarness({ size, app: appOf([...members.slice(0, 3), hostile]).app });
    await harness.press('X');
    await harness.sees('Media chain: broken');
    await harness.press('G');
    await harness.sees('quarterdeck logs media-server');
    expect(misfits(harness.raw(), size)).toEqual([]);
  }
});
