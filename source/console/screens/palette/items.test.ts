import { expect, test } from 'vitest';
import { createFakeApp } from '../../../../test/doubles/console/fake-app.ts';
import { sampleSnapshot } from '../../../../test/doubles/console/sample-fleet.ts';
import type { ComponentView } from '../../../fleet/model.ts';
import { createKeymap } from '../../keymap.ts';
import { paletteItems } from './items.ts';

const keymap = createKeymap();

/** Returns an app with 130 components of the catalog. */
function largeApp() {
  const base = sampleSnapshot();
  const components = Array.from({ length: 130 }, (_, index) => {
    const like = base.components[index % base.components.length];
    if (!like) throw new Error('the sample has no components');
    return { ...like, known: true, deployed: true, key: `key-${index}`, id: `component-${index}` };
  });
  return createFakeApp({ snapshot: { ...base, components } });
}

test('a verb finds each of 130 components by its name, and lists at most a hundred', () => {
  const app = largeApp();
  const [component] = app.fleet.snapshot().components;
  for (const index of [7, 64, 129]) {
    const [best] = paletteItems({ app, keymap, component, query: `update component-${index}` });
    expect(best?.title).toBe(`Update to the newest images: component-${index}`);
  }
  const all = paletteItems({ app, keymap, component, query: 'update comp' });
  expect(all.filter(({ title }) => title.startsWith('Update to the newest images: '))).toHaveLength(100);
});

test('without letters it offers flows for the selected component alone', () => {
  const app = largeApp();
  const [component] = app.fleet.snapshot().components;
  const flows = paletteItems({ app, keymap, component, query: '' }).filter(({ kind }) => kind === 'do');
  expect(flows.map(({ title }) => title)).toContain('Update to the newest images: component-0');
  expect(flows.some(({ title }) => title.includes('component-1'))).toBe(false);
});

test.each([
  ['mesh nodes', 'List mesh nodes'],
  ['List mesh nodes', 'List mesh nodes'],
  ['list mesh users', 'List mesh users'],
  ['API keys of the mesh', 'List the API keys of the mesh control server'],
])('what is typed as it stands in the help comes first: %s', (query, title) => {
  const base = sampleSnapshot();
  const components = base.components.map((component) =>
    component.id === 'mesh-control-server' ? { ...component, speaks: 'headscale' as const } : component,
  );
  const app = createFakeApp({ snapshot: { ...base, components } });
  const [component] = components;
  const [best] = paletteItems({ app, keymap, component, query });
  expect(best?.title).toMatch(new RegExp(`^${title}`));
});

test('running an operation is offered only for components that declare one', () => {
  const base = sampleSnapshot();
  const app = createFakeApp({ snapshot: base });
  const titles = (component: ComponentView | undefined, query: string) =>
    paletteItems({ app, keymap, component, query }).map(({ title }) => title);
  const declares = (declared: boolean) =>
    base.components.find(({ known, id }) => known && app.catalog.get(id)?.operations.some(({ call }) => call) === declared);
  const [rich, bare] = [declares(true), declares(false)];
  expect(titles(rich, '')).toContain(`Run an operation: ${rich?.id}`);
  expect(titles(bare, '')).not.toContain(`Run an operation: ${bare?.id}`);
  expect(titles(rich, `run an operation ${bare?.id}`)).not.toContain(`Run an operation: ${bare?.id}`);
});

test('what is asked for by its name and cannot be done now stands there and says so', () => {
  const base = sampleSnapshot();
  const app = createFakeApp({ snapshot: base });
  const stopped = base.components.find(({ state }) => state.id === 'stopped');
  const items = paletteItems({ app, keymap, component: stopped, query: 'stop a comp' });
  expect(items[0]).toMatchObject({ kind: 'no', title: `Stop a component: ${stopped?.id}`, detail: 'not available: stopped' });
  const said: string[] = [];
  items[0]?.choose({ startFlow: (flow: { id: string }) => said.push(flow.id) } as never);
  expect(said).toEqual(['stop']);
});

test('the reason is what stands in the way, not a state that has nothing to do with it', () => {
  const base = sampleSnapshot();
  const up = base.components.find(({ state }) => state.id === 'healthy');
  const component = up && { ...up, deployed: false };
  const reason = (query: string, readOnly: boolean) => {
    const app = createFakeApp({ snapshot: base, app: { readOnly } });
    return paletteItems({ app, keymap, component, query }).find(({ kind }) => kind === 'no')?.detail;
  };
  expect(reason('stop a comp', true)).toBe('not available: read-only');
  expect(reason('update to the', false)).toBe('not available: not deployed by Quarterdeck');
});
