import { expect, test } from 'vitest';
import { containerDetail } from '../../test/doubles/container-facts.ts';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import type { ContainerDetail, Engine } from '../engine/engine.ts';
import type { Deck } from '../terminal/deck.ts';
import { createFakeDeck } from './rig/fake-deck.ts';
import { asciiTheme, misfits, openRig } from './rig/rig.tsx';
import { day, sampleComponent, sampleSnapshot } from './rig/sample-fleet.ts';

const { entries } = await wholeCatalog();
const catalog: Deck['catalog'] = { entries, get: (id) => entries.find((entry) => entry.id === id), problems: [] };

const component = (id: string, product: string, more: Partial<Parameters<typeof sampleComponent>[0]> = {}) =>
  sampleComponent({ ...{ id, group: 'media', kind: id, product, image: id, state: 'running', agoMs: day }, ...more });
const bind = (source: string, target: string) => ({ kind: 'bind', source, target, readOnly: false });
const network = { networkMode: 'media', networks: ['media'] };

/** By component. */
const details: Readonly<Record<string, Partial<ContainerDetail>>> = {
  'indexer-manager': network,
  'movie-automation': { ...network, mounts: [bind('/srv/other/downloads', '/downloads'), bind('/srv/media/movies', '/movies')] },
  'torrent-client': { ...network, mounts: [bind('/srv/media/downloads', '/downloads')] },
  'media-server': { mounts: [bind('/srv/media', '/media')] },
};

function deckOf(members: readonly ReturnType<typeof component>[]) {
  const sample = sampleSnapshot();
  const others = sample.components.filter(({ id }) => !Object.hasOwn(details, id));
  const deck = createFakeDeck({ snapshot: { ...sample, components: [...others, ...members] } });
  const asked: string[] = [];
  const engine = {
    async inspect(id: string) {
      asked.push(id);
      const name = Object.keys(details).find((one) => id === `id-${one}-${one}`);
      return name && containerDetail({ name, ...details[name], id });
    },
  } as Partial<Engine> as Engine;
  return { asked, deck: { ...deck, catalog, world: { ...deck.world, catalog, engineOf: () => engine } } };
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
    const rig = await openRig({ size, deck: deckOf(members).deck });
    await rig.press('X');
    await rig.sees('Media chain: broken', '1 Release at an indexer', 'indexer-manager');
    expect(misfits(rig.raw(), size)).toEqual([]);
    if (size.columns === 80) await expect(`${rig.frame()}\n`).toMatchFileSnapshot('goldens/chain-80x24.txt');
    await rig.press('G');
    await rig.sees('5 Library scan', 'media-server');
    expect(misfits(rig.raw(), size)).toEqual([]);
    await rig.press('esc');
    await rig.sees('Components');
  }
});

test('missing and stopped ones are flagged at their stage, in ASCII too (R55)', async () => {
  const rig = await openRig({
    size: { columns: 120, rows: 36 },
    theme: asciiTheme,
    deck: deckOf([component('movie-automation', 'Radarr', { state: 'stopped' })]).deck,
  });
  await rig.press('X');
  await rig.sees('1 Release at an indexer  missing', 'quarterdeck deploy indexer-manager', 'movie-automation is not running (stopped).');
  expect(rig.row('2 Download request')).toMatch(/x 2/);
  expect(rig.row('3 Completed download')).toMatch(/x 3 .*missing/);
});

test('it follows what happens, and asks an engine only when something happened', async () => {
  const { deck, asked } = deckOf([
    ...members.slice(0, 1),
    component('movie-automation', 'Radarr', { state: 'stopped' }),
    ...members.slice(2),
  ]);
  const rig = await openRig({ size: { columns: 120, rows: 36 }, deck });
  await rig.press('X');
  await rig.sees('movie-automation is not running (stopped).');
  const before = asked.length;
  deck.show((snapshot) => ({ components: [...snapshot.components] }));
  deck.show((snapshot) => ({
    components: snapshot.components.map((one) => (one.id === 'movie-automation' ? component('movie-automation', 'Radarr') : one)),
  }));
  await rig.misses('is not running');
  expect(asked.length - before).toBe(4);
});

test('a palette word finds it', async () => {
  const rig = await openRig({ size: { columns: 120, rows: 36 }, deck: deckOf(members).deck });
  await rig.press(':', ...'chain of media');
  await rig.sees('How releases get into the library');
});

test('words of others cannot break it', async () => {
  const hostile = component('media-server', 'x', {
    probe: { word: `\x1b[2J\u202e${'世界'.repeat(40)}`, tone: 'bad', detail: `\x1b]0;t\x07${'y'.repeat(400)}` },
  });
  for (const size of [
    { columns: 60, rows: 15 },
    { columns: 99, rows: 28 },
  ]) {
    const rig = await openRig({ size, deck: deckOf([...members.slice(0, 3), hostile]).deck });
    await rig.press('X');
    await rig.sees('Media chain: broken');
    await rig.press('G');
    await rig.sees('quarterdeck logs media-server');
    expect(misfits(rig.raw(), size)).toEqual([]);
  }
});
