import { expect, it } from 'vitest';
import { wholeCatalog } from '../../test/doubles/whole-catalog.ts';
import { bringersOf, runLocation } from './run-location.ts';

it('says of everything that is not deployed where it runs, and of a part which components bring it', async () => {
  const { entries } = await wholeCatalog();
  const of = (id: string) => entries.find((entry) => entry.id === id) ?? expect.fail(`no ${id}`);
  for (const entry of entries)
    expect([entry.id, runLocation(entry, entries) === undefined]).toEqual([entry.id, entry.deploy === 'compose']);
  expect(bringersOf(of('relational-database'), entries)).toEqual(expect.arrayContaining(['llm-proxy', 'rss-reader']));
  expect(bringersOf(of('relational-database'), entries)).not.toContain('media-server');
  expect(runLocation(of('key-value-cache'), entries)).toMatch(/^The component is a service inside other components: .*sso-portal/);
  // The same image, but deployed separately: no other component contains it.
  expect(bringersOf(of('reverse-proxy'), entries)).toEqual([]);
});
