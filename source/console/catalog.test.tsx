import { expect, test } from 'vitest';
import { createFakeApp } from '../../test/doubles/console/fake-app.ts';
import { type HarnessOptions, misfits, openHarness } from '../../test/doubles/console/harness.tsx';
import { sampleSnapshot } from '../../test/doubles/console/sample-fleet.ts';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import type { QuarterdeckApp } from '../app/app.ts';
import { searchCatalog } from '../catalog/catalog-search.ts';

const { entries } = await wholeCatalog();

function appOf(options: Parameters<typeof createFakeApp>[0] = {}) {
  const catalog: QuarterdeckApp['catalog'] = { entries, get: (id) => entries.find((entry) => entry.id === id), problems: [] };
  return { ...createFakeApp({ snapshot: sampleSnapshot(), ...options }), catalog };
}

const open = (options: Partial<HarnessOptions> = {}) => openHarness({ size: { columns: 120, rows: 36 }, app: appOf(), ...options });

test('C shows every component with what it is, and fits; Esc goes back', async () => {
  for (const size of [
    { columns: 60, rows: 15 },
    { columns: 80, rows: 24 },
    { columns: 200, rows: 50 },
  ]) {
    const harness = await open({ size });
    await harness.press('C');
    await harness.sees(`Catalog ${entries.length} components`, `1 of ${entries.length}`, 'd deploy');
    expect(misfits(harness.raw(), size)).toEqual([]);
    await harness.press('G');
    await harness.sees(`${entries.length} of ${entries.length}`);
    expect(misfits(harness.raw(), size)).toEqual([]);
    await harness.press('esc');
    await harness.sees('Components');
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
  const harness = await open();
  await harness.press('C', '/', ...typed);
  await harness.sees(id);
  expect(harness.row('▸')).toContain(id);
  expect(searchCatalog(entries, typed).map((entry) => entry.id)[0]).toBe(id);
});

test.each(['rss', 'tv', 'ocr', 'cve', 'git'])('"%s" finds none that has its letters strewn over long words', (typed) => {
  for (const { id, kind, product, keywords } of searchCatalog(entries, typed))
    expect(
      `${id} ${kind} ${product.name} ${product.alternatives.map(({ name }) => name).join(' ')} ${keywords.join(' ')}`.toLowerCase(),
    ).toContain(typed);
});

test('what nothing is like is said, and Esc shows all again', async () => {
  const harness = await open();
  await harness.press('C', '/', ...'xqzzwv', 'enter');
  await harness.sees('No component matches "xqzzwv".');
  await harness.press('esc');
  await harness.sees(`1 of ${entries.length}`);
});

test('Enter reads all that is known about one, page by page, and Esc leads back to it in the list', async () => {
  const size = { columns: 80, rows: 24 };
  const harness = await open({ size });
  await harness.press('C', '/', ...'password vault', 'enter', 'enter');
  await harness.sees('Catalog password-vault', 'Vaultwarden', 'Services', '1 to ');
  expect(misfits(harness.raw(), size)).toEqual([]);
  await harness.press('G');
  await harness.sees('Notes');
  expect(misfits(harness.raw(), size)).toEqual([]);
  await harness.press('esc');
  await harness.sees('/password vault');
  expect(harness.row('▸')).toContain('password-vault');
});

test('what is here has the mark of how it is there, the rest none', async () => {
  const harness = await open({ size: { columns: 120, rows: 40 } });
  await harness.press('C');
  await harness.sees('secrets-manager-path');
  expect(harness.row('secrets-manager-path')).toMatch(/^.▲ /);
  expect(harness.row('vulnerability-scanner')).toMatch(/^.◌ /);
  expect(harness.row('intrusion-prevention')).toMatch(/^.● /);
  expect(harness.row('secrets-manager-env')).toMatch(/^. {2}/);
});

test('what is deployed under a name of its own has its mark at its entry', async () => {
  const base = sampleSnapshot();
  const components = base.components.map((one) =>
    one.id === 'vulnerability-scanner' ? { ...one, id: 'secrets-manager-env', entry: 'vulnerability-scanner' } : one,
  );
  const harness = await open({ size: { columns: 120, rows: 40 }, app: appOf({ snapshot: { ...base, components } }) });
  await harness.press('C');
  await harness.sees('secrets-manager-path');
  expect(harness.row('vulnerability-scanner')).toMatch(/^.◌ /);
  expect(harness.row('secrets-manager-env')).toMatch(/^. {2}/);
});

test('help and palette give back what they were opened over', async () => {
  const harness = await open();
  await harness.press('C', '/', ...'jellyfin', 'enter', 'enter', '?');
  await harness.sees('Help');
  await harness.press('esc');
  await harness.sees('Catalog media-server');
  await harness.press('?', ':');
  await harness.sees('Enter choose');
  await harness.press('esc');
  await harness.sees('Catalog media-server');
  await harness.press('?', '?', 'esc');
  await harness.sees('/jellyfin');
});

test('d deploys what can be deployed from here, on the host that is looked at; of the rest it is said where it runs', async () => {
  const app = appOf();
  const harness = await open({ app });
  await harness.press('C', '/', ...'jellyfin', 'enter', 'd');
  await expect.poll(() => app.started.map(({ flow, input }) => [flow, input.entry?.id])).toEqual([['deploy', 'media-server']]);
  const other = await open({ app });
  await other.press('C', '/', ..."let's encrypt", 'enter', 'd');
  await other.sees('public-acme-ca is not deployed by Quarterdeck. Enter shows where it runs.');
  await other.press('esc', 'esc', 'C', '/', ...'limit range', 'enter', 'd');
  await other.sees('limit-range is a configuration file. Create it with "config make"');
});
