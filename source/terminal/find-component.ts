import { Fault } from '../faults/fault.ts';
import type { ComponentView, FleetSnapshot, ServiceView } from '../fleet/model.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy, nearestName } from '../text/nearest-name.ts';

export interface FoundComponent {
  component: ComponentView;
  /** When the name was that of a container or a service. */
  service: ServiceView | undefined;
}

/**
 * What the operator means by a name: the id of a component, `project/id`, `host/id`, `host/project/id`, `id (project)` as lists tell equal ids apart, the name or the id of a container, or the beginning of an id that only
 * one component has. `named` is what `--host` says: a machine is called like the first of its engines, which is meant where several have the name. Throws `usage.ambiguous` with the candidates, and `usage.component` with the nearest names.
 */
export function findComponent(written: string, { components }: FleetSnapshot, named?: string): FoundComponent {
  const whole = (found: ComponentView): FoundComponent => ({ component: found, service: undefined });
  const ids = components.filter(({ id }) => id === written);
  const steps: FoundComponent[][] = [
    ids.map(whole),
    components
      .filter(({ key, project, host, id }) => key === written || `${project}/${id}` === written || `${host}/${id}` === written)
      .map(whole),
    components.filter((component) => isShownAs(component, written)).map(whole),
    servicesWhere(components, ({ containerName }) => containerName === written),
    written.length >= 12 ? servicesWhere(components, ({ containerId }) => containerId?.startsWith(written) === true) : [],
    components.filter(({ project }) => project === written && project !== '').map(whole),
    components.filter(({ id }) => written !== '' && id.startsWith(written)).map(whole),
    servicesWhere(components, ({ name }) => name === written),
  ];
  for (const found of steps) {
    const [first, second] = found;
    if (first && !second) return first;
    const [there, other] = found.filter(({ component }) => component.host === named);
    if (there && !other) return there;
    if (first) throw ambiguous(written, found);
  }
  // A container can be meant; where nothing is near, only components are worth listing.
  const names = components.flatMap(({ id, services }) => [id, ...services.map(({ containerName }) => containerName).filter(Boolean)]);
  const near = nearestName(written, new Set(names));
  throw new Fault({
    code: 'usage.component',
    message: `There is no component "${cleanLine(written)}" here.`,
    remedy:
      near === undefined
        ? nameRemedy(
            written,
            new Set(components.map(({ id }) => id)),
            'No containers were found; "quarterdeck status" says where it looked.',
          )
        : `Did you mean "${cleanLine(near)}"?`,
  });
}

function isShownAs({ id, project, host, services }: ComponentView, written: string): boolean {
  const [, shownId, mark = ''] = /^(\S+) \((.+)\)$/.exec(written) ?? [];
  return shownId === id && [project, host, ...services.map(({ containerName }) => containerName)].includes(mark);
}

function servicesWhere(components: readonly ComponentView[], wanted: (service: ServiceView) => boolean): FoundComponent[] {
  return components.flatMap((component) =>
    component.services.filter(wanted).map((service) => ({ component, service: component.services.length === 1 ? undefined : service })),
  );
}

function ambiguous(written: string, found: readonly FoundComponent[]): Fault {
  const hosts = new Set(found.map(({ component }) => component.host));
  const ids = new Set(found.map(({ component }) => component.id));
  const names = found.map(({ component, service }) => {
    if (service) return service.containerName;
    if (ids.size === found.length) return component.id;
    const name = component.project === '' ? component.id : `${component.project}/${component.id}`;
    // Three parts read as a key; a lone container has none in the middle.
    return hosts.size > 1 ? component.key : name;
  });
  return new Fault({
    code: 'usage.ambiguous',
    message: `"${cleanLine(written)}" can mean several: ${[...new Set(names)].join(', ')}.`,
    remedy: 'Write one of these.',
  });
}
