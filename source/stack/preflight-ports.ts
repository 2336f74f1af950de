import type { Catalog, CatalogEntry } from '../catalog/catalog.ts';
import { portVariable } from '../catalog/port-mapping.ts';
import type { ContainerFacts } from '../engine/engine.ts';
import { CatalogIndex, groupContainers } from '../fleet/grouping.ts';
import { cleanLine } from '../text/clean.ts';
import type { Finding } from './finding.ts';
import type { PlannedPort } from './model.ts';
import { type PortUse, portConflicts, usesOfCatalog, usesOfComponent, usesOfDeployments, usesOfListeners } from './ports.ts';
import { blocking, type PreflightCheck, type PreflightContext } from './preflight-context.ts';

export const portChecks: readonly PreflightCheck[] = [{ id: 'ports', what: 'Ports of the host', run: checkPorts }];

const projectLabel = 'com.docker.compose.project';

/** R88: what the plan opens against sockets of the host, containers of the engine, and the rest of the stack. */
async function checkPorts(context: PreflightContext): Promise<Finding[]> {
  const { plan, entry, deployment, deployments, catalog, project } = context;
  const [listeners, containers] = await Promise.all([context.listeners(), context.containers()]);
  const known = componentsOf(containers, catalog);
  const published = containers.flatMap(({ id, name, labels, ports, state }) =>
    ports.flatMap(({ address, hostPort, containerPort, protocol, ipv6 }): (PortUse & { own: boolean })[] => {
      if (hostPort === undefined || protocol === 'sctp') return [];
      const label = labels[projectLabel];
      // What is stopped holds nothing open; what the stack means to run is in its deployments.
      if (state === 'exited' || state === 'created' || state === 'dead') return [];
      const at = ipv6 ? '::' : (address ?? '0.0.0.0');
      // Another project of the very component: its own name tells it from what is deployed here.
      const component = known.get(id)?.entry.id === entry.id ? undefined : known.get(id);
      const fixed = component?.entry.ports.some((port) => port.fixed && port.container === containerPort && port.protocol === protocol);
      return [
        {
          ...{ owner: component?.name ?? label ?? name, address: at, port: hostPort, protocol, own: label === plan.project },
          ...(component && { component: component.entry.id }),
          ...(fixed && { fixed }),
        },
      ];
    }),
  );
  const onHost = new Set(project.services.flatMap(({ name, networkMode }) => (networkMode === 'host' ? [name] : [])));
  const running = containers.some(
    ({ labels, networkMode, state }) => labels[projectLabel] === plan.project && networkMode === 'host' && state === 'running',
  );
  // Its own sockets from before are no conflict: they are closed when it is made anew.
  const own = running && deployment ? usesOfComponent(entry, deployment.env).filter(({ hostNetwork }) => hostNetwork) : [];
  const others = deployments.filter(({ component }) => component !== entry.id);
  const promised = usesOfDeployments(others, catalog);
  // What listens in the host's own network has the socket itself, by its program's name: that is the component again.
  const onHostToo = promised.filter(({ hostNetwork }) => hostNetwork);
  const taken = [...promised, ...published.filter((use) => !use.own), ...usesOfListeners(listeners, [...published, ...own, ...onHostToo])];
  // In another container's network (R15): what it listens on is published there.
  const away = new Set(project.services.flatMap(({ name, networkMode }) => (/^(?:container|service):/.test(networkMode) ? [name] : [])));
  const ports = [
    ...plan.ports
      .filter(({ service }) => !away.has(service))
      .map((port) => ({ ...port, ...(onHost.has(port.service) && { hostNetwork: true }) })),
    ...hostPorts(context, onHost),
  ];
  return portConflicts(ports, taken, usesOfCatalog(catalog)).map(({ port, users, proposal, advice }) => {
    const name = port.name ?? `${port.container}/${port.protocol}`;
    const owners = [...new Set(users.map(({ owner }) => cleanLine(owner)))].join(' and ');
    const movable = port.name !== undefined && proposal !== undefined;
    return blocking(`port-taken:${name}`, `Port ${port.host}/${port.protocol} (${name}) is taken by ${owners}.`, cleanLine(advice), {
      rule: 'R88',
      ...(movable && {
        remedy: { kind: 'set', label: `Use port ${proposal}`, values: { [portVariable(port.name ?? '')]: String(proposal) } },
      }),
    });
  });
}

/** By container: the component that it is of and what screens call that, whoever made it. */
function componentsOf(containers: readonly ContainerFacts[], catalog: Catalog): Map<string, { entry: CatalogEntry; name: string }> {
  return new Map(
    groupContainers(containers, new CatalogIndex(catalog.entries)).flatMap(({ entry, name, members }) =>
      entry ? members.map(({ container }) => [container.id, { entry, name }] as const) : [],
    ),
  );
}

/** Services on the host's own network publish nothing and listen all the same. */
function hostPorts({ plan, entry }: PreflightContext, onHost: ReadonlySet<string>): (PlannedPort & { hostNetwork: boolean })[] {
  return entry.ports.flatMap(({ name, service, host, container, protocol, fixed }) => {
    if (host === undefined || !onHost.has(service) || plan.ports.some((port) => port.name === name && port.protocol === protocol))
      return [];
    return [{ name, service, address: '0.0.0.0', host, container, protocol, fixed, hostNetwork: true }];
  });
}
