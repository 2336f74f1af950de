import { expect, test } from 'vitest';
import { componentView, serviceView } from '../../test/doubles/fleet-double.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { notBack, providersFirst } from './come-back.ts';

test('a gateway comes before who is in its network, whatever their names (R15)', () => {
  const gateways = (id: string) => (id === 'client' ? ['vpn'] : []);
  const ids = providersFirst([{ id: 'client' }, { id: 'vpn' }, { id: 'a' }], () => undefined, gateways).map(({ id }) => id);
  expect(ids).toEqual(['a', 'vpn', 'client']);
});

test('components that depend on each other in a circle have an order all the same', () => {
  const circle: Record<string, string[]> = { a: ['b'], b: ['c'], c: ['a'], d: ['d', 'a'] };
  const entryOf = (id: string) => ({ dependsOn: circle[id] ?? [] }) as unknown as CatalogEntry;
  expect(
    providersFirst(
      Object.keys(circle).map((id) => ({ id })),
      entryOf,
    ).map(({ id }) => id),
  ).toEqual(['c', 'b', 'a', 'd']);
});

test('what runs in a network that is gone did not come back; what waits for its gateway is not counted', () => {
  const one = (id: string, stale: boolean) =>
    componentView(id, { deployed: true, services: [serviceView(id, { state: 'running', cutOff: { why: 'it is gone', stale } })] });
  expect(notBack([one('client', true), one('other', false)]).map(({ id }) => id)).toEqual(['client']);
});
