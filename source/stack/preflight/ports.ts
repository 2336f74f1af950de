import type { Catalog, CatalogEntry } from '../../catalog/catalog.ts';
import { portVariable } from '../../catalog/port-mapping.ts';
import type { ContainerFacts } from '../../engine/engine.ts';
import { CatalogIndex, groupContainers } from '../../fleet/grouping.ts';
import { cleanLine } from '../../text/clean.ts';
import { blocking, type Finding, setTo } from '../finding.ts';
import type { PlannedPort } from '../model.ts';
import { type PortUse, portConflicts, usesOfCatalog, usesOfComponent, usesOfDeployments, usesOfListeners } from '../plan/ports.ts';
import type { PreflightContext } from './context.ts';

const projectLabel = 'com.docker.compose.project';

/** R88: compares the ports of the plan with sockets of the host, containers of the engine, and the rest of the stack. */
export async function* checkPorts(context: PreflightContext): AsyncIterable<Finding> {
  const { plan, entry, deployment, deployments, catalog, services } = context;
  const [listeners, containers] = await Promise.all([context.listeners(), context.containers()]);
  const published = publishedPorts(containers, context);
  const servicesWith = (mode: RegExp) => new Set(services.flatMap(({ name, networkMode }) => (mode.test(networkMode) ? [name] : [])));
  const onHost = servicesWith(/^host$/);
  const running = containers.some(
    ({ labels, networkMode, state }) => labels[projectLabel] === plan.project && networkMode === 'host' && state === 'running',
  );
  // Its own earlier sockets are not conflicts: they are closed when it is recreated.
  const own = running && deployment ? usesOfComponent(entry, deployment.env).filter(({ hostNetwork }) => hostNetwork) : [];
  const others = deployments.filter(({ component }) => component !== entry.id);
  const promised = usesOfDeployments(others, catalog);
  // A service in the host's network owns its socket directly, under its program's name: that socket belongs to the component too.
  const onHostToo = promised.filter(({ hostNetwork }) => hostNetwork);
  const taken = [...promised, ...published.filter((use) => !use.own), ...usesOfListeners(listeners, [...published, ...own, ...onHostToo])];
  // In another container's network (R15): that container publishes its ports.
  const away = servicesWith(/^(?:container|service):/);
  const ports = [
    ...plan.ports.filter(({ service }) => !away.has(service)).map((port) => ({ ...port, hostNetwork: onHost.has(port.service) })),
    ...hostPorts(context, onHost),
  ];
  for (const { port, users, proposal, advice } of portConflicts(ports, taken, usesOfCatalog(catalog))) {
    const name = port.name ?? `${port.container}/${port.protocol}`;
    const owners = [...new Set(users.map(({ owner }) => cleanLine(owner)))].join(' and ');
    const moved = port.name === undefined || proposal === undefined ? undefined : String(proposal);
    yield blocking(`port-taken:${name}`, `Port ${port.host}/${port.protocol} (${name}) is in use by ${owners}.`, cleanLine(advice), {
      ...{ rule: 'R88', owner: owners },
      remedy: setTo(portVariable(port.name ?? ''), moved, `Use port ${moved}`),
    });
  }
}

/** Returns the ports that the engine's containers keep open; `own` for those of the planned project. */
function publishedPorts(containers: readonly ContainerFacts[], { plan, entry, catalog }: PreflightContext): (PortUse & { own: boolean })[] {
  const known = componentsOf(containers, catalog);
  return containers.flatMap(({ id, name, labels, ports, state }) => {
    // A stopped container keeps no port open; planned ports of the stack are in its deployments.
    if (state === 'exited' || state === 'created' || state === 'dead') return [];
    const label = labels[projectLabel];
    // Another project of the same component: its own name distinguishes it from the component deployed here.
    const component = known.get(id)?.entry.id === entry.id ? undefined : known.get(id);
    return ports.flatMap(({ address, hostPort, containerPort, protocol, ipv6 }): (PortUse & { own: boolean })[] => {
      if (hostPort === undefined || protocol === 'sctp') return [];
      return [
        {
          owner: component?.name ?? label ?? name,
          component: component?.entry.id,
          address: ipv6 ? '::' : (address ?? '0.0.0.0'),
          port: hostPort,
          protocol,
          own: label === plan.project,
          fixed: component?.entry.ports.some((port) => port.fixed && port.container === containerPort && port.protocol === protocol),
        },
      ];
    });
  });
}

/** Returns by container its component and its displayed name, whatever deployed it. */
function componentsOf(containers: readonly ContainerFacts[], catalog: Catalog): Map<string, { entry: CatalogEntry; name: string }> {
  const groups = groupContainers(containers, new CatalogIndex(catalog.entries));
  return new Map(
    groups.flatMap(({ entry, name, members }) => (entry ? members.map(({ container }) => [container.id, { entry, name }]) : [])),
  );
}

/** Services on the host's own network publish no ports, but listen all the same. */
function hostPorts({ plan, entry }: PreflightContext, onHost: ReadonlySet<string>): (PlannedPort & { hostNetwork: boolean })[] {
  return entry.ports.flatMap(({ name, service, host, container, protocol, fixed }) => {
    if (host === undefined || !onHost.has(service) || plan.ports.some((port) => port.name === name && port.protocol === protocol))
      return [];
    return [{ name, service, address: '0.0.0.0', host, container, protocol, fixed, hostNetwork: true }];
  });
}
