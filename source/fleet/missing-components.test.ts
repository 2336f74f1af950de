import { expect, test } from 'vitest';
import { componentView, serviceView } from '../../test/doubles/fleet-double.ts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { componentsToStart, missingComponents, providersFirst } from './missing-components.ts';
import type { ComponentView, ServiceView } from './model.ts';

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

test('what was removed, created only in part, or is to be created by an interrupted change is not waited for; what is gone or was killed is', () => {
  const one = (id: string, more: Partial<ServiceView>) => componentView(id, { deployed: true, services: [serviceView(id, more)] });
  const all = [
    one('removed', { state: 'missing', absence: 'removed' }),
    one('partly', { state: 'missing', absence: 'not created' }),
    one('changing', { state: 'missing' }),
    one('gone', { state: 'missing' }),
    one('killed', { state: 'killed', kept: true }),
    one('stopped', { state: 'stopped', kept: true }),
    one('with-its-host', { state: 'stopped', kept: true, causeUnknown: true, mayBeMissed: true }),
  ];
  const ids = (list: readonly ComponentView[]) => list.map(({ id }) => id);
  expect(ids(missingComponents(all, [{ engineName: 'local', components: ['changing'] }]))).toEqual(['gone', 'killed', 'with-its-host']);
  expect(ids(componentsToStart(all))).toEqual(['removed', 'partly', 'changing', 'gone', 'killed', 'with-its-host']);
});

test('what runs in a network that is gone did not come back; what waits for its gateway is not counted', () => {
  const one = (id: string, stale: boolean) =>
    componentView(id, { deployed: true, services: [serviceView(id, { state: 'running', cutOff: { why: 'it is gone', stale } })] });
  expect(missingComponents([one('client', true), one('other', false)]).map(({ id }) => id)).toEqual(['client']);
});
