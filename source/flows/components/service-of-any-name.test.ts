import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { composeLabels } from '../../../test/doubles/container-facts.ts';
import { FlowFixture } from '../../../test/doubles/flow-fixture.ts';
import { hostDouble } from '../../../test/doubles/live-engine.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';
import { findAddress } from '../../calls/find-address.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import { catalogOf } from '../../catalog/open-catalog.ts';
import { buildComponentView, type ViewContext } from '../../fleet/component-view.ts';
import { CatalogIndex, componentIds, groupContainers } from '../../fleet/grouping.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { entryOf, targetOf } from '../call-target.ts';

const { entries } = await wholeCatalog();
/** Every product with an API that flows use, and some that only probes query. */
const spoken = entries.filter(({ deploy, api, services }) => deploy === 'compose' && api && services.some(({ main }) => main));
const index = new CatalogIndex(entries);

let fixture: FlowFixture;
beforeEach(async () => {
  fixture = await FlowFixture.open();
  fixture.host = hostDouble();
  fixture.catalog = catalogOf(entries, []);
});
afterEach(() => fixture.close());

const mainOf = ({ services }: CatalogEntry) => {
  const main = services.find((service) => service.main);
  if (!main) throw new Error('no main service');
  return main;
};

/** A container of the product whose name and service cannot be guessed, each with ports of its own. */
function add(entry: CatalogEntry, name: string, firstPort: number, project?: string): void {
  const main = mainOf(entry);
  fixture.engine.add(name, {
    image: main.image,
    labels: project === undefined ? {} : composeLabels(project, `front-of-${project}`),
    ports: entry.ports
      .filter(({ service }) => service === main.name)
      .map((port, number) => ({
        address: '127.0.0.1',
        hostPort: firstPort + number,
        containerPort: port.container,
        protocol: port.protocol,
      })),
  });
}

/** The components as the list shows them. */
async function views(): Promise<readonly ComponentView[]> {
  const context: Omit<ViewContext, 'id'> = {
    host: 'local',
    nowMs: Date.now(),
    engineReachable: true,
    knowledge: () => ({ detail: undefined, history: { diedMs: [], stopAskedMs: undefined } }),
    probe: undefined,
    findings: [],
    missing: [],
    observed: new Map(),
    deployed: undefined,
    backup: undefined,
  };
  const groups = groupContainers(await fixture.engine.list(), index);
  const ids = componentIds(groups);
  return groups.map((group) => buildComponentView(group, { ...context, id: ids.get(group) ?? '' }).view);
}

describe('products that others deployed', () => {
  test.each(spoken.map((entry) => [entry.id, entry] as const))(
    '%s: each of several is asked, whatever its containers are called',
    async (id, entry) => {
      add(entry, 'by-hand', 30_000);
      add(entry, 'other-by-hand', 31_000);
      add(entry, 'first-front-1', 32_000, 'first');
      add(entry, 'second-front-1', 33_000, 'second');
      const components = await views();
      expect(components.map((component) => component.id).sort()).toEqual(
        ['by-hand', 'first', 'other-by-hand', 'second'].map((mark) => `${id}@${mark}`),
      );
      fixture.fleet.current = { ...fixture.fleet.current, components };
      for (const component of components) {
        const entryHere = entryOf(fixture.context, component);
        expect(entryHere?.id).toBe(id);
        const target = await targetOf(fixture.context, 'local', entry, new AbortController().signal, component);
        expect(target.name).toBe(component.id);
        const container = target.containers.get(mainOf(entry).name);
        expect(container?.id).toBe(component.services[0]?.containerId);
        const port = entry.ports.find(({ name, service }) => name === entry.api?.port && service === mainOf(entry).name);
        if (port && container?.networkMode !== 'host')
          expect(findAddress(target, port.name)).toMatchObject({
            port: container?.ports.find(({ containerPort }) => containerPort === port.container)?.hostPort,
          });
      }
    },
  );

  test('all that flows speak to are in that table', () => {
    expect(new Set(spoken.map(({ api }) => api?.name))).toEqual(
      new Set(entries.flatMap(({ deploy, api }) => (deploy === 'compose' && api ? [api.name] : []))),
    );
    expect(spoken.length).toBeGreaterThan(8);
  });
});
