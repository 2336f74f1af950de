import { expect, test } from 'vitest';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import { searchCatalog } from '../catalog/catalog-search.ts';
import type { Deck } from '../terminal/deck.ts';
import { createFakeDeck } from './rig/fake-deck.ts';
import { misfits, openRig, type RigOptions } from './rig/rig.tsx';
import { sampleSnapshot } from './rig/sample-fleet.ts';

const { entries } = await wholeCatalog();

function deckOf(options: Parameters<typeof createFakeDeck>[0] = {}) {
  const catalog: Deck['catalog'] = { entries, get: (id) => entries.find((entry) => entry.id === id), problems: [] };
  return { ...createFakeDeck({ snapshot: sampleSnapshot(), ...options }), catalog };
}

const open = (options: Partial<RigOptions> = {}) => openRig({ size: { columns: 120, rows: 36 }, deck: deckOf(), ...options });

test('C shows every component with what it is, and fits; Esc goes back', async () => {
  for (const size of [
    { columns: 60, rows: 15 },
    { columns: 80, rows: 24 },
    { columns: 200, rows: 50 },
  ]) {
    const rig = await open({ size });
    await rig.press('C');
    await rig.sees(`Catalog ${entries.length} components`, `1 of ${entries.length}`, 'd deploy');
    expect(misfits(rig.raw(), size)).toEqual([]);
    await rig.press('G');
    await rig.sees(`${entries.length} of ${entries.length}`);
    expect(misfits(rig.raw(), size)).toEqual([]);
    await rig.press('esc');
    await rig.sees('Components');
  }
});

test.each([
  ['single sign on', 'sso-portal'],
  ['vaultwarden', 'password-vault'],
  ['jelly', 'media-server'],
  ['subtitles', 'subtitle-automation'],
  ['2fa', 'sso-portal'],
  ['indexers', 'indexer-manager'],
  ['ollma', 'model-runtime'],
  ['rss', 'rss-reader'],
  ['media server', 'media-server'],
  ['photo', 'photo-library'],
  ['wiki', 'wiki'],
  ['sso', 'sso-portal'],
  ['tv', 'tv-automation'],
  ['pi hole', 'dns-filter'],
  ['keycloack', 'idp-enterprise'],
  ['ip address management', 'ipam'],
])('"%s" finds %s first, by kind, product or purpose, spelt roughly', async (typed, id) => {
  const rig = await open();
  await rig.press('C', '/', ...typed);
  await rig.sees(id);
  expect(rig.row('▸')).toContain(id);
  expect(searchCatalog(entries, typed).map((entry) => entry.id)[0]).toBe(id);
});

test.each(['rss', 'tv', 'ocr', 'cve', 'git'])('"%s" finds none that has its letters strewn over long words', (typed) => {
  for (const { id, kind, product, keywords } of searchCatalog(entries, typed))
    expect(
      `${id} ${kind} ${product.name} ${product.alternatives.map(({ name }) => name).join(' ')} ${keywords.join(' ')}`.toLowerCase(),
    ).toContain(typed);
});

test('what nothing is like is said, and Esc shows all again', async () => {
  const rig = await open();
  await rig.press('C', '/', ...'xqzzwv', 'enter');
  await rig.sees('Nothing in the catalog is like "xqzzwv".');
  await rig.press('esc');
  await rig.sees(`1 of ${entries.length}`);
});

test('Enter reads all that is known about one, page by page, and Esc leads back to it in the list', async () => {
  const size = { columns: 80, rows: 24 };
  const rig = await open({ size });
  await rig.press('C', '/', ...'password vault', 'enter', 'enter');
  await rig.sees('Catalog password-vault', 'Vaultwarden', 'Services', '1 to ');
  expect(misfits(rig.raw(), size)).toEqual([]);
  await rig.press('G');
  await rig.sees('Sources');
  expect(misfits(rig.raw(), size)).toEqual([]);
  await rig.press('esc');
  await rig.sees('/password vault');
  expect(rig.row('▸')).toContain('password-vault');
});

test('what is here has the mark of how it is there, the rest none', async () => {
  const rig = await open({ size: { columns: 120, rows: 40 } });
  await rig.press('C');
  await rig.sees('secrets-manager-path');
  expect(rig.row('secrets-manager-path')).toMatch(/^.▲ /);
  expect(rig.row('vulnerability-scanner')).toMatch(/^.◌ /);
  expect(rig.row('intrusion-prevention')).toMatch(/^.● /);
  expect(rig.row('secrets-manager-env')).toMatch(/^. {2}/);
});

test('help and palette give back what they were opened over', async () => {
  const rig = await open();
  await rig.press('C', '/', ...'jellyfin', 'enter', 'enter', '?');
  await rig.sees('Help');
  await rig.press('esc');
  await rig.sees('Catalog media-server');
  await rig.press('?', ':');
  await rig.sees('Enter choose');
  await rig.press('esc');
  await rig.sees('Catalog media-server');
  await rig.press('?', '?', 'esc');
  await rig.sees('/jellyfin');
});

test('d deploys what can be deployed from here, on the host that is looked at; of the rest it is said where it runs', async () => {
  const deck = deckOf();
  const rig = await open({ deck });
  await rig.press('C', '/', ...'jellyfin', 'enter', 'd');
  await expect.poll(() => deck.started.map(({ flow, input }) => [flow, input.entry?.id])).toEqual([['deploy', 'media-server']]);
  const other = await open({ deck });
  await other.press('C', '/', ..."let's encrypt", 'enter', 'd');
  await other.sees('public-acme-ca is not deployed from here: Enter says where it runs.');
  await other.press('esc', 'esc', 'C', '/', ...'limit range', 'enter', 'd');
  await other.sees('limit-range is a file: "config make" makes it');
});
